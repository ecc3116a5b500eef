"""Structured operators against the dense matrices they stand for."""

import numpy as np
import operator_zoo as zoo
import pytest
from operator_checks import C16, F8, array, check, complex_array, rng

import linad
from linad.operators.contraction import Contraction
from linad.operators.matrices import Kronecker, Matrix
from linad.operators.reordering import Broadcast
from linad.operators.structured import Cast, Conjugation, Diagonal, Identity, Masked, RealPart, Zero


def test_identity_and_zero():
    check(Identity((2, 3), F8), np.eye(6))
    check(Zero((2,), (3,), C16), np.zeros((2, 3)))


def test_diagonal():
    d = complex_array(2, 3)
    check(Diagonal(d, (2, 3), C16), np.diag(d.ravel()))
    check(Diagonal(d[0], (2, 3), C16), np.diag(np.tile(d[0], 2)))
    check(Diagonal(2.0, (3,), F8), 2 * np.eye(3))


def test_masked():
    mask = np.array([True, False, True])
    check(Masked(mask, (2, 3), F8), np.diag(np.tile(mask, 2).astype(float)))


@pytest.mark.parametrize("make", [array, complex_array])
def test_kronecker(make):
    left, right = make(4, 2), make(5, 3)
    dtype = left.dtype
    check(Kronecker(left, right, (4, 5), (2, 3), dtype), np.kron(left, right))
    check(Kronecker(left, None, (4, 3), (2, 3), dtype), np.kron(left, np.eye(3)))
    check(Kronecker(None, right, (2, 5), (2, 3), dtype), np.kron(np.eye(2), right))
    check(Kronecker(left, None, (4, 1), (2, 1), dtype), left)
    check(Kronecker(None, right, (1, 5), (1, 3), dtype), right)
    check(Matrix(left), left)


def test_kronecker_of_empty_factors():
    check(Kronecker(np.zeros((2, 0)), None, (2, 1), (0, 1), F8), np.zeros((2, 0)))
    check(Kronecker(None, np.zeros((0, 3)), (2, 0), (2, 3), F8), np.zeros((0, 6)))


def block_diagonal(blocks):
    n = range(len(blocks))
    return np.block([[blocks[i] if i == j else 0 * blocks[i] for j in n] for i in n])


@pytest.mark.parametrize("make", [array, complex_array])
def test_stacks_of_kronecker_products(make):
    left, right = make(3, 4, 2), make(3, 5, 2)
    dtype = left.dtype
    blocks = [np.kron(a, b) for a, b in zip(left, right, strict=True)]
    both = Kronecker(left, right, (3, 4, 5), (3, 2, 2), dtype)
    check(both, block_diagonal(blocks))
    # One argument for the whole stack: the blocks stand above each other.
    check(Kronecker(left, right, (3, 4, 5), (2, 2), dtype), np.vstack(blocks))
    check(Kronecker(left, right, (3, 4, 5), (1, 2, 2), dtype), np.vstack(blocks))
    # One factor for a stack of arguments.
    one = Kronecker(left[0], right, (3, 4, 5), (3, 2, 2), dtype)
    check(one, block_diagonal([np.kron(left[0], b) for b in right]))


def test_kron_of_arrays_is_in_the_structure():
    a, b = array(2, 3), array(4, 2)
    J = linad.linearize(lambda a: np.kron(a, b), a)[1]
    columns = [np.kron(e.reshape(2, 3), b).ravel() for e in np.eye(6)]
    np.testing.assert_allclose(J.todense(), np.stack(columns, axis=-1))


def test_cast():
    op = Cast((2,), C16, F8)
    np.testing.assert_array_equal(op.todense(), np.eye(2))
    z = complex_array(3, 2)
    np.testing.assert_array_equal(op.pullback(z), z.real)
    np.testing.assert_array_equal(op.pushforward(z.real), z.real.astype(complex))


@pytest.mark.parametrize("op", [Conjugation((2, 3), C16), RealPart((2, 3), F8, C16)])
def test_maps_linear_over_the_reals_are_adjoint(op):
    v = zoo.numbers(rng, (2, 3), op.in_dtype)
    w = zoo.numbers(rng, (2, 3), op.out_dtype)
    np.testing.assert_allclose(
        np.vdot(w, op.pushforward(v)).real, np.vdot(op.pullback(w), v).real, rtol=1e-14
    )


FRESH = {
    "kronecker": Kronecker(array(2, 2), None, (2, 3), (2, 3), F8),
    "contraction": Contraction("ij", [("jk", array(3, 3))], "ik", (2, 3), (2, 3), F8),
    "contraction of one": Contraction("ij", [], "ji", (3, 2), (2, 3), F8),
    "broadcast": Broadcast((2, 3), (3,), F8),
    "masked": Masked(np.array(True), (2, 3), F8),
}


@pytest.mark.parametrize("name", FRESH)
def test_fresh_results_share_no_memory(name):
    op = FRESH[name]
    for method, shape in ((op.pushforward, op.in_shape), (op.pullback, op.out_shape)):
        seed = array(*shape)
        result = method(seed)
        if op.owns_result:
            assert result.flags.writeable
            assert not np.may_share_memory(result, seed)
