"""The user's derivatives: linearize, jvp, vjp, grad, jacobian, hessian and their relatives.

Signatures follow JAX where JAX has the function.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad import tree
from linad.buffers import refresh, share_storage, storage_of
from linad.errors import OutputError, ShapeError, TracerError, TreeError
from linad.tracer import Tracer
from linad.transforms.linearize import check_input, linearize_leaves
from linad.transforms.push import push_leaves
from linad.transforms.tape_operator import Slot, TapeOperator, check_seeds

Argnums = int | Sequence[int] | None


class _Call:
    """A call ``f(*args, **kwargs)`` split into the leaves to differentiate and the rest.

    Attributes
    ----------
    values : list of array
        Leaves of the chosen arguments.
    in_tree : structure
        Of the one chosen argument, or of a tuple of them.
    aux : object
        What ``f`` returned beside its result, after a run with ``has_aux``.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        argnums: Argnums,
        *,
        has_aux: bool = False,
        keep: bool = False,
    ) -> None:
        self.f, self.args, self.kwargs, self.has_aux = f, args, kwargs, has_aux
        self.keep = keep
        self.aux: Any = None
        self.single = len(args) == 1 if argnums is None else isinstance(argnums, (int, np.integer))
        self.argnums = _positions(argnums, len(args), f)
        chosen = [args[i] for i in self.argnums]
        leaves, self.in_tree = tree.flatten(chosen[0] if self.single else tuple(chosen))
        self.given = leaves
        self._neighbours: dict[int, Any] | None = None
        self.values = [
            check_input(v, functools.partial(self._leaf_name, k)) for k, v in enumerate(leaves)
        ]
        if not leaves:
            raise TreeError(f"{_name(f)}: the arguments to differentiate hold no array")
        if keep:
            # The operator outlives this call, and with it the caller's right to leave his
            # arrays alone: residuals must not change when he writes into them.
            self.values = [np.array(v) if type(v) is np.ndarray else v for v in self.values]
        else:
            # What f writes into is a copy, and a copy has no gaps in memory.
            self.values = [np.array(v) if _has_gaps(v) else v for v in self.values]

    def _leaf_name(self, k: int) -> str:
        path = tree.leaf_paths(self.in_tree)[k]
        if self.single:
            return f"{_name(self.f)}: argument {self.argnums[0]}{path}"
        return f"{_name(self.f)}: arguments{path}"

    def check_alone(self, k: int) -> None:
        """Raise if leaf ``k``, which ``f`` is about to write into, shares memory with another
        argument: NumPy would change both, and linad differentiates them apart."""
        if self._neighbours is None:
            self._neighbours = self._by_memory()
        mine = self.given[k]
        for other, j, argument in self._neighbours.get(storage_of(mine), ()):
            if j != k and share_storage(mine, other):
                name = f"the argument {argument!r} that is not differentiated"
                raise TracerError(
                    f"{self._leaf_name(k)} is written into, and shares memory with "
                    f"{name if j is None else self._leaf_name(j)}; pass a copy (x.copy()) of one "
                    f"of them"
                )

    def _by_memory(self) -> dict[int, list[tuple[Any, int | None, Any]]]:
        """The arrays given, by the memory they live in, each with its number as a leaf or the
        argument it came in."""
        given: list[Any] = [(v, k, None) for k, v in enumerate(self.given)]
        rest = [(i, a) for i, a in enumerate(self.args) if i not in self.argnums]
        for argument, value in [*rest, *self.kwargs.items()]:
            given += [(v, None, argument) for v in tree.flatten(value)[0]]
        groups: dict[int, list[Any]] = {}
        for entry in given:
            if isinstance(entry[0], (np.ndarray, Tracer)):
                groups.setdefault(storage_of(entry[0]), []).append(entry)
        return groups

    def __call__(self, leaves: list[Any]) -> Any:
        leaves[0]._trace.arguments = {id(t): (k, t) for k, t in enumerate(leaves)}, self
        given = tree.unflatten(self.in_tree, leaves)
        args = list(self.args)
        if self.single:
            args[self.argnums[0]] = given
        else:
            for i, value in zip(self.argnums, given, strict=True):
                args[i] = value
        result = self.f(*args, **self.kwargs)
        if not self.has_aux:
            return result
        if not isinstance(result, tuple) or len(result) != 2:
            raise OutputError(f"{_name(self.f)}: with has_aux=True it must return (result, aux)")
        result, self.aux = result
        return result

    def linearize(self) -> tuple[Any, TapeOperator]:
        """Return the untraced result and the operator; strip tracers from aux."""
        results, J = linearize_leaves(self, self.values, self.in_tree)
        if self.keep:
            # A result may be a residual, and it is the caller's to write into.
            results = [np.array(y) if type(y) is np.ndarray else y for y in results]
        self.aux = _untraced(self.aux)
        return tree.unflatten(J.out_tree, results), J


