"""Derivatives of scalar functions: gradients, Hessians, their products.

Signatures follow JAX where JAX has the function.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

from linad.api.derivatives import jacobian, linearize, push
from linad.api.differentiated_call import Argnums, DifferentiatedCall, check_point, check_transform
from linad.core import tree
from linad.core.folding import fold
from linad.core.shapes import name_of
from linad.core.transformed_functions import Transformed
from linad.errors import OutputError
from linad.transforms.tape_operator import TapeOperator

P = ParamSpec("P")
Value = TypeVar("Value")
Aux = TypeVar("Aux")


@overload
def value_and_grad(
    f: Callable[P, tuple[Value, Aux]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[True],
) -> Callable[P, tuple[tuple[Value, Aux], Any]]: ...


@overload
def value_and_grad(
    f: Callable[P, Value], argnums: int | Sequence[int] = ..., has_aux: Literal[False] = ...
) -> Callable[P, tuple[Value, Any]]: ...


@overload
def value_and_grad(
    f: Callable[P, Any], argnums: int | Sequence[int] = ..., *, has_aux: bool
) -> Callable[P, tuple[Any, Any]]: ...


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
    return _value_and_gradient(f, argnums, has_aux, "value_and_grad")


def _value_and_gradient(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, name: str
) -> Callable[..., Any]:
    """What `value_and_grad` returns, for a function of that name."""
    run = _one_sweep(f, argnums, has_aux, name, with_value=True)
    return Transformed(run, _value_and_gradient, f, argnums, has_aux, name)


def _one_sweep(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, name: str, with_value: bool
) -> Callable[..., Any]:
    """The function itself: the gradient, and the value where it is wanted."""
    check_transform(name, f, argnums, has_aux)

    def run(*args: Any, **kwargs: Any) -> Any:
        call = DifferentiatedCall(f, args, kwargs, argnums, has_aux=has_aux)
        value, J = call.linearize()
        if not tree.is_leaf(J.out_tree) or J.out_slots[0].shape != ():
            shape = [slot.shape for slot in J.out_slots]
            what = f"shape {shape[0]}" if tree.is_leaf(J.out_tree) else f"a container of {shape}"
            raise OutputError(
                f"{name}: {name_of(f)} must return a scalar, it returned {what}; "
                f"{'return its one entry, y[0]; or ' if shape == [(1,)] else ''}use jacobian, "
                f"or vjp with a cotangent"
            )
        dtype = J.out_slots[0].dtype
        if dtype.kind == "c":
            raise OutputError(
                f"{name}: {name_of(f)} must return a real scalar, it returned a complex scalar; "
                f"take its real part, or use vjp"
            )
        gradient = J.pull_leaves([dtype.type(1)])
        gradient = tree.unflatten(J.in_tree, gradient)
        if not with_value:
            return (gradient, call.aux) if has_aux else gradient
        return ((value, call.aux), gradient) if has_aux else (value, gradient)

    return run


@overload
def grad(
    f: Callable[P, tuple[Any, Aux]],
    argnums: int | Sequence[int] = ...,
    *,
    has_aux: Literal[True],
) -> Callable[P, tuple[Any, Aux]]: ...


@overload
def grad(
    f: Callable[P, Any], argnums: int | Sequence[int] = ..., has_aux: bool = ...
) -> Callable[P, Any]: ...


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
    return _gradient(f, argnums, has_aux, "grad")


def _gradient(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, name: str
) -> Callable[..., Any]:
    """What `grad` returns, for a function of that name."""
    run = _one_sweep(f, argnums, has_aux, name, with_value=False)
    return Transformed(run, _gradient, f, argnums, has_aux, name)


def hessian(f: Callable[P, Any], argnums: int | Sequence[int] = 0) -> Callable[P, Any]:
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
    One gradient, and batched sweeps over it with as many seeds as ``x`` has entries.
    `hessian_operator` multiplies by the Hessian without forming it; of a container its
    ``todense()`` is one matrix, to be inverted or decomposed, in the order of `linad.ravel`.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian(_gradient(f, argnums, False, "hessian"), argnums)


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
    gradient = _gradient(f, argnums, False, "hessian_operator")
    check_point("hessian_operator", f, args)
    _, H = linearize(gradient, *args, argnums=argnums)
    H.hermitian = H.dtype.kind != "c"
    return H


def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """Return the product of the Hessian of the scalar function ``f`` with a vector.

    Parameters
    ----------
    f : callable
        Returns a real scalar.
    primals, tangents : tuple or list
        The arguments, and the vector, one part for each argument.

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
    Forward over reverse: costs a few gradients, and forms no Hessian. For many products at one
    point `hessian_operator` runs ``f`` once.

    Examples
    --------
    >>> import numpy as np, linad
    >>> linad.hvp(lambda x: x[0] ** 2 * x[1], (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([4., 2.])
    """
    several = isinstance(primals, (tuple, list)) and len(primals) != 1
    argnums = tuple(range(len(primals))) if several and primals else 0
    try:
        gradient = _gradient(f, argnums, False, "hvp")
        y, dy = push(
            gradient, primals, tangents, False, "hvp"
        )  # LINAD_TRACEBACK=full shows what ran inside
        return dy
    except Exception as error:
        __tracebackhide__ = fold(error)
        raise
