"""The table in README.md, row by row: what traces, what raises, and the remedies.

The keys of both dictionaries are the cells of the table; a row without a test fails, and so does
a test without a row.
"""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse
import scipy.special

import linad
import linad.numpy as lnp
from linad.errors import LinadError
from linad.scipy import (
    integrate as traced_integrate,
    interpolate,
    linalg as traced_linalg,
    ndimage,
    signal,
)

X = np.array([0.3, 0.7, 1.1])
R = np.array([1.0, -2.0, 0.5])
A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, -1.0], [0.0, 0.5, 2.0]])
S = scipy.sparse.csr_array(A)
README = Path(__file__).resolve().parents[2] / "README.md"


def written(make):
    """A function of x that writes into an array it has made."""

    def f(x):
        y = make(x)
        y[0] = x[0] * x[1]
        y[1:] += x[1:]
        return y * x

    return f


def assigned(x):
    x[0] = x[1] * 2
    x += 1
    return x * x


def through_views(x):
    y = np.zeros_like(x)
    middle = y[1:]
    middle[:] = x[:2] ** 2
    return np.sin(y, out=y)


def branches(x):
    y = x
    while np.sum(y) < 10:
        y = y * 2 if y[0] > 0 else -y
    print(y)
    return y * max(x[0], 0.0) * np.stack(sorted(x))


def added_to_plain(x):
    y = np.zeros(3)
    y += x
    return y


def doubled(x):
    return scipy.ndimage.correlate1d(x, [0.0, 2.0, 0.0])


own_rule = linad.primitive(doubled)
own_rule.jacobian(wrt=0)(lambda y, x: 2.0 * linad.eye(3))

TRACES = {
    "operators, `@`, ufuncs": [
        lambda x: A @ np.sin(x) + R / x,
        lambda x: np.add.reduce(x * x) * np.multiply.accumulate(x),
        lambda x: np.multiply.outer(x, R),
        lambda x: np.add.reduceat(x * x, [0, 2]),
    ],
    "`np.sum`, `where`": [
        lambda x: np.sum(x**2) + np.where(x > 0.5, x, 0),
        lambda x: np.einsum("i,ij->j", x, A) * np.sort(x),
        lambda x: np.concatenate([x, R]) * np.pad(x, (1, 2)),
        lambda x: np.interp(0.4, [0.0, 0.5, 1.0], x),
        lambda x: np.cov(np.stack([x, R])),
    ],
    "`np.linalg`, `np.fft`": [
        lambda x: np.linalg.solve(A + np.outer(x, x), R),
        lambda x: np.abs(np.fft.rfft(x)),
    ],
    "methods": [lambda x: x.sum() * x.reshape(1, 3).T],
    "`x[1:]`": [lambda x: x[1:] * x[[2, 0]] * x[x > 0.5]],
    "`x[0] = s`": [assigned, through_views],
    "`if s > 0`": [branches],
    "most ufuncs of `scipy.special`": [
        lambda x: scipy.special.erf(x) + scipy.special.gammaln(x),
        lambda x: scipy.special.jv(1, x) * scipy.special.expit(x),
    ],
    "`x * [s, 1.0]`": [
        lambda x: x * [x[0], 1.0, x[1]],
        lambda x: np.dot([x[0], x[1], x[0]], x),
    ],
    "`A @ x` for a sparse": [lambda x: S @ (x * x), lambda x: (x * x) @ S],
    "`y = np.zeros_like(x)`": [
        written(np.zeros_like),
        written(lambda x: np.zeros(3, like=x)),
    ],
}

