"""What operators say of themselves: nothing is forgotten, and nothing is wrong."""

import numpy as np
import operator_zoo as zoo
import pytest
from scipy.sparse import random_array
from scipy.sparse.linalg import aslinearoperator

import linad
from linad.core.indices import Index
from linad.linalg.linear_systems import solve_linear
from linad.operators import wrappers
from linad.operators.block_substitution import BlockTriangularSolve
from linad.operators.blocks import Blocks
from linad.operators.circulant import Circulant
from linad.operators.composites import Chain, Sum, bare
from linad.operators.contraction import Contraction
from linad.operators.dft import Fourier
from linad.operators.facts import (
    DEFINITE,
    FACTS,
    HERMITIAN,
    NOTHING,
    SEMIDEFINITE,
    column_squares_of,
    declares,
    diagonal_of,
    knows,
    norm_of,
)
from linad.operators.foreign import Foreign
from linad.operators.matrices import Kronecker, Matrix, RowProducts, Solve
from linad.operators.placement import Pad, Roll
from linad.operators.recurrences import (
    BackwardDifference,
    CumulativeSum,
    Difference,
    Recurrence,
    SegmentSum,
)
from linad.operators.reduction import ScaledSum, WeightedSum
from linad.operators.reordering import Broadcast, Permutation, Reshape
from linad.operators.rewrites import OperatorSimplifier
from linad.operators.stored_matrices import StoredMatrix, parts_of, storage_of
from linad.operators.structured import Cast, Diagonal, Identity, Masked, Zero
from linad.operators.tagged import Tagged
from linad.operators.wrappers import Adjoint, Extended, Reshaped, Scaled, Transpose
from linad.rules.cosines import CosineTransform
from linad.rules.cumulative import recurrence
from linad.rules.gathering import EntriesAlong
from linad.rules.indexing import Selection
from linad.rules.triangular import TriangularSolve

pytestmark = pytest.mark.whole

ALONE = ("plainer", "isometric", "diagonal_after", "pattern_names", "rank_bound", "relation_key")
"""Facts whose answer for an unknown matrix is right as it stands."""

REQUIRED = [name for name in FACTS if name not in ALONE]


CLASSES = zoo.every_class()


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_no_fact_is_forgotten(kind):
    """Each is declared, or named among the unknown."""
    unknown = set(kind.unknown.split())
    declared = {name for name in FACTS if declares(kind, name)}
    assert unknown <= set(REQUIRED)
    assert set(REQUIRED) - declared - unknown == set()
    assert declared & unknown == set()


KINDS = ("dct", "dst")

F8, F4, C16 = np.dtype(float), np.dtype(np.float32), np.dtype(complex)


