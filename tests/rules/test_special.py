"""scipy.special, part one: rules against differences, special points, and what is missing."""

import numpy as np
import pytest
import scipy.special as sp
from special_cases import special_case

import linad
from linad.core.dispatch import UFUNCS
from linad.core.primitive import Primitive
from linad.errors import LinadError, MissingRuleError, UnsupportedError

X = np.array([-1.3, -0.4, 0.3, 1.1])  # anywhere
P = np.array([0.8, 1.3, 1.9])  # positive
U = np.array([0.3, 0.5, 0.7])  # inside (0, 1)
S = np.float64(0.6)


COMPLEX = ("erf", "erfc", "erfcx", "erfi", "dawsn", "wofz")
CASES = [
    *[special_case(name, X, complex_=True) for name in COMPLEX],
    special_case("erfinv", X / 2),
    special_case("erfcinv", 2 * U),
    special_case("fresnel", X, complex_=True),
    special_case("modfresnelp", P),
    special_case("modfresnelm", P),
    special_case("voigt_profile", X, S, P[:, None]),
    special_case("voigt_profile", S, P, 0.4),
    special_case("owens_t", X, P[:1]),
    *[special_case(name, X) for name in ("exp10", "exprel", "cosm1")],
    special_case("powm1", P, X[:3]),
    *[special_case(name, 50 * X) for name in ("sindg", "cosdg", "tandg", "cotdg")],
    special_case("radian", X, S, P[:1]),
    special_case("expit", X),
    special_case("logit", U),
    special_case("log_expit", X),
    special_case("xlogy", X[:3], P, complex_=True),
    special_case("xlogy", 2, P),
    special_case("xlog1py", X[:3], P, complex_=True),
    special_case("entr", P),
    special_case("rel_entr", P, U),
    special_case("kl_div", P, U),
    *[special_case(name, P, np.array([-0.5, 0.0, 2.0])) for name in ("boxcox", "boxcox1p")],
    *[special_case(name, U, np.array([-0.5, 0.0, 2.0])) for name in ("inv_boxcox", "inv_boxcox1p")],
    special_case("huber", S, np.array([-2.0, -0.3, 0.4, 1.5])),
    special_case("pseudo_huber", P[:, None], X),
    special_case("exp1", P, complex_=True),
    special_case("expi", P, complex_=True),
    *[special_case("expn", n, P) for n in (0, 1, 2, 3)],
    special_case("sici", P, complex_=True),
    special_case("shichi", P),
    special_case("spence", np.array([0.5, 0.6, 1.0, 1.2, 1.6]), complex_=True),
    special_case("lambertw", P + 0j, 0, 1e-12),
    special_case("lambertw", P + 0.3j, -1, 1e-12),
    special_case("wrightomega", X, complex_=True),
]


@pytest.mark.parametrize("f", [sp.exp2, sp.expm1, sp.log1p, sp.cbrt], ids=lambda f: f.__name__)
def test_functions_that_numpy_has_too(f):
    y, J = linad.linearize(f, P)
    assert y == pytest.approx(f(P))
    h = 1e-6
    expected = (f(P + h) - f(P - h)) / (2 * h)
    assert J.pushforward(np.ones(3)) == pytest.approx(expected, rel=1e-8)


def test_functions_of_python_wrappers():
    x = np.array([0.3, 1.2])
    for f in (
        sp.softplus,
        lambda x: np.real(sp.lambertw(x)),
        lambda x: sp.zeta(2.5, x),
        np.i0,
        sp.sinc,
    ):
        y, dy = linad.jvp(f, (x,), (np.ones(2),))
        h = 1e-6
        assert y == pytest.approx(f(x), rel=1e-12)
        assert dy == pytest.approx((f(x + h) - f(x - h)) / (2 * h), rel=1e-7)


def slope(f, x):
    return linad.grad(f)(np.float64(x))


