"""The Jacobian operator: a SciPy LinearOperator that sees shaped arrays.

A subclass writes two methods, `pushforward` and `pullback`, on arrays whose trailing axes
are the operator's shape; whatever axes come before them are independent seeds. Everything
SciPy asks for (flat vectors, matrices of columns, odd dtypes) is derived here, once.
"""

import operator
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from linad.config import settings
from linad.errors import DensifyError, DTypeError, NotHolomorphicError, ShapeError
from linad.primitive import Traced
from linad.shapes import Shape, size_of


ALGEBRA = SimpleNamespace()
"""What operators are composed with; `linad.operators.algebra` fills it in."""


class JacobianOperator(LinearOperator):
    """A linear map from arrays of shape ``in_shape`` to arrays of shape ``out_shape``.

    Parameters
    ----------
    out_shape, in_shape : tuple of int
        Shapes of what `pushforward` returns and takes, seeds not counted.
    dtype : numpy.dtype
        Type of the matrix entries.

    Attributes
    ----------
    shape : tuple of int
        ``(size of out_shape, size of in_shape)``: the matrix SciPy sees.
    in_dtype, out_dtype : numpy.dtype
        Types of the arrays mapped; `dtype` unless an operator says otherwise.
    fresh : bool
        True when both maps return new memory, never a view of a seed or of a residual.
    clinear : bool
        False when the map is linear over the reals only (conjugation, real part), and so
        has no complex matrix.
    scatters : bool
        True when `pullback` fills few entries of its result, so that a sweep should add
        them to a cotangent it holds by `pullback_into` instead.

    Notes
    -----
    SciPy's own initialisation costs microseconds and a program makes one operator an
    operation, so it is put off until SciPy's attributes are first asked for.
    """

    fresh = False
    clinear = True
    scatters = False
    __array_priority__ = 2000.0

    def __new__(cls, *args: Any, **kwargs: Any) -> "JacobianOperator":
        return object.__new__(cls)

    def __init__(self, out_shape: Shape, in_shape: Shape, dtype: Any) -> None:
        self.out_shape = out_shape
        self.in_shape = in_shape
        self.dtype = dtype

    def __getattr__(self, name: str) -> Any:
        # Reached only for what is not set yet: SciPy's half of the initialisation.
        if name not in ("shape", "_xp", "ndim"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        shape = (size_of(self.out_shape), size_of(self.in_shape))
        super().__init__(self.dtype, shape)
        return getattr(self, name)

    # The two methods a subclass writes.

    def pushforward(self, tangent: Any) -> Any:
        """Map tangents (*seeds, *in_shape) to (*seeds, *out_shape)."""
        raise NotImplementedError

    def pullback(self, cotangent: Any) -> Any:
        """Map cotangents (*seeds, *out_shape) to (*seeds, *in_shape): the adjoint."""
        raise NotImplementedError

    # What some subclasses override.

    def pullback_into(self, cotangent: Any, total: Any) -> None:
        """Add the pullback to the array ``total`` (*seeds, *in_shape); see `scatters`."""
        total += self.pullback(cotangent)

    @property
    def in_dtype(self) -> Any:
        """Type of the tangents."""
        return self.dtype

    @property
    def out_dtype(self) -> Any:
        """Type of what `pushforward` returns."""
        return self.dtype

    @property
    def flat(self) -> "JacobianOperator":
        """The same operator on plain arrays; differs only where containers are mapped."""
        return self

    # SciPy's contract: flat vectors.

    def _matvec(self, x: Any) -> Any:
        return self._apply_rows(self._rows(x, self.shape[1]), adjoint=False)

    def _rmatvec(self, x: Any) -> Any:
        return self._apply_rows(self._rows(x, self.shape[0]), adjoint=True)

    def _matmat(self, X: Any) -> Any:
        return _columns(self._apply_rows(_columns(self._block(X, self.shape[1])), adjoint=False))

    def _rmatmat(self, X: Any) -> Any:
        return _columns(self._apply_rows(_columns(self._block(X, self.shape[0])), adjoint=True))

    matvec, rmatvec, matmat, rmatmat = _matvec, _rmatvec, _matmat, _rmatmat

    def _rows(self, x: Any, n: int) -> Any:
        """Vectors (..., n), or one column (n, 1), as rows (..., n)."""
        x = _as_numbers(x)
        if x.ndim and x.shape[-1] == n:
            return x
        if x.shape == (n, 1):
            return x.reshape(n)
        raise ShapeError(f"{self._label()}: a vector of shape ({n},) is needed, got {x.shape}")

    def _block(self, X: Any, n: int) -> Any:
        """A matrix of columns (..., n, k)."""
        X = _as_numbers(X)
        if X.ndim >= 2 and X.shape[-2] == n:
            return X
        raise ShapeError(f"{self._label()}: a matrix of shape ({n}, k) is needed, got {X.shape}")

    def _apply_rows(self, x: Any, adjoint: bool) -> Any:
        """Apply to rows (..., n) of any dtype, splitting complex rows where the map is real."""
        op = self.flat
        dtype = op.out_dtype if adjoint else op.in_dtype
        if not op.clinear and np.dtype(op.in_dtype).kind == "c":
            raise NotHolomorphicError(
                f"{self._label()}: the function is not holomorphic here, so its derivative is "
                f"linear over the reals only and has no complex matrix; use pushforward and "
                f"pullback, or differentiate in the real and imaginary parts"
            )
        if x.dtype.kind == "c" and dtype.kind != "c":
            return op._sweep(x.real, adjoint) + 1j * op._sweep(x.imag, adjoint)
        y = op._sweep(x, adjoint)
        if adjoint and op.in_dtype.kind != "c" and dtype.kind == "c":
            # pullback keeps the real part, which is all a real input can use; the matrix
            # adjoint has an imaginary part too: Im(z) = Re(-i z).
            return y + 1j * op._sweep(-1j * x, adjoint)
        return y

    def _sweep(self, x: Any, adjoint: bool) -> Any:
        """Apply one of the two methods to rows of the right kind."""
        shape, result = self.in_shape, self.out_shape
        method, dtype = self.pushforward, self.in_dtype
        if adjoint:
            shape, result = result, shape
            method, dtype = self.pullback, self.out_dtype
        seeds = x.shape[:-1]
        if x.dtype != dtype:
            x = x.astype(dtype)
        y = method(x.reshape(seeds + shape))
        y = y.reshape((*seeds, size_of(result)))
        if not self.fresh and type(y) is np.ndarray:
            return own(y, x)
        return y

    # Products and sums.

    def dot(self, x: Any) -> Any:
        """Apply to a vector or matrix, compose with an operator, or scale by a number."""
        if isinstance(x, LinearOperator) or issparse(x):
            return ALGEBRA.compose(self, x)
        if np.ndim(x) == 0:
            return ALGEBRA.scale(x, self)
        return self._matvec(x) if np.ndim(x) == 1 else self._matmat(x)

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, JacobianOperator):
            return ALGEBRA.compose(self, other)
        if np.ndim(other) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(other)

    def __rmatmul__(self, other: Any) -> Any:
        if isinstance(other, LinearOperator) or issparse(other):
            return ALGEBRA.compose(other, self)
        if np.ndim(other) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self._rdot(other)

    def _rdot(self, x: Any) -> Any:
        """``x @ self`` for an array."""
        if np.ndim(x) == 1:
            return self.T._matvec(x)
        return _columns(self.T._matmat(_columns(_as_numbers(x))))

    def __mul__(self, other: Any) -> Any:
        return self.dot(other)

    def __rmul__(self, other: Any) -> Any:
        return ALGEBRA.scale(other, self) if np.ndim(other) == 0 else self._rdot(other)

    def __truediv__(self, other: Any) -> Any:
        if np.ndim(other):
            raise ValueError("an operator can only be divided by a scalar")
        return ALGEBRA.scale(1 / other, self)

    def __neg__(self) -> Any:
        return ALGEBRA.scale(-1, self)

    def __add__(self, other: Any) -> Any:
        return ALGEBRA.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return ALGEBRA.add(self, ALGEBRA.scale(-1, ALGEBRA.as_operator(other)))

    def __rsub__(self, other: Any) -> Any:
        return ALGEBRA.add(ALGEBRA.as_operator(other), -self)

    def __pow__(self, power: Any) -> Any:
        return ALGEBRA.power(self, operator.index(power))

    # Transposes.

    @property
    def H(self) -> "JacobianOperator":
        """The adjoint (conjugate transpose): its pushforward is this operator's pullback."""
        return self._adjoint()

    @property
    def T(self) -> "JacobianOperator":
        """The transpose; the adjoint where the operator is real."""
        return self._transpose()

    def adjoint(self) -> "JacobianOperator":
        """As `H`."""
        return self._adjoint()

    def transpose(self) -> "JacobianOperator":
        """As `T`."""
        return self._transpose()

    def _adjoint(self) -> "JacobianOperator":
        return self._remembered("_adjoint_ref", ALGEBRA.Adjoint)

    def _transpose(self) -> "JacobianOperator":
        if self.dtype.kind != "c":
            return self._adjoint()
        return self._remembered("_transpose_ref", ALGEBRA.Transpose)

    def _remembered(self, name: str, kind: type) -> Any:
        # A weak reference: the view holds this operator, and a cycle would keep residuals
        # alive until the garbage collector runs.
        found = self.__dict__.get(name)
        view = found() if found is not None else None
        if view is None:
            view = kind(self)
            self.__dict__[name] = weakref.ref(view)
        return view

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in ("_adjoint_ref", "_transpose_ref", "_xp", "shape", "ndim"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # Dense forms.

    def todense(self) -> Any:
        """Return the matrix as an ndarray (m, n).

        Notes
        -----
        Costs min(m, n) seeds, pushed forward or pulled back in blocks of
        ``linad.config(block_bytes=...)``.
        """
        op = self.flat
        m, n = op.shape
        if n <= m or not op.clinear:
            rows = op._dense_rows(n, op.in_dtype, adjoint=False)
            return rows.T.copy() if m > 1 and n > 1 else rows.T
        rows = op._dense_rows(m, op.out_dtype, adjoint=True)
        return rows.conj() if rows.dtype.kind == "c" else rows

    def _dense_rows(self, k: int, dtype: Any, adjoint: bool) -> Any:
        """Apply to each of the k unit vectors."""
        m, n = self.shape
        step = max(1, settings().block_bytes // (dtype.itemsize * (m + n + 1)))
        if step >= k:
            return self._apply_rows(np.eye(k, dtype=dtype), adjoint)
        rows = np.empty((k, n if adjoint else m), self.dtype)
        for start in range(0, k, step):
            stop = min(start + step, k)
            seeds = np.zeros((stop - start, k), dtype)
            seeds[np.arange(stop - start), np.arange(start, stop)] = 1
            rows[start:stop] = self._apply_rows(seeds, adjoint)
        return rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        limit = settings().densify_limit
        m, n = self.shape
        if m * n > limit:
            raise DensifyError(
                f"{self._label()} was about to become a dense array of {m * n} entries, more "
                f"than the limit of {limit}; call .todense() yourself, or raise the limit with "
                f"linad.config(densify_limit=...)"
            )
        if copy is False:
            raise ValueError("an operator holds no array; a dense one can only be a new array")
        dense = self.todense()
        return dense if dtype is None else dense.astype(dtype, copy=False)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # SciPy's trust-region code calls np.dot(hess, p): answer it without a dense matrix.
        if func is np.dot and not kwargs and len(args) == 2:
            a, b = args
            return a.dot(b) if isinstance(a, JacobianOperator) else b._rdot(a)
        return func._implementation(*args, **kwargs)

    def _label(self) -> str:
        m, n = self.shape
        return f"{type(self).__name__} ({m} x {n}, {self.dtype})"

    def __repr__(self) -> str:
        return f"<{self._label()}: {self.out_shape} from {self.in_shape}>"


def own(y: Any, *others: Any) -> Any:
    """Return ``y``, copied if it is read-only or shares memory with one of ``others``."""
    if not y.flags.writeable or any(
        type(x) is np.ndarray and np.may_share_memory(x, y) for x in others
    ):
        return y.copy()
    return y


def _as_numbers(x: Any) -> Any:
    """What SciPy or a user hands to an operator, as an array of numbers."""
    if isinstance(x, Traced):
        return x
    x = np.asarray(x)
    if x.dtype.kind not in "biufc":
        raise DTypeError(f"an operator is applied to numbers, got dtype {x.dtype}")
    return x


def _columns(X: Any) -> Any:
    """Swap the last two axes."""
    return X.swapaxes(-1, -2)
