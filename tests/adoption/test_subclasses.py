"""Subclasses of ndarray in adopted code: they keep what they carry around traced values."""

import numpy as np
import pytest
from near_points import differences

import linad
import linad.numpy as lnp
from linad.errors import TracerError, UnsupportedError

X = np.array([0.3, 0.5, 0.7])

SOURCE = '''
import math

import numpy as np


class Labelled(np.ndarray):
    """An array with a label, as NumPy's manual shows it."""

    def __new__(cls, data, label=""):
        made = np.asarray(data).view(cls)
        made.label = label
        return made

    def __array_finalize__(self, obj):
        if obj is not None:
            self.label = getattr(obj, "label", "none")

    def doubled(self):
        return 2 * self


class Point(np.ndarray):
    def __new__(cls, data):
        data = np.array(data, dtype=float)
        return super(Point, cls).__new__(cls, data.shape, float, data)

    @property
    def norm(self):
        return np.sqrt(np.sum(self.view(np.ndarray) ** 2))


class Unit(np.ndarray):
    """A unit: one number, with a name that no view has; products are lengths."""

    def __new__(cls, name, size):
        made = np.array(size).view(cls)
        made.name = name
        return made

    def __hash__(self):
        return hash((type(self), self.name))

    def __mul__(self, other):
        return np.multiply(np.asarray(self), np.asarray(other)), {self: 1}

    __rmul__ = __mul__


METRE = Unit("m", 3.0)


class Power(np.ndarray):
    """A power of metres, which sees to the results of ufuncs alone."""

    exponent = 0
    __array_priority__ = 21

    def __array_finalize__(self, obj):
        self.exponent = getattr(obj, "exponent", 0)

    def __array_wrap__(self, array, context=None, return_scalar=False):
        made = array.view(Power)
        ufunc, inputs, _ = context
        exponents = [getattr(x, "exponent", 0) for x in inputs]
        made.exponent = sum(exponents) if ufunc is np.multiply else max(exponents)
        return made


AREA = np.array([2.0, 3.0, 4.0]).view(Power)
AREA.exponent = 2


def powers(x):
    length = x.view(Power)
    length.exponent = 1
    volume = length * AREA
    other = AREA * length + x
    return volume.view(np.ndarray) * volume.exponent + other.view(np.ndarray) * other.exponent


def by_a_unit(x):
    right, name = x * METRE
    return right * list(name.values())[0] + (METRE * x)[0] + np.asarray(x[0] * METRE)


SCALES = {"m": 1.0, "km": 1000.0}


class Length(np.ndarray):
    """Numbers with a unit, whose ufuncs convert."""

    unit = None

    def __new__(cls, data, unit="m"):
        if isinstance(data, Length):
            return data.to(unit)
        made = np.array(data, dtype=float, subok=True, copy=True).view(cls)
        made.unit = unit
        return made

    def __array_finalize__(self, obj):
        above = super().__array_finalize__
        if above is not None:
            above(obj)
        if obj is not None and obj.__class__ is not np.ndarray and self.unit is None:
            self.unit = getattr(obj, "unit", None)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.metres if isinstance(x, Length) else x for x in inputs]
        result = super().__array_ufunc__(ufunc, method, *plain, **kwargs)
        return Length(result, "m") if ufunc in (np.add, np.subtract) else result

    @property
    def metres(self):
        return self.view(np.ndarray) * SCALES[self.unit]

    def to(self, unit):
        made = (self.metres / SCALES[unit]).view(type(self))
        made.unit = unit
        return made

    @classmethod
    def zero(cls):
        return cls(np.zeros(3))


def labelled(x):
    y = Labelled(x, "signal")
    z = (y * x[0] + 1.0).doubled()
    assert z.label == "signal" and isinstance(z, Labelled) and type(z) is Labelled
    assert isinstance(z, np.ndarray) and z[1:].label == "signal"
    return np.asarray(z) * np.asarray(np.exp(y))[::-1] + y.sum() * y[1] + np.sum(y.T.reshape(3))


def pointed(x):
    p = Point([x[0], x[1] * x[2], 1.0])
    return p.norm * np.asarray(p)


def lengths(x):
    far = Length(x, "km")
    total = far + Length([1.0, 2.0, 3.0]) - Length.zero()
    assert total.unit == "m" and Length(far, "m").unit == "m"
    return total.metres * np.sqrt(far) * x


def mixed(x):
    return x * Labelled(x, "right") + Labelled([1.0, 2.0, 3.0], "plain") * x


def numbers(x):
    y = Point(x)
    total = np.float64(y.dot(y)) + math.sqrt(y.sum()) + float(y[1:].sum())
    return total * x if not math.isclose(y.dot(y), 0.0) else x


def recorded(x):
    return np.asarray(x).view(np.recarray) * 2
'''