RAISES = {
    "`y = np.zeros(n)`, then": (
        [written(lambda x: np.zeros(3)), added_to_plain],
        [written(lambda x: np.zeros(3, like=x)), written(lambda x: lnp.zeros(3))],
    ),
    "`np.array([s, 1.0])`": (
        [
            lambda x: np.array([x[0], 1.0]),
            lambda x: np.full(3, x[0]),
            lambda x: np.r_[x, 1],
        ],
        [
            lambda x: np.stack([x[0] ** 2, 1.0]),
            lambda x: lnp.array([x[0] ** 2, 1.0]),
            lambda x: lnp.full(3, x[0] ** 2),
            lambda x: lnp.r_[x**2, 1],
        ],
    ),
    "`np.asarray(x)`": ([np.asarray], [lambda x: lnp.asarray(x) ** 2]),
    "`np.sum([s, s])`": (
        [
            lambda x: np.sum([x[0], x[1]]),
            lambda x: np.stack([[x[0], x[1]], [x[2], x[0]]]),
        ],
        [
            lambda x: np.sum(np.stack([x[0] ** 2, x[1]])),
            lambda x: lnp.sum([x[0] ** 2, x[1]]),
            lambda x: lnp.array([[x[0], x[1]], [x[2], x[0]]]) ** 2,
        ],
    ),
    "`r.dot(x)`": (
        [lambda x: R.dot(x), lambda x: A.T.dot(x)],
        [lambda x: (A @ x) * np.dot(R, x)],
    ),
    "`float(s)`": (
        [
            lambda x: float(x[0]) * x,
            lambda x: int(x[0]) * x,
            lambda x: x[0].item() * x,
            lambda x: math.sin(x[0]) * x,
        ],
        [lambda x: np.sin(x[0]) * x],
    ),
    "`scipy.integrate.solve_ivp`, `scipy.linalg.solve`": (
        [
            lambda x: scipy.integrate.solve_ivp(lambda t, y: -x * y, (0.0, 1.0), x).y,
            lambda x: scipy.linalg.solve(A, x),
            lambda x: scipy.linalg.expm(np.outer(x, x)),
        ],
        [
            lambda x: traced_integrate.solve_ivp(
                lambda t, y: -x * y, (0.0, 1.0), x, rtol=1e-11, atol=1e-13
            ).y[:, -1],
            lambda x: traced_linalg.solve(A, x * x),
            lambda x: traced_linalg.expm(np.outer(x, x)),
        ],
    ),
    "`scipy.signal.lfilter(b, a, x)`": (
        [
            lambda x: scipy.signal.lfilter([1.0], R, x),
            lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
            lambda x: scipy.interpolate.CubicSpline(R, x),
        ],
        [
            lambda x: signal.lfilter([1.0, x[1]], R, x),
            lambda x: ndimage.gaussian_filter(x, x[0]),
            lambda x: interpolate.CubicSpline(X, x)(x),
        ],
    ),
    "other compiled code": ([doubled], [lambda x: own_rule(x * x)]),
}

CONSTANT = {
    "integers, booleans": [lambda x: (x > 0.5) * 1.0, lambda x: np.argsort(x) * 1.0],
}


def named(table, which=None):
    return [
        pytest.param(f, id=f"{row}-{k}")
        for row, functions in table.items()
        for k, f in enumerate(functions if which is None else functions[which])
    ]


@pytest.mark.parametrize("f", [*named(TRACES), *named(RAISES, 1)])
def test_traces(f):
    linad.check_derivatives(f, X)


@pytest.mark.parametrize("f", named(RAISES, 0))
def test_raises(f):
    with pytest.raises(LinadError):
        linad.linearize(f, X)
    with pytest.raises(LinadError):
        linad.jvp(f, (X,), (X,))


@pytest.mark.parametrize("f", named(CONSTANT))
def test_has_derivative_zero(f):
    with linad.config(disconnected="ignore"):
        y, J = linad.linearize(f, X)
    np.testing.assert_array_equal(y, f(X))
    np.testing.assert_array_equal(J @ X, 0)


def test_what_stop_gradient_allows_in_a_program():
    def f(x):
        p = linad.stop_gradient(x) * 2
        return np.sum(x * float(p[0])) + math.sin(p[1]) * x[0] + x[1] * p.item(1)

    def g(x):  # which is not of what stop_gradient gave alone
        return np.sum(x * float(linad.stop_gradient(x)[0] + x[0]))

    value, gradient, outside = linad.jit(f), linad.jit(linad.grad(f)), linad.grad(linad.jit(f))
    for x in (X, X, X + 1, X):
        np.testing.assert_allclose(value(x), f(x), rtol=1e-14)
        np.testing.assert_allclose(gradient(x), linad.grad(f)(x), rtol=1e-14)
        np.testing.assert_allclose(outside(x), linad.grad(f)(x), rtol=1e-14)
    with pytest.raises(linad.errors.TracerError, match="leave float"):
        linad.jit(g)(X)


def test_what_stop_gradient_allows():
    """The concrete value, where no derivative is meant."""
    g = linad.grad(lambda x: np.sum(x * float(linad.stop_gradient(x[0]))))(X)
    np.testing.assert_array_equal(g, X[0])


def test_every_row_has_a_test():
    section = README.read_text("utf-8").split("## What traces")[1].split("\n## ")[0]
    table = re.findall(r"^\| (.+?) \| (yes|raises|constant) \|", section, re.M)
    for answer, tests in [("yes", TRACES), ("raises", RAISES), ("constant", CONSTANT)]:
        rows = [cell for cell, found in table if found == answer]
        assert len(rows) == len(tests)
        for row, test in zip(rows, tests, strict=True):
            assert row.startswith(test)
