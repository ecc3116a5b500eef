"""Patterns of operators: they contain every entry of the matrix, and no more where that is
structural."""

import numpy as np
import pytest
import scipy.sparse
from operator_zoo import COMPLEX, REAL, every_class, everything
from rule_cases import TOPICS, is_first

import linad
from linad.core.indices import Index
from linad.core.regions import Grid, Part, Positions, Window
from linad.errors import NotHolomorphicError
from linad.linalg.iterative_inverses import Options
from linad.linalg.linear_systems import _IteratedInverse
from linad.linalg.sparsity.pattern_keys import Structure
from linad.linalg.sparsity.reach import Compact, reach
from linad.operators.base import JacobianOperator
from linad.operators.circulant import Circulant
from linad.operators.contraction import Contraction
from linad.operators.convolution import Convolution, ValidKernel
from linad.operators.dependency_sets import DependencySets
from linad.operators.dft import CropOrPad, Fourier, HermitianFourier, RealFourier
from linad.operators.facts import declares
from linad.operators.filtering import (
    AllPole,
    RunningMean,
    TruncatedKernel,
)
from linad.operators.foreign import Foreign
from linad.operators.linear_solves import LinearSolve
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
from linad.operators.region_writes import Erase, Extract, Insert
from linad.operators.reordering import Broadcast, Permutation, Reshape
from linad.operators.residuals import lifted
from linad.operators.stored_matrices import StoredMatrix, parts_of, storage_of
from linad.operators.structured import Cast, Conjugation, Diagonal, Identity, Masked, RealPart, Zero
from linad.rules.banded import BandedProduct, BandedSolve
from linad.rules.bilinear import CrossProduct
from linad.rules.cosines import CosineTransform
from linad.rules.cumulative import recurrence
from linad.rules.decompositions import CholeskyDerivative, HermitianReading
from linad.rules.elementwise import Fan
from linad.rules.filters import allpole_, convolve_, running_mean_
from linad.rules.gathering import EntriesAlong
from linad.rules.indexing import Selection
from linad.rules.matrixfunctions import FrechetDerivative, SylvesterSolve, expm_
from linad.rules.rearranging import SlidingWindows
from linad.rules.sparsearrays import (
    EntryProducts,
    Factorized,
    Pattern,
    SparseInverse,
    SparseProduct,
)
from linad.rules.triangular import TriangularSolve
from linad.solve.implicit import ImplicitEquation, Inverse
from linad.solve.vector_forms import pack
from linad.testing.rule_checks import _restricted

D = np.dtype(float)