def _has_gaps(v: Any) -> bool:
    return type(v) is np.ndarray and not v.flags.forc


def _name(f: Any) -> str:
    while isinstance(f, functools.partial):
        f = f.func
    return getattr(f, "__name__", None) or type(f).__name__


def _positions(argnums: Argnums, n: int, f: Any) -> tuple[int, ...]:
    if argnums is None:
        return tuple(range(n))
    given = (argnums,) if isinstance(argnums, (int, np.integer)) else tuple(argnums)
    for i in given:
        if not isinstance(i, (int, np.integer)) or not -n <= i < n:
            raise TypeError(
                f"{_name(f)}: argnums={argnums!r} names no positional argument; {n} were given "
                f"(arguments passed by keyword are not differentiated)"
            )
    positions = tuple([int(i) % n for i in given])
    if len(set(positions)) < len(positions):
        raise ValueError(f"{_name(f)}: argnums={argnums!r} names an argument twice")
    return positions


def _untraced(value: Any) -> Any:
    """``value`` with finished tracers replaced by what they carry."""
    if value is None:
        return None
    leaves, structure = tree.flatten(value)
    return tree.unflatten(structure, [_settled(leaf) for leaf in leaves])


def _settled(leaf: Any) -> Any:
    while isinstance(leaf, Tracer) and leaf._trace.finished:
        refresh(leaf)
        leaf = leaf._value
    return leaf


def linearize(
    f: Callable[..., Any], *args: Any, argnums: Argnums = None
) -> tuple[Any, TapeOperator]:
    """Run ``f`` and return its result with its derivative there, as a linear operator.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays, in plain NumPy.
    *args
        The point.
    argnums : int or sequence of int, optional
        Which arguments to differentiate in; all by default. One argument: tangents look
        like that argument. Several: like a tuple of them.

    Returns
    -------
    y
        ``f(*args)``.
    J : TapeOperator
        A `scipy.sparse.linalg.LinearOperator` of shape (size of y, size of the arguments).
        ``J @ v`` is the JVP, ``J.T @ w`` the VJP, on flat vectors; ``J.pushforward`` and
        ``J.pullback`` take and give containers. Each may be called any number of times.

    Raises
    ------
    DTypeError
        If an argument is not floating or complex.
    OutputError
        If ``f`` returns no array, or a Python number.

    Notes
    -----
    Costs one run of ``f``, plus the slopes of its nonlinear operations. `J` keeps these
    slopes and the operands of products; the arguments are copied, so writing into them
    later does not change `J`. Arrays that ``f`` takes from outside are kept by reference.

    Examples
    --------
    >>> import numpy as np, linad
    >>> y, J = linad.linearize(lambda x: x**2, np.array([1.0, 2.0, 3.0]))
    >>> J @ np.ones(3)
    array([2., 4., 6.])
    """
    return _Call(f, args, {}, argnums, keep=True).linearize()


