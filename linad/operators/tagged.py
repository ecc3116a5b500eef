"""What a user knows of a matrix and linad cannot see: assertions, tested with random vectors.

    symmetric          J^T = J
    hermitian          J^H = J
    positive definite  x^H J x > 0, and hermitian
    lower triangular   J_ij = 0 for i < j
    banded (l, u)      J_ij = 0 for i - j > l and for j - i > u

A band is tested in full: l + u + 1 products give all its entries, and one product with a random
vector shows, with probability 1, whether there are others. Definiteness is tested by the Ritz
values of a Lanczos iteration, which soon finds negative eigenvalues of some size.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.buffers import concrete
from linad.core.array_type import Array
from linad.core.options import SEED, takes
from linad.core.showing import shown
from linad.errors import OperandError, ShapeError, WrongTagError
from linad.operators.algebra import as_operator
from linad.operators.base import JacobianOperator
from linad.operators.factors import Banded
from linad.operators.facts import DEFINITE, HERMITIAN, NOTHING, SEMIDEFINITE
from linad.operators.foreign import Foreign
from linad.operators.wrappers import SameMatrix, matched

NAMES = (
    "symmetric",
    "hermitian",
    "positive semidefinite",
    "positive definite",
    "lower triangular",
    "upper triangular",
    "diagonal",
)
"""Tags without parameters; beside them there is ``("banded", (l, u))``."""

PROBES = 8
"""Random vectors of a test that they can only refute."""

EXACT = 128
"""Up to this size a test looks at the whole matrix."""


class Tagged(SameMatrix):
    """An operator of which something is asserted.

    Parameters
    ----------
    op : JacobianOperator
    tags : dict
        From names to parameters; None where there are none.
    """

    def __init__(self, op: JacobianOperator, tags: dict[str, Any]) -> None:
        self.tags = tags
        super().__init__(op, op.out_shape, op.in_shape)

    def plainer(self, simplify: Any) -> JacobianOperator | None:
        inner = simplify(self.op)
        return None if inner is self.op else Tagged(inner, self.tags)

    def triangles(self) -> tuple[bool, bool]:
        lower, upper = self.op.triangles()
        return lower or "lower triangular" in self.tags, upper or "upper triangular" in self.tags

    def definiteness(self) -> int:
        return max(self._asserted(), self.op.definiteness())

    def _asserted(self) -> int:
        tags = self.tags
        if "positive definite" in tags:
            return DEFINITE
        if "positive semidefinite" in tags:
            return SEMIDEFINITE
        real = self.dtype.kind != "c"
        return HERMITIAN if "hermitian" in tags or (real and "symmetric" in tags) else NOTHING

    def inverse_form(self) -> JacobianOperator | None:
        found = super().inverse_form()
        if found is not None or "banded" not in self.tags:
            return found
        below, above = self.tags["banded"]
        # A wide band is not cheaper than a full matrix.
        if 2 * below + above >= self.shape[0]:
            return None
        banded = Foreign(Banded(band_of(self.op, below, above), below, above))
        return matched(banded, self.in_shape, self.out_shape)


@takes(rng=SEED)
def tag(J: Any, *tags: Any, rng: Any = 0) -> JacobianOperator:
    """Assert what is known of a matrix, so that solvers can use it.

    Parameters
    ----------
    J : JacobianOperator, LinearOperator, sparse array or array (n, n)
    *tags : str or (str, parameters)
        "symmetric", "hermitian", "positive semidefinite", "positive definite", "lower
        triangular", "upper triangular", "diagonal", or ``("banded", (l, u))`` with l diagonals
        below the main one and u above.
    rng : numpy.random.Generator or int
        Source of the random vectors of the test (SPEC 7).

    Returns
    -------
    JacobianOperator
        The same map on flat vectors, with the tags in its `structure`.

    Raises
    ------
    WrongTagError
        If a test finds an assertion to be wrong.
    ShapeError
        If the matrix is not square.
    OperandError
        If a tag is none of these.

    Notes
    -----
    Up to n = 128 the tests form the matrix and are complete. Above that they cost some ten
    products (l + u + 2 for a band): a wrong symmetry or band is found with probability 1 up to
    rounding, a wrong triangle or definiteness very likely, but not surely.

    Examples
    --------
    >>> import numpy as np, linad
    >>> _, J = linad.linearize(lambda x: 3 * x - np.concatenate([x[1:], np.zeros(1)]), np.ones(9))
    >>> linad.tag(J, ("banded", (0, 1))).structure
    ('banded',)
    """
    op = as_operator(J, "tag: J")
    m, n = op.shape
    if m != n:
        raise ShapeError(f"tag: expected a square operator, got {op._label()}")
    found = dict([_read(t, n) for t in tags])
    if not op.clinear:
        raise OperandError(f"tag: {op._label()} is linear over the reals only: it has no matrix")
    test = _Test(op, np.random.default_rng(rng))
    for name, parameters in found.items():
        test(name, parameters)
    return Tagged(op, found)


def _read(given: Any, n: int) -> tuple[str, Any]:
    if isinstance(given, str) and given in NAMES:
        return ("banded", (0, 0)) if given == "diagonal" else (given, None)
    if isinstance(given, tuple) and len(given) == 2 and given[0] == "banded":
        band = given[1]
        if (
            isinstance(band, tuple)
            and len(band) == 2
            and all(isinstance(k, (int, np.integer)) and k >= 0 for k in band)
        ):
            return "banded", (min(int(band[0]), max(n - 1, 0)), min(int(band[1]), max(n - 1, 0)))
    raise OperandError(
        f"tag: expected one of {', '.join(NAMES)} or ('banded', (l, u)) with l and u >= 0, got "
        f"{shown(given)}"
    )


class _Test:
    """The tests of one operator."""

    def __init__(self, op: JacobianOperator, rng: np.random.Generator) -> None:
        self.op, self.rng = op, rng
        self.n = op.shape[0]
        self.eps = float(np.finfo(op.dtype).eps)
        self._matrix: Any = None

    def __call__(self, name: str, parameters: Any) -> None:
        if self.n == 0:
            return
        if name == "banded":
            problem = self.band(*parameters)
        elif name in ("symmetric", "hermitian"):
            problem = self.symmetry(conjugate=name == "hermitian")
        elif name.endswith("triangular"):
            problem = self.triangle(lower=name.startswith("lower"))
        else:
            problem = self.symmetry(conjugate=True) or self.sign(name == "positive definite")
        if problem:
            shown = name if parameters is None else f"{name} {parameters}"
            raise WrongTagError(f"tag: {self.op._label()} is not {shown}: {problem}")

    def vectors(self, k: int) -> Any:
        x = self.rng.standard_normal((k, self.n))
        if self.op.dtype.kind == "c":
            x = x + 1j * self.rng.standard_normal((k, self.n))
        return x.astype(self.op.dtype)

    def apply(self, rows: Array, adjoint: bool = False) -> Any:
        return concrete(self.op._apply_rows(rows, adjoint))

    def matrix(self) -> Any:
        if self._matrix is None:
            self._matrix = concrete(self.op.todense())
        return self._matrix

    def symmetry(self, conjugate: bool) -> str | None:
        """J x against its adjoint, or its transpose, at random vectors."""
        x = self.vectors(1)
        given = self.apply(x)
        turned = self.apply(x, True) if conjugate else np.conj(self.apply(np.conj(x), True))
        error, size = np.linalg.norm(given - turned), np.linalg.norm(given) + np.linalg.norm(turned)
        if error <= 1e3 * self.eps * size:
            return None
        kind = "J.H" if conjugate else "J.T"
        return f"|J x - {kind} x| = {error:.3g} for a random x with |J x| = {size / 2:.3g}"

    def triangle(self, lower: bool) -> str | None:
        """Vectors that start (end) at some entry must be mapped to such ones."""
        if self.n <= EXACT:
            a = self.matrix()
            wrong = np.triu(a, 1) if lower else np.tril(a, -1)
            if not wrong.any():
                return None
            i, j = np.argwhere(wrong)[0]
            return f"entry ({i}, {j}) is {wrong[i, j]:.3g}"
        starts = self.rng.integers(1, self.n, PROBES)
        places = np.arange(self.n)
        inside = places >= starts[:, None] if lower else places < starts[:, None]
        y = self.apply(np.where(inside, self.vectors(PROBES), 0))
        outside = np.where(inside, 0, np.abs(y))
        if not np.max(outside) > 1e3 * self.eps * np.max(np.abs(y)):
            return None
        k, i = np.unravel_index(np.argmax(outside), outside.shape)
        side = "from" if lower else "before"
        return f"row {i} reads entries {side} column {starts[k]} on"

    def band(self, below: int, above: int) -> str | None:
        """The band's entries against a product with a random vector."""
        x = self.vectors(1)[0]
        given = self.apply(x)
        expected = np.zeros_like(given)
        bands = band_of(self.op, below, above)
        for k in range(-below, above + 1):
            d, columns = bands[above - k], slice(max(k, 0), self.n + min(k, 0))
            rows = slice(max(-k, 0), self.n + min(-k, 0))
            expected[rows] += d[columns] * x[columns]
        error, size = np.abs(given - expected), np.linalg.norm(given) + np.linalg.norm(expected)
        if not np.max(error) > 1e3 * self.eps * size:
            return None
        i = int(np.argmax(error))
        return f"row {i} has entries outside of the band, which add {error[i]:.3g} to J x"

    def sign(self, strict: bool) -> str | None:
        """Ritz values must be positive."""
        if self.n <= EXACT:
            values = np.linalg.eigvalsh(self.matrix())
        else:
            values = ritz_values(self.apply, self.vectors(1)[0], min(self.n, 40))
        low, size = float(values[0]), float(np.max(np.abs(values)))
        noise = 1e2 * self.eps * size
        if low < -noise or (strict and low <= 0):
            return f"there is an eigenvalue of at most {low:.3g}"
        return None


