"""Bad input ends in a clear error, and leaves nothing behind."""

import math
import pickle

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
import scipy.special
from scipy.special import btdtria

import linad
from linad import errors

X = np.array([0.3, -0.7, 1.9])


def total(x):
    return np.sum(x * x)


# Arguments.


@pytest.mark.parametrize(
    "x, words",
    [
        (np.arange(3), "int64, which is not differentiable; pass floats"),
        (3, "int64"),
        (True, "bool"),
        (np.array([1.0, None], dtype=object), "object"),
        ("text", "only arrays of floats"),
        ({"a": X, "n": 3}, r"argument 0\['n'\] has dtype int64"),
    ],
)
def test_arguments_that_have_no_derivative(x, words):
    for transform in (linad.grad, linad.jacobian, linad.hessian):
        with pytest.raises(errors.DTypeError, match=words):
            transform(total)(x)
    with pytest.raises(errors.DTypeError, match=words):
        linad.linearize(total, x)


def test_no_array_to_differentiate():
    with pytest.raises(errors.TreeError, match="hold no array"):
        linad.grad(total)(())
    with pytest.raises(TypeError, match="argnums=3 names no positional argument"):
        linad.grad(total, argnums=3)(X)
    with pytest.raises(ValueError, match=r"argnums=\(0, -2\) names an argument twice"):
        linad.grad(lambda x, y: np.sum(x * y), argnums=(0, -2))(X, X)
    with pytest.raises(TypeError, match="passed by keyword"):
        linad.grad(total)(x=X)


def test_no_function():
    for call, name in (
        (lambda: linad.grad(3.0), "grad"),
        (lambda: linad.value_and_grad(X), "value_and_grad"),
        (lambda: linad.jacobian(X), "jacobian"),
        (lambda: linad.derivative(None), "derivative"),
        (lambda: linad.hessian("f"), "hessian"),
        (lambda: linad.linearize(total(X), X), "linearize"),
        (lambda: linad.vjp(total(X), X), "vjp"),
        (lambda: linad.jvp(X, (X,), (X,)), "jvp"),
        (lambda: linad.hvp(X, (X,), (X,)), "hvp"),
        (lambda: linad.trace(3, X), "trace"),
        (lambda: linad.check_derivatives(3, X), "check_derivatives"),
        (lambda: linad.primitive(3), "primitive"),
    ):
        with pytest.raises(errors.ArgumentError, match=f"^{name}: the first argument must be a"):
            call()


def test_a_point_where_argnums_belong():
    for transform in (linad.grad, linad.value_and_grad, linad.jacobian, linad.hessian):
        with pytest.raises(
            errors.ArgumentError, match=rf"linad\.{transform.__name__}\(total\)\(x\)"
        ):
            transform(total, X)


def test_what_is_no_array_is_named():
    matrix = scipy.sparse.eye_array(3).tocsr()
    with pytest.raises(errors.DTypeError, match="argument 0 is a csr_array, which is not"):
        linad.grad(np.sum)(matrix)


# Seeds.


def test_wrong_tangents():
    with pytest.raises(errors.ShapeError, match=r"expected shape \(3,\) .*got \(2,\)"):
        linad.jvp(total, (X,), (np.ones(2),))
    with pytest.raises(errors.ShapeError, match="leading seed axes"):
        linad.jvp(total, (X,), (np.ones((2, 3)),))
    with pytest.raises(errors.DTypeError, match="expected dtype float64, got complex128"):
        linad.jvp(total, (X,), (1j * X,))
    with pytest.raises(errors.TreeError, match="2 tangents"):
        linad.jvp(total, (X,), (X, X))
    with pytest.raises(errors.TreeError, match=r"must be tuples.*linad.jvp\(total, \(x,\)"):
        linad.jvp(total, X, X)
    with pytest.raises(errors.TreeError, match=r"must be tuples.*linad.hvp\(total, \(x,\)"):
        linad.hvp(total, X, X)
    with pytest.raises(errors.ShapeError, match=r"^hvp: tangent: expected shape .*got \(2,\)"):
        linad.hvp(total, (X,), (np.ones(2),))
    with pytest.raises(errors.TreeError, match="must match"):
        linad.jvp(lambda d: d["a"], ({"a": X},), ([X],))


