"""Running sums, recurrences, positions and segments in kernels against NumPy."""

import numpy as np
import pytest
from compiled_runs import check_compiled

from linad.core.primitive import Primitive

recurrence = Primitive.registry["recurrence"]
segment_sum = Primitive.registry["segment_sum"]
allpole = Primitive.registry["allpole"]
running_mean = Primitive.registry["running_mean"]
first_attaining = Primitive.registry["first_attaining"]

VIEWS = {
    "whole": lambda x: x,
    "backward, with gaps": lambda x: x[::-1, :, ::2],
    "permuted": lambda x: x.transpose(2, 0, 3, 1),
}
CASTS = {
    "float64": lambda x: x,
    "float32": lambda x: np.astype(x, np.float32),
    "complex128": lambda x: x + 1j * x[::-1],
    "int64": lambda x: np.astype(np.rint(x * 3), np.int64),
}


def numbers():
    return np.random.default_rng(0).normal(size=(4, 1, 5, 3))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", CASTS)
def test_along_each_axis(dtype, view):
    check_each_axis(dtype, view)


def test_along_each_axis_compiled():
    check_each_axis("float64", "whole")


def check_each_axis(dtype, view):
    def f(x):
        x = VIEWS[view](CASTS[dtype](x))
        results = []
        for axis in range(4):
            results += [np.cumsum(x, axis=axis), np.cumprod(x, axis=axis)]
            if x.dtype.kind != "c":
                results += [np.argmax(x, axis=axis), np.argmin(x, axis=axis - 4), np.argmax(x)]
            if x.dtype.kind == "i":
                continue
            starts = np.arange(0, x.shape[axis], 2)
            results.append(segment_sum(x, starts=starts, axis=axis))
            results.append(recurrence(0.5 * x, x, axis=axis - 4, backward=False))
            results.append(
                recurrence(0.5 * (x if axis == 0 else x[:1]), x, axis=axis, backward=True)
            )
        return results

    check_compiled(f, numbers(), rtol=1e-4 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum], ids=["maximum", "minimum"])
def test_first_attaining(ufunc):
    x = np.rint(2 * numbers())
    x[0, 0, 1, 1] = x[1, 0, 0, 0] = x[1, 0, 3, 0] = np.nan
    x[2, 0, 2:, 1] = np.inf

    def f(x):
        return [first_attaining(x, axis=k, ufunc=ufunc) for k in range(4)]

    check_compiled(f, x)


def test_not_a_number_is_extreme():
    x = np.array([[1.0, np.nan, 3.0, np.nan], [np.nan, 5.0, 5.0, 1.0], [2.0, 7.0, 7.0, -1.0]])
    check_compiled(lambda x: [np.argmax(x, 1), np.argmin(x, 1), np.argmax(x, 0), np.argmin(x)], x)
    check_compiled(lambda x: [np.argmax(x > 2, 1), np.argmin(x > 2, 0)], x)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [d for d in CASTS if d != "int64"])
@pytest.mark.parametrize("order", [1, 2, 3, 8])
def test_filters(order, dtype, view):
    check_filters(order, dtype, view)


def check_filters(order, dtype, view):
    def f(a, x):
        a, x = CASTS[dtype](a), VIEWS[view](CASTS[dtype](x))
        means = [running_mean(x, size=k + 1) for k in range(x.shape[-1])]
        return [allpole(a, x), allpole(a, x[..., ::-1]), *means]

    a = np.append(1.7, 0.2 * np.arange(1, order))
    check_compiled(f, a, numbers(), rtol=1e-4 if dtype == "float32" else 1e-12)


def test_filters_round_as_scipys():
    x, a = np.random.default_rng(1).normal(size=(2, 50)), np.array([1.0, -0.9, 0.3, 0.1])
    for f in (lambda a, x: allpole(a, x), lambda a, x: running_mean(x, size=7)):
        for entry in (0.5, np.inf, np.nan):
            x[1, 20] = entry
            check_compiled(f, a, x, rtol=0)
    check_filters(3, "complex128", "permuted")