def band_of(op: JacobianOperator, below: int, above: int) -> Any:
    """The diagonals of a banded matrix, as `scipy.linalg.solve_banded` takes them.

    Returns
    -------
    ndarray (below + above + 1, n)
        ``ab[above + i - j, j] = J[i, j]``.

    Notes
    -----
    Columns that are below + above + 1 apart have no row in common, so so many products do.
    """
    n, width = op.shape[0], below + above + 1
    colours = np.arange(n) % width
    seeds = (colours == np.arange(width)[:, None]).astype(op.dtype)
    products = concrete(op._apply_rows(seeds, False))  # one row per colour
    bands = np.zeros((width, n), products.dtype)
    columns = np.arange(n)
    for offset in range(-above, below + 1):
        rows = columns + offset
        inside = (rows >= 0) & (rows < n)
        bands[above + offset, inside] = products[colours[inside], rows[inside]]
    return bands


def ritz_values(apply: Callable[..., Any], start: Array, steps: int) -> Any:
    """Eigenvalues of a hermitian matrix on a Krylov space, with full orthogonalisation."""
    basis = [start / np.linalg.norm(start)]
    alphas: list[float] = []
    betas: list[float] = []
    for _ in range(steps):
        w = apply(basis[-1])
        alphas.append(float(np.real(np.vdot(basis[-1], w))))
        V = np.array(basis)
        for _ in range(2):
            w = w - V.T @ (np.conj(V) @ w)
        beta = float(np.linalg.norm(w))
        if beta <= 1e-10 * max(abs(a) for a in alphas) or len(basis) == steps:
            break
        betas.append(beta)
        basis.append(w / beta)
    k = len(alphas)
    T = np.diag(alphas) + np.diag(betas[: k - 1], 1) + np.diag(betas[: k - 1], -1)
    return np.linalg.eigvalsh(T)
