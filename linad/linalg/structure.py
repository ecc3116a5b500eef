"""What is proven of a matrix: names of its structure, from how its operator was made.

Shapes of the pattern (diagonal, triangular, Kronecker ...) are read from the simplified
operator; symmetry and definiteness from the expression as it was written, where J.T @ J is still
seen, and from the simplified one. Numbers are looked at only where an operator holds them
openly: diagonals, given matrices, eigenvalues of circulants.

Source of the rules for definiteness: R. Horn and C. Johnson, "Matrix Analysis", 2nd edition,
section 7.1.
"""

from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.primitive import Traced
from linad.core.settings import config, settings
from linad.linalg.factors import is_hermitian
from linad.linalg.kronecker_sums import kronecker_sum
from linad.operators.base import JacobianOperator
from linad.operators.blocks import Blocks
from linad.operators.circulant import Circulant, circulant
from linad.operators.composites import (
    Adjoint,
    Chain,
    Extended,
    Reshaped,
    Scaled,
    Sum,
    Transpose,
)
from linad.operators.dft import Fourier
from linad.operators.placement import Roll
from linad.operators.recurrences import BackwardDifference, CumulativeSum, Recurrence
from linad.operators.residuals import lifted
from linad.operators.rewrites import NAMED, adjoint_of, simplified
from linad.operators.structured import (
    Diagonal,
    Identity,
    Kronecker,
    Masked,
    Matrix,
    Permutation,
    Reshape,
    Zero,
)
from linad.operators.tagged import Tagged

ORDER = [
    "zero",
    "identity",
    "diagonal",
    "permutation",
    "selection",
    "fourier",
    "circulant",
    "kronecker",
    "kronecker sum",
    "block diagonal",
    "lower triangular",
    "upper triangular",
    "block lower triangular",
    "block upper triangular",
    "banded",
    "low rank plus diagonal",
    "low rank",
    "matrix",
    "unitary",
    "symmetric",
    "hermitian",
    "positive semidefinite",
    "positive definite",
]
"""All names, the most telling first."""

THIN = 0.1
"""Share of entries that may differ from zero, up to which a matrix is treated as sparse."""

# How much is known of x^H A x: nothing, that it is real, never negative, positive.
NOTHING, HERMITIAN, SEMIDEFINITE, DEFINITE = range(4)


def structure(op: JacobianOperator) -> tuple[str, ...]:
    """`JacobianOperator.structure`."""
    flat = op.flat
    plain = bare(simplified(flat))
    names = names_of(plain)
    if flat.shape[0] == flat.shape[1]:
        level = max(definiteness(flat), definiteness(plain))
        if "circulant" in names:
            level = max(level, definiteness(circulant(plain)))
        names |= _level_names(level, flat.dtype)
    names |= tags_in(flat)
    if "diagonal" in names:
        names -= {"lower triangular", "upper triangular"}
    if "positive definite" in names:
        names -= {"positive semidefinite"}
    return tuple([name for name in ORDER if name in names])


def _level_names(level: int, dtype: Any) -> set[str]:
    names = set()
    if level >= HERMITIAN:
        names.add("hermitian" if dtype.kind == "c" else "symmetric")
    if level == SEMIDEFINITE:
        names.add("positive semidefinite")
    if level == DEFINITE:
        names.add("positive definite")
    return names


def tags_in(op: Any) -> set[str]:
    """What was asserted of an operator, seen through views that keep it."""
    if type(op) is Tagged:
        return set(op.tags) | tags_in(op.op)
    return set()


def bare(op: JacobianOperator) -> JacobianOperator:
    """The operator without reshapes at its ends, which do not change the matrix."""
    if type(op) is Reshaped:
        return bare(op.op)
    if type(op) is Tagged:
        return bare(op.op)
    if type(op) is not Chain:
        return op
    factors = list(op.factors)
    while len(factors) > 1 and type(factors[0]) is Reshape:
        factors.pop(0)
    while len(factors) > 1 and type(factors[-1]) is Reshape:
        factors.pop()
    if len(factors) == len(op.factors):
        return op
    return factors[0] if len(factors) == 1 else Chain(tuple(factors))


# Patterns.


