"""Users' primitives: every form of rule, and the errors of a wrong one."""

import copy

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import linad
from linad.errors import ShapeError, WrongRuleError
from linad.operators.structured import Diagonal
from linad.testing.derivative_checks import check_derivatives
from linad.testing.rule_checks import check_rule

X = np.array([0.3, 0.7])
MATRIX = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

CUBE_RULES = {
    "operator": lambda y, x: Diagonal(3 * x * x, x.shape, y.dtype),
    "pair": lambda y, x: (lambda dx: 3 * x * x * dx, lambda ybar: 3 * x * x * ybar),
    "closure": lambda y, x: lambda ybar: 3 * x * x * ybar,
    "matrix": lambda y, x: np.diag(3 * x * x),
}


@pytest.mark.parametrize("rule", CUBE_RULES.values(), ids=CUBE_RULES.keys())
def test_rules_of_one_argument(rule):
    @linad.primitive
    def cube(x):
        return x**3

    cube.jacobian(wrt=0)(rule)
    check_rule(cube, X)
    check_derivatives(lambda x: np.sin(cube(x)) * x, X)
    np.testing.assert_allclose(cube(X), X**3)


@pytest.mark.parametrize(
    "form",
    [lambda a: a, scipy.sparse.csr_array, aslinearoperator],
    ids=["dense", "sparse", "operator"],
)
def test_a_constant_matrix_as_rule(form):
    @linad.primitive
    def apply(x):
        return MATRIX @ x

    apply.jacobian(wrt=0)(lambda y, x: form(MATRIX))
    check_rule(apply, X, float32=False)
    check_derivatives(lambda x: np.sin(apply(x)), X)


def test_a_pullback_closure_for_all_arguments():
    @linad.primitive
    def scaled(x, a, *, power):
        return a * x**power

    @scaled.pullback
    def scaled_pullback(x, a, *, power):
        y = a * x**power

        def pullback(ybar):
            slope = ybar * x ** (power - 1)
            return power * a * slope, np.sum(slope * x)

        return y, pullback

    check_rule(scaled, X, np.float64(1.5), power=3)
    check_derivatives(lambda x, a: np.sum(np.exp(scaled(x, a, power=3)) * x), X, np.float64(1.5))
    # It is split into primitives: the tape knows no closure and no "scaled".
    _, tape = linad.trace(lambda x: linad.vjp(lambda x: scaled(x, 2.0, power=3), x)[1](x)[0], X)
    tape.check()
    assert {eqn.primitive.name for eqn in tape.equations} <= {"power", "multiply"}
    J = linad.linearize(lambda x: scaled(x, 2.0, power=3), X)[1]
    assert all(
        type(op).__module__.startswith("linad.operators") for _, ls in J.steps for _, op in ls
    )


def test_none_is_a_zero_cotangent():
    @linad.primitive
    def first(x, a):
        return 2 * x

    first.pullback(lambda x, a: (2 * x, lambda ybar: (2 * ybar, None)))
    gx, ga = linad.grad(lambda x, a: np.sum(first(x, a) * a), (0, 1))(X, 3.0)
    np.testing.assert_array_equal(gx, [6, 6])
    assert ga == np.sum(2 * X)


def test_several_results():
    @linad.primitive(outputs=2)
    def polar(x, y):
        return np.hypot(x, y), np.arctan2(y, x)

    @polar.pullback
    def polar_pullback(x, y):
        r = np.sqrt(x * x + y * y)

        def pullback(cotangents):
            rbar, tbar = cotangents
            return (rbar * x / r - tbar * y / r**2, rbar * y / r + tbar * x / r**2)

        return (r, np.arctan2(y, x)), pullback

    check_derivatives(lambda x, y: polar(x, y), X, X + 1)
    check_derivatives(lambda x, y: polar(x, y)[1] * x, X, X + 1)


def test_recorded_as_itself_where_nothing_is_differentiated():
    @linad.primitive(name="library.double")
    def double(x):
        return 2 * x

    tape = linad.trace(lambda x: double(x) + 1, X)[1]
    assert [eqn.primitive.name for eqn in tape.equations] == ["library.double", "add"]
    assert double.__name__ == "double"


def test_rules_may_call_derivatives():
    @linad.primitive
    def quartic(x):
        return x**4

    quartic.jacobian(wrt=0)(lambda y, x: lambda w: linad.vjp(lambda t: t**4, x)[1](w)[0])
    check_rule(quartic, X)


@pytest.mark.parametrize(
    "rule, words",
    [
        (lambda y, x: (lambda t: 2 * x * t, lambda w: 3 * x * w), "not adjoint"),
        (lambda y, x: np.eye(3), r"must return shape \(2, 2\), got \(3, 3\)"),
        (lambda y, x: 2 * x, r"got \(2,\); slopes .* are the matrix np.diag\(np.ravel\(slope\)\)"),
        (lambda y, x: None, "returned a NoneType"),
        (lambda y, x: lambda w: w * w * x, "not adjoint|not linear"),
    ],
)
def test_wrong_rules(rule, words):
    @linad.primitive
    def square(x):
        return x * x

    square.jacobian(wrt=0)(rule)
    with pytest.raises(WrongRuleError, match=words):
        linad.grad(lambda x: np.sum(square(x)))(X)


def test_names_of_other_libraries():
    square = linad.primitive(lambda x: x * x)
    with pytest.raises(AttributeError, match="'defvjp'; @f.jacobian.wrt=0. or @f.pullback"):
        square.defvjp(None)
    with pytest.raises(AttributeError, match="'nothing'$"):
        assert square.nothing
    assert copy.copy(square)(3.0) == 9.0


def test_a_pair_with_a_wrong_shape():
    @linad.primitive
    def square(x):
        return x * x

    square.jacobian(wrt=0)(lambda y, x: (lambda t: np.sum(t), lambda w: 2 * x * w))
    with pytest.raises(ShapeError, match=r"its pushforward must return shape \(2,\), got \(\)"):
        linad.grad(lambda x: np.sum(square(x)))(X)


def test_wrong_pullbacks():
    def check(pullback, words):
        @linad.primitive
        def square(x, a):
            return x * x

        square.pullback(lambda x, a: (x * x, pullback))
        with pytest.raises(WrongRuleError, match=words):
            linad.grad(lambda x: np.sum(square(x, 1.0)))(X)

    check(lambda w: (w * w, None), "not linear")
    check(lambda w: (2 * w + 1, None), "not linear")
    check(lambda w: (w,), "returned 1 cotangents for 2 arguments")
    check(lambda w: (np.sum(w), None), r"shape \(\) for argument 0")


def test_a_primitive_with_a_name_of_linads_own():
    """Compiled programs know linad's primitives by name; a user's is another one."""

    @linad.primitive
    def square(x):
        return x**3

    @square.jacobian(wrt=0)
    def square_wrt_x(y, x):
        return lambda v: 3 * x**2 * v, lambda w: 3 * x**2 * w

    f = linad.jit(lambda x: np.sum(square(x)))
    x = np.array([1.0, 2.0])
    assert [float(f(x)) for _ in range(3)] == [9, 9, 9]
    np.testing.assert_allclose(linad.grad(f)(x), 3 * x**2)
    assert linad.trace(square, x)[1].equations[0].primitive.name == "@square"