def test_wrong_cotangents():
    y, pullback = linad.vjp(lambda x: (x, np.sum(x)), X)
    with pytest.raises(errors.TreeError, match=r"the container is \[\*, \*\]"):
        pullback([X, 1.0])
    with pytest.raises(errors.ShapeError, match=r"expected shape \(3,\) .*got \(\)"):
        pullback((1.0, 1.0))
    with pytest.raises(errors.ShapeError, match="same leading seed axes"):
        pullback((np.ones((2, 3)), 1.0))
    with pytest.raises(errors.DTypeError, match="got <U1"):
        pullback((X, "a"))
    y, J = linad.linearize(lambda x: x[:2], X)
    with pytest.raises(ValueError, match=r"\(3,\)"):
        J @ np.ones(2)


# Results.


def test_results_that_carry_no_derivative():
    for result, words in [
        (None, "^<lambda> returned None, which holds no array"),
        ("text", "returned a str"),
        ((np.ones(2), 3.0), r"one of 2 results in a tuple, of which f\(...\)\[0\] is the first"),
        (3.0, "the Python float 3.0, which carries no derivative"),
        (3, "the Python int 3"),
        (object(), "returned a object"),
        ([None], "holds no array"),
    ]:
        for transform in (linad.grad, linad.jacobian, linad.derivative):
            with pytest.raises(errors.OutputError, match=words):
                transform(lambda x, r=result: r)(1.0)

    def boxed(x):
        box = np.empty(1, dtype=object)
        box[0] = x
        return box

    with pytest.raises(errors.OutputError, match="object array"):
        linad.grad(boxed)(1.0)

    class Labelled:
        """What xarray does: an array, traced or not, with names for its axes."""

        def __init__(self, data):
            self.data = data

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.data)

    with pytest.raises(errors.OutputError, match=r"returned a Labelled.*its \.data"):
        linad.grad(Labelled)(X)
    assert linad.grad(lambda x: linad.stop_gradient(np.float64(3.0)))(1.0) == 0
    constant = linad.jacobian(lambda x: linad.stop_gradient(np.ones(2)))(X)
    np.testing.assert_array_equal(constant, np.zeros((2, 3)))


def test_grad_needs_a_real_scalar():
    with pytest.raises(errors.OutputError, match=r"returned shape \(1,\); return its one entry, y"):
        linad.grad(lambda x: x[:1] ** 2)(np.ones(3))
    with pytest.raises(errors.OutputError, match=r"must return a scalar, it returned shape \(3,\)"):
        linad.grad(np.sin)(X)
    with pytest.raises(errors.OutputError, match="a container of"):
        linad.grad(lambda x: (np.sum(x), 1.0 * np.sum(x)))(X)
    with pytest.raises(errors.OutputError, match="complex scalar"):
        linad.grad(lambda x: np.sum(x) * 1j)(X)
    for name, call in (
        ("hessian", lambda: linad.hessian(np.sin)(X)),
        ("hessian_operator", lambda: linad.hessian_operator(np.sin, X)),
        ("hvp", lambda: linad.hvp(np.sin, (X,), (X,))),
    ):
        with pytest.raises(errors.OutputError, match=f"^{name}: sin must return a scalar"):
            call()
    with pytest.raises(errors.ShapeError, match="must be a scalar"):
        linad.derivative(np.sin)(X)
    with pytest.raises(errors.OutputError, match=r"must return \(result, aux\)"):
        linad.grad(total, has_aux=True)(X)


# Escapes.