def names_of(op: Any) -> set[str]:
    """Names of the pattern of a simplified operator."""
    kind = type(op)
    if kind in NAMED:
        return NAMED[kind](op)
    if kind is Identity or kind is Reshape:
        return {"identity", "diagonal"}
    if kind is Zero:
        return {"zero", "diagonal"} if op.shape[0] == op.shape[1] else {"zero"}
    if kind is Diagonal or kind is Masked:
        return {"diagonal"}
    if kind is Permutation or kind is Roll:
        return {"permutation", "unitary"}
    if kind is Fourier:
        return {"fourier", "unitary"} if op.norm == "ortho" else {"fourier"}
    names = set()
    if kind is Kronecker:
        names.add("kronecker")
        if op.left is None:
            names.add("block diagonal")
    elif kind is Matrix:
        names.add("matrix")
    elif kind is Blocks:
        names |= _block_names(op)
    elif kind is Scaled:
        return names_of(op.op) - {"identity", "permutation", "unitary", "selection"}
    if kind in (Circulant, Sum, Chain) and circulant(op) is not None:
        names.add("circulant")
    if op.shape[0] == op.shape[1]:
        lower, upper = triangles(op)
        if lower and upper:
            names.add("diagonal")
        elif lower or upper:
            names.add("lower triangular" if lower else "upper triangular")
    products = kronecker_sum(op) if kind in (Sum, Chain) else None
    if products is not None:
        names.add("kronecker sum" if len(products.pieces) > 1 else "kronecker")
    if kind is Sum and low_rank_split(op) is not None:
        names.add("low rank plus diagonal")
    elif kind in (Sum, Chain) and rank_bound(op) <= min(op.shape) // 2:
        names.add("low rank")
    return names


def _block_names(op: Blocks) -> set[str]:
    places = {(i, j) for i, j, block in op.blocks if type(block) is not Zero}
    square = op.heights == op.widths
    if all(i == j for i, j in places):
        return {"block diagonal"}
    if square and all(i >= j for i, j in places):
        return {"block lower triangular"}
    if square and all(i <= j for i, j in places):
        return {"block upper triangular"}
    return set()


def triangles(op: Any) -> tuple[bool, bool]:
    """Whether a square matrix is lower, and upper triangular: both if it is diagonal."""
    kind = type(op)
    if kind in (Diagonal, Identity, Zero, Masked, Reshape):
        return True, True
    if kind is CumulativeSum:
        return True, False
    if kind is BackwardDifference or kind is Recurrence:
        return not op._backward, op._backward
    if kind in (Adjoint, Transpose):
        lower, upper = triangles(op.op)
        return upper, lower
    if kind in (Scaled, Reshaped, Extended):
        return triangles(op.op)
    if kind is Tagged:
        lower, upper = triangles(op.op)
        return lower or "lower triangular" in op.tags, upper or "upper triangular" in op.tags
    if kind is Matrix:
        return triangles_of(op.a)
    if kind is Kronecker:
        if op.in_shape != op.out_shape:
            return False, False
        return _both(triangles_of(f) for f in (op.left, op.right) if f is not None)
    if kind is Chain or kind is Sum:
        parts = op.factors if kind is Chain else op.terms
        if any(p.shape[0] != p.shape[1] for p in parts):
            return False, False
        return _both(triangles(p) for p in parts)
    if kind is Blocks and op.heights == op.widths:
        found = []
        for i, j, block in op.blocks:
            if type(block) is not Zero:
                found.append(triangles(block) if i == j else (i > j, i < j))
        return _both(found)
    return False, False


def _both(found: Any) -> tuple[bool, bool]:
    lower = upper = True
    for is_lower, is_upper in found:
        lower, upper = lower and is_lower, upper and is_upper
    return lower, upper


def triangles_of(a: Any) -> tuple[bool, bool]:
    """Whether given matrices (..., n, n) have zeros above, and below, the diagonal.

    Traced ones are not looked at: zeros at a point say nothing of the matrices near it.
    """
    if isinstance(a, Traced) or a.shape[-1] != a.shape[-2]:
        return False, False
    return not np.triu(a, 1).any(), not np.tril(a, -1).any()


def rank_bound(op: Any) -> int:
    """A number that the rank does not exceed."""
    bound = min(op.shape)
    if type(op) is Chain:
        return int(min(bound, *[rank_bound(f) for f in op.factors]))
    if type(op) is Sum:
        return int(min(bound, sum(rank_bound(t) for t in op.terms)))
    if type(op) in (Scaled, Adjoint, Transpose, Reshaped, Tagged):
        return rank_bound(op.op)
    return 0 if type(op) is Zero else int(bound)


def low_rank_split(op: Sum) -> tuple[list[Any], list[Any]] | None:
    """The diagonal terms of a sum, and the others, if these have a rank of at most n // 2."""
    if op.shape[0] != op.shape[1]:
        return None
    diagonal = [t for t in op.terms if triangles(t) == (True, True)]
    others = [t for t in op.terms if triangles(t) != (True, True)]
    if not diagonal or not others or sum(rank_bound(t) for t in others) > op.shape[0] // 2:
        return None
    return diagonal, others


def is_thin(op: JacobianOperator) -> bool:
    """Whether so few entries may differ from zero that the sparse matrix is worth forming."""
    while type(op) is Tagged:
        op = op.op
    if not op.clinear or lifted(op)[0]:
        return False
    m, n = op.shape
    most = int(THIN * m * n)
    try:
        with config(densify_limit=min(most, settings().densify_limit)):
            return op.nnz <= most
    except MemoryError:  # DensifyError is one
        return False


# Definiteness.