def structural(rng):
    """Operators whose matrix has, with random numbers, no zero inside its pattern."""

    def r(*shape):
        return rng.uniform(0.5, 1.5, shape)

    band = r(4, 5) + np.array([[0], [3], [0], [0]])
    index = Index((np.array([2, 0, 2]), slice(1, None)))
    return {
        "selection": Selection(index, (3, 3), (3, 4), D),
        "entries_along": EntriesAlong(np.array([2, 0, 2]), -2, (3, 4), (3, 4), D),
        "windows": SlidingWindows((2, 3), (-2, -1), (2, 2, 2, 3), (3, 4), D),
        "pad": Pad((1, 0), (4, 3), (2, 3), D),
        "roll": Roll((1, -2), (0, 1), (2, 3), D),
        "fit": CropOrPad((2, 4), (3, 3), D),
        "window": Extract(Window(1, (2, 2), (4, 1), 2), (2, 2), (3, 4), D),
        "grid": Extract(Grid((0, 1), ((1, 0), (0, 2)), (2, 2)), (2, 2), (3, 4), D),
        "insert": Insert(Positions(np.array([5, 2]), 2), (3, 4), D),
        "erase": Erase(Positions(np.array([5, 2]), 2), (3, 4), D),
        "sum": ScaledSum((0,), (2, 3, 2), D, 0.5),
        "weighted": WeightedSum(r(2, 3, 2), (1,), (2, 3, 2), D),
        "cumsum": CumulativeSum(1, (2, 3, 2), D),
        "diff": Difference(1, (2, 3, 2), D),
        "segments": SegmentSum(np.array([1, 3]), 0, (5, 2), D),
        "recurrence": Recurrence(recurrence, r(4, 2), -2, False, (4, 2), D),
        "backward": Recurrence(recurrence, r(4, 2), -2, True, (4, 2), D),
        "full": Convolution(convolve_, r(3), "full", 1, (2, 6), (2, 4), D),
        "valid": Convolution(convolve_, r(3), "valid", 1, (2, 2), (2, 4), D),
        "kernel": ValidKernel(convolve_, r(5), 1, (3,), (3,), D),
        "grid full": Convolution(convolve_, r(2, 3), "full", 2, (4, 6), (3, 4), D),
        "grid valid": Convolution(convolve_, r(2, 3), "valid", 2, (2, 2), (3, 4), D),
        "grid kernel": ValidKernel(convolve_, r(3, 4), 2, (2, 2), (2, 3), D),
        "all pole": AllPole(allpole_, r(3), (2, 4), D),
        "running mean": RunningMean(running_mean_, 3, (2, 3), (2, 5), D),
        "solve": Solve(r(2, 2) + 3 * np.eye(2), (2, 2), (2, 2), D),
        "lower": TriangularSolve(r(2, 3, 3), (2, 3, 2), (3, 2), D, True, False),
        "upper": TriangularSolve(r(3, 3), (3, 2), (3, 2), D, False, True),
        "banded": BandedSolve(band, (2, 1), (5, 2), D),
        "bands": BandedProduct(r(5, 2), (2, 1), D),
        "bands behind axes": BandedProduct(r(3, 5, 2), (2, 1), D),
        "backward differences": BackwardDifference(-1, (2, 4), D, r(4)),
        "identity": Identity((2, 3), D),
        "diagonal": Diagonal(r(3), (2, 3), D),
        "cast": Cast((3,), D, REAL[0]),
        "zero": Zero((2, 2), (3,), D),
        "reshape": Reshape((6,), (2, 3), D),
        "permutation": Permutation((1, 0, 2), (2, 3, 2), D),
        "broadcast": Broadcast((2, 3, 2), (3, 1), D),
        "conjugation": Conjugation((3,), D),
        "matrix": Matrix(r(3, 2)),
        "truncated": TruncatedKernel(convolve_, r(2, 4), 3, D),
        "sparse product": SparseProduct(r(3), PLACES, (2,), D),
        "entries": EntryProducts(r(2, 4), PLACES, D),
        "sylvester": SylvesterSolve(r(2, 2) + np.eye(2), r(3, 3), (2, 3), D),
        "sylvester behind axes": SylvesterSolve(r(2, 2) + np.eye(2), r(3, 3), (4, 2, 3), D),
        "cross": CrossProduct(r(2, 3), (2, 3), (3,), D),
        "hermitian": HermitianReading((2, 3, 3), D, True),
        "kronecker": Kronecker(r(2, 2, 3), r(4, 2), (2, 2, 4), (3, 2), D),
        "left": Kronecker(r(2, 3), None, (2, 2, 4), (2, 3, 4), D),
        "right": Kronecker(None, r(2, 4), (3, 2), (3, 4), D),
        "rows": RowProducts(r(4), (3, 4), D),
        "contraction": Contraction("ijk", [("kl", r(2, 3))], "lj", (3, 4), (2, 4, 2), D),
        "repeat": Contraction("ij", [("k", r(3))], "jik", (2, 2, 3), (2, 2), D),
        "stored": StoredMatrix(parts_of(STORED), storage_of(STORED), True, (2,), D),
        "sparse": Foreign(
            scipy.sparse.linalg.aslinearoperator(
                scipy.sparse.random_array((4, 5), density=0.4, rng=rng, format="csc")
            ),
            lead=(2,),
        ),
    }


STORED = scipy.sparse.random_array((4, 5), density=0.4, rng=0, format="csc")
DIAGONAL = Pattern(np.arange(2), np.arange(2), (2, 2))
PLACES = Pattern(np.array([0, 2, 2]), np.array([1, 0, 3]), (3, 4))
STRUCTURAL = structural(np.random.default_rng(0))


def iterated_inverse():
    _, recipe = lifted(Matrix(np.array([[2.0, 1.0], [0.5, 3.0]]), D))
    options = Options("gmres", 1e-12, 100)
    return _IteratedInverse((), recipe, False, options, (2,), recipe(()))


def implicit_inverse():
    form, x = pack(np.array([1.0, 2.0]))
    parameters, theta = pack((np.array([0.5, 3.0]),))
    rows = np.array([[2.0, 1.0], [0.5, 3.0]])
    equation = ImplicitEquation(
        "test", lambda x, t: rows @ x**2 - t, lambda *_: None, form, parameters, "dense", None
    )
    return Inverse(equation, x, theta, (2,))


DENSE_IN_LANES = {
    "iterated inverse": iterated_inverse(),
    "implicit inverse": implicit_inverse(),
    "cosines": CosineTransform((3, 2), D, "dst", 2, -2),
    "fourier": Fourier((-2,), False, "ortho", (3, 2), COMPLEX[1]),
    "real fourier": RealFourier(-1, "backward", (2, 3), (2, 4), COMPLEX[1], REAL[1]),
    "cholesky": CholeskyDerivative(np.tril(np.ones((3, 2, 2)))),
    "masked": Masked(np.array([True, False, True]), (3,), D),
    "real part": RealPart((4,), D, COMPLEX[1]),
    "hermitian fourier": HermitianFourier(-1, "backward", (2, 4), (2, 3), COMPLEX[1], D),
    "circulant": Circulant(np.fft.fft([[3.0, 1.0, 0.0]] * 2), (-1,), (2, 3), D),
    "fréchet": FrechetDerivative(expm_, np.ones((2, 2, 2)), D),
    "sparse inverse": SparseInverse(np.array([2.0, 3.0]), Factorized(DIAGONAL), False, (2,), D),
}