def examples(dtype, rng):
    """Operators of every class that knows something of its matrix, some of each."""

    def r(*shape):
        return zoo.numbers(rng, shape, dtype)

    a, b, low = r(3, 3), r(2, 2), np.tril(r(3, 3)) + 3 * np.eye(3, dtype=dtype)
    s, real = (2, 3), np.zeros(0, dtype).real.dtype
    hermitian = a @ a.conj().T
    spectrum = np.fft.fft(np.array([3.0, -1.0, -0.5]) if dtype.kind != "c" else r(3))
    spectrum = np.broadcast_to(spectrum, s)
    index = Index((np.array([2, 0, 2]),))
    sparse = random_array((4, 3), density=0.5, rng=rng, dtype=real).astype(dtype)
    diagonal, matrix = Diagonal(abs(r(3)) + 1, (3,), dtype), Matrix(a)
    found = [
        Identity(s, dtype),
        Zero(s, s, dtype),
        Zero((2,), s, dtype),
        Diagonal(r(2, 3), s, dtype),
        Diagonal(abs(r(3)) + 0.1, s, dtype),
        Diagonal(2.5, s, dtype),
        Masked(np.array([[True, False, True]]), s, dtype),
        Masked(np.ones(3, bool), s, dtype),
        Broadcast(s, (3,), dtype),
        Broadcast((2, 3, 2), (3,), dtype, (0, 2)),
        Reshape((6,), s, dtype),
        Permutation((1, 0), s, dtype),
        Permutation((0, 1), s, dtype),
        Kronecker(b, None, s, s, dtype),
        Kronecker(None, a, s, s, dtype),
        Kronecker(np.tril(b), low, s, s, dtype),
        Kronecker(b @ b.conj().T, hermitian, s, s, dtype),
        Kronecker(r(4, 2), r(2, 3), (4, 2), s, dtype),
        Kronecker(r(5, 3, 3), None, (5, 3, 2), (5, 3, 2), dtype),
        Kronecker(r(5, 2, 2), None, (5, 2, 3), s, dtype),
        matrix,
        Matrix(low),
        Matrix(low.T),
        Matrix(hermitian),
        Matrix(r(2, 3)),
        RowProducts(r(3), s, dtype),
        Contraction("ij", [("jk", a)], "ik", s, s, dtype),
        Contraction("ij", [("jk", a), ("i", r(2))], "ki", (3, 2), s, dtype),
        Contraction("ij", [("i", r(2))], "i", (2,), s, dtype),
        Solve(low, (3, 2), (3, 2), dtype),
        TriangularSolve(low, (3, 2), (3, 2), dtype, True, False),
        TriangularSolve(low.T, (3, 2), (3, 2), dtype, False, True),
        CumulativeSum(1, s, dtype),
        CumulativeSum(0, s, dtype),
        Difference(1, s, dtype),
        SegmentSum(np.array([0, 2]), 1, s, dtype),
        Recurrence(recurrence, r(2, 3), -1, False, s, dtype),
        Recurrence(recurrence, r(2, 3), -2, True, s, dtype),
        BackwardDifference(-1, s, dtype),
        BackwardDifference(-2, s, dtype, r(2, 3), backward=True),
        Pad((1, 0), (4, 3), s, dtype),
        Roll((1,), (1,), s, dtype),
        Roll((2, 1), (1, 0), s, dtype),
        Circulant(spectrum, (-1,), s, dtype),
        *[CosineTransform((3, 2), dtype, kind, k, -2) for kind in KINDS for k in (1, 2, 3, 4)],
        *[CosineTransform((1,), dtype, kind, k, -1) for kind in KINDS for k in (2, 3)],
        ScaledSum((0,), s, dtype, 0.5),
        WeightedSum(r(2, 3), (1,), s, dtype),
        Selection(index, (3,), (4,), dtype),
        Selection(Index((np.array([2, 0, 1]),)), (3,), (3,), dtype),
        EntriesAlong(np.array([2, 0, 2]), -1, (2, 3), s, dtype),
        EntriesAlong(np.array([[2, 1], [0, 1]]), -2, (2, 2, 2), (3, 2), dtype),
        Foreign(aslinearoperator(sparse)),
        StoredMatrix(parts_of(sparse), storage_of(sparse), False, (), dtype),
        linad.linearize(lambda x: np.ravel(x)[:4].reshape(2, 2), r(2, 3))[1],
        linad.linearize(lambda x: x[1:] * x[:-1], r(4))[1],
        Scaled(-2.0, matrix),
        Scaled(0.5, Matrix(hermitian)),
        Adjoint(Matrix(low)),
        Adjoint(Kronecker(r(4, 2), r(2, 3), (4, 2), s, dtype)),
        Chain((diagonal, matrix)),
        Chain((matrix, diagonal)),
        Chain((matrix, Matrix(low))),
        Chain((Adjoint(Matrix(r(2, 3))), Matrix(r(2, 3)))),
        (lambda op: Chain((Adjoint(op), op)))(Matrix(r(2, 3))),
        Chain((Roll((1,), (0,), (3,), dtype), matrix)),
        Sum((diagonal, matrix)),
        Sum((diagonal, Diagonal(abs(r(3)), (3,), dtype))),
        Sum((Identity((3,), dtype), Roll((1,), (0,), (3,), dtype))),
        Sum((Kronecker(b, None, s, s, dtype), Kronecker(None, a, s, s, dtype))),
        Sum((Diagonal(abs(r(6)) + 1, (6,), dtype), Chain((Matrix(r(6, 1)), Matrix(r(1, 6)))))),
        Reshaped(matrix, (3, 1), (1, 3)),
        Reshaped(Matrix(low), (3, 1), (1, 3)),
        Tagged(Matrix(hermitian), {"hermitian": None}),
        Tagged(Matrix(low), {"lower triangular": None, "banded": (2, 0)}),
        Blocks([(0, 0, matrix), (1, 1, Matrix(b))], [3, 2], [3, 2]),
        Blocks([(0, 0, matrix), (1, 0, Matrix(r(2, 3))), (1, 1, Matrix(b))], [3, 2], [3, 2]),
        Blocks([(0, 0, Matrix(low)), (1, 1, Matrix(hermitian))], [3, 3], [3, 3]),
        BlockTriangularSolve([Matrix(low), Matrix(low)], [(1, 0, matrix)], [3, 3], True),
        linad.normal_of(lambda w, X: X @ w, [r(3, 4), r(1, 4)], jit=False)(r(4)),
    ]
    if dtype.kind == "c":
        found += [
            Fourier((-1,), False, "ortho", s, dtype),
            Fourier((-1, -2), True, "backward", s, dtype),
            Transpose(matrix),
            Scaled(1j, Matrix(hermitian)),
        ]
    else:
        found += [
            Extended(Matrix(low), np.result_type(dtype, np.complex64), C16),
            Cast(s, C16, F8),
        ]
    return found