def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: bool = False,
) -> Any:
    """Push tangents forward through ``f``.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays, in plain NumPy.
    primals, tangents : tuple or list
        The arguments of ``f``, and a tangent for each, of the same container and shapes.
    has_aux : bool
        Whether ``f`` returns ``(result, aux)``.

    Returns
    -------
    y, dy [, aux]
        The result and its tangent, a container of the same form, shapes and dtypes.

    Raises
    ------
    ShapeError, DTypeError, TreeError
        If a tangent does not match its primal.
    OutputError
        If ``f`` returns no array, or a Python number.

    Notes
    -----
    One run of ``f`` with tangents beside the values. Nothing is kept: memory is twice that of
    ``f``, whatever the number of operations.

    Examples
    --------
    >>> import numpy as np, linad
    >>> y, dy = linad.jvp(np.square, (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    >>> dy
    array([2., 0.])
    """
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TreeError("jvp: primals and tangents must be tuples or lists of arguments")
    if len(primals) != len(tangents):
        raise TreeError(f"jvp: {len(primals)} primals but {len(tangents)} tangents")
    call = _Call(f, tuple(primals), {}, tuple(range(len(primals))), has_aux=has_aux)
    slots = [Slot(v) for v in call.values]
    pushed, seeds = check_seeds(tuple(tangents), call.in_tree, slots, "jvp: tangent")
    if seeds:
        raise ShapeError(
            f"jvp: tangents with leading seed axes {seeds} came, shapes of the primals are "
            f"needed; linearize(f, x) gives an operator that takes many at once"
        )
    out_tree, results, tangents_out = push_leaves(call, call.values, pushed)
    y, dy = tree.unflatten(out_tree, results), tree.unflatten(out_tree, tangents_out)
    return (y, dy, _untraced(call.aux)) if has_aux else (y, dy)


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Run ``f`` and return its result with the function that pulls cotangents back.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays, in plain NumPy.
    *primals
        The arguments, all differentiated.
    has_aux : bool
        Whether ``f`` returns ``(result, aux)``.

    Returns
    -------
    y, pullback [, aux]
        ``pullback(cotangent)`` takes a container like ``y`` and returns a tuple with a
        cotangent for each argument, of its shape and dtype. It may be called any number of
        times, in any thread.

    Raises
    ------
    DTypeError
        If an argument is not floating or complex.
    OutputError
        If ``f`` returns no array, or a Python number.

    Notes
    -----
    One run of ``f``, and for each call of ``pullback`` one reverse sweep. Memory is that of
    `linearize`.

    ``pullback`` applies the adjoint of the Jacobian: for complex functions the conjugate
    transpose, PyTorch's convention; JAX's is ``J.T`` of `linearize`. It raises ShapeError,
    DTypeError or TreeError for a cotangent that does not match ``y``.

    Examples
    --------
    >>> import numpy as np, linad
    >>> y, pullback = linad.vjp(np.multiply, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pullback(np.ones(2))
    (array([3., 4.]), array([1., 2.]))
    """
    call = _Call(f, primals, {}, tuple(range(len(primals))), has_aux=has_aux, keep=True)
    y, J = call.linearize()
    return (y, J.pullback, call.aux) if has_aux else (y, J.pullback)


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that gives the value of the scalar function ``f`` and its gradient.

    Parameters
    ----------
    f : callable
        Returns a real scalar, or ``(scalar, aux)`` with ``has_aux``.
    argnums : int or sequence of int
        Which arguments to differentiate in.
    has_aux : bool
        Whether ``f`` returns ``(scalar, aux)``.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> (value, gradient)``, or ``((value, aux), gradient)``. The
        gradient is a container like the argument, of its shapes and dtypes; a tuple of such
        for several argnums.

    Raises
    ------
    OutputError
        When called, if ``f`` does not return a real scalar.
    DTypeError
        When called, if an argument to differentiate is not floating or complex.

    Notes
    -----
    One run of ``f`` and one reverse sweep. In complex arguments the gradient is the
    direction of steepest ascent, ∂f/∂Re z + i ∂f/∂Im z.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.value_and_grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    (np.float64(9.0), array([ 3., 12.]))
    """

    @functools.wraps(f, updated=())
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        call = _Call(f, args, kwargs, argnums, has_aux=has_aux)
        value, J = call.linearize()
        if not tree.is_leaf(J.out_tree) or J.out_slots[0].shape != ():
            shape = [slot.shape for slot in J.out_slots]
            what = f"shape {shape[0]}" if tree.is_leaf(J.out_tree) else f"a container of {shape}"
            raise OutputError(
                f"grad: {_name(f)} must return a scalar, it returned {what}; use jacobian, "
                f"or vjp with a cotangent"
            )
        dtype = J.out_slots[0].dtype
        if dtype.kind == "c":
            raise OutputError(
                f"grad: {_name(f)} returned a complex scalar, a real one is needed; take its "
                f"real part, or use vjp"
            )
        gradient = J.pull_leaves([dtype.type(1)])
        gradient = tree.unflatten(J.in_tree, gradient)
        return ((value, call.aux), gradient) if has_aux else (value, gradient)

    return value_and_gradient


def grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that gives the gradient of the scalar function ``f``.

    Parameters
    ----------
    f : callable
        Returns a real scalar, or ``(scalar, aux)`` with ``has_aux``.
    argnums : int or sequence of int
        Which arguments to differentiate in.
    has_aux : bool
        Whether ``f`` returns ``(scalar, aux)``.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> gradient``, or ``(gradient, aux)``. The gradient is a container
        like the argument, of its shapes and dtypes; a tuple of such for several argnums.

    Raises
    ------
    OutputError
        When called, if ``f`` does not return a real scalar.
    DTypeError
        When called, if an argument to differentiate is not floating or complex.

    Notes
    -----
    One run of ``f`` and one reverse sweep, whatever the number of arguments.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    both = value_and_grad(f, argnums, has_aux)

    @functools.wraps(f, updated=())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, g = both(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return gradient


def derivative(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Return the derivative of ``f`` in one scalar argument.

    Parameters
    ----------
    f : callable
        Its result may be any container of arrays.
    argnums : int
        The argument; must be a scalar.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> df/dx``, a container like the result.

    Raises
    ------
    ShapeError
        When called, if the argument is not a scalar.

    Notes
    -----
    One run of ``f`` in forward mode, whatever the size of the result.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.derivative(lambda t: np.stack([np.sin(t), t**2]))(0.0)
    array([1., 0.])
    """

    @functools.wraps(f, updated=())
    def slope(*args: Any, **kwargs: Any) -> Any:
        call = _Call(f, args, kwargs, argnums)
        if len(call.values) != 1 or call.values[0].shape != ():
            raise ShapeError(
                f"derivative: argument {argnums} of {_name(f)} must be a scalar; use jacobian, "
                f"or linearize and its diagonal"
            )
        one = call.values[0].dtype.type(1)
        out_tree, _, tangents = push_leaves(call, call.values, [one])
        return tree.unflatten(out_tree, tangents)

    return slope


def jacobian(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that gives the dense Jacobian of ``f``.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays, in plain NumPy.
    argnums : int or sequence of int
        Which arguments to differentiate in.
    has_aux : bool
        Whether ``f`` returns ``(result, aux)``.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> jacobian`` [, aux]. For one array in and one out: an array of
        shape ``y.shape + x.shape``. For containers: a container like the result, of
        containers like the argument, of such arrays.

    Raises
    ------
    DTypeError
        When called, if an argument to differentiate is not floating or complex.
    NotHolomorphicError
        When called, if the argument is complex and ``f`` is not holomorphic there.

    Notes
    -----
    One run of ``f`` and min(size of y, size of x) seeds in batched sweeps, forward or
    reverse, whichever needs fewer.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.jacobian(np.cumprod)(np.array([2.0, 3.0]))
    array([[1., 0.],
           [3., 2.]])
    """

    @functools.wraps(f, updated=())
    def dense(*args: Any, **kwargs: Any) -> Any:
        call = _Call(f, args, kwargs, argnums, has_aux=has_aux)
        _, J = call.linearize()
        matrix = _blocks(J)
        return (matrix, call.aux) if has_aux else matrix

    return dense


def _blocks(J: TapeOperator) -> Any:
    """The dense matrix of J as a container of containers of blocks."""
    matrix = J.todense()
    rows, top = [], 0
    for out in J.out_slots:
        row, left = [], 0
        for slot in J.in_slots:
            block = matrix[top : top + out.size, left : left + slot.size]
            row.append(block.reshape(out.shape + slot.shape))
            left += slot.size
        rows.append(tree.unflatten(J.in_tree, row))
        top += out.size
    return tree.unflatten(J.out_tree, rows)


def hessian(f: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """Return a function that gives the dense Hessian of the scalar function ``f``.

    Parameters
    ----------
    f : callable
        Returns a real scalar.
    argnums : int or sequence of int
        Which arguments to differentiate in.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> hessian``: an array of shape ``x.shape + x.shape``; for
        containers, and for several argnums, a container of containers of such.

    Raises
    ------
    OutputError
        When called, if ``f`` does not return a real scalar.

    Notes
    -----
    One gradient, and as many seeds as ``x`` has entries in batched sweeps over it.
    `hessian_operator` multiplies by the Hessian without forming it.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian(grad(f, argnums), argnums)


def hessian_operator(
    f: Callable[..., Any], *args: Any, argnums: int | Sequence[int] = 0
) -> TapeOperator:
    """Return the Hessian of the scalar function ``f`` at a point, as a linear operator.

    Parameters
    ----------
    f : callable
        Returns a real scalar.
    *args
        The point.
    argnums : int or sequence of int
        Which arguments to differentiate in.

    Returns
    -------
    TapeOperator
        A `scipy.sparse.linalg.LinearOperator`, symmetric, of shape (n, n) where the arguments
        have n entries.

    Raises
    ------
    OutputError
        If ``f`` does not return a real scalar.

    Notes
    -----
    Costs one gradient, and keeps what it leaves behind. ``H @ v`` is one forward sweep over
    the gradient.

    Examples
    --------
    >>> import numpy as np, linad
    >>> H = linad.hessian_operator(lambda x: x[0] ** 2 * x[1], np.array([1.0, 2.0]))
    >>> H @ np.array([1.0, 0.0])
    array([4., 2.])
    """
    return linearize(grad(f, argnums), *args, argnums=argnums)[1]


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the product of the Hessian of the scalar function ``f`` with a vector.

    Parameters
    ----------
    f : callable
        Returns a real scalar.
    primals, tangents : tuple or list
        The arguments, and the vector, one part an argument.

    Returns
    -------
    product
        Like the tangent when there is one argument, a tuple of such for several.

    Raises
    ------
    OutputError
        If ``f`` does not return a real scalar.
    ShapeError, DTypeError, TreeError
        If a tangent does not match its primal.

    Notes
    -----
    Forward over reverse: a few gradients' time, no Hessian formed. For many products at one
    point `hessian_operator` runs ``f`` once.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.hvp(lambda x: x[0] ** 2 * x[1], (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([4., 2.])
    """
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return jvp(grad(f, argnums), primals, tangents)[1]


def stop_gradient(x: Any) -> Any:
    """Return ``x`` with the same values and no derivative of any order.

    Parameters
    ----------
    x : array, or container of arrays
        Traced or not.

    Returns
    -------
    container
        Like ``x``: plain arrays, which a tape of `trace` still follows.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.grad(lambda x: np.sum(linad.stop_gradient(x) * x))(np.array([2.0, 3.0]))
    array([2., 3.])
    """
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, [_detached(leaf) for leaf in leaves])


def _detached(leaf: Any) -> Any:
    return leaf._trace.detach(leaf) if isinstance(leaf, Tracer) else leaf


__all__ = [
    "derivative",
    "grad",
    "hessian",
    "hessian_operator",
    "hvp",
    "jacobian",
    "jvp",
    "linearize",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
