"""The Jacobian operator: a SciPy LinearOperator that sees shaped arrays.

A subclass writes two methods, `pushforward` and `pullback`, on arrays whose trailing axes
are the operator's shape; whatever axes come before them are independent seeds. Everything
SciPy asks for (flat vectors, matrices of columns, odd dtypes) is derived here, once.

Maps and matrices. `pushforward` and `pullback` are maps between real or complex arrays,
adjoint to each other in <a, b> = Re Σ conj(a) b. SciPy sees a matrix. They say the same,
except where real arrays are mapped to complex ones: the matrix M then also takes complex
vectors, and M^H w is complex, of which `pullback` keeps the real part. A map from complex
arrays has a matrix only if it is linear over the complex numbers (`clinear`).
"""

import weakref
from typing import Any

import numpy as np
from numpy import ndarray
from scipy.sparse.linalg import LinearOperator

from linad.core.array_type import Array
from linad.core.device_arrays import is_on_device
from linad.core.primitive import Traced
from linad.core.shapes import Shape, memory_of, size_of
from linad.errors import (
    DeviceError,
    NotHolomorphicError,
    ShapeError,
)
from linad.operators.dense_forms import DenseForms
from linad.operators.facts import FACTS, Facts
from linad.operators.former_states import todays_state
from linad.operators.operands import as_numbers, columns
from linad.operators.operator_arithmetic import OperatorArithmetic
from linad.operators.properties import OperatorProperties
from linad.operators.provided import ANSWERS, OTHER
from linad.operators.sparse_properties import SparseForms

INTERNAL = {
    *("clinear", "compiled", "flat", "owns_result", "scatters", "spreads", "wide", "writes"),
    *("in_slots", "in_tree", "inputs", "out_slots", "out_tree", "outputs", "steps"),
    *("pull_leaves", "pullback_into", "push_leaves", "pushforward_into"),
    *("copies", "inherits_facts", "scales_at_once", "unknown", *FACTS),
}
"""Names that sweeps ask of an operator, and that completion does not show."""


class PutOff:
    """An attribute of SciPy's initialisation, which runs when it is first asked for.

    An operator must not have a method ``__getattr__`` for this: reading any attribute of it,
    those that are there too, would take several times as long.
    """

    def __init__(self, doc: str = "") -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, op: Any, kind: Any = None) -> Any:
        if op is None:
            return self
        if self.name == "shape":
            op.shape = (size_of(op.out_shape), size_of(op.in_shape))
        else:
            LinearOperator.__init__(op, op.dtype, op.shape)
        try:
            return op.__dict__[self.name]
        except KeyError:
            return getattr(LinearOperator, self.name)  # as this version of SciPy has it


