"""NumPy's functions at arguments in every form NumPy takes: values, types, errors, derivatives.

`odd_arguments.txt` lists expressions; reductions and ufuncs are tried with all their options
here. A traced call must give NumPy's value in NumPy's shape and dtype, or NumPy's error; its
forward mode must agree with differences of six values, its reverse mode with its forward mode.
"""

import itertools
import pathlib

import numpy as np
import pytest
from survey.numpy_calls import quiet
from survey.table import leaves

import linad
from linad.core.primitive import Traced

generator = np.random.default_rng(0)


def uniform(*shape):
    return generator.uniform(0.2, 0.9, shape)


ARRAYS = {
    "M": uniform(3, 4),
    "F": np.asfortranarray(uniform(3, 4)),
    "V": uniform(5),
    "SORTED": np.sort(uniform(5)),
    "R": uniform(3),
    "C": uniform(2, 3, 4),
    "S": np.array(0.47),
    "Q": uniform(3, 3) + 2 * np.eye(3),
    "B": uniform(2, 3, 3) + 2 * np.eye(3),
    "TALL": uniform(5, 3),
    "Z": uniform(3, 3) + 2 * np.eye(3) + 1j * uniform(3, 3),
    "ZV": uniform(5) + 1j * uniform(5),
    "E0": np.zeros((0, 3)),
    "E1": np.zeros((2, 0, 3)),
}
NAMES = {"np": np, "A": uniform(3, 4), **{k: v.copy() for k, v in ARRAYS.items()}}
NAMES["MASK"] = NAMES["A"] > 0.5
NAMES["MIDDLE"] = np.array([[True], [False], [True]])
NAMES["HALF"] = NAMES["A"].astype(np.float32)

STEP = 1e-5
WEIGHTS = {1: 45, 2: -9, 3: 1}  # of differences of order 6


def numbers(result):
    """What of a result can have a derivative, or is traced."""
    found = [leaf for leaf in leaves(result) if leaf is not None]
    return [x for x in found if np.dtype(getattr(x, "dtype", type(x))).kind in "fc"]


def outcome(f, x):
    """The leaves of a result, or the error."""
    try:
        return list(leaves(f(x.copy(order="K"))))
    except Exception as error:
        return error


def check(expression, x):
    def f(x):
        return eval(expression, NAMES | {"x": x})

    def g(x):
        result = f(x)
        traced[:] = leaves(result)
        return [y if hasattr(y, "dtype") else np.float64(y) for y in numbers(result)] or [x]

    traced = []
    with quiet():
        expected = outcome(f, x)
        if isinstance(expected, Exception):
            with pytest.raises(type(expected)):
                linad.linearize(g, x)
            return
        y, J = linad.linearize(g, x)
        assert len(traced) == len(expected)
        if x.flags.c_contiguous and "order" not in expression and "reduce" not in expression:
            for a, b in zip(traced, expected, strict=True):
                # Whether a reshaped or flat result is a view hangs on its layout.
                if isinstance(a, Traced) and b.ndim > 1:
                    assert a.concrete.flags.c_contiguous == b.flags.c_contiguous
        floats = iter(y)
        for a, b in zip(traced, expected, strict=True):
            a = next(floats) if np.asarray(b).dtype.kind in "fc" else a
            a, b = np.asarray(a), np.asarray(b)
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            rtol = 1e-5 if b.dtype in (np.float32, np.complex64) else 1e-12
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-13)
        if numbers(expected):
            check_derivative(f, J, x)


def check_derivative(f, J, x):
    rng = np.random.default_rng(1)
    v = rng.standard_normal(x.shape) + (
        1j * rng.standard_normal(x.shape) if x.dtype == "c16" else 0
    )
    v = v.astype(x.dtype)
    pushed = J.pushforward(v)
    single = any(np.asarray(p).dtype in (np.float32, np.complex64) for p in pushed)
    step = 300 * STEP if single else STEP
    differences = [np.zeros(np.shape(p), complex) for p in pushed]
    for (k, weight), sign in itertools.product(WEIGHTS.items(), (1, -1)):
        shifted = x.copy(order="K")
        shifted += sign * k * step * v
        for total, y in zip(differences, numbers(f(shifted)), strict=True):
            total += sign * weight / (60 * step) * np.asarray(y)
    tol = 3e-3 if single else 1e-6
    for p, d in zip(pushed, differences, strict=True):
        np.testing.assert_allclose(p, d, rtol=tol, atol=tol)
    w = [rng.standard_normal(np.shape(p)).astype(np.asarray(p).dtype) for p in pushed]
    forward = sum(np.sum(np.conj(a) * b) for a, b in zip(w, pushed, strict=True))
    reverse = np.sum(np.conj(J.pullback(w)) * v)
    tol = 1e-5 if single else 1e-9
    np.testing.assert_allclose(np.real(reverse), np.real(forward), rtol=tol, atol=tol)


TEXT = (pathlib.Path(__file__).parent / "odd_arguments.txt").read_text()
ROWS = [row.rpartition(" ; ") for row in TEXT.splitlines() if row and not row.startswith("#")]


@pytest.mark.parametrize("expression, _, arrays", ROWS, ids=[row[0] for row in ROWS])
def test_expression(expression, _, arrays):
    for name in arrays.split():
        check(expression, ARRAYS[name])


