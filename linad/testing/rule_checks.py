"""Checks of rules: is each Jacobian of a primitive right, in all that is done with it?

Beside the derivatives themselves (`linad.testing.derivative_checks`): dense forms, layouts, single
precision, complex points, and compiled programs.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.api.derivatives import jvp, linearize, vjp
from linad.core import tree
from linad.core.array_type import Array
from linad.core.options import COUNT, FLAG, POSITIONS, POSITIVE_COUNT, SEED, TOLERANCE, takes
from linad.core.primitive import Primitive
from linad.core.settings import compiler_is_off
from linad.core.shapes import is_inexact
from linad.core.showing import shown
from linad.core.vectors import combine, norm, precision, random_like
from linad.errors import DerivativeError, OpaqueRuleError
from linad.testing.agreement import check_program, require
from linad.testing.derivative_checks import Rng, check_derivatives, check_forms


@takes(
    order=POSITIVE_COUNT,
    rtol=TOLERANCE.optional,
    float32=FLAG,
    complex_=FLAG,
    wrt=POSITIONS.optional,
    compiled=COUNT,
    rng=SEED,
)
def check_rule(
    primitive: Primitive | Callable[..., Any],
    *args: Any,
    order: int = 2,
    rtol: float | None = None,
    float32: bool = True,
    complex_: bool = False,
    wrt: Sequence[int] | None = None,
    compiled: int = 1,
    rng: Rng = 1729,
    **params: Any,
) -> None:
    """Check every Jacobian rule of a primitive at a point.

    Parameters
    ----------
    primitive : Primitive or callable
        A callable is checked like a primitive with the same arguments.
    *args
        Its arrays; floating and complex ones are differentiated, each alone and all
        together.
    order, rtol, rng
        As in `check_derivatives`.
    float32 : bool
        Whether to check it in single precision as well.
    complex_ : bool
        Whether to check it at complex points as well.
    wrt : sequence of int, optional
        Which arguments to differentiate in; by default each floating or complex one.
    compiled : int
        Up to which order, at most 2, compiled programs of the derivatives are compared with
        NumPy; 0 for none, not even of the values. At complex points at most 1.
    **params
        Its static parameters.

    Raises
    ------
    DerivativeError
        Naming the primitive and the test.

    Notes
    -----
    Beyond `check_derivatives`: the dense Jacobians by columns and by rows agree; inputs are
    untouched; single precision stays single; non-contiguous inputs work; compiled
    programs of values and derivatives agree with NumPy to rounding, in memory that was full of
    NaN. What it cannot see is stated there. A rule that runs on plain numbers only, of compiled
    code or written with `math`, is checked to first order.
    """
    rng = np.random.default_rng(rng)
    args = tuple(a if type(a) in (int, float, complex) else np.asarray(a) for a in args)
    if wrt is None:
        wrt = [i for i, a in enumerate(args) if is_inexact(np.asarray(a).dtype)]
    name = getattr(primitive, "name", None) or getattr(primitive, "__name__", repr(primitive))
    variants = [("", args)]
    if complex_:
        variants.append(
            (
                " at a complex point",
                tuple(_complexified(a, rng) if i in wrt else a for i, a in enumerate(args)),
            )
        )
    checks = [
        (
            label,
            functools.partial(
                _check_point,
                primitive,
                point,
                params,
                list(wrt),
                order,
                rtol,
                min(compiled, 1 if label else order),
                rng,
            ),
        )
        for label, point in variants
    ]
    if float32:
        single = functools.partial(_check_single, primitive, args, params, wrt, rng)
        checks.append((" in single precision", single))
    for label, check in checks:
        try:
            check()
        except DerivativeError as error:
            shapes = ", ".join(str(np.shape(a)) for a in args)
            raise DerivativeError(f"{name}({shapes}, {params}){label}: {error}") from None


class Case:
    """A point at which the rules of a function are checked; registries of rules list them.

    Parameters
    ----------
    function : Primitive or callable
        A primitive, or a NumPy function of the same signature.
    *args
        Its arrays.
    check : dict, optional
        Keywords for `check_rule`: ``order``, ``rtol``, ``float32``, ``complex_``, ``wrt``,
        ``compiled``.
    **params
        Its static parameters.
    """

    def __init__(
        self, function: Any, *args: Any, check: dict[str, Any] | None = None, **params: Any
    ) -> None:
        self.function, self.args, self.params = function, args, params
        self.options = check or {}

    def check(self, **options: Any) -> None:
        """Run `check_rule` on the case, with these options unless it has its own."""
        check_rule(self.function, *self.args, **(options | self.options), **self.params)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        shapes = [str(np.shape(a)).replace(" ", "") for a in self.args]
        params = [f"{k}={shown(v)}" for k, v in self.params.items()]
        return f"{name}({', '.join(shapes + params)})"


def _single(a: Array) -> Any:
    """A floating array in single precision; Python numbers and integers stay."""
    if not isinstance(a, (np.ndarray, np.generic)) or not is_inexact(a.dtype):
        return a
    return a.astype(np.complex64 if a.dtype.kind == "c" else np.float32)


def _check_single(
    primitive: Any, args: tuple[Any, ...], params: Any, wrt: Sequence[int], rng: Any
) -> None:
    """Single precision in, single precision out, and the same derivative but for rounding."""
    active = [i for i in wrt if isinstance(args[i], (np.ndarray, np.generic))]
    if not active:
        return
    f = _restricted(primitive, args, params, active)
    g = _restricted(primitive, tuple(_single(a) for a in args), params, active)
    point = [_single(args[i]) for i in active]
    y, J = linearize(g, *point)
    for part in tree.flatten(y)[0]:
        if part.dtype.itemsize > 4 * (1 + (part.dtype.kind == "c")):
            raise DerivativeError(f"the result is {part.dtype}")
    dx = random_like(point[0] if len(point) == 1 else tuple(point), rng)
    ybar = random_like(y, rng)
    dy, xbar = J.pushforward(dx), J.pullback(ybar)
    check_forms(dy, y, "pushforward")
    check_forms(xbar, dx, "pullback")
    K = linearize(f, *[args[i] for i in active])[1]
    for what, found, exact in (
        ("pushforward", dy, K.pushforward(dx)),
        ("pullback", xbar, K.pullback(ybar)),
    ):
        error = norm(combine(1.0, exact, -1.0, found))
        require(error, 1e-3 * (norm(exact) + 1e-30), f"{what} against double precision")


def _complexified(a: Array, rng: Any) -> Any:
    if not is_inexact(np.asarray(a).dtype):
        return a
    return a + 0.3j * rng.standard_normal(np.shape(a))


def _check_point(
    primitive: Any,
    args: tuple[Any, ...],
    params: Any,
    active: list[int],
    order: int,
    rtol: Any,
    compiled: int,
    rng: Any,
) -> None:
    if not active:
        raise DerivativeError("no floating argument to differentiate in")

    before = [np.array(a) for a in args]
    for chosen in [*([i] for i in active), active] if len(active) > 1 else [active]:
        f = _restricted(primitive, args, params, chosen)
        point = [args[i] for i in chosen]
        try:
            check_derivatives(f, *point, order=order, rtol=rtol, rng=rng)
        except OpaqueRuleError:
            if order == 1:
                raise
            order, compiled = 1, min(compiled, 1)
            check_derivatives(f, *point, order=order, rtol=rtol, rng=rng)
        _check_dense(f, point)
        _check_layouts(f, point)
    _check_compiled(f, point, compiled, rng)
    for a, b in zip(args, before, strict=True):
        if not np.array_equal(np.asarray(a), b, equal_nan=b.dtype.kind in "fc"):
            raise DerivativeError("an input was overwritten")


def _restricted(
    primitive: Any, args: tuple[Any, ...], params: Any, chosen: list[int]
) -> Callable[..., Any]:
    """The primitive as a function of some of its arguments."""

    def f(*given: Any) -> Any:
        full = list(args)
        for i, value in zip(chosen, given, strict=True):
            full[i] = value
        return _inexact(primitive(*full, **params))

    return f


def _inexact(y: Array) -> Any:
    """The differentiable results of a primitive with several."""
    if isinstance(y, tuple):
        return tuple(part for part in y if is_inexact(part.dtype))
    return y


def _check_dense(f: Callable[..., Any], point: list[Any]) -> None:
    """The matrix by columns must equal the matrix by rows."""
    J = linearize(f, *point)[1]
    op = J.flat
    if op.in_dtype.kind == "c" and not op.clinear:
        return
    m, n = op.shape
    columns = op.matmat(np.eye(n, dtype=op.in_dtype))
    rows = np.conj(op.rmatmat(np.eye(m, dtype=op.out_dtype))).T
    eps = max(precision(point), float(np.finfo(op.dtype).eps))
    require(
        norm(columns - rows),
        100 * eps * np.sqrt(m * n + 1) * (norm(columns) + 1e-300),
        "dense forms",
    )


def _check_layouts(f: Callable[..., Any], point: list[Any]) -> None:
    """Fortran-ordered and strided inputs must give the same derivative."""

    def odd(a: Array) -> Any:
        if not isinstance(a, np.ndarray) or a.ndim == 0:
            return a
        wide = np.empty((*a.shape[:-1], 2 * a.shape[-1]), a.dtype, order="F")
        view = wide[..., ::-2]
        view[...] = a
        return view

    rng = np.random.default_rng(1)
    y, J = linearize(f, *point)
    K = linearize(f, *[odd(a) for a in point])[1]
    ybar = random_like(y, rng)
    a, b = J.pullback(ybar), K.pullback(ybar)
    eps = max(precision(point), precision(y))
    require(norm(combine(1.0, a, -1.0, b)), 1e4 * eps * (norm(a) + 1e-300), "strided inputs")


def _check_compiled(f: Callable[..., Any], point: list[Any], order: int, rng: Any) -> None:
    """Compiled programs must give what NumPy gives, whatever their memory held before."""
    if not order or compiler_is_off():
        return
    n = len(point)
    y, _ = linearize(f, *point)
    ybar, dx = random_like(y, rng), random_like(tuple(point), rng)

    def first(*given: Any) -> Any:
        x, (ybar, dx) = given[:n], given[n:]
        y, pullback = vjp(f, *x)
        return y, pullback(ybar), jvp(f, x, dx)[1]

    def second(*given: Any) -> Any:
        x, (ybar, dx) = given[:n], given[n:]
        return jvp(lambda *x: vjp(f, *x)[1](ybar), x, dx)[1]

    check_program(first, (*point, ybar, dx))
    if order > 1:
        check_program(second, (*point, ybar, dx))