class JacobianOperator(
    Facts, OperatorProperties, OperatorArithmetic, DenseForms, SparseForms, LinearOperator
):
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
    owns_result : bool
        True when both maps return new memory, never a view of a seed or of a residual.
    clinear : bool
        False when the map is linear over the reals only (conjugation, real part), and so
        has no complex matrix.
    wide : bool
        True when the matrix says more than the map, which keeps a real part: the adjoint
        of a map from real to complex arrays, and what is made with it.
    scatters : bool
        True when `pullback` fills few entries of its result, so that a sweep should add
        them to a cotangent it holds by `pullback_into` instead.
    spreads : bool
        The same for `pushforward` and `pushforward_into`.
    hermitian : bool
        True where whoever made it knows that the matrix is its own conjugate transpose.
    compiled : bool
        True where compiled programs are in it, which may run with the rest as one.
    writes : bool
        True for the operator of an array that was written into; a sweep applies it in place.

    Notes
    -----
    SciPy's own initialisation costs microseconds and a program makes one operator an
    operation, so it is put off until SciPy's attributes are first asked for.

    Vectors of any number type are cast to the operator's dtype (SciPy probes with int8,
    optimisers call with float64); complex ones meet a real operator part by part. `matvec`
    also takes rows ``(..., n)``, each a vector of its own: one batched sweep.
    """

    owns_result = False
    clinear = True
    wide = False
    scatters = False
    spreads = False
    compiled = False
    writes = False
    hermitian = False
    shape: Any = PutOff("(m, n), the shape of the matrix.")
    ndim: Any = PutOff("2, as of every matrix.")
    _xp: Any = PutOff()
    __array_priority__ = 2000.0

    # SciPy's looks at the methods of each operator that is made; this one is not a Python call.
    __new__ = object.__new__  # type: ignore[assignment]

    def __init__(self, out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]) -> None:
        self.out_shape = out_shape
        self.in_shape = in_shape
        self.dtype = dtype

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), "shape"}
        return sorted([n for n in names if not n.startswith("_") and n not in INTERNAL])

    # The two methods a subclass writes.

    def pushforward(self, tangent: Array) -> Array:
        """Map tangents ``(*seeds, *in_shape)`` to ``(*seeds, *out_shape)``."""
        raise NotImplementedError

    def pullback(self, cotangent: Array) -> Array:
        """Map cotangents ``(*seeds, *out_shape)`` to ``(*seeds, *in_shape)``: the adjoint."""
        raise NotImplementedError

    # What some subclasses override.

    def pullback_into(self, cotangent: Array, total: Array) -> None:
        """Add the pullback to the array ``total`` ``(*seeds, *in_shape)``; see `scatters`."""
        total += self.pullback(cotangent)

    def pushforward_into(self, tangent: Array, total: Array) -> None:
        """Add the pushforward to the array ``total`` ``(*seeds, *out_shape)``; see `spreads`."""
        total += self.pushforward(tangent)

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

    def _matvec(self, x: Array) -> Any:
        """``J @ x``, of a vector (n,), or of rows of vectors (..., n)."""
        if self.compiled and (y := self._bound(x, False)) is not None:
            return y
        n = self.shape[1]
        if type(x) is ndarray and x.shape == (n,) and x.dtype.kind == self.dtype.kind == "f":
            return self.flat._sweep(x, False)  # by far the most common case, made short
        return self._apply_vectors(x, n, False)

    def _rmatvec(self, x: Array) -> Any:
        """``J.H @ x``, of a vector (m,), or of rows of vectors (..., m)."""
        if self.compiled and (y := self._bound(x, True)) is not None:
            return y
        n = self.shape[0]
        if type(x) is ndarray and x.shape == (n,) and x.dtype.kind == self.dtype.kind == "f":
            return self.flat._sweep(x, True)
        return self._apply_vectors(x, n, True)

    def _bound(self, x: Any, adjoint: bool) -> Any:
        """The product by the function that earlier ones have left; None where there is none."""
        calls = self.__dict__.get("_bound_calls")
        if calls is None or not calls[adjoint] or type(x) is not ndarray:
            return None
        y = calls[adjoint]((x,))
        if y is OTHER:
            return None
        return y if y.ndim == 1 else y.reshape(-1)

    def _matmat(self, X: Array) -> Any:
        """``J @ X``, of a matrix (n, k), in one batched sweep."""
        return self._apply_columns(X, self.shape[1], False)

    def _rmatmat(self, X: Array) -> Any:
        """``J.H @ X``, of a matrix (m, k), in one batched sweep."""
        return self._apply_columns(X, self.shape[0], True)

    matvec, rmatvec, matmat, rmatmat = _matvec, _rmatvec, _matmat, _rmatmat

    def _apply_vectors(self, x: Array, n: int, adjoint: bool) -> Any:
        """Apply to vectors (..., n), or to one column (n, 1), which gives a column."""
        if not isinstance(x, np.ndarray) and is_on_device(x):
            op = self.flat
            if not op.compiled:
                raise op._not_on_device()
            return ANSWERS.on_device(op, adjoint, x)
        x = as_numbers(x)
        shape = x.shape
        if len(shape) == 2 and shape == (n, 1):
            return self._apply_rows(x.reshape(n), adjoint).reshape(-1, 1)
        if shape and shape[-1] == n:
            return self._apply_rows(x, adjoint)
        raise ShapeError(f"{self._asked(adjoint)} takes vectors of shape ({n},), got {shape}")

    def _not_on_device(self) -> DeviceError:
        return DeviceError(
            f"{self._label()} is applied to a vector on a device, and is not one program there: it "
            f"has to be made of linad.linearize(linad.jit(f), x), x on the device; pass x.numpy()"
        )

    def _apply_columns(self, X: Array, n: int, adjoint: bool) -> Any:
        """Apply to matrices of columns (..., n, k)."""
        X = as_numbers(X)
        if X.ndim >= 2 and X.shape[-2] == n:
            return columns(self._apply_rows(columns(X), adjoint))
        raise ShapeError(f"{self._asked(adjoint)} takes matrices of shape ({n}, k), got {X.shape}")

    def _asked(self, adjoint: bool) -> str:
        return f"the adjoint of {self._label()}" if adjoint else self._label()

    def _apply_rows(self, x: Array, adjoint: bool) -> Any:
        """Apply the matrix, or its adjoint, to rows (..., n) of any dtype."""
        op = self.flat
        if op is not self:
            return op._apply_rows(x, adjoint)
        if self.dtype.kind != "c" and x.dtype.kind != "c":
            return self._sweep(x, adjoint)
        domain, image = self.in_dtype, self.out_dtype
        if domain.kind == "c" and not self.clinear:
            raise NotHolomorphicError(
                f"{self._label()}: the function is not holomorphic here, so its derivative is "
                f"linear over the reals only and has no complex matrix; use pushforward and "
                f"pullback, or differentiate in the real and imaginary parts"
            )
        if x.dtype.kind == "c" and (image if adjoint else domain).kind != "c":
            real, imaginary = self._sweep(x.real, adjoint), self._sweep(x.imag, adjoint)
            return real + 1j * imaginary
        y = self._sweep(x, adjoint)
        if adjoint and domain.kind != "c" and image.kind == "c":
            # What pullback drops: Im z = Re(-i z).
            return y + 1j * self._sweep(-1j * x, adjoint)
        return y

    def _sweep(self, x: Array, adjoint: bool) -> Any:
        """Apply one of the two maps to rows of the right kind."""
        taken, given = self.in_shape, self.out_shape
        apply: Any = self.pushforward
        if adjoint:
            taken, given, apply = given, taken, self.pullback
        dtype = self.out_dtype if adjoint else self.in_dtype
        if x.dtype is not dtype:
            x = x.astype(dtype)
        if x.ndim == 1:
            x = x if len(taken) == 1 else x.reshape(taken)
            if self.compiled and (y := ANSWERS.fused(self, adjoint, x)) is not None:
                return y if len(given) == 1 else y.reshape(-1)
            y = apply(x)
            if len(given) != 1:
                y = y.reshape(size_of(given))
        else:
            seeds = x.shape[:-1]
            y = apply(x.reshape(seeds + taken)).reshape((*seeds, size_of(given)))
        if not self.owns_result and type(y) is ndarray:
            return own(y, {memory_of(x)})
        return y

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
        return self._remembered(ANSWERS.Adjoint)

    def _transpose(self) -> "JacobianOperator":
        if self.dtype.kind != "c":
            return self._adjoint()
        return self._remembered(ANSWERS.Transpose)

    def _remembered(self, kind: Any) -> Any:
        # A weak reference: the view holds this operator, and a cycle would keep residuals
        # alive until the garbage collector runs.
        found = self.__dict__.get(kind.remembered_as)
        view = found() if found is not None else None
        if view is None:
            view = kind(self)
            self.__dict__[kind.remembered_as] = weakref.ref(view)
        return view

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        for name in (
            "_adjoint_ref",
            "_transpose_ref",
            "_xp",
            "shape",
            "ndim",
            "_sparsity",
            "_opened",
            "_fused",
            "_bound_calls",
            "_swept",
        ):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(todays_state(type(self), state))

    def __array_function__(
        self, func: Any, types: tuple[Any, ...], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        # SciPy's trust-region code calls np.dot(hess, p): answer it without a dense matrix.
        if func is np.dot and not kwargs and len(args) == 2:
            a, b = args
            return a.dot(b) if isinstance(a, JacobianOperator) else b.rdot(a)
        return func._implementation(*args, **kwargs)

    def _label(self) -> str:
        m, n = self.shape
        return f"{type(self).__name__} ({m} x {n}, {self.dtype})"

    def __repr__(self) -> str:
        return f"<{self._label()}: {self.out_shape} from {self.in_shape}>"


def own(y: Array, taken: set[int]) -> Any:
    """Return ``y``, copied if it is read-only or lives in memory that is ``taken``."""
    flags = y.concrete[...].flags if isinstance(y, Traced) else y.flags
    return y if flags.writeable and memory_of(y) not in taken else y.copy()