def check_pattern(op):
    """Both directions give the same pattern, and it contains the matrix; return both."""
    op = op.flat
    pattern = Compact(op).relation
    assert reach(op, DependencySets.identity(op.shape[1]), False).relation == pattern
    assert pattern == reach(op, DependencySets.identity(op.shape[0]), True).relation.T
    found = op.pattern()
    assert found.shape == op.shape
    assert found.nnz == op.nnz
    try:
        matrix = op.todense()
    except NotHolomorphicError:
        return found.toarray(), None
    assert not (np.nan_to_num(matrix) != 0)[~found.toarray()].any()
    return found.toarray(), matrix


def check_sparse(op):
    """The sparse matrix is the dense one, with an entry stored wherever the pattern has one."""
    found, matrix = check_pattern(op)
    if matrix is None:
        with pytest.raises(NotHolomorphicError):
            op.tosparse()
        return
    sparse = op.tosparse()
    assert sparse.dtype == matrix.dtype
    assert sparse.nnz == op.nnz
    size = np.abs(np.nan_to_num(matrix)).max(initial=0)
    eps = np.finfo(matrix.dtype).eps
    np.testing.assert_allclose(sparse.toarray(), matrix, rtol=1e3 * eps, atol=1e3 * eps * size)


@pytest.mark.parametrize("name", STRUCTURAL)
def test_exact(name):
    op = STRUCTURAL[name]
    found, matrix = check_pattern(op)
    np.testing.assert_array_equal(found, matrix != 0)
    for other in (op, op.T, 2.0 * op, op.T @ op, op + op):
        check_sparse(other)


def test_every_relation_has_an_example():
    """And each example says its pattern itself: what is not said counts as dense."""
    examples = {type(op) for op in (*STRUCTURAL.values(), *DENSE_IN_LANES.values())}
    declaring = {kind for kind in every_class() if declares(kind, "relation")}
    declaring -= {Fan, LinearSolve}  # which has several results; is the base of others
    assert examples == declaring


@pytest.mark.parametrize("name", DENSE_IN_LANES)
def test_dense_in_lanes_only(name):
    op = DENSE_IN_LANES[name]
    check_sparse(op)
    check_sparse(op.H)
    assert op.nnz < np.prod(op.shape)


@pytest.mark.parametrize("dtype", [*REAL, *COMPLEX], ids=str)
def test_the_zoo(dtype):
    for op in everything(dtype, np.random.default_rng(1)).values():
        check_sparse(op)
        check_sparse(op.H)
        check_sparse(op.T)


def test_what_is_known_of_a_structure_is_found_again():
    """Operators that are built alike have one key, whatever kind of region they are of."""

    def built():
        part = Extract(Part(Window(0, (2,), (2,), 2), "real"), (2,), (3, 4), D)
        return {**structural(np.random.default_rng(0)), "part": part}

    for (name, op), same in zip(built().items(), built().values(), strict=True):
        assert Structure(op).agrees(Structure(same)), name


def test_a_zero_slope_stays_in_the_pattern():
    op = Diagonal(np.array([1.0, 0.0, 2.0]), (3,), D)
    assert op.nnz == 3
    assert op.tosparse().nnz == 3
    J = linad.sparse_jacobian(lambda x: np.maximum(x, 0.0) * np.cos(x), np.array([-1.0, 0.0, 1.0]))
    assert J.nnz == 3
    W = WeightedSum(np.array([[1.0, 0.0], [0.0, 0.0]]), (1,), (2, 2), D)
    assert W.nnz == 4


class Unknown(JacobianOperator):
    """An operator linad knows nothing about."""

    def pushforward(self, tangent):
        return 2.0 * tangent

    pullback = pushforward


def test_an_unknown_operator_is_a_dense_block():
    op = Unknown((3,), (3,), D)
    assert op.nnz == 9
    check_sparse(op)
    both = linad.block_diag([op, linad.eye(2)]) @ Broadcast((5,), (1,), D)
    check_sparse(both)
    assert linad.block_diag([op, linad.eye(2)]).nnz == 11


def test_a_subclass_is_not_taken_for_its_base():
    class Reversed(Diagonal):
        def pushforward(self, tangent):
            return tangent[..., ::-1] * self.entries

        def pullback(self, cotangent):
            return (cotangent * self.entries)[..., ::-1]

    check_sparse(Reversed(np.arange(1.0, 4.0), (3,), D))


@pytest.mark.parametrize("chosen", [is_first, pytest.param(bool, marks=pytest.mark.full)])
@pytest.mark.parametrize("topic", [topic for topic, cases in TOPICS.items() if cases])
def test_every_rule(topic, chosen):
    """The pattern of a case of each rule contains its dense matrix; the values agree."""
    for case in filter(chosen, TOPICS[topic]):
        wrt = case.options.get("wrt", range(len(case.args)))
        arrays = [i for i in wrt if isinstance(case.args[i], (np.ndarray, np.generic))]
        active = [i for i in arrays if case.args[i].dtype.kind in "fc"]
        if not active:
            continue
        f = _restricted(case.function, case.args, case.params, active)
        with np.errstate(all="ignore"):
            J = linad.linearize(f, *[case.args[i] for i in active])[1].flat
            if max(J.shape) <= 300:
                check_sparse(J)