REDUCTIONS = ["sum", "prod", "max", "min", "mean", "std", "var", "median"]
REDUCTIONS += [f"nan{name}" for name in REDUCTIONS]
AXES = ["", "axis=None", "axis=-1", "axis=0", "axis=()", "axis=(0, -1)", "axis=(0, 0)", "axis=5"]
TAKE_INITIAL = {"sum", "prod", "max", "min", "nansum", "nanprod", "nanmax", "nanmin"}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name):
    moment = name.removeprefix("nan") in ("std", "var")
    options = [f"{axis}, {keep}" for axis in AXES for keep in ("", "keepdims=True")]
    for option in options:
        option = option.strip(", ")
        arrays = ("M", "C", "V") if moment and "()" in option else ("M", "C", "V", "F")
        for array in arrays:
            check(f"np.{name}(x, {option})", ARRAYS[array])
    for option in ("", "axis=None", "keepdims=True", "axis=()"):
        check(f"np.{name}(x, {option})", ARRAYS["S"])
    if "median" not in name:
        initial = "initial=0.3, " if name.endswith(("max", "min")) else ""
        check(f"np.{name}(x, {initial}where=MASK)", ARRAYS["M"])
        check(f"np.{name}(x, {initial}where=MIDDLE, axis=0, keepdims=True)", ARRAYS["M"])
    if not name.endswith(("median", "max", "min")):
        dtypes = ["np.float32", "complex"]
        if name not in ("std", "var"):  # these round on the way, and raise here
            dtypes.append("int")
        for dtype in dtypes:
            check(f"np.{name}(x, dtype={dtype})", 10 * ARRAYS["M"])
    if name in TAKE_INITIAL:
        check(f"np.{name}(x, initial=0.55)", ARRAYS["M"])
        check(f"np.{name}(x, initial=0.5, axis=0, keepdims=True)", ARRAYS["E0"])
    if moment:
        check(f"np.{name}(x, axis=(0, 1), ddof=2, keepdims=True)", ARRAYS["M"])
        check(f"np.{name}(x, correction=1)", ARRAYS["M"])
        check(f"np.{name}(x, mean=np.mean(x, axis=1, keepdims=True), axis=1)", ARRAYS["M"])


UFUNCS = [u for u in vars(np).values() if isinstance(u, np.ufunc) and not u.signature]
UNARY = sorted({u.__name__ for u in UFUNCS if u.nin == 1 and u.nout == 1 and "d->d" in u.types})
BINARY = sorted({u.__name__ for u in UFUNCS if u.nin == 2 and u.nout == 1 and "dd->d" in u.types})
NOT_HERE = {"arccosh"}  # defined from 1 on


@pytest.mark.parametrize("name", [name for name in UNARY if name not in NOT_HERE])
def test_unary_ufunc(name):
    for call in (
        "x",
        "x, dtype=np.float32",
        "x, order='F'",
        "x, where=True",
        "x, out=np.zeros_like(x), where=MASK",
        "x, where=x > 0.5, out=x",
        "x, out=(x,)",
        "x, None",
    ):
        check(f"np.{name}({call})", ARRAYS["M"])
    check(f"np.{name}(x)", ARRAYS["S"])
    check(f"np.{name}(x)", ARRAYS["E1"])


@pytest.mark.parametrize("name", BINARY)
def test_binary_ufunc(name):
    for call in (
        "x, A",
        "x, 2",
        "x, HALF",
        "x, x * 3",
        "x, A[0]",
        "A[:, :1], x",
        "x, [1, 2, 3, 4]",
    ):
        check(f"np.{name}({call})", ARRAYS["M"])
    for call in ("x, True", "0.7, x", "x, np.array(0.4)", "x, A, where=MASK, out=x * 1"):
        check(f"np.{name}({call})", ARRAYS["F"])
    check(f"np.{name}(x, np.zeros((0, 3, 4)))", ARRAYS["M"])
    check(f"np.{name}(A, x)", ARRAYS["S"])
    check(f"np.{name}.outer(x, [1.0, 2.0])", ARRAYS["V"])
    check(f"np.{name}.accumulate(x, axis=1)", ARRAYS["M"])


# NumPy's own of the others read wrong entries on some processors, and raise here.
@pytest.mark.parametrize("name", [name for name in BINARY if name not in ("power", "arctan2")])
def test_reduction_by_a_ufunc(name):
    for call in ("x", "x, axis=1", "x, axis=-1, keepdims=True", "x, axis=None", "x, axis=(0, 1)"):
        check(f"np.{name}.reduce({call})", ARRAYS["M"])
    check(f"np.{name}.reduce(x, dtype=np.float64, axis=0)", ARRAYS["F"])
    check(f"np.{name}.reduceat(x, [0, 2, 1], axis=1)", ARRAYS["M"])
    check(f"np.{name}.reduceat(x, [0, 3])", ARRAYS["V"])
    if getattr(np, name).identity is not None:
        check(f"np.{name}.reduce(x, axis=0, initial=0.5, where=MASK)", ARRAYS["M"])


def test_reduction_of_nothing():
    """NaN, with the warning that NumPy gives, and a derivative of the right shape."""
    for function in (np.mean, np.median, np.nanmean, np.nanmedian, np.var, np.std):
        with pytest.warns(RuntimeWarning):
            y, J = linad.linearize(lambda x, f=function: f(x, axis=0), ARRAYS["E0"])
        assert np.isnan(y).all()
        assert J.shape == (3, 0)
        y, J = linad.linearize(lambda x, f=function: f(x, axis=1), ARRAYS["E0"])
        assert y.shape == (0,)
        assert J.shape == (0, 0)


def test_deviations_of_equal_entries():
    """0, also where some are left out."""
    x = np.array([[1.0, 1.0, 5.0], [2.0, 2.0, np.nan]])
    for f in (
        lambda x: np.std(x, axis=1, where=[True, True, False]),
        lambda x: np.nanstd(x[1]),
        lambda x: np.nanstd(x[:, :2], axis=()),
    ):
        y, J = linad.linearize(f, x)
        assert not np.any(np.nan_to_num(y))
        assert not np.any(J.pullback(np.ones_like(y))[x == x])
