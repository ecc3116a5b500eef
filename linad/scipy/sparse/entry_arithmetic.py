"""Products and sums of sparse arrays by their entries: which there are, and what each is made of.

An array is its entries (nnz,) and their `Pattern`; what comes out is in the order of rows.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.array_type import Array
from linad.core.dispatch import MATRIX
from linad.core.tree import bare
from linad.errors import ShapeError
from linad.rules.shaping import as_array
from linad.rules.sparsearrays import Pattern, sparse_product

if TYPE_CHECKING:
    from linad.scipy.sparse.arrays import SparseArray

Entries = tuple[Any, Pattern]


def array_of(x: Any) -> Any:
    """A dense operand as an array, a `numpy.matrix` too."""
    x = bare(x)
    return x.view(np.ndarray) if isinstance(x, MATRIX) else as_array(x)


def entries_at(A: "SparseArray", x: Array, name: str) -> Any:
    """A number, or the entries of a dense array at the places of the entries of A."""
    x = array_of(x)
    if x.ndim == 0:
        return x
    try:
        same = np.broadcast_shapes(x.shape, A.shape) == A.shape
    except ValueError:
        same = False
    if not same:
        raise ShapeError(f"{name}: A has shape {A.shape} and the other {x.shape}")
    rows, cols = A.coords
    if x.ndim == 1:
        return x[cols % len(x)]
    m, n = x.shape
    return x[rows % m, cols % n]


def merged(data: Array, pattern: Pattern) -> Entries:
    """In the order of rows, and of columns within, with the entries at one place added."""
    n = pattern.shape[1]
    places = pattern.rows.astype(np.intp) * n + pattern.cols
    distinct, target = np.unique(places, return_inverse=True)
    merge = Pattern(target, np.arange(len(places)), (len(distinct), len(places)))
    rows, cols = np.divmod(distinct, max(n, 1))
    ones = np.ones(len(places), data.dtype.char.lower())
    return sparse_product(ones, data, pattern=merge), Pattern(rows, cols, pattern.shape)


def total(a: "SparseArray", b: "SparseArray", sign: int) -> Entries:
    """A + B, or A - B."""
    if a.shape != b.shape:
        raise ShapeError(f"A + B: A has shape {a.shape} and B {b.shape}")
    rows = np.concatenate([a.row, b.row])
    cols = np.concatenate([a.col, b.col])
    return merged(np.concatenate([a.data, sign * b.data]), Pattern(rows, cols, a.shape))


def shared(a: "SparseArray", b: "SparseArray") -> Entries:
    """A ∘ B, entry by entry: what both have entries at."""
    if a.shape != b.shape:
        raise ShapeError(f"A.multiply(B): A has shape {a.shape} and B {b.shape}")
    (left, pattern), (right, other) = [merged(x.data, Pattern(*x.coords, x.shape)) for x in (a, b)]
    n = max(a.shape[1], 1)
    first, second = pattern.rows * n + pattern.cols, other.rows * n + other.cols
    _, i, j = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    return left[i] * right[j], Pattern(pattern.rows[i], pattern.cols[i], a.shape)


def product(a: "SparseArray", b: "SparseArray") -> Entries:
    """A @ B: a term for each entry of A and each entry of B in the row that it meets."""
    if a.shape[1] != b.shape[0]:
        raise ShapeError(f"A @ B: A has shape {a.shape} and B {b.shape}")
    b = b.tocsr()
    start, counts = b.indptr, np.bincount(b.row, minlength=b.shape[0])
    met = counts[a.col]
    left = np.repeat(np.arange(a.nnz), met)
    within = np.arange(len(left)) - np.repeat(np.cumsum(met) - met, met)
    right = start[a.col[left]] + within
    pattern = Pattern(a.row[left], b.col[right], (a.shape[0], b.shape[1]))
    return merged(a.data[left] * b.data[right], pattern)
