"""What adopted code calls in place of `math`, `cmath`, methods of plain arrays and statements that
write: each of them, in a function of its own."""

import cmath
import inspect
import math
import types

import numpy as np
import pytest

import linad
from linad.adoption import fast_reductions

X = np.array([0.3, 0.5, 0.7])

WHOLE = ["comb", "factorial", "gcd", "isqrt", "lcm", "nextafter", "perm", "ulp"]
"""Functions of whole numbers, or of the numbers that a computer has."""

ARGUMENTS = {
    **dict.fromkeys(
        ["atan2", "copysign", "fmod", "pow", "remainder", "isclose", "rect"], "x[0], x[1]"
    ),
    **dict.fromkeys(["fsum", "prod"], "[x[0], x[1], 2.0]"),
    **dict.fromkeys(["dist", "sumprod"], "[x[0], x[1]], [x[1], x[2]]"),
    **dict.fromkeys(["floor", "ceil", "trunc", "modf"], "5 * x[1]"),
    "acosh": "1 + x[0]",
    "fma": "x[0], x[1], x[2]",
    "hypot": "x[0], x[1], x[2]",
    "ldexp": "x[0], 3",
    "log": "x[0], 1 + x[1]",
}
FUNCTION = """
def {name}(x):
    found = {module}.{name}({arguments})
    return x[1] * (found[0] + 2 * found[1] if isinstance(found, tuple) else found)
"""
OF_COMPLEX = """
def {name}(x):
    z = complex(x[0], x[1])
    found = {module}.{name}({arguments})
    if isinstance(found, tuple):
        return found[0] + 2 * found[1]
    return x[0] * (found.real + 2 * found.imag)
"""


def names(module):
    """The functions of a module that compute with numbers."""
    return sorted(n for n, f in vars(module).items() if inspect.isbuiltin(f) and n not in WHOLE)


def check(f, x=X, h=1e-6):
    expected = np.stack(
        [(np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))) / (2 * h) for e in np.eye(x.size)],
        axis=-1,
    )
    y, J = linad.linearize(f, x)
    np.testing.assert_allclose(y, f(x), rtol=1e-14, err_msg=f.__name__)
    found = (J @ np.eye(x.size)).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, atol=1e-7, err_msg=f.__name__)


@pytest.mark.parametrize("module", [math, cmath], ids=lambda m: m.__name__)
def test_functions_of_numbers(module, installed):
    source, usual = (FUNCTION, "x[0]") if module is math else (OF_COMPLEX, "z")
    arguments = ARGUMENTS if module is math else {"rect": "x[0], x[1]", "isclose": "z, z"}
    package = installed(
        f"import {module.__name__}\n"
        + "".join(
            source.format(module=module.__name__, name=n, arguments=arguments.get(n, usual))
            for n in names(module)
        )
    )
    with linad.adopt(package):
        for name in names(module):
            check(getattr(package, name))


METHODS = """
import numpy as np

nodes = np.array([0.1, 0.6])

def dot(x):
    return nodes.dot(x[:2])

def clip(x):
    return nodes.clip(x[0], x[1])

def searchsorted(x):
    return nodes.searchsorted(x[1]) * x[0]
"""

WRITES = """
import numpy as np

START = np.ones(2)

class Model:
    def __init__(self):
        self.y = START.copy()

def write(x):
    y = START.copy()
    y[0] = x[0]
    return y

def update(x):
    y = START.copy()
    y *= x[:2]
    return y

def update_entry(x):
    y = START.copy()
    y[0] -= x[0]
    return y

def write_attribute(x):
    model = Model()
    model.y[0] = x[0]
    return model.y * 1

def update_whole(x):
    model = Model()
    model.y += x[:2]
    return model.y * 1

def update_attribute(x):
    model = Model()
    model.y[0] += x[0]
    model.y[0] *= x[1]
    return model.y * 1

def pick(x):
    table = {"plain": max, "root": np.sqrt}
    return table["root"]([x[0], x[1]])

def form(x):
    import math
    return math.sqrt(x[0])
"""


@pytest.mark.parametrize("source", [METHODS, WRITES], ids=["methods", "writes"])
def test_methods_and_statements(source, installed):
    package = installed(source)
    with linad.adopt(package):
        for f in [f for f in vars(package).values() if inspect.isfunction(f)]:
            check(f)


