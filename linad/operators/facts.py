"""What is known of a matrix from the way its operator was made.

A fact is a method that a class of operators declares beside its two maps: its triangles, its
definiteness, its diagonal, its norms, its adjoint, multiple and inverse as operators of a known
kind, and which entries depend on which. Whoever wants to know asks the operator; nobody else
holds a list of classes. The answer of this class is that nothing is known, which is always right.

A fact belongs to the maps it is said of: a subclass that writes its own maps inherits none.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.core.shapes import Shape, matrix_transpose
from linad.operators.relations import dense

if TYPE_CHECKING:
    from linad.operators.base import JacobianOperator

# How much is known of x^H A x: nothing, that it is real, never negative, positive.
NOTHING, HERMITIAN, SEMIDEFINITE, DEFINITE = range(4)

FACTS = (
    "plainer",
    "isometric",
    "diagonal_after",
    "pattern_names",
    "triangles",
    "definiteness",
    "rank_bound",
    "diagonal_entries",
    "column_squares",
    "spectral_norm",
    "adjoint_form",
    "multiple",
    "inverse_form",
    "relation",
    "relation_key",
)
"""Names of the methods."""

UNSTRUCTURED = (
    "triangles definiteness diagonal_entries column_squares spectral_norm adjoint_form multiple "
    "inverse_form"
)
"""What a matrix without a structure of its own leaves open: all but its relation."""

NOT_A_MATRIX = UNSTRUCTURED
"""What maps that are linear over the real numbers only leave open: they have no matrix."""

EVERYTHING = f"{UNSTRUCTURED} relation"
"""What the derivative of an operation leaves open that depends on all numbers in no known way."""


class Facts:
    """The part of `JacobianOperator` that says what its matrix is; see the module.

    Attributes
    ----------
    unknown : str
        The facts that a class leaves open, named so that none is forgotten.
    scales_at_once : bool
        Whether `multiple` costs at most a pass over a diagonal, so that ``alpha * A`` applies it.
    inherits_facts : bool
        Whether classes derived from this one keep its facts though they write maps of their own.
    copies : bool
        Whether each entry of the result is a sum of entries of the argument, as they are.
    weighted_by : tuple of str
        Attributes that are arrays, pairs of something and an array, or an array and what says
        where its entries are: of operators that make sums of entries of the argument, each
        multiplied by one entry of each array.
    """

    unknown = ""
    scales_at_once = False
    copies = False
    inherits_facts = False
    weighted_by: tuple[str, ...] = ()

    if TYPE_CHECKING:
        shape: tuple[int, int]
        in_shape: tuple[int, ...]
        hermitian: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls)
        if cls.inherits_facts:
            return
        if "pushforward" in own or "pullback" in own:
            for name in FACTS:
                if name not in own:
                    setattr(cls, name, vars(Facts)[name])

    # Asked of square, or any, simplified operators.

    def pattern_names(self) -> set[str]:
        """Names of the pattern, as `JacobianOperator.structure` has them."""
        return triangle_names(self)

    def triangles(self) -> tuple[bool, bool]:
        """Whether a square matrix is lower, and upper triangular: both if it is diagonal."""
        return False, False

    def definiteness(self) -> int:
        """How much is known of x^H A x for a square A."""
        return HERMITIAN if self.hermitian else NOTHING

    def rank_bound(self) -> int:
        """A number that the rank does not exceed."""
        return min(self.shape)

    def diagonal_entries(self) -> Any:
        """The diagonal (n,) of a square matrix, or None."""
        return None

    def column_squares(self) -> Any:
        """The squared norm of each column (n,), or None."""
        return None

    def spectral_norm(self) -> Any:
        """The largest singular value in closed form, or None."""
        return None

    def isometric(self) -> bool:
        """Whether A keeps the length of every vector."""
        return False

    def diagonal_after(self, left: Any) -> Any:
        """The diagonal of the product ``left`` @ this matrix, or None."""
        return None

    # Operators of a known kind that are made of this one.

    def plainer(self, simplify: Any) -> "JacobianOperator | None":
        """The same operator in better known parts, or None; ``simplify`` is for the parts."""
        return None

    def adjoint_form(self, conj: Callable[[Any], Any]) -> "JacobianOperator | None":
        """A^H, or None. ``conj`` conjugates; for A^T, and a real A, it returns what it gets."""
        return None

    def multiple(self, alpha: Any) -> "JacobianOperator | None":
        """``alpha`` A, with A's dtype, or None."""
        return None

    def inverse_form(self) -> "JacobianOperator | None":
        """A^-1 of a square, simplified A, or None.

        Raises
        ------
        SingularError
            If the structure shows that there is none.
        """
        return None

    # Which entries depend on which. A pattern depends on shapes, indices, regions and sparse
    # matrices, never on slopes or weights: a factor that happens to be zero stays in it.

    def relation(self) -> Any:
        """Which entries of a result read which of the argument; None is the identity."""
        return dense(self.shape)

    def entries_read(self, mask: Any) -> Any:
        """Mask of the entries of x that those of y read which a mask names; None where all may
        be, as where it is traced. Sums of few say it of traced ones, too."""
        if isinstance(mask, Traced):
            return None
        return read_by(mask, relation=self.relation_read(), shape=self.in_shape)

    def relation_read(self) -> Any:
        """The relation by which `entries_read` says what is read; None is the identity."""
        return self.relation()

    def where_read(self, read: Any, reached: Any, traced: bool) -> Any:
        """An operator with an adjoint that is the same for entries that a mask names, and gives
        zeros for the others, whatever the weights are; None where that is this one.

        ``reached`` is what `entries_read` says of the mask, ``traced`` whether weights that are
        traced may be any.
        """
        return None

    def made_of(self) -> Any:
        """The `TapeOperator` of the operations that a map between several arrays is made of; None
        where it does not say, or they are too many."""
        return None

    def loses_zeros(self, asked: list[Any], behind: bool) -> bool:
        """Whether what a map between several arrays is made of keeps zeros that a program of it
        may lose.

        Parameters
        ----------
        asked : list
            Of each result the mask of its entries that are read; None: all are.
        behind : bool
            Whether zeros of arguments matter, too: there may be infinite slopes behind them.
        """
        return False

    def relation_key(self) -> Any:
        """What, beside the shapes, determines the relation: equal ones belong to equal keys."""
        return None


