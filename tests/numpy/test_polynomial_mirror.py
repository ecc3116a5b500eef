"""numpy.polynomial: what a traced argument does to NumPy's own functions, and the traced forms.

NumPy dispatches next to none of it. Its own functions must give the right answer for a traced
argument or raise one of linad's errors, and nothing else; those of `linad.numpy.polynomial` must
give the answer.
"""

import importlib
import pickle
import warnings

import numpy as np
import pytest
from numpy.polynomial import polyutils

import linad
import linad.numpy as lnp
from linad.core.primitive import Traced
from linad.errors import LinadError
from linad.testing.derivative_checks import check_derivatives

rng = np.random.default_rng(4)
X, Y, Z = rng.uniform(-0.8, 0.8, (3, 5))
C, D = rng.standard_normal(4), rng.standard_normal(3)
MATRIX = rng.standard_normal((3, 2))
CUBE = rng.standard_normal((2, 3, 2))

# What comes after the name of the series, and calls: the function, then arguments that may be
# traced one by one.
CALLS = {
    "val": [
        (lambda f, x, c: f(x, c), X, C),
        (lambda f, x, c: f(x, c), X, MATRIX),
        (lambda f, x, c: f(x, c, tensor=False), X[:2], MATRIX),
        (lambda f, x, c: f(x[0], c), X, MATRIX),
        (lambda f, x, c: f(x, c[:1]), X, C),
        (lambda f, x, c: f(x, c[:2]), X, C),
    ],
    "val2d": [(lambda f, x, y, c: f(x, y, c), X, Y, MATRIX)],
    "val3d": [(lambda f, x, y, z, c: f(x, y, z, c), X, Y, Z, CUBE)],
    "grid2d": [(lambda f, x, y, c: f(x, y, c), X, Y[:2], MATRIX)],
    "grid3d": [(lambda f, x, y, z, c: f(x, y, z, c), X[:2], Y[:3], Z[:2], CUBE)],
    "valnd": [(lambda f, x, y, c: f((x, y), c), X, Y, MATRIX)],
    "gridnd": [(lambda f, x, y, c: f((x, y), c), X, Y, MATRIX)],
    "valfromroots": [
        (lambda f, x, r: f(x, r), X, D),
        (lambda f, x, r: f(x, r), X, MATRIX),
        (lambda f, x, r: f(x, r, tensor=False), X[:2], MATRIX),
    ],
    "vander": [(lambda f, x: f(x, 3), X)],
    "vander2d": [(lambda f, x, y: f(x, y, [2, 1]), X, Y)],
    "vander3d": [(lambda f, x, y, z: f(x, y, z, [1, 2, 1]), X, Y, Z)],
    "vandernd": [(lambda f, x, y: f((x, y), [1, 2]), X, Y)],
    "fit": [
        (lambda f, x, y: f(x, y, 2), X, Y),
        (lambda f, x, y, w: f(x, y, [0, 2], w=w), X, rng.standard_normal((5, 2)), Z + 1),
    ],
    "add": [(lambda f, c, d: f(c, d), C, D)],
    "sub": [(lambda f, c, d: f(d, c), C, D)],
    "mul": [(lambda f, c, d: f(c, d), C, D)],
    "mulx": [(lambda f, c: f(c), C)],
    "div": [(lambda f, c, d: f(c, d), C, D), (lambda f, c, d: f(c, d[:1]), C, D)],
    "pow": [(lambda f, c: f(c, 3), D)],
    "der": [(lambda f, c, s: f(c, 2, s[0]), C, D), (lambda f, c: f(c, axis=1), MATRIX)],
    "int": [
        (lambda f, c, k: f(c, 2, [k[0], 0.5], lbnd=k[1], scl=k[2]), C, D),
        (lambda f, c: f(c, axis=1), MATRIX),
    ],
    "line": [(lambda f, o, s: f(o[0], s[0]), C, D)],
    "fromroots": [(lambda f, r: f(r), np.sort(D)), (lambda f, r: f(list(r)), np.sort(C))],
    "roots": [(lambda f, r: f(r), np.array([-0.3, 0.2, 0.7, 1.0])), (lambda f, c: f(c), D[:2])],
    "companion": [(lambda f, c: f(c), C), (lambda f, c: f(c), D[:2])],
    "trim": [(lambda f, c: f(c, 0.01), C)],
    "weight": [(lambda f, x: f(x), X)],
    "interpolate": [(lambda f, c: f(lambda x, c: np.sin(c[0] * x), 3, (c,)), C)],
}
CONVERSION = [(lambda f, c: f(c), C), (lambda f, c: f(c), D[:2])]
UTILITIES = {
    "trimseq": [(lambda f, c: f(c), C)],
    "as_series": [(lambda f, c, d: f([c, d]), C, D)],
    "trimcoef": [(lambda f, c: f(c, 0.01), C)],
    "getdomain": [(lambda f, x: f(x), X)],
    "mapparms": [(lambda f, o, n: f(o[:2], n[:2]), C, D)],
    "mapdomain": [(lambda f, x, o, n: f(x, o[:2], n[:2]), X, C, D)],
}
PLAIN_ONLY = ("gauss", "pts1", "pts2", "format_float")

