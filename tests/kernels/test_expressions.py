"""What is known of constants when a kernel's adjoint is written; functions without a slope."""

import functools
import importlib.util
import math
import operator

import numpy as np
import pytest

import linad
from linad.errors import KernelError
from linad.kernels.expression_lowering import OPERATORS_BY_NAME
from linad.kernels.expressions import compared, num
from linad.kernels.scalar_functions import CANONICAL


@pytest.mark.parametrize(
    "sign, holds",
    [
        ("<", operator.lt),
        ("<=", operator.le),
        (">", operator.gt),
        (">=", operator.ge),
        ("==", operator.eq),
        ("!=", operator.ne),
    ],
)
def test_comparisons(sign, holds):
    for a in (-2, 3, 5):
        assert compared(sign, num(a), num(3)) == num(holds(a, 3))
    assert compared(sign, num(1.5), num(3)).op == sign  # floating numbers are compared later


ROUNDINGS = (math.floor, math.ceil, math.trunc, np.floor, np.ceil, np.trunc, np.rint)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("rounding", ROUNDINGS, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_roundings(rounding):
    """A factor in the slope; math's are integers, by which Python's // and % stay exact."""

    def f(x):
        total = 0.0
        for k in range(len(x)):
            total += x[k] * rounding(x[k]) + x[k] * (rounding(2 * x[k]) // 2)
        return total

    x = np.array([1.5, -0.75, 2.25])
    slopes = [rounding(v) + rounding(2 * v) // 2 for v in x]
    value, slope = linad.value_and_grad(linad.kernel(f))(x)
    assert value == f(x)
    np.testing.assert_array_equal(slope, slopes)


SPECIAL = [0.0, -0.0, 5e-324, -1e-310, 0.5, 1.0, -1.0, -1.5, 2.5, 3.0, 1e17, 750.0]
SPECIAL += [1e-200, 1e200, -1e308, np.inf, -np.inf, np.nan]
HERE = {*CANONICAL, *OPERATORS_BY_NAME} - {"bool", "float64", "int64", "max", "min"}
UFUNCS = [f for name in sorted(HERE) if isinstance(f := getattr(np, name, None), np.ufunc)]
UFUNCS = [f for f in UFUNCS if {"d->d", "dd->d"} & {*f.types}]


def kernel_of(functions, folder):
    """A kernel that applies to each row of its arguments a function of its own."""
    args = [f"x{k}" for k in range(functions[0].nin)]
    calls = [
        f"        y[{r}, i] = np.{f.__name__}({', '.join([f'{a}[{r}, i]' for a in args])})"
        for r, f in enumerate(functions)
    ]
    head = [f"def each({', '.join(args)}, y):", "    for i in range(y.shape[1]):"]
    path = folder / "functions_of_numbers.py"
    path.write_text("\n".join(["import numpy as np", "", "", *head, *calls, ""]))
    spec = importlib.util.spec_from_file_location("functions_of_numbers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = linad.kernel(module.each, error_model="numpy")

    def f(*x):
        y = np.zeros(np.shape(x[0]), like=next((v for v in x if type(v) is not np.ndarray), x[0]))
        kernel(*x, y)
        return y

    return f


@pytest.mark.rest
@pytest.mark.parametrize("count", [1, 2])
def test_special_numbers(count, tmp_path):
    """Values are NumPy's, and slopes those of linad's rules, at zeros, ties, infinities and NaN."""
    functions = [f for f in UFUNCS if f.nin == count]
    points = [a.ravel() for a in np.meshgrid(*[SPECIAL] * count)]
    x = [np.tile(a, (len(functions), 1)) for a in points]

    def eagerly(*x):
        return np.stack([f(*[v[r] for v in x]) for r, f in enumerate(functions)])

    f = kernel_of(functions, tmp_path)
    with np.errstate(all="ignore"):
        y = eagerly(*x)
        found = linad.linearize(f, *x)[0]
        if np.power in functions:  # NumPy's is a root at 1/2, of arrays
            y[functions.index(np.power)] = y[functions.index(np.pow)] = np.float_power(*points)
        np.testing.assert_allclose(found, y, rtol=1e-13)
        for k in range(count):

            def along(g, v, k=k):
                return g(*x[:k], v, *x[k + 1 :])

            for g in (
                lambda h: linad.jvp(h, (x[k],), (np.ones_like(x[k]),))[1],  # noqa: B023
                lambda h: linad.vjp(h, x[k])[1](np.ones_like(x[k])),  # noqa: B023
            ):
                kernel, rule = [
                    np.reshape(g(functools.partial(along, h)), x[k].shape) for h in (f, eagerly)
                ]
                for name, a, b in zip(functions, kernel, rule, strict=True):
                    np.testing.assert_allclose(a, b, 1e-12, err_msg=f"{name} in argument {k}")


def test_second_derivatives_at_a_tip_do_not_exist():
    def squares(x):
        return abs(x[0]) * abs(x[0]) + math.hypot(x[1], x[2]) ** 2 + math.copysign(x[3], 2.0) ** 2

    found = linad.jvp(linad.grad(linad.kernel(squares)), (np.zeros(4),), (np.ones(4),))[1]
    assert np.isnan(found).all()


def test_slopes_of_powers_and_remainders():
    def power(x, n):
        return x**n

    def rest(x, n):
        return x % n

    # The slope n x^(n - 1) is 0 at n = 0, and moves by 1 / x.
    mixed = linad.grad(lambda n: linad.grad(lambda x: linad.kernel(power)(x, n))(2.0))(0.0)
    assert mixed == 0.5
    # 1.0 // 0.1 is 9 where 1.0 / 0.1 is 10: 1.0 % 0.1 is just below 0.1.
    assert linad.grad(lambda n: linad.kernel(rest)(1.0, n))(0.1) == -9.0


def test_kinds_of_results():
    """math.fabs and math.pow make floating-point numbers of integers."""

    def f(x, n):
        a = np.full(2, math.fabs(n))
        a[0] = x
        b = np.full(2, np.sign(n))
        return a[0] * a[1] + math.pow(n, -1) + np.float_power(2, n) + np.clip(x, 0, n) + b[0] // 2

    assert linad.value_and_grad(lambda x: linad.kernel(f)(x, -2))(0.5) == (
        0.5 * 2 - 0.5 + 0.25 - 2 - 1,
        2.0,
    )


def test_bounds_that_are_nan():
    def f(x, low):
        return np.clip(x[0], low, 3.0) + np.maximum(x[1], low)

    kernel = linad.kernel(f)
    assert np.isnan(linad.linearize(lambda x: kernel(x, np.nan), np.ones(2))[0])
    np.testing.assert_array_equal(linad.grad(lambda x: kernel(x, 1.0))(np.ones(2)), [1.0, 0.5])


def test_the_remainder_of_ieee_is_none_of_numpys():
    def f(x):
        return math.remainder(x, 2.0)

    with pytest.raises(KernelError, match=r"math\.remainder .* write x - y \* np\.rint\(x / y\)"):
        linad.kernel(f)
