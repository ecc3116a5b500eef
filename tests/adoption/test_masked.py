"""Masked arrays in adopted code keep their masks around traced values."""

import numpy as np
import pytest
from near_points import differences

import linad
from linad.errors import UnsupportedError

X = np.array([1.2, 0.5, 2.0])

SOURCE = """
import numpy as np
from numpy import ma

M = np.array([False, True, False])
B = np.array([1.0, 5.0, 2.0])


def sums(x):
    m = ma.array(x, mask=M)
    return m.sum() * m.mean() + m.std() * np.sum(m) - np.ma.var(m) * m.max() / m.min() + m.count()


def with_plain(x):
    m = ma.masked_greater(B, 1.5)
    return ((m - x) * x + x * m).filled(3.0)


def functions(x):
    m = ma.masked_where(M, x)
    return (ma.log(m) + m**2 + np.sin(m) / ma.sqrt(m)).filled(0.0)


def domains(x):
    return ma.sqrt(x - 1.0).filled(7.0) * ma.divide(x, [1.0, 0.0, 2.0]).filled(3.0)


def invalid(x):
    with np.errstate(divide="ignore"):
        return ma.masked_invalid(x / [1.0, 0.0, 2.0]).compressed() ** 2


def by_value(x):
    inside = ma.masked_outside(x, 0.6, 3.0)
    return inside.sum() if isinstance(inside, np.ma.MaskedArray) and type(inside) else 7.0 * x


def written(x):
    m = ma.array(x, mask=M, copy=True)
    m[0] = x[2] ** 2
    m[1:] *= 2
    m[1] = ma.masked
    return m.filled(0.0) * ma.getmaskarray(m).sum()


def of_one(x):
    m = ma.array(x, mask=~M)
    spread = np.std(m, ddof=1)
    trimmed = ma.masked_where(np.abs(m - np.mean(m)) > 3 * spread, m)
    return x * (2.0 if spread is ma.masked else 3.0) * (1 + trimmed.count()) + ma.std(x)


def weights(x):
    m = ma.array(x, mask=M)
    return ma.average(m, weights=x) + ma.median(m) + ma.dot(m, B) + (m.anom() ** 2).sum()


def joined(x):
    m = ma.concatenate([ma.array(x, mask=M), ma.array(B)])
    return m.mean() * ma.where(M, ma.array(x), 2 * x).sum() * ma.atleast_2d(x).T[0]


def entries(x):
    total = 0.0
    for v in ma.array(x, mask=M):
        total = total + (0.0 if v is ma.masked else v**2)
    return total


def along_axes(x):
    m = ma.array(x.reshape(3, 1) * B, mask=[M, M, ~M])
    return m.var(axis=0).filled(0.0) + m.sum(axis=1).filled(0.0) + m.T.reshape(9)[:3].filled(1.0)


def products(x):
    m = ma.asarray([1.0, 0.5, 2.0])
    return np.dot(np.outer(x, x), m - x) + np.dot(m, x)


def viewed(x):
    return (np.asarray(x).view(np.ma.MaskedArray) * 2).data


def unseen(x):
    return np.trapezoid(ma.array(x, mask=M))
"""

NAMES = [line[4:].partition("(")[0] for line in SOURCE.splitlines() if line.startswith("def ")]


@pytest.mark.parametrize("name", [n for n in NAMES if n != "unseen"])
def test_masked_arrays(installed, name):
    package = installed(SOURCE)
    f = getattr(package, name)
    expected, value = differences(f, X), np.asarray(f(X))
    with linad.adopt(package.__name__):
        y, J = linad.linearize(f, X)
    np.testing.assert_allclose(y, value, rtol=1e-13)
    with np.errstate(invalid="ignore"):  # of entries that are masked then
        found = np.reshape(J @ np.eye(3), expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.rest
def test_jitted(installed):
    package = installed(SOURCE)

    def f(x):
        return package.sums(x) + package.functions(x).sum()

    with linad.adopt(package.__name__):
        jitted = linad.jit(f)
        jitted(X)
        slope, eager = linad.grad(jitted)(1.1 * X), linad.grad(f)(1.1 * X)
    np.testing.assert_allclose(slope, eager, rtol=1e-12)


def test_plain_masked_arrays_are_numpys(installed):
    package = installed(SOURCE)
    with linad.adopt(package.__name__):
        assert type(package.ma.array(X)) is np.ma.MaskedArray
        masked = np.ma.array(X, mask=package.M)
        assert package.entries(X) == (masked**2).sum()


def test_functions_that_would_not_see_the_mask(installed):
    package = installed(SOURCE)
    with (
        linad.adopt(package.__name__),
        pytest.raises(UnsupportedError, match=r"numpy\.trapezoid .* would not see the mask"),
    ):
        linad.jacobian(package.unseen)(X)
