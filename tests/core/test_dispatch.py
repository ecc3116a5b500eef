"""What NumPy and SciPy code does with a traced value: it traces, or linad says what to do.

Never a silent object array, never a derivative dropped in silence.
"""

import copy
import math
import pickle
import re

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import scipy.special
from numpy.testing.overrides import (
    get_overridable_numpy_array_functions,
    get_overridable_numpy_ufuncs,
)

import linad
from linad.core.dispatch import FUNCTIONS, UFUNCS
from linad.core.primitive import Primitive
from linad.errors import LinadError, OutputError, TracerError, UnsupportedError
from linad.testing.derivative_checks import check_derivatives

X = np.array([0.7, -0.4, 1.3])
R = np.array([1.0, 2.0, -3.0])
LIST = [1.0, 2.0, 3.0]
M = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
rng = np.random.default_rng(0)


def written(y, x):
    y[0] = x[1] ** 2
    y[1:] = x[:2]
    return y


def accumulated(y, x):
    y += x**2
    return y


TRACES = {
    # Operators and ufuncs.
    "array-plus": lambda x: R + x,
    "matrix-product": lambda x: M @ x,
    "numpy-scalar": lambda x: np.float64(2) * x,
    "list-plus": lambda x: LIST + x,
    "abs": lambda x: abs(x),
    "divmod": lambda x: divmod(x, 0.3)[1],
    "clip-method": lambda x: x.clip(-0.1, 0.9),
    "sin": lambda x: np.sin(x),
    "reduce": lambda x: np.multiply.reduce(x),
    "accumulate": lambda x: np.add.accumulate(x**2),
    "outer": lambda x: np.multiply.outer(x, R),
    "where-keyword": lambda x: np.sqrt(x, where=x > 0),
    "matvec": lambda x: np.vecdot(x, R),
    # Functions.
    "sum": lambda x: np.sum(x),
    "where": lambda x: np.where(x > 0, x**2, 0),
    "concatenate": lambda x: np.concatenate([x, R, x**2]),
    "stack-of-numbers": lambda x: np.stack([x[0], 1.0, x[1] * x[2]]),
    "block": lambda x: np.block([[x[0], 1.0], [x[1], x[2] ** 2]]),
    "solve": lambda x: np.linalg.solve(M + np.diag(x), R),
    "einsum": lambda x: np.einsum("i,ij,j->i", x, M, x),
    "fft": lambda x: np.fft.fft(x),
    "interp": lambda x: np.interp(x, [-2.0, 0.0, 2.0], [1.0, 0.0, 3.0]),
    "gradient": lambda x: np.gradient(x**2),
    "convolve": lambda x: np.convolve(x, R),
    "histogram-weights": lambda x: np.histogram(R, bins=2, weights=x)[0] * x[0],
    "polyval": lambda x: np.polynomial.polynomial.polyval(x, [1.0, 2.0, 3.0]),
    "meshgrid": lambda x: np.meshgrid(x, R)[0] ** 2,
    "linspace": lambda x: np.linspace(x[0], x[2], 4),
    "sliding-window": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2) ** 2,
    # Constructors with like=.
    "array-like": lambda x: np.array([x[0], 1.0, x[1] ** 2], like=x),
    "asarray-like": lambda x: np.asarray(x, like=x) ** 2,
    "full-like-keyword": lambda x: np.full(3, x[0], like=x) ** 2,
    # Writing.
    "zeros_like": lambda x: written(np.zeros_like(x), x),
    "empty_like": lambda x: written(np.empty_like(x), x),
    "zeros-like-keyword": lambda x: written(np.zeros(3, like=x), x),
    "item-assignment": lambda x: written(x, x.copy()),
    "in-place-add": lambda x: accumulated(np.ones_like(x), x),
    # Methods, and Python's own.
    "method-chain": lambda x: (x**2).reshape(3, 1).sum(axis=1).cumsum(),
    "isnan-any": lambda x: x**2 if not np.isnan(x).any() else x,
    "math.prod": lambda x: math.prod([x[0], x[1]]),
    "sum-of-list": lambda x: sum([x[0], x[1] ** 2]),
    "branch": lambda x: x**2 if x[0] > 0 else x,
    "max": lambda x: max(x[0] ** 2, x[1] ** 2, 0.1),
    "sorted": lambda x: np.stack(sorted(x**2)),
    "mask-of-plain": lambda x: R[x > 0] * x[x > 0],
    "integer-index": lambda x: R[np.argmax(x)] * x,
    "contains": lambda x: x if 2.0 in [x[0]] else x**2,
    "range": lambda x: x * len(range(np.argmax(x))),
    "iteration": lambda x: np.stack([s**2 for s in x]),
    "deepcopy": lambda x: copy.deepcopy(x) ** 2,
    # Sparse, special.
    "csr": lambda x: scipy.sparse.csr_array(M) @ x,
    "csr-dot": lambda x: scipy.sparse.csr_array(M).dot(x),
    "csr-transpose": lambda x: scipy.sparse.csr_array(M).T @ x,
    "csr-from-right": lambda x: x @ scipy.sparse.csr_array(M),
    "erf": lambda x: scipy.special.erf(x),
    "gammaln": lambda x: scipy.special.gammaln(x**2 + 1),
    "xlogy": lambda x: scipy.special.xlogy(x**2, 2 + x),
}