def test_values_at_zero():
    assert slope(np.sinc, 0.0) == 0
    assert linad.hessian(np.sinc)(np.float64(0)) == pytest.approx(-(np.pi**2) / 3)
    assert slope(sp.exprel, 0.0) == 0.5
    assert slope(lambda x: sp.sici(x)[0], 0.0 + 1e-300) == 1
    assert slope(lambda b: sp.xlogy(0, b), 0.0) == 0
    assert slope(lambda b: sp.rel_entr(0.0, b), 2.0) == 0
    assert slope(lambda z: np.real(sp.lambertw(z)), 0.0) == 1
    assert slope(sp.spence, 1.0) == -1


def test_no_digits_lost_in_the_tails():
    assert slope(sp.expit, 40.0) == pytest.approx(np.exp(-40.0), rel=1e-13)
    assert slope(sp.log_expit, 800.0) == 0
    assert slope(sp.log_expit, -800.0) == 1
    assert slope(sp.log_ndtr, -30.0) == pytest.approx(30.0332596, rel=1e-8)


def test_what_has_no_closed_form_says_so():
    with pytest.raises(MissingRuleError, match=r"expn: the derivative in argument 0, \w"):
        linad.grad(lambda n: sp.expn(n, 1.0))(np.float64(2))
    with pytest.raises(UnsupportedError, match="besselpoly is not traced"):
        linad.grad(lambda a: sp.besselpoly(a, 1.0, 0.5))(np.float64(0.5))


def test_special_ufuncs_keep_single_precision():
    for f in (sp.erf, sp.logit, lambda x: sp.jv(0.5, x), sp.log_expit):
        y, pullback = linad.vjp(f, P.astype(np.float32))
        assert y.dtype == np.float32
        assert pullback(y)[0].dtype == np.float32


def test_most_ufuncs_of_scipy_special_are_traced():
    from linad.core.dispatch import UFUNCS

    names = [n for n in dir(sp) if isinstance(getattr(sp, n), np.ufunc)]
    traced = [n for n in names if getattr(sp, n) in UFUNCS]
    assert len(traced) >= 170


def _ufuncs_of_several():
    found = {getattr(sp, name) for name in dir(sp) if isinstance(getattr(sp, name), np.ufunc)}
    return sorted([f for f in found if f.nin > 1 and f.nout == 1], key=lambda f: f.__name__)


@pytest.mark.rest
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")  # of orders
@pytest.mark.parametrize(
    "plain", [np.array([2, 1, 3], np.uint8), np.ones(3, bool)], ids=["uint8", "bool"]
)
@pytest.mark.parametrize("ufunc", _ufuncs_of_several(), ids=lambda f: f.__name__)
def test_integers_without_sign_beside_what_is_traced(ufunc, plain):
    """A slope negates and subtracts; such integers would wrap around."""
    x = np.array([0.3, 0.6, 0.8])

    def taken(k, others):
        return lambda t: ufunc(*[t if i == k else others for i in range(ufunc.nin)])

    for k in range(ufunc.nin):
        of_integers, of_doubles = taken(k, plain), taken(k, plain.astype(float))
        try:
            y, same = of_integers(x), of_doubles(x)
            want = linad.jacobian(of_doubles)(x)
        except (TypeError, LinadError):  # not with such arguments
            continue
        if y.dtype != same.dtype or not np.allclose(y, same, equal_nan=True):
            continue
        known = np.isfinite(want)  # polynomials of whole degrees have values that others lack
        found = linad.jacobian(of_integers)(x)
        np.testing.assert_allclose(found[known], want[known], rtol=1e-6, atol=1e-9)


def test_ufuncs_lead_to_their_primitives():
    """By NumPy's protocol: a ufunc that is not in the table refuses traced arguments."""
    of_ufuncs = {p.impl: p for p in Primitive.registry.values() if isinstance(p.impl, np.ufunc)}
    assert len(of_ufuncs) > 200
    assert [f.__name__ for f in of_ufuncs if f not in UFUNCS] == []
