"""Sparse Jacobians and Hessians of functions, their patterns found by linad."""

from collections.abc import Callable, Sequence
from typing import Any

from linad.api.differentiated_call import DifferentiatedCall, check_point, check_transform
from linad.api.gradients import hessian_operator
from linad.core.options import FORMAT, takes
from linad.jit.jitted import Jitted, operation_by_operation
from linad.operators.relations import Relation


def _jacobian(f: Callable[..., Any], args: tuple[Any, ...], argnums: Any) -> tuple[Any, Any]:
    return (), DifferentiatedCall(f, args, {}, argnums).linearize()[1]


def _hessian(f: Callable[..., Any], args: tuple[Any, ...], argnums: Any) -> tuple[Any, Any]:
    return (), hessian_operator(f, *args, argnums=argnums)


def _matrix(
    name: str,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    argnums: Any,
    linearize: Callable[..., Any],
    format: str,
    out: Any,
) -> Any:
    """The matrix of the operator that ``linearize`` returns; by a program where ``f`` is jitted."""
    from linad.api.sparse_programs import program_of
    from linad.linalg.sparsity.assemble import matrix_of, symmetric_matrix_of
    from linad.linalg.sparsity.compress import refilled, stored

    check_transform(name, f, argnums)
    check_point(name, f, args)
    symmetric = linearize is _hessian
    found = None
    if isinstance(f, Jitted):
        found = program_of(f, linearize, argnums, symmetric)(args)
    if found is not None:
        _, pattern, data = found
        if out is None:
            return stored(pattern, data).asformat(format)
    else:
        op = linearize(operation_by_operation(f), args, argnums)[1]
        matrix = symmetric_matrix_of(op) if symmetric else matrix_of(op)
        if out is None:
            return matrix.asformat(format)
        pattern, data = Relation.of_matrix(matrix), matrix.data
    return refilled(out, pattern, data, format, name)


@takes(format=FORMAT)
def sparse_jacobian(
    f: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    format: str = "csr",
    out: Any = None,
) -> Any:
    """Return the Jacobian of ``f`` at a point as a sparse array.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays, in plain NumPy.
    *args
        The point.
    argnums : int or sequence of int
        Which arguments to differentiate in.
    format : str
        One of SciPy's: "csr", "csc", "coo", "bsr", "dia", "dok", "lil".
    out : scipy.sparse.sparray, optional
        The result of an earlier call, CSR or CSC, whose ``data`` is overwritten. Otherwise each
        call returns a matrix of its own.

    Returns
    -------
    scipy.sparse.sparray
        Of shape (size of the result, size of the arguments): results and arguments count as
        flat vectors, the leaves of containers one after the other. Every entry that may differ
        from zero at some point is stored.

    Raises
    ------
    OptionError
        For another format, or if ``out`` has other entries.
    DTypeError
        If an argument to differentiate is not floating or complex.
    NotHolomorphicError
        If the argument is complex and ``f`` is not holomorphic there.
    TracerError
        If the point is traced: SciPy's sparse arrays hold plain numbers.

    Notes
    -----
    One run of ``f``, then as `JacobianOperator.tosparse`: one sweep of as many seeds as the
    matrix has colours. Pattern and colouring are found from what ``f`` does with its arrays.
    They are kept, and used again at a new point when the run there did the same operations with
    the same indices; when it did not, they are found anew.

    Of a function that `jit` returned, the entries are filled by one compiled program from the
    second call on: the pattern is found once for each path through its Python decisions.
    Where it depends on values, as that of a sort does, ``f`` runs in Python as above.

    As a solver's ``jac``: ``functools.partial(linad.sparse_jacobian, f)``.

    Examples
    --------
    >>> import numpy as np, linad
    >>> J = linad.sparse_jacobian(lambda x: x[1:] * x[:-1], np.array([1.0, 2.0, 3.0]))
    >>> J.toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    return _matrix("sparse_jacobian", f, args, argnums, _jacobian, format, out)


@takes(format=FORMAT)
def sparse_hessian(
    f: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    format: str = "csr",
    out: Any = None,
) -> Any:
    """Return the Hessian of the scalar function ``f`` at a point as a sparse array.

    Parameters
    ----------
    f : callable
        Returns a real scalar.
    *args
        The point.
    argnums : int or sequence of int
        Which arguments to differentiate in.
    format : str
        One of SciPy's: "csr", "csc", "coo", "bsr", "dia", "dok", "lil".
    out : scipy.sparse.sparray, optional
        The result of an earlier call, CSR or CSC, whose ``data`` is overwritten. Otherwise each
        call returns a matrix of its own.

    Returns
    -------
    scipy.sparse.sparray
        Symmetric, of shape (n, n) where the arguments have n entries.

    Raises
    ------
    OptionError
        For another format, or if ``out`` has other entries.
    OutputError
        If ``f`` does not return a real scalar.
    NotHolomorphicError
        If the arguments are complex.
    TracerError
        If the point is traced.

    Notes
    -----
    One gradient, and forward sweeps over it with as many seeds as a star colouring of the
    pattern has colours: of two entries that mirror each other one is enough. Pattern and
    colouring are kept as in `sparse_jacobian`, and a function that `jit` returned is one program.

    Examples
    --------
    >>> import numpy as np, linad
    >>> H = linad.sparse_hessian(lambda x: np.sum(x[1:] ** 2 * x[:-1]), np.ones(3))
    >>> H.toarray()
    array([[0., 2., 0.],
           [2., 2., 2.],
           [0., 2., 2.]])
    """
    return _matrix("sparse_hessian", f, args, argnums, _hessian, format, out)