@pytest.mark.parametrize(
    "name", ["labelled", "pointed", "lengths", "mixed", "numbers", "by_a_unit", "powers"]
)
def test_subclasses(installed, name):
    package = installed(SOURCE)
    f = getattr(package, name)
    expected = differences(f, X)
    with linad.adopt(package.__name__):
        y, J = linad.linearize(f, X)
        np.testing.assert_allclose(y, np.asarray(f(X)), rtol=1e-14)
        np.testing.assert_allclose(J @ np.eye(3), expected, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(J.H @ np.eye(3), expected.T, rtol=1e-7, atol=1e-7)


def test_plain_subclasses_are_as_they_were(installed):
    package = installed(SOURCE)
    with linad.adopt(package.__name__):
        linad.jvp(package.labelled, (X,), (X,))
        y = package.Labelled(X, "plain")
        assert type(y) is package.Labelled
        assert type(y.doubled()) is package.Labelled


def test_what_is_refused(installed):
    package = installed(SOURCE)
    with pytest.raises(TracerError, match=r"linad.adopt\("):
        linad.jvp(package.labelled, (X,), (X,))
    with linad.adopt(package.__name__), pytest.raises(UnsupportedError, match="recarray"):
        linad.jvp(package.recorded, (X,), (X,))


def test_what_carries_units_beside_a_traced_value(installed):
    """Made before the derivative; without `linad.adopt` the unit would be lost in silence."""
    package = installed(SOURCE)
    far = package.Length([1.0, 2.0, 3.0], "km")

    def f(x):
        total = x * far + np.multiply(far, x) + package.Length(x)
        assert total.unit == "m"
        return total.metres

    def g(x):
        return np.asarray(x + far)

    with pytest.raises(UnsupportedError, match=r"a Length, .* linad.adopt\('standin"):
        linad.jacobian(lambda x: np.asarray(x * far))(X)
    with linad.adopt(package.__name__, g):
        np.testing.assert_allclose(linad.jacobian(g)(X), np.eye(3))
        jitted = linad.jit(g)
        jitted(X)
        np.testing.assert_allclose(linad.jacobian(jitted)(X), np.eye(3))
        far.unit = "m"
        np.testing.assert_allclose(jitted(X), g(X))


def test_code_that_is_not_adopted_takes_the_array_out(installed):
    package = installed(SOURCE)

    def f(x):
        y = package.Labelled(x, "a").doubled()
        assert lnp.asanyarray(y).label == lnp.array(y, subok=True).label == "a"
        return lnp.asarray(y) + lnp.array(y) * lnp.ascontiguousarray(y)

    with linad.adopt(package.__name__):
        np.testing.assert_allclose(linad.jacobian(f)(X), np.diag(2 + 8 * X))


def test_methods_of_plain_subclasses_of_traced_ones(installed):
    package = installed(
        SOURCE + "\n\nAXIS = Point([1.0, 2.0, 0.5])\n\n\n"
        "def along(x):\n    a = AXIS.dot(Point(x))\n    return (a * AXIS + Point(x)).norm * x\n"
    )
    with linad.adopt(package.__name__):
        J = linad.jacobian(package.along)(X)
        jitted = linad.jit(linad.jacobian(package.along))(X)
    n = np.array([1.0, 2.0, 0.5])
    y = (n @ X) * n + X
    length = np.linalg.norm(y)
    expected = np.outer(X, (np.outer(n, n) + np.eye(3)) @ y / length) + length * np.eye(3)
    np.testing.assert_allclose(J, expected)
    np.testing.assert_allclose(jitted, expected)