SERIES = ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre")


def functions(module):
    return [
        name
        for name, f in vars(module).items()
        if not name.startswith("_")
        and callable(f)
        and not isinstance(f, type)
        and str(f.__module__).startswith("numpy.polynomial")
    ]


def calls_of(module, name):
    if module is polyutils:
        return UTILITIES.get(name)
    prefix = module.__name__.rpartition(".")[2]
    short = {"hermite_e": "herme", "hermite": "herm", "laguerre": "lag"}.get(prefix)
    short = short or prefix[:4].replace("lege", "leg")
    if "2" in name and (name.startswith("poly2") or name.endswith("2poly")):
        return CONVERSION
    return CALLS.get(name.removeprefix(short))


def entries():
    for title in (*SERIES, "polyutils"):
        module = importlib.import_module(f"numpy.polynomial.{title}")
        for name in functions(module):
            if name.endswith(PLAIN_ONLY):
                continue
            calls = calls_of(module, name)
            assert calls is not None, f"no call for {title}.{name}"
            for k, call in enumerate(calls):
                yield pytest.param(title, name, call, id=f"{title}.{name}-{k}")


ENTRIES = list(entries())


def leaves(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("title, name, call", ENTRIES)
def test_numpys_own_function_is_right_or_raises(title, name, call):
    numpy_function = getattr(importlib.import_module(f"numpy.polynomial.{title}"), name)
    f, *args = call
    expected = leaves(f(numpy_function, *args))
    for i in range(len(args)):
        found = []

        def one(a, i=i, found=found):
            found[:] = leaves(f(numpy_function, *args[:i], a, *args[i + 1 :]))
            return [part for part in found if isinstance(part, Traced)]

        def whole(a, i=i):
            return leaves(f(numpy_function, *args[:i], a, *args[i + 1 :]))

        try:
            values = linad.linearize(one, args[i])[0]
        except LinadError:
            continue
        # What came through is traced, has NumPy's value, and moves as the differences say.
        assert len(values) == len(found) == len(expected)
        for part, value in zip(values, expected, strict=True):
            np.testing.assert_allclose(part, value, rtol=1e-12, atol=1e-14)
            assert part.shape == np.shape(value)
        check_derivatives(whole, args[i], order=1)


@pytest.mark.sweep(part=0.4)
@pytest.mark.parametrize("title, name, call", ENTRIES)
def test_traced_form(title, name, call):
    numpy_function = getattr(importlib.import_module(f"numpy.polynomial.{title}"), name)
    mirror = getattr(importlib.import_module(f"linad.numpy.polynomial.{title}"), name)
    f, *args = call
    expected = leaves(f(numpy_function, *args))
    for part, value in zip(leaves(f(mirror, *args)), expected, strict=True):
        np.testing.assert_array_equal(part, value)
    found = linad.linearize(lambda *a: leaves(f(mirror, *a)), *args)[0]
    for part, value in zip(found, expected, strict=True):
        np.testing.assert_allclose(part, value, rtol=1e-12, atol=1e-14)
        assert part.dtype == value.dtype
    order = 1 if name.endswith(("roots", "fit", "companion")) else 2
    check_derivatives(lambda *a: leaves(f(mirror, *a)), *args, order=order)


@pytest.mark.parametrize("title", SERIES)
def test_single_precision_stays(title):
    mirror = importlib.import_module(f"linad.numpy.polynomial.{title}")
    value = getattr(mirror, next(n for n in functions(mirror) if n.endswith("val")))
    x, c = X.astype(np.float32), MATRIX.astype(np.float32)
    y, J = linad.linearize(value, x, c)
    assert y.dtype == np.float32
    assert [t.dtype for t in J.pullback(y)] == [np.float32] * 2


def test_complex_series():
    c, x = C + 0.5j * C[::-1], X + 0.3j * Y
    check_derivatives(lnp.polynomial.chebyshev.chebval, x, c)
    check_derivatives(lambda x: np.polynomial.chebyshev.chebval(x, c), x)


CLASSES = ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre")


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    ours, theirs = getattr(lnp.polynomial, name), getattr(np.polynomial, name)

    def programs(cls):
        return {
            "call": lambda x, c: cls(c)(x),
            "domain": lambda x, c: cls(c, domain=c[:2])(x),
            "calculus": lambda x, c: cls(c).deriv()(x) + cls(c).integ(lbnd=x[0])(x),
            "arithmetic": lambda x, c: ((cls(c) * x[0] + 1 - cls(x[:2])) ** 2 // cls(c[:2]))(x),
            "fit": lambda x, c: cls.fit(x[:4], c, 2).coef,
            "fromroots": lambda x, c: cls.fromroots(np.sort(x)).coef,
            "linspace": lambda x, c: cls(c).linspace(3)[1] * x[0],
        }

    for label, f in programs(ours).items():
        expected = programs(theirs)[label](X, C)
        np.testing.assert_array_equal(f(X, C), expected)
        found = linad.linearize(f, X, C)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-10, err_msg=label)
        check_derivatives(f, X, C, order=1)


def test_a_class_is_numpys_to_others():
    p, q = lnp.polynomial.Polynomial(C), np.polynomial.Polynomial(C)
    assert isinstance(p, np.polynomial.Polynomial)
    assert p == q
    assert q == p
    assert repr(p) == repr(q)
    assert str(p) == str(q)
    assert (p + q) == 2 * q
    assert p.convert(kind=np.polynomial.Chebyshev) == q.convert(kind=np.polynomial.Chebyshev)
    assert pickle.loads(pickle.dumps(p)) == p


def test_the_roots_of_a_traced_class():
    c = np.array([-0.3, 0.2, 0.7, 1.0])
    f = lambda c: np.sort(np.abs(lnp.polynomial.Polynomial(c).roots()))[:1]  # noqa: E731
    np.testing.assert_allclose(f(c), linad.linearize(f, c)[0])
    check_derivatives(f, c, order=1)


def test_numpys_own_class_raises():
    with pytest.raises(LinadError, match=r"linad\.numpy"):
        linad.linearize(np.polynomial.Polynomial(C), X)


def test_the_domain_of_complex_points():
    def f(m, x, y):
        return m.getdomain(x + 1j * y)

    found = linad.linearize(lambda x, y: f(lnp.polynomial.polyutils, x, y), X, Y)[0]
    np.testing.assert_array_equal(found, f(polyutils, X, Y))
    check_derivatives(lambda x, y: f(lnp.polynomial.polyutils, x, y), X, Y)


def test_the_rest_is_numpys():
    assert lnp.polynomial.legendre.legdomain is np.polynomial.legendre.legdomain
    assert lnp.polynomial.set_default_printstyle is np.polynomial.set_default_printstyle
    assert "legval" in dir(lnp.polynomial.legendre)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = lnp.polynomial.polyutils.no_such_thing


def test_a_poor_fit_warns_as_numpys():
    x = np.array([0.1, 0.1, 0.1])
    with warnings.catch_warnings(), pytest.warns(np.exceptions.RankWarning):
        linad.linearize(lambda y: lnp.polynomial.polynomial.polyfit(x, y, 2), X[:3])


CLASSES = ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre")


@pytest.mark.parametrize("name", CLASSES)
def test_a_last_coefficient_of_zero_has_a_derivative(name):
    """NumPy drops it; so did linad, and its derivative with it."""
    cls = getattr(lnp.polynomial, name)
    plain = cls([1.0, 2.0, 3.0])
    for f in (
        lambda c: (cls(c) * plain)(0.5),
        lambda c: (cls(c) ** 2)(0.5),
        lambda c: (2.0 * cls(c) + 1.0)(0.5),
        lambda c: (cls(c) + plain)(0.5),
        lambda c: (plain - cls(c))(0.5) - (cls(c) - plain)(0.5),
        lambda c: (cls(c) - cls([1, 2, 3, 4]))(0.5),
        lambda c: cls(c).deriv()(0.5) + cls(c).integ()(0.5),
    ):
        for c in (np.array([1.0, 0.0]), np.zeros(2), np.array([0.5, 2.0, 0.0, 0.0])):
            steps = 1e-3 * np.eye(len(c))  # of polynomials of degree 2, in c
            expected = [(f(c + step) - f(c - step)) / 2e-3 for step in steps]
            np.testing.assert_allclose(linad.grad(f)(c), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CLASSES)
def test_what_divides_by_a_last_coefficient_of_zero_drops_it_as_numpy_does(name):
    ours, theirs = getattr(lnp.polynomial, name), getattr(np.polynomial, name)
    c, dividend = np.array([2.0, -3.0, 1.0, 0.0]), [1.0, 2.0, 3.0, 4.0]
    roots, J = linad.linearize(lambda c: ours(c).roots(), c)
    np.testing.assert_allclose(roots, theirs(c).roots(), rtol=1e-12)
    np.testing.assert_array_equal(J.todense()[:, 3], 0.0)
    quotient, rest = linad.linearize(
        lambda c: tuple([part.coef for part in divmod(ours(dividend), ours(c))]), c
    )[0]
    expected = divmod(theirs(dividend), theirs(c))
    np.testing.assert_allclose(quotient, expected[0].coef, rtol=1e-12)
    np.testing.assert_allclose(rest, expected[1].coef, rtol=1e-12)