def named(dtype):
    ops = examples(dtype, np.random.default_rng(7))
    return [pytest.param(op, id=f"{type(op).__name__}-{k}-{dtype}") for k, op in enumerate(ops)]


EXAMPLES = [*named(F8), *named(C16)]


def test_every_class_that_knows_something_has_an_example():
    shown = {type(p.values[0]) for p in EXAMPLES}
    telling = [name for name in REQUIRED if name != "relation"]
    wanted = {
        kind
        for kind in CLASSES
        if any(declares(kind, name) for name in telling)
        and not issubclass(kind, wrappers.SameMatrix)
    }
    assert {kind.__name__ for kind in wanted - shown} == set()


@pytest.mark.parametrize("op", EXAMPLES)
def test_facts_are_true_of_the_matrix(op):
    A = zoo.by_columns(op)
    m, n = A.shape
    eps = 300 * np.finfo(op.dtype).eps
    tolerance = {"rtol": eps, "atol": eps * (1 + np.abs(A).max(initial=0))}
    assert np.linalg.matrix_rank(A) <= op.rank_bound()
    squares = column_squares_of(op)
    if squares is not None:
        np.testing.assert_allclose(squares, np.sum(np.abs(A) ** 2, axis=0), **tolerance)
    norm = norm_of(op)
    if norm is not None:
        np.testing.assert_allclose(norm, np.linalg.norm(A, 2), **tolerance)
    if op.isometric():
        np.testing.assert_allclose(A.conj().T @ A, np.eye(n), **tolerance)
    if m != n:
        return
    diagonal = diagonal_of(op)
    if diagonal is not None:
        assert diagonal.dtype == op.dtype
        np.testing.assert_allclose(diagonal, np.diagonal(A), **tolerance)
    lower, upper = op.triangles()
    assert not (lower and np.triu(A, 1).any())
    assert not (upper and np.tril(A, -1).any())
    level = op.definiteness()
    assert level in (NOTHING, HERMITIAN, SEMIDEFINITE, DEFINITE)
    if level:
        np.testing.assert_allclose(A, A.conj().T, **tolerance)
        lowest = np.linalg.eigvalsh(A)[0]
        assert level < SEMIDEFINITE or lowest > -tolerance["atol"]
        assert level < DEFINITE or lowest > 0


