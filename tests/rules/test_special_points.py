"""scipy.special at special points: no NaN where a function is smooth, no number that is not so.

Special points are zeros, ones, whole and half numbers, equal arguments and the ends of domains.
What a derivative is there is told from values beside the point, by differences of high order.
"""

import itertools

import numpy as np
import pytest
import scipy.special as sp

import linad
from linad.core.dispatch import UFUNCS
from linad.core.primitive import Primitive
from linad.operators.slopes import SlopeRule

STEP = 1e-2
PLACES = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 0.0])
POINTS = [0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, 0.25, 1.5, 30.0]
FEW = [0.0, 1.0, 0.5, 2.0]


def _primitives():
    """The primitives of ufuncs of scipy.special, by name."""
    found = {}
    for name in dir(sp._ufuncs):
        ufunc = getattr(sp._ufuncs, name)
        primitive = UFUNCS.get(ufunc) if isinstance(ufunc, np.ufunc) else None
        if isinstance(primitive, Primitive) and not primitive.constant:
            found[primitive.name] = (primitive, ufunc.nin)
    return found


ALL = _primitives()


def _arguments(primitive, count):
    """The arguments that have a derivative."""
    for i in range(count):
        rule = primitive.rules.get(i)
        if rule is not None and (
            isinstance(rule, SlopeRule) or "_refusal" not in rule.__code__.co_qualname
        ):
            yield i


def _or_nan(function):
    """NaN where one of SciPy's functions raises that its value is too large."""

    def f(*args):
        try:
            return function(*args)
        except OverflowError:
            return np.nan * sum(args)

    return f


def _along(primitive, args, i, out, order):
    """A result, or a derivative of it in argument i, beside and at (last) a point."""

    def f(x):
        result = _or_nan(primitive)(*args[:i], x, *args[i + 1 :])
        return result[out] if isinstance(result, tuple) else result

    def slope(x):
        return linad.jvp(f, (x,), (np.ones(x.shape),))[1]

    def curvature(x):
        return linad.jvp(slope, (x,), (np.ones(x.shape),))[1]

    return (f, slope, curvature)[order](args[i] + STEP * PLACES)


def _middle(y):
    """The value at the point, from those beside it."""
    return (15 * (y[2] + y[3]) - 6 * (y[1] + y[4]) + (y[0] + y[5])) / 20


def _slope(y):
    """The slope at the point, from values beside it."""
    return (45 * (y[3] - y[2]) - 9 * (y[4] - y[1]) + (y[5] - y[0])) / (60 * STEP)


def _told(d, y):
    """Whether d, beside the point, are the slopes of y, so that both are smooth across it."""
    if not (np.all(np.isfinite(d[:6])) and np.all(np.isfinite(y))):
        return False
    expected = _slope(y)
    size = 1 + np.abs(expected) + np.abs(_middle(y))
    if np.abs(_middle(y) - y[6]) > 1e-9 * size or np.ptp(np.abs(d[:6])) > 0.5 * size:
        return False
    return bool(np.abs(_middle(d) - expected) < 1e-5 * size)


def wrong_at(name):
    """The points where a derivative is NaN or wrong, and the function smooth."""
    primitive, count = ALL[name]
    for args in itertools.product(POINTS if count <= 2 else FEW, repeat=count):
        values = _or_nan(primitive.impl)(*[np.float64(a) for a in args])
        results = values if isinstance(values, tuple) else (values,)
        for i, (out, value) in itertools.product(_arguments(primitive, count), enumerate(results)):
            if not np.isfinite(value):
                continue
            rows = [_along(primitive, args, i, out, order) for order in range(3)]
            for order in (1, 2):
                d, y = rows[order], rows[order - 1]
                if _told(d, y) and not np.isclose(d[6], _slope(y), rtol=1e-4, atol=1e-4):
                    yield args, i, out, order, d[6], _slope(y)


ELSEWHERE = {
    **dict.fromkeys(["modfresnelm", "modfresnelp"], "SciPy's values jump at 0"),
    **dict.fromkeys(["huber", "ive", "i1e"], "the slope, or its slope, has a kink"),
    "nrdtrisd": "no distribution has its median off its mean",
    **dict.fromkeys(["eval_hermite", "eval_hermitenorm", "lambertw"], "takes integers only"),
}
"""What cannot be told from values beside a point, and why."""

REPAIRED = [
    *("elliprc", "elliprd", "elliprf", "elliprg", "agm", "ellipkinc", "ellipeinc"),
    *("poch", "binom", "beta", "betaln", "hyp1f1", "lpmv"),
    *("ber", "bei", "berp", "beip", "kelvin", "struve", "modstruve"),
    *("it2j0y0", "it2i0k0", "it2struve0", "kl_div", "rel_entr", "boxcox", "pseudo_huber"),
]


@pytest.mark.parametrize("name", REPAIRED)
def test_smooth(name):
    with np.errstate(all="ignore"):
        assert not list(itertools.islice(wrong_at(name), 3))


# SciPy warns of counts that are not whole.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.full
@pytest.mark.parametrize("name", sorted(set(ALL) - set(REPAIRED) - set(ELSEWHERE)))
def test_all_smooth(name):
    with np.errstate(all="ignore"):
        assert not list(itertools.islice(wrong_at(name), 3))


def grad2(f, *x):
    """The Hessian of a function of numbers."""
    x = np.array(x, float)
    return linad.hessian(lambda x: f(*x))(x)


def test_known_answers_at_equal_arguments():
    """∂_i ∂_j R_(-a)(b; 1, 1, ...) = (a)_2 b_i (b_j + δ_ij) / (Σb (Σb + 1))."""
    for f, a, b in [
        (sp.elliprf, 0.5, [0.5, 0.5, 0.5]),
        (sp.elliprc, 0.5, [0.5, 1.0]),
        (sp.elliprd, 1.5, [0.5, 0.5, 1.5]),
        (sp.elliprj, 1.5, [0.5, 0.5, 0.5, 1.0]),
        (sp.elliprg, -0.5, [0.5, 0.5, 0.5]),
    ]:
        b = np.array(b)
        total = b.sum()
        ones = np.ones(len(b))
        slope = linad.grad(lambda x, f=f: f(*x))(ones)
        np.testing.assert_allclose(slope, -a * b / total, rtol=1e-13)
        expected = a * (a + 1) * np.outer(b, b) + np.diag(a * (a + 1) * b)
        found = grad2(f, *ones)
        np.testing.assert_allclose(found, expected / (total * (total + 1)), rtol=1e-11)


def test_known_answers_at_zero():
    # (a)_3 = a (a + 1) (a + 2); C(n, 2) = n (n - 1) / 2; ber = 1 - x⁴/64, bei = x²/4
    for a in (0.0, -1.0, -2.0, -5.0):
        found = grad2(lambda a: sp.poch(a, 3.0), a)
        np.testing.assert_allclose(found, [[6 * a + 6]], rtol=1e-9, atol=1e-9)
    for n in (0.0, 1.0, 0.5, -0.5):
        slope = linad.grad(lambda n: sp.binom(n, 2.0))(n)
        np.testing.assert_allclose(slope, n - 0.5, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(grad2(sp.ber, 0.0), 0, atol=1e-15)
    np.testing.assert_allclose(grad2(sp.bei, 0.0), 0.5, rtol=1e-14)
    third = linad.derivative(linad.derivative(sp.beip))(np.array(0.0))
    np.testing.assert_allclose(third, 0, atol=1e-15)