# Plain code at plain points, where NumPy itself has another meaning.
BY_VALUE = {
    "zeros-like-keyword": lambda x: written(np.zeros(3), x),
    "array-like": lambda x: np.array([x[0], 1.0, x[1] ** 2]),
    "asarray-like": lambda x: x**2,
    "full-like-keyword": lambda x: np.full(3, x[0]) ** 2,
    "item-assignment": lambda x: written(x.copy(), x.copy()),
    "where-keyword": lambda x: np.sqrt(x, where=x > 0, out=np.zeros(3)),
}


@pytest.mark.parametrize("name", TRACES)
def test_traces(name):
    f = TRACES[name]
    plain = BY_VALUE.get(name, f)
    y = linad.linearize(f, X)[0]
    expected = np.asarray(plain(X))
    assert np.asarray(y).dtype == expected.dtype != object
    np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-15)
    point = np.array([0.7, 0.4, 1.3]) if name == "where-keyword" else X
    check_derivatives(
        lambda x: f(x) if isinstance(x, linad.arrays.tracer.Tracer) else plain(x), point
    )


def test_rounding_is_constant():
    for f in (round, math.floor, math.ceil, math.trunc):
        y, J = linad.linearize(lambda x, f=f: f(x[0]) * x, X)
        np.testing.assert_array_equal(y, f(X[0]) * X)
        np.testing.assert_array_equal(J.pushforward(np.ones(3)), np.full(3, f(X[0])))
    y, J = linad.linearize(lambda x: round(x[0], 1) * x, X)
    np.testing.assert_array_equal(J.pushforward(np.ones(3)), np.full(3, 0.7))


def test_text_shows_the_value():
    shown = []
    linad.linearize(lambda x: shown.append(f"{x[0]:.1f} {x}") or x, X)
    assert shown == [f"0.7 {X}"]


def object_filled(x):
    y = np.empty(3, object)
    y[0] = x[0]
    y[1] = y[2] = 1.0
    return y


def stored(y, index, value):
    y[index] = value
    return y


