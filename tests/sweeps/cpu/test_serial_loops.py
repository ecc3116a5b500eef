"""The order of a loop's axes, and short axes, which the source of a kernel spells out."""

import itertools

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.sweeps.cpu.serial_loops import SHORT
from linad.sweeps.cpu.target import CPU
from linad.sweeps.loop_source import INNERMOST


def sources(f, *args):
    """Of the kernels of a program."""
    program = CPU.compile(linad.trace(f, *args)[1])
    program.run([np.asarray(a) for a in args])
    return [i.source for i in program.lowering.instructions]


def normal(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


def turned(x, axes):
    return np.transpose(x, axes) * 1.5 - 2.0


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n", [3, INNERMOST, 20])
def test_transposes(n):
    """Whatever the order of the axes: of operands, of results, of both."""
    x = normal(n, 17, 2)
    for axes in itertools.permutations(range(3)):
        check_compiled(lambda x, axes=axes: turned(x, axes), x)
        check_compiled(lambda x, axes=axes: turned(x, axes) + turned(x * 2, axes), x)


def test_factors_are_written_along_their_columns():
    """LAPACK takes a copy, column by column: one jumps, so reading jumps and writing does not."""
    (copy, *_) = sources(np.linalg.det, normal(20, 20))
    assert "set_f8(q1_1, i1, " in copy


SHORTS = {
    "entry by entry": lambda x, v, s: x * v + np.sin(x) * s,
    "sums": lambda x, v, s: np.sum(x * v, axis=-1),
    "sums of everything": lambda x, v, s: np.sum(x * v),
    "sums over the rows": lambda x, v, s: np.sum(x * v, axis=0),
    "largest and all": lambda x, v, s: (np.max(x, -1), np.all(x > v, -1), np.argmax(x, -1)),
    "broadcast along": lambda x, v, s: x * s[:, :1] + v[0] - s[0, 0],
    "columns": lambda x, v, s: (x[:, :2] - v[:, -2:], x[:, :1] * v, x[:, 0] * v[:, 1]),
    "turned round": lambda x, v, s: x[:, ::-1] * v + x[::-1],
    "far apart": lambda x, v, s: s[:, :40:20] * s[:, 1::20] + s[0, 2:4],
    "scaled to one": lambda x, v, s: x / np.sqrt(np.sum(x * x, axis=1, keepdims=True)),
    "of another dtype": lambda x, v, s: x.astype(np.float32) * (v > 0),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("n", [2, 3, SHORT, SHORT + 1])
@pytest.mark.parametrize("name", SHORTS)
def test_short_axes(name, n):
    check_short_axes(name, n)


@pytest.mark.parametrize("name", SHORTS)
def test_short_axes_compiled(name):
    check_short_axes(name, 3)


def check_short_axes(name, n):
    f = SHORTS[name]
    x, v = normal(6, n), normal(2, 6, n)[1]
    s = normal(6, 41)[:, :n] if name != "far apart" else normal(6, 41)
    check_compiled(f, x, v, s, rtol=1e-6 if "dtype" in name else 1e-12)


@pytest.mark.parametrize("n", [3, *[pytest.param(n, marks=pytest.mark.full) for n in (2, SHORT)]])
def test_short_axes_of_stacks(n):
    """Three axes, and enough of them that sums are taken piece by piece."""
    x, v = normal(3, 5, n), normal(5, n)
    check_compiled(lambda x, v: (np.sum(x * v, axis=2), np.sum(x * v, axis=(0, 2)), x + v), x, v)
    long = np.linspace(0.0, 1.0, 40_000 * n).reshape(-1, n)
    check_compiled(lambda x: (np.sum(x * x), np.sum(x, axis=0), np.sum(x, axis=1)), long)


@pytest.mark.usefixtures("kernels")
def test_gradients_of_points():
    x, v = normal(7, 3), normal(2, 7, 3)[0]

    def f(x):
        return np.sum(x / np.sqrt(np.sum(x * x, axis=1, keepdims=True)) * v)

    check_compiled(linad.grad(f), x)
    check_compiled(linad.hessian(f), x)


def test_a_short_axis_is_spelled_out():
    (text,) = sources(lambda x: np.sum(x * x, axis=1), normal(6, 3))
    assert "range(0, 3)" in text
    (text,) = sources(lambda x: np.sum(x * x, axis=1), normal(6, 9))
    assert "range(0, 9)" not in text


@pytest.mark.parametrize("axis", [0, 1, (0, 1)])
def test_sums_go_along_memory_where_all_operands_allow_it(axis):
    """Rows side by side: the loop over them is the inner one, whatever the sum is over."""

    def f(x, y):
        z = np.exp(x.T) * y.T
        return np.sum(z, axis=axis), np.max(z, axis=axis)

    x, y = np.random.default_rng(0).standard_normal((2, 3, 2 * INNERMOST))
    check_compiled(f, x, y)


LEFT_OVER = {
    "entry by entry": lambda x, y: (x * y + 1.0, x / y, np.where(x > y, x, -y)),
    "functions": lambda x, y: (np.exp(x) * np.tanh(y), np.log(y), np.sin(x) + np.cos(y)),
    "sums": lambda x, y: (np.sum(x * y), np.max(x), np.min(y), np.prod(y)),
    "sums of rows": lambda x, y: (np.sum(np.exp(x) * y, axis=-1), np.any(x > y, axis=-1)),
    "numbers beside them": lambda x, y: x * y[..., :1] + np.sqrt(y) * x[..., 1:2],
}


@pytest.mark.parametrize("lead", [(), (3,)])
@pytest.mark.parametrize("name", LEFT_OVER)
def test_entries_behind_the_last_whole_vector(name, lead):
    """Nothing is read, or written, behind them, and what is there counts in no sum."""
    for n in (3, 6, 11, 14, 31, 47):
        for dtype in (float, np.float32):
            whole = normal(2, *lead, n + 5).astype(dtype)
            whole[..., n:] = np.nan
            x = np.ascontiguousarray(whole[0, ..., :n])
            y = np.abs(np.ascontiguousarray(whole[1, ..., :n])) + dtype(0.1)
            check_compiled(LEFT_OVER[name], x, y, rtol=1e-12 if dtype is float else 1e-5)


def test_numbers_out_of_range_behind_the_last_whole_vector():
    x = np.linspace(0.1, 1.0, 14)
    for k in (0, 7, 8, 13):
        y = x.copy()
        y[k] = 1e18
        check_compiled(lambda x: np.sin(x) + np.log(x), y)
        y[k] = 5e-324
        check_compiled(lambda x: np.sin(x) + np.log(x), y)


def test_short_loops_with_an_end_are_told_apart():
    def told(f, *args):
        return "whole_vectors" in "".join(sources(f, *args))

    assert told(np.exp, normal(14))
    assert told(lambda x: np.sum(np.exp(x), axis=-1), normal(3, 14))
    assert not told(lambda x: x * x + x, normal(14))  # less work than to wait for a mask
    assert not told(np.exp, normal(16))
    assert not told(np.exp, normal(17))  # one is left over
    assert not told(np.exp, normal(1000))
    assert not told(lambda x: np.exp(x[::2]), normal(28))
    assert not told(np.arctan2, normal(14), normal(14))
    assert not told(np.exp, normal(14) + 1j)
