"""Rules over compiled code or `math`: first derivatives everywhere, second ones refused by name."""

import math
import pickle

import numba
import numpy as np
import pytest

import linad
from linad.errors import DerivativeError, MissingRuleError, OpaqueRuleError, WrongRuleError
from linad.testing.rule_checks import check_rule

X = np.array([0.3, 0.7, 1.1])


def sines(x):
    return np.array([math.sin(v) for v in x])


def cosines(x):
    return np.array([math.cos(v) for v in x])


@numba.njit
def times_cos(x, v):
    return np.cos(x) * v


def products(x):
    return lambda v: np.array([math.cos(a) * float(b) for a, b in zip(x, v, strict=True)])


RULES = {
    "matrix": lambda y, x: np.diag(cosines(x)),
    "pair": lambda y, x: (lambda v: cosines(x) * v, lambda w: cosines(x) * w),
    "pull": lambda y, x: lambda w: cosines(x) * w,
    "pair of float": lambda y, x: (products(x), products(x)),
    "pull of float": lambda y, x: products(x),
    "compiled": lambda y, x: (lambda v: times_cos(x, v), lambda w: times_cos(x, w)),
    "compiled pull": lambda y, x: lambda w: times_cos(x, w),
}
JOINT = {
    "joint": lambda x: (sines(x), lambda w: (cosines(x) * w,)),
    "joint of float": lambda x: (sines(x), lambda w: (products(x)(w),)),
    "joint compiled": lambda x: (sines(x), lambda w: (times_cos(x, w),)),
    "joint outside": lambda x: (lambda c: (sines(x), lambda w: (c * w,)))(cosines(x)),
}


def make(kind):
    p = linad.primitive(sines)
    if kind in RULES:
        p.jacobian(wrt=0)(RULES[kind])
    else:
        p.pullback(JOINT[kind])
    return p


@pytest.mark.parametrize("first", ["plain", "jit"])
@pytest.mark.parametrize("kind", [*RULES, *JOINT])
def test_first_derivatives_run_everywhere(kind, first):
    p = make(kind)

    def f(x):
        return np.sum(p(x * x) ** 2)

    expected = linad.grad(lambda x: np.sum(np.sin(x * x) ** 2))(X)
    forms = [
        linad.grad(f),
        linad.jit(linad.grad(f)),
        linad.grad(linad.jit(f)),
        linad.jacobian(f),
        lambda x: linad.jit(lambda x: linad.vjp(f, x)[1](1.0)[0])(x),
        lambda x: np.array([linad.jvp(f, (x,), (e,))[1] for e in np.eye(3)]),
        lambda x: np.array([linad.jit(lambda x, e=e: linad.jvp(f, (x,), (e,))[1])(x) for e in E]),
    ]
    for form in forms if first == "plain" else reversed(forms):
        for _ in range(3):
            np.testing.assert_allclose(form(X), expected, rtol=1e-13)


E = np.eye(3)


@pytest.mark.parametrize("kind", [*RULES, *JOINT])
def test_what_can_be_tested_is(kind):
    check_rule(make(kind), X, float32=False, compiled=0)


def test_a_wrong_rule_is_found():
    p = linad.primitive(sines)
    p.jacobian(wrt=0)(lambda y, x: np.diag([1.01 * math.cos(v) for v in x]))
    with pytest.raises(DerivativeError, match="pushforward against differences"):
        check_rule(p, X, float32=False, compiled=0)
    q = linad.primitive(sines)
    q.jacobian(wrt=0)(lambda y, x: (lambda v: cosines(x) * v, lambda w: 2 * cosines(x) * w))
    with pytest.raises(WrongRuleError, match="not adjoint"):
        linad.jit(linad.grad(lambda x: np.sum(q(x))))(X)


@pytest.mark.parametrize("kind", [*RULES, *JOINT])
def test_second_derivatives_name_the_primitive(kind):
    p = make(kind)
    if kind == "joint outside":
        linad.jit(linad.grad(lambda x: np.sum(p(x))))(X)
    for second in (
        lambda f: linad.hessian(f)(X),
        lambda f: linad.hvp(f, (X,), (X,)),
        lambda f: linad.jit(linad.hessian(f))(X),
    ):
        with pytest.raises(OpaqueRuleError, match="^sines: .* no second derivatives") as caught:
            second(lambda x: np.sum(p(x)))
        assert isinstance(caught.value, MissingRuleError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_rules_that_trace_stay_open():
    p = linad.primitive(np.sin, name="open_sine")
    p.jacobian(wrt=0)(lambda y, x: lambda w: np.cos(x) * w)
    found = linad.hessian(lambda x: np.sum(p(x)))(X)
    np.testing.assert_allclose(found, np.diag(-np.sin(X)))
    check_rule(p, X, compiled=0)


def test_an_error_of_the_rule_is_the_users():
    p = linad.primitive(sines)

    @p.jacobian(wrt=0)
    def rule(y, x):
        raise KeyError("mine")

    for form in (linad.grad, lambda f: linad.jit(linad.grad(f))):
        with pytest.raises(KeyError, match="mine"):
            form(lambda x: np.sum(p(x)))(X)