def test_reductions_of_bottleneck():
    fast = types.ModuleType("bottleneck")
    for name in fast_reductions._NAMES:
        setattr(fast, name, getattr(np, name))
    forms = fast_reductions.reductions(fast)
    x, h = np.array([[0.3, np.nan, 1.2], [0.5, 2.0, 1.7]]), 1e-6
    w = np.array([0.2, 0.4, 0.7])
    for name in ("nansum", "nanmean", "nanstd", "nanvar", "nanmin", "nanmax", "nanmedian"):
        form = forms[name]
        assert form(x, 1)[1] == getattr(np, name)(x[1])
        slope = linad.jacobian(lambda s, form=form: form(x + s * w, 1))(2.0)
        near = form(x + (2.0 + h) * w, 1) - form(x + (2.0 - h) * w, 1)
        np.testing.assert_allclose(slope, near / (2 * h), rtol=1e-7)
    spread = linad.grad(lambda s: forms["nanstd"](s * x[1], None, 1))(2.0)
    np.testing.assert_allclose(spread, np.nanstd(x[1], ddof=1), rtol=1e-12)


class Degrees:
    """A number of a package's own, as classes of angles are."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return float(self.value % 360.0)


def test_float_of_a_class_with_a_number():
    def f(x):
        return float(Degrees(370.0 + x[0])) ** 2 * float(Degrees(4.0))

    with linad.adopt(f, Degrees):
        check(f)
        assert type(float(Degrees(4.0))) is float


class Holder:
    """A class of a package's own around an array."""

    def __init__(self, a):
        self.array = np.array(a, dtype=float)

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __mul__(self, other):
        return Holder(self.array @ np.asarray(other))


def holders(x):
    m = Holder(x.reshape(2, 2))
    return np.asarray(m * m) + np.hstack([np.ones((2, 1)), m])[:, 1:] + np.array(m) + np.add(m, 1.0)


def test_objects_that_hold_traced_arrays_are_arrays_where_numpy_asks():
    x = np.arange(4.0) + 1
    with linad.adopt(holders, Holder):
        found = linad.linearize(holders, x)[0]
        J = linad.jacobian(holders)(x)
    np.testing.assert_allclose(found, holders(x))
    X, one = x.reshape(2, 2), np.eye(2)
    expected = np.kron(one, X.T) + np.kron(X, one) + 3 * np.eye(4)
    np.testing.assert_allclose(J.reshape(4, 4), expected)


class Product:
    """An object that says how to be an array, and has operators that NumPy's arrays never ask."""

    def __init__(self, a):
        self.array = a

    def __array__(self, dtype=None, copy=None):
        return self.array

    def __rmul__(self, other):
        return 10.0


ASKED = {
    "times": lambda x: x * Product(X),
    "times traced": lambda x: x * Product(x),
    "number": lambda x: x[0] * Product(X) + x,
    "matrix product": lambda x: x @ Product(X),
    "minus": lambda x: x**2 - Product(x),
}


@pytest.mark.parametrize("name", ASKED)
def test_operators_ask_objects_as_arrays_do(name):
    f = ASKED[name]
    found, J = linad.linearize(f, X)
    np.testing.assert_allclose(found, f(X))
    dx = np.array([0.2, -0.1, 0.4])
    np.testing.assert_allclose(
        J @ dx, (f(X + 1e-6 * dx) - f(X - 1e-6 * dx)) / 2e-6, rtol=1e-6, atol=1e-8
    )


NAMED_INSIDE = """
import numpy as np

KNOTS = np.arange(3.0)

def rotated(x):
    from scipy.spatial.transform import Rotation

    return Rotation.from_rotvec(x[:3]).as_matrix().sum(axis=0)

def spline(x):
    from scipy import interpolate as i

    return i.BSpline.basis_element([0.0, 1.0, 2.0, 3.5])(x[:2]) * i.CubicSpline(KNOTS, x)(0.7)

def largest(x):
    import scipy as sp

    A = sp.sparse.coo_array((x, ([0, 1, 2], [1, 2, 0])), shape=(4, 4)).tocsr()
    return sp.sparse.linalg.svds(A, k=1, v0=np.ones(4), rng=0)[1]

def framed(x):
    s = x.strides[0]
    return np.lib.stride_tricks.as_strided(x, (2, 2), (s, s)).sum(axis=1)
"""


def test_classes_and_modules_by_names_of_the_function_itself(installed):
    package = installed(NAMED_INSIDE)
    with linad.adopt(package):
        for name in ("rotated", "spline", "largest", "framed"):
            check(getattr(package, name))
