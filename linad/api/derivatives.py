"""The user's derivatives: linearize, jvp, vjp, derivative, jacobian.

Signatures follow JAX where JAX has the function.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

import numpy as np

from linad.api.differentiated_call import (
    Argnums,
    DifferentiatedCall,
    all_positions,
    check_point,
    check_transform,
    positions,
    untraced,
)
from linad.arrays.tracer import Tracer
from linad.arrays.traces import running_trace
from linad.core import device_arrays, tree
from linad.core.array_type import Array
from linad.core.folding import fold
from linad.core.options import is_integer
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.core.transformed_functions import Transformed
from linad.errors import DeviceError, OptionError, ShapeError, TreeError
from linad.jit.jitted import Jitted
from linad.transforms.push import push_leaves
from linad.transforms.spaces import check_seeds, slot_of
from linad.transforms.tape_operator import TapeOperator

P = ParamSpec("P")
Value = TypeVar("Value")
Aux = TypeVar("Aux")


def linearize(
    f: Callable[..., Value], *args: Any, argnums: Argnums = None
) -> tuple[Value, TapeOperator]:
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
    later does not change `J`. Plain arrays of more than
    ``linad.config(snapshot_bytes=...)`` that ``f`` uses are kept by reference.

    Examples
    --------
    >>> import numpy as np, linad
    >>> y, J = linad.linearize(lambda x: x**2, np.array([1.0, 2.0, 3.0]))
    >>> J @ np.ones(3)
    array([2., 4., 6.])
    """
    check_transform("linearize", f, argnums)
    check_point("linearize", f, args)
    try:
        if device_arrays.are_in(*args):
            return _linearize_on_device(f, args, argnums)
        call = DifferentiatedCall(f, args, {}, argnums, keep=True)
        return call.linearize()  # LINAD_TRACEBACK=full shows what ran inside
    except Exception as error:
        __tracebackhide__ = fold(error)
        raise


def _linearize_on_device(f: Any, args: tuple[Any, ...], argnums: Argnums) -> Any:
    from linad.jit.device_calls import linearized

    if not isinstance(f, Jitted):
        raise DeviceError(
            f"linearize: {name_of(f)} is called with arrays on a device, where only programs run: "
            f"linad.linearize(linad.jit({name_of(f)}), x)"
        )
    single = len(args) == 1 if argnums is None else isinstance(argnums, int | np.integer)
    return linearized(f, args, positions(argnums, len(args), f), single)


@overload
def jvp(
    f: Callable[..., tuple[Value, Aux]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: Literal[True],
) -> tuple[Value, Value, Aux]: ...


@overload
def jvp(
    f: Callable[..., Value],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    has_aux: Literal[False] = ...,
) -> tuple[Value, Value]: ...


@overload
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool
) -> Any: ...


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
    try:
        return push(
            f, primals, tangents, has_aux, "jvp"
        )  # LINAD_TRACEBACK=full shows what ran inside
    except Exception as error:
        __tracebackhide__ = fold(error)
        raise


def push(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool, name: str) -> Any:
    """What `jvp` does, for a function of that name."""
    check_transform(name, f, 0, has_aux)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TreeError(
            f"{name}: primals and tangents must be tuples or lists of arguments: "
            f"linad.{name}({name_of(f)}, (x,), (v,))"
        )
    check_point(name, f, primals, "(x,), (v,)")
    if len(primals) != len(tangents):
        raise TreeError(f"{name}: {len(primals)} primals but {len(tangents)} tangents")
    call = DifferentiatedCall(f, tuple(primals), {}, None, has_aux=has_aux)
    slots = list(map(slot_of, call.values))
    given = tangents[0] if call.single else tuple(tangents)
    pushed, seeds = check_seeds(given, call.in_tree, slots, f"{name}: tangent")
    if seeds:
        raise ShapeError(
            f"{name}: expected tangents of the shapes of the primals, got leading seed axes "
            f"{seeds}; linearize(f, x) gives an operator that takes many at once"
        )
    out_tree, results, tangents_out = push_leaves(call, call.values, pushed)
    y, dy = tree.unflatten(out_tree, results), tree.unflatten(out_tree, tangents_out)
    return (y, dy, untraced(call.aux)) if has_aux else (y, dy)


Pullback = Callable[[Any], tuple[Any, ...]]


@overload
def vjp(
    f: Callable[..., tuple[Value, Aux]], *primals: Any, has_aux: Literal[True]
) -> tuple[Value, Pullback, Aux]: ...


@overload
def vjp(
    f: Callable[..., Value], *primals: Any, has_aux: Literal[False] = ...
) -> tuple[Value, Pullback]: ...


@overload
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool) -> Any: ...


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
    check_transform("vjp", f, 0, has_aux)
    check_point("vjp", f, primals)
    try:
        argnums = all_positions(len(primals))
        call = DifferentiatedCall(f, primals, {}, argnums, has_aux=has_aux, keep=True)
        y, J = call.linearize()  # LINAD_TRACEBACK=full shows what ran inside
    except Exception as error:
        __tracebackhide__ = fold(error)
        raise
    return (y, J.pullback, call.aux) if has_aux else (y, J.pullback)


def derivative(f: Callable[P, Any], argnums: int = 0) -> Callable[P, Any]:
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
    check_transform("derivative", f, argnums)
    if not is_integer(argnums):
        raise OptionError(
            f"derivative: argnums must be the position of one argument, got {shown(argnums)}; "
            f"linad.jacobian takes several"
        )

    def slope(*args: Any, **kwargs: Any) -> Any:
        call = DifferentiatedCall(f, args, kwargs, argnums)
        if len(call.values) != 1 or call.values[0].shape != ():
            raise ShapeError(
                f"derivative: argument {argnums} of {name_of(f)} must be a scalar; use jacobian, "
                f"or linearize and its diagonal"
            )
        one = call.values[0].dtype.type(1)
        out_tree, _, tangents = push_leaves(call, call.values, [one])
        return tree.unflatten(out_tree, tangents)

    return Transformed(slope, derivative, f, argnums)


def jacobian(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[P, Any]:
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
    check_transform("jacobian", f, argnums, has_aux)

    def dense(*args: Any, **kwargs: Any) -> Any:
        call = DifferentiatedCall(f, args, kwargs, argnums, has_aux=has_aux)
        _, J = call.linearize()
        matrix = _blocks(J)
        return (matrix, call.aux) if has_aux else matrix

    return Transformed(dense, jacobian, f, argnums, has_aux)


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


def stop_gradient(x: Any) -> Any:
    """Return ``x`` with the same values and no derivative of any order.

    Parameters
    ----------
    x : array, or container of arrays
        Traced or not.

    Returns
    -------
    container
        Like ``x``: plain arrays, or, while a program is recorded, what stands for them in it.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.grad(lambda x: np.sum(linad.stop_gradient(x) * x))(np.array([2.0, 3.0]))
    array([2., 3.])
    """
    around = running_trace()
    if around is not None:
        around.derives = True
    leaves, structure = tree.flatten(x)
    return tree.unflatten(structure, [_detached(leaf) for leaf in leaves])


def _detached(leaf: Array) -> Any:
    return leaf._trace.detach(leaf) if isinstance(leaf, Tracer) else leaf