# name: function, words of the remedy
REFUSES = {
    "np.array": (lambda x: np.array(x), "drop np.a"),
    "np.asarray": (lambda x: np.asarray(x), "linad.numpy"),
    "np.asanyarray": (lambda x: np.asanyarray(x), "linad.numpy"),
    "np.ascontiguousarray": (lambda x: np.ascontiguousarray(x), "linad.numpy"),
    "np.asarray_chkfinite": (lambda x: np.asarray_chkfinite(x), "linad.numpy"),
    "np.require": (lambda x: np.require(x, float, ["C"]), "linad.numpy"),
    "array-of-numbers": (lambda x: np.array([x[0], 1.0]), "np.stack|linad.numpy"),
    "array-of-arrays": (lambda x: np.array([x, x]), r"np.stack\(\[...\]\)"),
    "array-of-objects": (lambda x: np.array([x, x], dtype=object), "np.stack"),
    "sum-of-list": (lambda x: np.sum([x[0], x[1]]), "np.stack"),
    "dot-of-list": (lambda x: np.dot([x[0], x[1]], R[:2]), "np.stack"),
    "sin-of-list": (lambda x: np.sin([x[0], x[1]]), "np.stack"),
    "norm-of-list": (lambda x: np.linalg.norm([x[0], x[1]]), "np.stack"),
    "stack-of-lists": (lambda x: np.stack([[x[0], x[1]], [x[1], x[0]]]), r"np\.block"),
    "concatenate-of-lists": (lambda x: np.concatenate([[x[0]], [x[1]]]), "np.stack"),
    "r_": (lambda x: np.r_[x, R], "linad.numpy"),
    "c_": (lambda x: np.c_[x, R], "linad.numpy"),
    "slice-into-plain": (lambda x: stored(np.zeros(3), slice(None), x), "linad.numpy"),
    "mask-into-plain": (lambda x: stored(np.zeros(3), R > 0, x[:2]), "linad.numpy"),
    "in-place-add-to-plain": (lambda x: accumulated(np.zeros(3), x), "zeros_like"),
    "out": (lambda x: np.sin(x, out=np.zeros(3)), "instead of an in-place update"),
    "copyto": (lambda x: np.copyto(np.zeros(3), x), "linad"),
    "add.at": (lambda x: np.add.at(np.zeros(3), [0, 1], x[:2]), "linad|plain"),
    "put": (lambda x: np.put(np.zeros(3), [0], x[0]), "linad|plain"),
    "full_like-plain": (lambda x: np.full_like(R, x[0]), "linad"),
    "full": (lambda x: np.full(3, x[0]), "linad"),
    "arange": (lambda x: np.arange(x[0]), "linad.numpy"),
    "vectorize": (lambda x: np.vectorize(lambda s: s + 1)(x), "linad.numpy"),
    "broadcast": (lambda x: np.broadcast(x, R), "linad.numpy"),
    "as_strided": (lambda x: np.lib.stride_tricks.as_strided(x, (2,), (8,)), "linad.numpy"),
    "masked": (lambda x: np.ma.masked_array(x), "keep the mask apart"),
    "Polynomial": (lambda x: np.polynomial.Polynomial([1.0, 2.0])(x), None),
    "assert_allclose": (lambda x: np.testing.assert_allclose(x, R), None),
    "random": (lambda x: np.random.default_rng(0).normal(x), "rng.standard_normal"),
    "dot-method": (lambda x: R.dot(x), "linad.numpy"),
    "dot-method-of-matrix": (lambda x: M.T.dot(x), "linad.numpy"),
    "repeat-method": (lambda x: R.repeat(x), "linad.numpy"),
    "searchsorted-method": (lambda x: np.sort(R).searchsorted(x[0]), "linad.numpy"),
    "float": (lambda x: float(x[0]), "NumPy functions"),
    "int": (lambda x: int(x[0]), "x.astype"),
    "complex": (lambda x: complex(x[0]), r"x \+ 1j \* y"),
    "math.sin": (lambda x: math.sin(x[0]), "use np.sin"),
    "math.fsum": (lambda x: math.fsum(x), "use np.sum"),
    "math.sqrt": (lambda x: math.sqrt(x[0]), "use np.sqrt"),
    "item": (lambda x: x[0].item(), "x\\[0\\]"),
    "tolist": (lambda x: x.tolist(), "iterate"),
    "tobytes": (lambda x: x.tobytes(), "stop_gradient"),
    "pickle": (lambda x: pickle.dumps(x), "return the value"),
    "scipy.linalg": (lambda x: scipy.linalg.solve(M, x), "linad.scipy"),
    "scipy.linalg.expm": (lambda x: scipy.linalg.expm(x * M), "linad.scipy"),
    "scipy.fft": (lambda x: scipy.fft.fft(x), "linad"),
    "scipy.integrate": (lambda x: scipy.integrate.trapezoid(x), "linad"),
    "logsumexp": (lambda x: scipy.special.logsumexp(x), "linad.scipy"),
    "sparse-times": (lambda x: scipy.sparse.csr_array(M) * x, "linad.scipy|A @ x"),
    "sparse-of-traced": (lambda x: scipy.sparse.csr_array((x, ([0, 1, 2],) * 2)), "linad"),
    "aslinearoperator": (lambda x: scipy.sparse.linalg.aslinearoperator(M) @ x, "linad.scipy"),
    "cg": (lambda x: scipy.sparse.linalg.cg(M, x), "linad.scipy"),
    "object-return": (object_filled, "np.stack"),
    "object-beside-traced": (lambda x: x * object_filled(x), "object|np.stack"),
    "object-function": (lambda x: np.dot(np.array([1.0, None, "a"]), x), "object"),
}


def refusal(f):
    """The error of a function of a traced value; None if there is none."""
    try:
        linad.linearize(f, X)
    except Exception as error:
        return error
    return None