def read_by(mask: Any, *, relation: Any, shape: Shape) -> Any:
    """Mask of the entries, of an array of a shape, that others read by a relation."""
    mask = np.ravel(mask)
    return (mask if relation is None else relation.read_by(mask)).reshape(shape)


def declares(kind: type, fact: str) -> bool:
    """Whether a class of operators says something of a fact."""
    return getattr(kind, fact) is not vars(Facts)[fact]


def knows(op: Any, fact: str) -> bool:
    """Whether the class of an operator declares a fact."""
    return declares(type(op), fact)


def triangle_names(op: Any) -> set[str]:
    """What the triangles of a square operator make its name."""
    if op.shape[0] != op.shape[1]:
        return set()
    lower, upper = op.triangles()
    if lower and upper:
        return {"diagonal"}
    if lower or upper:
        return {"lower triangular" if lower else "upper triangular"}
    return set()


def both(found: Iterable[tuple[bool, bool]]) -> tuple[bool, bool]:
    """The triangles of a product or sum of matrices of one size."""
    lower = upper = True
    for is_lower, is_upper in found:
        lower, upper = lower and is_lower, upper and is_upper
    return lower, upper


# Questions that a matrix without entries, or one that says more than its map, does not pass on.


def diagonal_of(op: Any) -> Any:
    """The diagonal (n,) of a simplified operator, or None."""
    return None if op.wide or op.shape[0] != op.shape[1] else op.diagonal_entries()


def column_squares_of(op: Any) -> Any:
    """The squared norm of each column (n,) of a simplified operator, or None."""
    return None if op.wide else op.column_squares()


def norm_of(op: Any) -> Any:
    """The spectral norm of a simplified operator in closed form, or None."""
    if op.wide:
        return None
    return op.spectral_norm() if 0 not in op.shape else 0.0


# Numbers.


def triangles_of(a: Array) -> tuple[bool, bool]:
    """Whether given matrices (..., n, n) have zeros above, and below, the diagonal.

    Traced ones are not looked at: zeros at a point say nothing of the matrices near it.
    """
    if isinstance(a, Traced) or a.shape[-1] != a.shape[-2]:
        return False, False
    return not np.triu(a, 1).any(), not np.tril(a, -1).any()


def is_hermitian(a: Array) -> bool:
    """Whether given matrices equal their conjugate transposes, entry by entry."""
    if isinstance(a, Traced) or a.shape[-1] != a.shape[-2]:
        return False
    return bool(np.array_equal(a, np.conj(matrix_transpose(a))))


def sign_of(d: Array) -> int:
    """The definiteness of a matrix with these numbers on its diagonal, and zeros beside it."""
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


def squares(x: Array) -> Any:
    """|x|^2, entry by entry."""
    return x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x


def ones_of(op: "JacobianOperator") -> Any:
    """The squared norms of columns that have length one."""
    return np.ones(op.shape[1], real_dtype(op.dtype))


def largest_singular_value(a: Array) -> Any:
    """Of a matrix, or of the worst of a stack."""
    return np.linalg.svd(a, compute_uv=False)[..., 0].max() if a.size else 0.0


def real_dtype(dtype: np.dtype[Any]) -> Any:
    """The dtype of the absolute values of numbers of a dtype."""
    return np.empty(0, dtype).real.dtype


WORK = 2**30
"""Most multiplications that a rewrite spends on a product of matrices."""

SMALL = 256
"""Up to this smaller side the norm of a matrix is computed."""


# Equality.


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
    if isinstance(x, Facts) and isinstance(y, Facts):
        return is_equal(x, y)
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return np.shape(x) == np.shape(y) and np.array_equal(x, y)
    if isinstance(x, (tuple, list)) and type(x) is type(y) and len(x) == len(y):
        return all(_same(p, q) for p, q in zip(x, y, strict=True))
    return bool(isinstance(x, (int, float, complex, str, np.dtype, type(None), slice)) and x == y)