@pytest.mark.parametrize(
    "f, words",
    [
        (lambda x: float(x[0]), "^float.. would take.*leave float.. out"),
        (lambda x: math.sin(x[0]), "^math.sin.. would take.*use np.sin"),
        (lambda x: complex(x[0]), r"x \+ 1j \* y"),
        (lambda x: int(x[0]), r"int\(x.astype\(int\)\)"),
        (lambda x: x[0].item(), "leave it out of a number"),
        (lambda x: x.tolist(), "iterate"),
        (lambda x: np.array([x[0], 1.0]), r"np.stack\(\[...\]\)"),
        (lambda x: np.asarray(x), "drop np.asarray"),
        (lambda x: np.max([x[0], x[1]]), "use linad.numpy.max, which"),
        (lambda x: scipy.special.logsumexp(x), "use linad.scipy.special.logsumexp"),
        (lambda x: scipy.linalg.solve(np.eye(3), x), "use linad.scipy.linalg.solve"),
        (lambda x: np.sin(x, out=np.zeros(3)), "np.zeros_like"),
        (lambda x: np.copyto(np.zeros(3), x), "^copyto would write.*np.zeros_like"),
        (lambda x: np.full_like(X, x[0]), "^numpy.full_like.. .*linad.numpy.full_like.*adopt"),
        (lambda x: np.put(np.zeros(3), [0], x), "^put would write.*np.zeros_like"),
        (lambda x: pickle.dumps(x), "return the value"),
    ],
)
def test_a_traced_value_cannot_escape(f, words):
    with pytest.raises(errors.TracerError, match=words):
        linad.jacobian(f)(X)


def test_writing_into_a_plain_array():
    def f(x):
        y = np.zeros(3)
        y[0] = x[0]
        return y

    # NumPy says "setting an array element with a sequence"; the user is told why.
    with pytest.raises(errors.TracerError, match=r"writing it into.*np.zeros_like") as info:
        linad.jacobian(f)(X)
    assert str(info.traceback[-1].statement).strip() == "y[0] = x[0]"

    def g(x):
        y = np.ones(3)
        y += x
        return y

    with pytest.raises(errors.TracerError, match="np.zeros_like"):
        linad.jacobian(g)(X)


def test_a_list_where_an_array_was_meant():
    with pytest.raises(errors.TracerError, match="^<lambda>: argument 0 is a list of 2 numbers"):
        linad.grad(lambda w: np.eye(2)[0] @ w)([0.5, 2.0])
    with pytest.raises(TypeError, match="unsupported operand") as raised:
        linad.grad(lambda w: w**2)([0.5, 2.0])
    assert "argument 0 is a list of 2 numbers" in "".join(raised.value.__notes__)


def test_a_leaked_value_says_where_it_is_kept():
    class Model:
        def loss(self, x):
            self.inner = np.sin(x)
            self.parts = {"twice": [2 * self.inner]}
            return np.sum(self.inner**2)

    model = Model()
    for derivative in (linad.grad, linad.hessian):
        derivative(model.loss)(X)
        for use in (np.asarray, np.sin, lambda x: float(x[0])):
            with pytest.raises(
                errors.LeakedTracerError,
                match=r"attribute inner of a Model, the attribute parts\['twice'\]\[0\] of a Model"
                r".*store linad.stop_gradient\(value\)",
            ):
                use(model.inner)


def test_a_leaked_value():
    kept = []

    def f(x):
        kept.append(x)
        return np.sum(x)

    linad.grad(f)(X)
    for use in (np.sin, lambda x: x + 1, lambda x: x[0]):
        with pytest.raises(errors.LeakedTracerError, match="had returned"):
            use(kept[0])
    with pytest.raises(errors.LeakedTracerError):
        linad.grad(lambda x: np.sum(x * kept[0]))(X)
    with pytest.raises(errors.LeakedTracerError):
        linad.grad(lambda x: np.sum(kept[0]))(X)