def definiteness(op: Any) -> int:
    """How much is known of x^H A x for a square A."""
    kind = type(op)
    if kind is Identity or (kind is Reshape):
        return DEFINITE
    if kind is Zero or kind is Masked:
        return SEMIDEFINITE if op.shape[0] == op.shape[1] else NOTHING
    if kind is Diagonal:
        return sign_of(concrete(op.entries))
    if kind is Circulant:
        return _circulant_sign(op)
    if kind is Tagged:
        return max(_asserted(op), definiteness(op.op))
    if kind is Matrix:
        return HERMITIAN if is_hermitian(op.a) else NOTHING
    if kind is Kronecker:
        factors = [f for f in (op.left, op.right) if f is not None]
        return HERMITIAN if all(is_hermitian(f) for f in factors) else NOTHING
    if kind in (Adjoint, Transpose, Reshaped, Extended):
        return definiteness(op.op) if op.shape[0] == op.shape[1] else NOTHING
    if kind is Scaled:
        return _scaled(op)
    if kind is Sum:
        return _sum(op)
    if kind is Chain:
        return _product(op)
    if kind is Blocks:
        if op.heights != op.widths or any(i != j for i, j, _ in op.blocks):
            return NOTHING
        return min(definiteness(block) for _, _, block in op.blocks)
    return HERMITIAN if op.hermitian else NOTHING


def sign_of(d: Any) -> int:
    """What real numbers on a diagonal make it."""
    d = np.asarray(d)
    if d.dtype.kind == "c":
        if np.any(d.imag):
            return NOTHING
        d = d.real
    if not np.isfinite(d).all():
        return NOTHING
    if (d > 0).all():
        return DEFINITE
    return SEMIDEFINITE if (d >= 0).all() else HERMITIAN


def _circulant_sign(op: Circulant) -> int:
    """The same of eigenvalues, which carry the rounding of a Fourier transform."""
    values = np.asarray(concrete(op.eigenvalues))
    size = float(np.max(np.abs(values), initial=0.0))
    noise = 8 * np.finfo(values.dtype).eps * size * np.log2(values.size + 2)
    if not np.all(np.abs(values.imag) <= noise):
        return NOTHING
    low = float(np.min(values.real, initial=np.inf))
    return DEFINITE if low > noise else SEMIDEFINITE if low >= -noise else HERMITIAN


def _asserted(op: Tagged) -> int:
    if "positive definite" in op.tags:
        return DEFINITE
    if "positive semidefinite" in op.tags:
        return SEMIDEFINITE
    real = op.dtype.kind != "c"
    return HERMITIAN if "hermitian" in op.tags or (real and "symmetric" in op.tags) else NOTHING


def _scaled(op: Scaled) -> int:
    level, alpha = definiteness(op.op), concrete(op.alpha)
    if level == NOTHING or np.imag(alpha) or np.isnan(alpha):
        return NOTHING
    if alpha > 0:
        return level
    return HERMITIAN if alpha < 0 else min(level, SEMIDEFINITE)


def _sum(op: Sum) -> int:
    levels = [definiteness(t) for t in op.terms]
    # A sum of semidefinite matrices, one of which is definite, is definite.
    return max(levels) if min(levels) >= SEMIDEFINITE else min(*levels, HERMITIAN)


def _product(op: Chain) -> int:
    factors = [f for f in op.factors if type(f) is not Reshape]
    outer = 0
    while len(factors) >= 2 and are_adjoint(factors[0], factors[-1]):
        factors = factors[1:-1]  # B^H A B is as definite as A, but for the null space of B
        outer += 1
    if not factors:
        return SEMIDEFINITE
    if len(factors) > 1:
        return NOTHING
    level = definiteness(factors[0])
    return min(level, SEMIDEFINITE) if outer else level


def are_adjoint(a: Any, b: Any) -> bool:
    """Whether one operator is seen to be the adjoint of the other."""
    if type(a) is Adjoint:
        return a.op is b or is_equal(a.op, b)
    if type(b) is Adjoint:
        return b.op is a or is_equal(b.op, a)
    if type(a) is Transpose or type(b) is Transpose:
        return False
    turned = adjoint_of(a)
    return type(turned) is not Adjoint and is_equal(turned, b)


def is_equal(a: Any, b: Any) -> bool:
    """Whether two operators hold the same numbers, sizes and parts."""
    if a is b:
        return True
    if type(a) is not type(b) or a.shape != b.shape:
        return False
    ours, theirs = a.__getstate__(), b.__getstate__()
    return ours.keys() == theirs.keys() and all(_same(v, theirs[k]) for k, v in ours.items())


def _same(x: Any, y: Any) -> bool:
    if x is y:
        return True
    if isinstance(x, Traced) or isinstance(y, Traced):
        return False
    if isinstance(x, JacobianOperator) and isinstance(y, JacobianOperator):
        return is_equal(x, y)
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return np.shape(x) == np.shape(y) and np.array_equal(x, y)
    if isinstance(x, (tuple, list)) and type(x) is type(y) and len(x) == len(y):
        return all(_same(p, q) for p, q in zip(x, y, strict=True))
    return bool(isinstance(x, (int, float, complex, str, np.dtype, type(None), slice)) and x == y)
