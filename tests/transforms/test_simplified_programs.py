"""Rewrites at the edges of arrays: the simplified tape against the plain one, run by NumPy."""

import warnings

import numpy as np
import pytest
from odd_programs import ODD, OddProgram

import linad
from linad.errors import DisconnectedWarning, LinadError
from linad.transforms.simplify import simplify


def difference(found, expected):
    """What differs, in words; None where NaN, infinities and numbers agree."""
    found, expected = np.asarray(found), np.asarray(expected)
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    for part in ("real", "imag"):
        a, b = getattr(found, part), getattr(expected, part)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        size = 1 + np.max(np.abs(b), where=np.isfinite(b), initial=0.0)
        with np.errstate(all="ignore"):
            near = np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) < 1e-9 * size)
        if not np.all(same | near):
            return f"{a[~(same | near)][:4]} for {b[~(same | near)][:4]} ({part})"
    return None


def functions(program):
    """The program, and its derivative in reverse and forward mode."""

    def reverse(*x):
        y, J = linad.linearize(program, *x)
        return J.pullback([np.ones(v.shape, v.dtype) for v in y])

    def forward(*x):
        return linad.jvp(program, x, tuple([np.ones(v.shape, v.dtype) for v in program.inputs]))[1]

    return {"value": program, "reverse": reverse, "forward": forward}


def check_tapes(seed):
    program = OddProgram(seed)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", DisconnectedWarning)  # as some of them are
        for what, function in functions(program).items():
            try:
                tape = linad.trace(function, *[x.copy() for x in program.inputs])[1]
            except LinadError:  # an error that says what is not traced
                continue
            simple = simplify(tape)
            simple.check()
            expected = tape.run([x.copy() for x in program.inputs])
            found = simple.run([x.copy() for x in program.inputs])
            for a, b in zip(found, expected, strict=True):
                told = difference(a, b)
                assert told is None, (seed, what, told, program.text)


def check_operators(seed):
    """J, its transpose and products of both, simplified and dense."""
    program = OddProgram(seed, 6)
    tame = [np.where(np.isfinite(x.real), x.real, 0.0) for x in program.inputs]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("ignore", DisconnectedWarning)  # as some of them are
        try:
            J = linad.linearize(lambda *x: program(*x)[-1], *tame)[1]
            dense, transposed = np.asarray(J.todense()), np.asarray(J.T.todense())
        except LinadError:
            return
        # An infinite slope times zero is NaN in one order and 0 in another.
        steady = np.all(np.isfinite(dense)) and np.allclose(dense, transposed.T)
        steady = steady and np.all(np.isfinite(J @ np.ones(J.shape[1])))
        if not steady or dense.dtype.kind == "c":
            return
        size = 1 + np.max(np.abs(dense), initial=0.0)
        cases = [(J, dense), (J.T, dense.T)]
        if dense.size:  # an empty J shows no infinite slope that a product would multiply by 0
            cases += [(J.T @ J, dense.T @ dense), (J @ J.T, dense @ dense.T)]
        for op, expected in cases:
            found = np.asarray(op.simplified().todense())
            np.testing.assert_allclose(found, expected, atol=1e-9 * size**2, err_msg=str(seed))


@pytest.mark.rest
def test_tapes():
    for seed in range(60):
        check_tapes(seed)


def test_operators():
    for seed in range(60):
        check_operators(seed)


@pytest.mark.full
@pytest.mark.parametrize("start", range(0, 10_000, 1000))
def test_many_tapes(start):
    for seed in range(start, start + 1000):
        check_tapes(seed)


@pytest.mark.full
@pytest.mark.parametrize("start", range(0, 4000, 1000))
def test_many_operators(start):
    for seed in range(start, start + 1000):
        check_operators(seed)


REPEATED = np.array([0, 0, 1])


@pytest.mark.parametrize("n", [2, 63, 64, 65])
def test_repeated_entries(n):
    """What is scattered to a repeated entry is added up, and read back by every reader."""
    x, weights = np.linspace(0.5, 2, n), np.array([1.0, 2.0, 3.0])

    def f(x):
        return np.sum(np.sin(x[REPEATED]) * weights)

    y, tape = linad.trace(lambda x: linad.grad(f)(x)[REPEATED], x)
    np.testing.assert_allclose(simplify(tape).run([x])[0], y, rtol=1e-14)
    members = np.arange(n) // 2
    y, tape = linad.trace(lambda w: np.bincount(members, w)[members], x)
    np.testing.assert_allclose(simplify(tape).run([x])[0], y, rtol=1e-14)


def test_no_copies_and_square_roots():
    odd = np.array(ODD)
    for f in (
        lambda x: np.broadcast_to(x, (0, 6)).sum(axis=0),
        lambda x: x**0.5,
        lambda x: (x * 1j) * 1,
        lambda x: (x * 1j) ** 4,
        lambda x: np.sum(np.broadcast_to(x * 1j, (3, 6)), axis=0),
    ):
        with np.errstate(all="ignore"):
            tape = linad.trace(f, odd)[1]
            assert difference(simplify(tape).run([odd])[0], f(odd)) is None