def chain(error):
    """An exception and those it came from."""
    found = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


@pytest.mark.parametrize("name", REFUSES)
def test_refuses_and_says_what_to_do(name):
    f, remedy = REFUSES[name]
    error = refusal(f)
    linads = [e for e in chain(error) if isinstance(e, LinadError)]
    assert linads, f"{error!r} is none of linad's errors"
    if remedy is not None:
        assert any(re.search(remedy, str(e)) for e in linads), str(linads[0])


def test_item_assignment_into_a_plain_array():
    # NumPy answers with an error of its own; linad's is its cause.
    def f(x):
        y = np.zeros(3)
        y[0] = x[0]
        return y

    with pytest.raises((ValueError, TypeError)) as caught:
        linad.linearize(f, X)
    texts = [str(e) for e in chain(caught.value) if isinstance(e, TracerError)]
    assert texts
    assert "linad.numpy.zeros" in texts[0]
    with pytest.raises((ValueError, TypeError)) as caught:
        linad.linearize(lambda x: R.copy().fill(x[0]), X)
    assert any(isinstance(e, TracerError) for e in chain(caught.value))


def test_numpys_iterator():
    with pytest.raises(TypeError):
        linad.linearize(lambda x: np.nditer(x), X)


def test_hash():
    with pytest.raises(TypeError, match="unhashable"):
        linad.linearize(lambda x: {x: 1}, X)


def test_numpys_plain_arrays_are_not_written_into():
    target = np.zeros(3)
    for f in (
        lambda x: accumulated(target, x),
        lambda x: np.sin(x, out=target),
        lambda x: np.copyto(target, x),
        lambda x: np.add.at(target, [0], x[:1]),
        lambda x: np.put(target, [0], x[0]),
        lambda x: np.concatenate([x], out=target),
        lambda x: np.sum(x, axis=0, keepdims=True, out=target[:1]),
        lambda x: np.cumsum(x, out=target),
        lambda x: np.dot(M, x, out=target),
        lambda x: np.take(x, [0, 1, 2], out=target),
    ):
        with pytest.raises(LinadError):
            linad.linearize(f, X)
    assert not target.any()


# The sweep: everything that NumPy lets a traced value into.


NUMPY_FUNCTIONS = sorted(
    (f for f in get_overridable_numpy_array_functions() if f.__module__.startswith("numpy")),
    key=lambda f: (f.__module__, f.__name__),
)


def test_ufuncs_without_a_traced_form_say_so():
    for ufunc in get_overridable_numpy_ufuncs() - UFUNCS.keys():
        error = refusal(lambda x, u=ufunc: u(*[x] * u.nin))
        assert isinstance(error, UnsupportedError), ufunc
        assert ufunc.__name__ in str(error)


def test_functions_without_a_traced_form_say_so():
    for function in set(NUMPY_FUNCTIONS) - FUNCTIONS.keys():
        # As NumPy calls it, whatever the signature.
        error = refusal(lambda x, f=function: x.__array_function__(f, (type(x),), (x,), {}))
        assert isinstance(error, UnsupportedError), function
        assert function.__name__ in str(error)


def test_what_dispatches_never_makes_an_object_array():
    """Calls with one traced argument: an array of numbers, an answer, or an error."""
    kept = []
    for function in FUNCTIONS:
        refusal(lambda x, f=function: kept.append((f, f(x))))
    assert len(kept) > 100
    for function, y in kept:
        for part in y if isinstance(y, (tuple, list)) else [y]:
            if isinstance(part, (np.ndarray, linad.arrays.tracer.Tracer)):
                assert not part.dtype.hasobject, function.__name__


def test_a_function_that_returns_an_object_array():
    with pytest.raises(OutputError, match="object array"):
        linad.linearize(object_filled, X)
    for derivative in (linad.linearize, linad.trace, lambda f, x: linad.jvp(f, (x,), (x,))):
        with pytest.raises(UnsupportedError, match="object array"):
            derivative(lambda x: np.sum(x * object_filled(x)), X)


def test_functions_of_numpys_take_their_operands_by_name():
    """A primitive takes operands by place only, and would ask NumPy for ever."""
    made = {f for f, form in FUNCTIONS.items() if isinstance(form, Primitive)}
    assert all(isinstance(f, np.ufunc) for f in made)
    np.testing.assert_array_equal(linad.linearize(lambda x: np.sinc(x=x), X)[0], np.sinc(X))
