"""einsum: every form of its arguments."""

import functools

import numpy as np
import pytest

import linad
from linad.errors import TracerError
from linad.rules.einsum import einsum_
from linad.testing.rule_checks import Case

rng = np.random.default_rng(0)
COMPLEX = {"complex_": True}


def array(*shape):
    return rng.standard_normal(shape)


def einsum(subscripts, **kwargs):
    function = functools.partial(np.einsum, subscripts, **kwargs)
    function.__name__ = subscripts
    return function


def by_lists(a, b):
    return np.einsum(a, [7, 1], b, [1, 2, Ellipsis], [2, 7, Ellipsis])


def by_implicit_lists(a, b):
    return np.einsum(a, [30, 1], b, [1, 2])


CASES = [
    Case(einsum_, array(2, 3), array(3, 2), labels=("ij", "jk"), out="ki", optimize=False),
    Case(einsum("ij,jk"), array(2, 3), array(3, 2), check=COMPLEX),
    Case(einsum("ij,jk->"), array(2, 3), array(3, 2)),
    Case(einsum("ba"), array(2, 3)),
    Case(einsum("ij->j"), array(2, 3), check=COMPLEX),
    Case(einsum("ii"), array(3, 3), check=COMPLEX),
    Case(einsum("ii->i"), array(3, 3)),
    Case(einsum("iij,kjk->ik"), array(2, 2, 3), array(2, 3, 2), check=COMPLEX),
    Case(einsum("iii->i"), array(2, 2, 2)),
    Case(einsum("...ij,...jk->...ik"), array(2, 1, 2, 3), array(4, 3, 2)),
    Case(einsum("i...,i...->..."), array(3, 2), array(3, 1)),
    Case(einsum("i...,ij"), array(2, 3), array(2, 2)),
    Case(einsum("ij,ij->ij"), array(1, 3), array(2, 3)),
    Case(einsum("ij,jk,kl->il", optimize=True), array(2, 3), array(3, 2), array(2, 2)),
    Case(einsum("i,i,i->", optimize="optimal"), array(3), array(3), array(3), check=COMPLEX),
    Case(einsum(" i , j -> i j "), array(2), array(3)),
    Case(einsum(",i->i"), np.array(2.0), array(3)),
    Case(einsum("ij,j->i"), array(0, 3), array(3)),
    Case(by_lists, array(2, 3), array(3, 2, 2)),
    Case(by_implicit_lists, array(2, 3), array(3, 2)),
]


@pytest.mark.parametrize("k", range(1, len(CASES)))
def test_values_are_numpys(k):
    case = CASES[k]
    y, _ = linad.linearize(lambda *args: case.function(*args), *case.args)
    expected = case.function(*case.args)
    assert np.shape(y) == np.shape(expected)
    np.testing.assert_allclose(y, expected, rtol=1e-13)


def test_dtype():
    y, _ = linad.linearize(lambda x: np.einsum("i,i", x, x, dtype=complex), np.ones(3))
    assert y.dtype == complex


def test_path_is_that_of_the_values():
    x = array(2, 3)
    paths = []
    linad.linearize(lambda x: paths.append(np.einsum_path("ij,kj", x, x)) or x, x)
    assert paths[0][0] == np.einsum_path("ij,kj", x, x)[0]


def test_optimize_as_a_path():
    a, b, c = array(2, 3), array(3, 4), array(4, 2)
    path = np.einsum_path("ij,jk,kl", a, b, c)[0]
    y, _ = linad.linearize(lambda a: np.einsum("ij,jk,kl", a, b, c, optimize=path), a)
    np.testing.assert_allclose(y, a @ b @ c)


ERRORS = {
    "an operand too few": lambda x: np.einsum("ij,jk", x),
    "a letter too many": lambda x: np.einsum("ijk", x),
    "a letter too few": lambda x: np.einsum("i", x),
    "a diagonal of a rectangle": lambda x: np.einsum("ii", x),
    "lengths": lambda x: np.einsum("ij,ij", x, np.ones((3, 4))),
    "a result letter twice": lambda x: np.einsum("ij->iij", x),
    "an unknown result letter": lambda x: np.einsum("ij->ik", x),
    "no ellipsis in the result": lambda x: np.einsum("i...->i", x),
    "a digit": lambda x: np.einsum("i1", x),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_numpys(name):
    function = ERRORS[name]
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"\w"):
        function(x)
    with pytest.raises(ValueError, match=r"\w"):
        linad.linearize(function, x)


def test_out_is_refused():
    with pytest.raises(TracerError):
        linad.linearize(lambda x: np.einsum("i,i", x, x, out=np.zeros(())), np.ones(3))


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4", "?", "f4"])
def test_derivatives_do_not_sum_in_the_dtype_of_an_operand(dtype):
    """An optimised order sums an image of bytes by itself, and 200 + 100 is 44 there."""
    image = np.array([[200, 100, 255], [90, 120, 250]]).astype(dtype)
    wide = image.astype(float)
    x, v = np.array([0.5]), np.array([0.1, 0.2, 0.3])
    for f in (
        lambda x, a: np.einsum("i,jk->j", x, a),
        lambda x, a: np.einsum("jk,i->", a, x),
        lambda x, a: np.einsum("...i,...i", x, a),
        lambda x, a: np.einsum("jk,i,k->j", a, x, v),
        lambda x, a: np.einsum("jk,i->", a, x, optimize=True),
        lambda x, a: np.kron(a, x[:, None]).sum(0),
        lambda x, a: np.tensordot(a, x, axes=0).sum((0, 1)),
    ):
        expected = linad.jacobian(lambda x, f=f: f(x, wide))(x)
        np.testing.assert_allclose(linad.jacobian(lambda x, f=f: f(x, image))(x), expected)
        pushed = linad.jvp(lambda x, f=f: f(x, image), (x,), (np.ones(1),))[1]
        np.testing.assert_allclose(pushed, expected.reshape(np.shape(pushed)))
        total = linad.jit(linad.grad(lambda x, a, f=f: np.sum(f(x, a))))
        np.testing.assert_allclose(total(x, image), np.sum(expected).reshape(1))
