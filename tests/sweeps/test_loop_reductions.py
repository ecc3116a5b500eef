"""Reductions in loops against NumPy: axes, views, dtypes, NaN."""

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.sweeps.cpu.target import CPU

FUNCTIONS = {
    "sum": np.sum,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "fmax": np.fmax.reduce,
    "fmin": np.fmin.reduce,
    "all": np.all,
    "any": np.any,
    "count_nonzero": np.count_nonzero,
    "and": np.logical_and.reduce,
    "or": np.logical_or.reduce,
    "xor": np.logical_xor.reduce,
}
VIEWS = {
    "whole": lambda x: x,
    "backward, with gaps": lambda x: x[::-1, :, ::2],
    "permuted": lambda x: x.transpose(2, 0, 3, 1),
    "reversed": lambda x: x[:, :, :, ::-1].transpose(3, 2, 1, 0),
}
CASTS = {
    "float64": lambda x: x,
    "float32": lambda x: np.astype(x, np.float32),
    "complex128": lambda x: x + 1j * x[::-1],
    "int64": lambda x: np.astype(np.rint(np.where(x == x, x, 0) * 3), np.int64),
    "int32": lambda x: np.astype(np.rint(np.where(x == x, x, 0) * 3), np.int32),
    "bool": lambda x: x > 0,
}
REAL_ONLY = {"max", "min", "fmax", "fmin"}


AXES = [(0,), (3,), (1, 2), (0, 2), (0, 1, 2, 3)]


@pytest.mark.parametrize(
    "dtype, view",
    [("float64", view) for view in VIEWS] + [(d, "permuted") for d in CASTS if d != "float64"],
)
@pytest.mark.usefixtures("kernels")
def test_axes(dtype, view):
    check_axes(dtype, view)


def test_axes_compiled():
    check_axes("float64", "permuted")


def check_axes(dtype, view):
    x = np.random.default_rng(0).normal(size=(4, 1, 5, 3))
    x[0, 0, 1, 1] = np.nan
    x[1, 0, :, 0] = np.nan
    names = [n for n in FUNCTIONS if not (dtype == "complex128" and n in REAL_ONLY)]
    if dtype not in ("float64", "float32"):
        names = [n for n in names if n not in ("fmax", "fmin")]

    def f(x):
        x = VIEWS[view](CASTS[dtype](x))
        results = [FUNCTIONS[n](x, axis=a) for n in names for a in AXES if n != "xor"]
        return results + [FUNCTIONS["xor"](x, axis=k) for k in (0, 3)]

    check_compiled(f, x, rtol=1e-4 if dtype == "float32" else 1e-12)


def test_of_a_number_and_of_axes_of_length_one():
    check_compiled(lambda x: [np.sum(x), np.max(x), np.all(x > 0), np.any(x > 1)], np.array(0.5))
    check_compiled(lambda x: [np.sum(x, 0), np.prod(x, 1), np.min(x)], np.array([[0.5]]))


def test_large_sums_are_accurate():
    x = np.full(1_000_003, 0.1, np.float32)
    check_compiled(np.sum, x, rtol=3e-6)
    check_compiled(np.sum, x.astype(np.float64), rtol=1e-13)
    y, tape = linad.trace(lambda x: np.sum(x[:1_000_000].reshape(1000, 1000), axis=0), x)
    # Down the rows NumPy adds one after the other, and is 1e-5 off.
    np.testing.assert_allclose(CPU.compile(tape).run([x])[0], 100.0, rtol=3e-6)
    np.testing.assert_allclose(y, 100.0, rtol=2e-5)


def test_large_counts():
    """Parts of a long loop are counted one by one; their counts are added up."""
    x = np.arange(300_000.0) - 1000
    check_compiled(lambda x: np.count_nonzero(x > 0), x)
    check_compiled(lambda x: [np.all(x > -1e6), np.any(x < -999), np.all(x > 0)], x)


def test_arguments_by_position():
    x = np.arange(6.0).reshape(2, 3) - 2
    check_compiled(lambda x: [np.all(x, 0), np.any(x > 3, 1), np.all(x, (0, 1))], x)


def test_many_rows_reduced_to_one():
    x = np.random.default_rng(0).normal(size=(70_000, 4))
    check_compiled(
        lambda x: [np.sum(x, 0), np.max(x, 0), np.all(x > -9, axis=0), np.sum(x > 0, axis=0)], x
    )


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in REAL_ONLY])
def test_of_no_entries(name):
    def f(x):
        results = []
        for cast in (np.float32, np.complex128, np.int64, bool):
            y = np.astype(x, cast)
            for axis in (0, 1):
                results.append(FUNCTIONS[name](y[:, :0] if axis else y[:0], axis=axis))
        return results

    check_compiled(f, np.ones((2, 3)))