def test_an_exception_leaves_nothing_behind():
    def fails(x):
        linad.grad(total)(x)
        raise RuntimeError("mine")

    for transform in (linad.grad, linad.jacobian, linad.hessian, linad.derivative):
        with pytest.raises(RuntimeError, match="mine"):
            transform(fails)(X if transform is not linad.derivative else 1.0)
    np.testing.assert_array_equal(linad.grad(total)(X), 2 * X)


# Rules.


def test_a_missing_rule_says_how_to_add_it():
    @linad.primitive
    def mystery(x):
        return x * 2

    with pytest.raises(errors.MissingRuleError, match=r"mystery: no Jacobian for argument 0") as e:
        linad.grad(lambda x: np.sum(mystery(x)))(X)
    assert "@mystery.jacobian(wrt=0)" in str(e.value)


def test_a_function_that_is_not_traced():
    with pytest.raises(errors.UnsupportedError, match="btdtria is not traced.*@linad.primitive"):
        linad.grad(lambda x: btdtria(x, 0.3, 0.4))(0.5)
    with pytest.raises(errors.UnsupportedError, match="numpy.is_busday is not traced by linad"):
        linad.grad(np.is_busday)(X)


def test_numpys_own_errors_come_through():
    with pytest.raises(ValueError, match="broadcast|shapes"):
        linad.grad(lambda x: np.sum(x + np.ones(2)))(X)
    with pytest.raises(IndexError):
        linad.grad(lambda x: x[7])(X)
    with pytest.raises(ValueError, match="matmul"):
        linad.grad(lambda x: np.sum(x @ np.ones((2, 2))))(X)
    with pytest.raises(np.linalg.LinAlgError):
        linad.grad(lambda x: np.sum(np.linalg.inv(np.outer(x, np.zeros(3)))))(X)


def test_settings():
    with pytest.raises(TypeError, match="unknown setting 'speed'"), linad.config(speed=11):
        pass
    with pytest.raises(errors.DensifyError, match="densify_limit"), linad.config(densify_limit=8):
        np.asarray(linad.linearize(np.sin, X)[1])


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: np.ma.masked_array(np.ones((2, 2)), np.eye(2)), r"MaskedArray.*np.where\(m.mask"),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_arrays_with_an_arithmetic_of_their_own(make, words):
    other = make()
    A = np.array([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(errors.UnsupportedError, match=words):
        linad.grad(np.sum)(other)
    for f in (lambda x: x * other, lambda x: np.multiply(other, x), lambda x: other @ x):
        with pytest.raises((errors.UnsupportedError, errors.TracerError)):
            linad.linearize(f, A)
    with pytest.raises(errors.UnsupportedError, match=words):
        linad.linearize(lambda x: x + other, A)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_is_no_argument():
    with pytest.raises(errors.UnsupportedError, match=r"matrix.*np.asarray\(A\)"):
        linad.grad(np.sum)(np.asmatrix(np.ones((2, 2))))


class Attributes(dict):
    __getattr__ = dict.__getitem__


class Length(float):
    unit = 2.0

    def __mul__(self, other):
        return other * (float(self) * self.unit)


def test_dictionaries_that_answer_any_name():
    parameters = Attributes(a=np.ones(2))
    with pytest.raises(errors.DTypeError, match="argument 0 is a Attributes"):
        linad.grad(lambda p: np.sum(p["a"] ** 2))(parameters)
    with pytest.raises(errors.OutputError, match="returned a Attributes"):
        linad.linearize(lambda x: Attributes(a=x * 2.0), np.ones(2))
    with pytest.raises(errors.OperandError, match="x must be a vector"):
        linad.linearize(np.sin, np.ones(2))[1] @ parameters


def test_numbers_of_a_class_of_the_users_keep_their_methods():
    jitted = linad.jit(lambda x, s: s * x)
    for s in (Length(2.0), Length(3.0)):
        for _ in range(3):
            np.testing.assert_array_equal(jitted(np.ones(2), s), [2.0 * s, 2.0 * s])