@pytest.mark.parametrize("op", EXAMPLES)
def test_operators_of_a_known_kind(op):
    """Adjoints, multiples and inverses are those of the matrix."""
    A = zoo.by_columns(op)
    scale = 1 + np.abs(A).max(initial=0)
    tolerance = {"rtol": 1e-11, "atol": 1e-12 * scale}
    np.testing.assert_allclose(zoo.by_columns(wrappers.adjoint_of(op)), A.conj().T, **tolerance)
    np.testing.assert_allclose(zoo.by_columns(wrappers.transpose_of(op)), A.T, **tolerance)
    turned = op.adjoint_form(lambda x: x.conjugate()) if op.dtype.kind == "c" else None
    if turned is not None:
        np.testing.assert_allclose(zoo.by_columns(turned), A.conj().T, **tolerance)
    multiple = op.multiple(-1.5) if op.in_dtype == op.out_dtype else None
    if multiple is not None:
        np.testing.assert_allclose(zoo.by_columns(multiple), -1.5 * A, **tolerance)
    plainer = op.plainer(OperatorSimplifier())
    if plainer is not None:
        np.testing.assert_allclose(plainer.todense(), op.todense(), **tolerance)
    if op.shape[0] != op.shape[1] or np.linalg.matrix_rank(A) < len(A):
        return
    inverse = bare(op).inverse_form()
    if inverse is not None:
        np.testing.assert_allclose(
            inverse.todense(), np.linalg.inv(A), rtol=1e-9, atol=1e-10 * scale
        )


@pytest.mark.parametrize("op", EXAMPLES)
def test_the_pattern_holds_every_entry(op):
    A = op.todense()
    pattern = op.tosparse().toarray() if op.clinear else A
    np.testing.assert_allclose(pattern, A, rtol=1e-12, atol=1e-12)
    if knows(op, "relation") and op.relation() is not None:
        matrix = op.tosparse()
        assert matrix.nnz <= A.size


def test_a_running_sum_and_its_inverse():
    inverse = linad.linearize(np.cumsum, np.ones(50))[1].inverse()
    assert inverse.structure == ("lower triangular",)
    assert inverse.bandwidth == (1, 0)
    assert inverse.nnz == 99


def test_one_matrix_has_one_structure():
    """The sum of a broadcast, however it is written."""
    _, J = linad.linearize(lambda x: np.sum(np.broadcast_to(x, (4, 3)), axis=0), np.ones(3))
    B = Broadcast((4, 3), (3,), F8)
    assert J.structure == (B.H @ B).structure == ("diagonal", "symmetric", "positive definite")


def test_wrappers_hand_on_what_they_hold():
    compiled = linad.linearize(linad.jit(np.sin), np.ones(4))[1]
    assert compiled.compiled
    tagged = linad.tag(compiled @ compiled.T, "symmetric")
    for _ in range(3):
        np.testing.assert_allclose(tagged @ np.ones(4), np.cos(1.0) ** 2 * np.ones(4))
    assert "_fused" in vars(tagged)
    assert vars(tagged)["_fused"]
    for op in (
        linad.tag(compiled, "symmetric"),
        2 * compiled,
        compiled.H,
        Reshaped(compiled, (2, 2), (4,)),
    ):
        assert op.compiled


def test_a_subclass_with_maps_of_its_own_inherits_no_fact():
    class Doubled(Diagonal):
        def pushforward(self, tangent):
            return 2 * super().pushforward(tangent)

        def pullback(self, cotangent):
            return 2 * super().pullback(cotangent)

    op = Doubled(np.arange(1.0, 4.0), (3,), F8)
    assert not any(knows(op, name) for name in FACTS)
    np.testing.assert_allclose(op.diagonal().value, [2, 4, 6])
    x = solve_linear(op, np.ones(3))
    np.testing.assert_allclose(x, [0.5, 0.25, 1 / 6])
