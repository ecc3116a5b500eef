"""`jax`: a NumPy function as an operation of JAX.

One primitive of JAX stands for a program of linad's:

    y = p(x)      jvp: p.pushed(x, t), linear in t      transpose: p.pulled(x, w), linear in w

Pushed and pulled are programs, and so the same primitive. JAX transposes without conjugating, so
that the pulled program applies J^T.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax as library
import numpy as np
from jax.extend.core import Primitive as JaxPrimitive
from jax.interpreters import ad, batching, mlir

from linad.core.shapes import check_function, is_inexact, name_of
from linad.errors import ArgumentError, ShapeError
from linad.interop.flat_programs import Program, Pulled, Pushed, check_result, stand_in

NUMBERS = (library.Array, np.ndarray, np.generic, float, complex)
"""Leaves of arguments that are arrays to JAX; others, whole numbers among them, are fixed."""

Types = list[library.ShapeDtypeStruct]


def jax(f: Callable[..., Any], *, result: Any = None) -> Callable[..., Any]:
    """Make a NumPy function an operation of JAX, which its transforms differentiate.

    Parameters
    ----------
    f : callable
        A function of arrays, or containers of arrays, in plain NumPy; compiled by `jit` or not.
    result : container, optional
        What ``f`` returns: arrays, or `jax.ShapeDtypeStruct`, in its containers. By default
        it is found by running ``f``.

    Returns
    -------
    callable
        Takes and returns arrays of JAX, in containers that JAX knows. What is not
        an array or a float (texts, Python's integers) goes to ``f`` as it is, and must be hashable.

    Raises
    ------
    ImportError
        If JAX is not installed.
    ArgumentError
        When called in `jax.jit`, if ``f`` fails at the numbers that shapes are found with.
    ShapeError
        When a compiled call returns other shapes than those found before.

    Notes
    -----
    `jax.jvp`, ``vjp``, ``grad``, ``jacobian``, ``hessian`` and ``jit`` work, in any order and
    number; `jax.vmap` calls ``f`` for one entry after the other. Outside of `jax.jit` the
    function runs directly; inside it is called back by `jax.pure_callback`, on the CPU. There
    JAX must know shapes before it runs: those of an earlier call with arguments of the same
    shapes, or of one run of ``f`` at made-up numbers (positive ones; square matrices are
    positive definite, integers 0), or ``result``. Results have the dtypes that JAX has: single
    precision unless ``jax_enable_x64`` is set.

    Examples
    --------
    >>> import numpy as np, jax, linad
    >>> norm = linad.interop.jax(lambda x: np.sqrt(np.sum(x**2)))
    >>> jax.jit(jax.grad(norm))(jax.numpy.array([3.0, 4.0]))
    Array([0.6, 0.8], dtype=float32)
    """
    check_function("interop.jax", f)
    programs: dict[Any, _TypedProgram] = {}

    @functools.wraps(f)
    def operation(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = library.tree_util.tree_flatten((args, kwargs))
        fixed = tuple([None if isinstance(x, NUMBERS) else (x, type(x)) for x in leaves])
        key = structure, fixed  # with types, since 1 == True
        try:
            if key not in programs:
                programs[key] = _TypedProgram(f, structure, fixed, result)
        except TypeError as error:
            raise ArgumentError(
                f"interop.jax: {name_of(f)} was given something that is neither an array nor "
                f"hashable ({error}); bind it with functools.partial"
            ) from error
        program = programs[key]
        arrays = [library.numpy.asarray(x) for x in leaves if isinstance(x, NUMBERS)]
        results = _apply.bind(*arrays, program=program)
        return library.tree_util.tree_unflatten(program.found[_key(arrays)][0], results)

    return operation


class _TypedProgram(Program):
    """A function of containers as one of the arrays in them.

    Attributes
    ----------
    found : dict
        The structure of what is returned, and its shapes and dtypes, by those of the arrays.
    """

    def __init__(self, f: Callable[..., Any], structure: Any, fixed: Any, result: Any) -> None:
        self.found: dict[Any, tuple[Any, Types]] = {}
        self.name = name_of(f)
        self.result = None
        if result is not None:
            leaves, out_structure = library.tree_util.tree_flatten(result)
            self.result = out_structure, _types(leaves)

        @functools.wraps(f)
        def flat(*arrays: Any) -> tuple[Any, ...]:
            given = iter(arrays)
            leaves = [next(given) if leaf is None else leaf[0] for leaf in fixed]
            args, kwargs = library.tree_util.tree_unflatten(structure, leaves)
            results, self.out_structure = library.tree_util.tree_flatten(f(*args, **kwargs))
            return tuple([check_result(y, f, "jax") for y in results])

        super().__init__(flat)

    def value(self, *arrays: Any) -> list[np.ndarray]:
        """The results; their shapes are remembered."""
        results = super().value(*arrays)
        self.found[_key(arrays)] = self.out_structure, _types(results)
        return results

    def types(self, arguments: Any) -> Types:
        """Shapes and dtypes of the results for arguments of such shapes and dtypes."""
        key = _key(arguments)
        if key not in self.found:
            self.found[key] = self.result or self._tried(arguments)
        return self.found[key][1]

    def _tried(self, arguments: Any) -> tuple[Any, Types]:
        try:
            with np.errstate(all="ignore"):
                results = self(*[stand_in(a.shape, a.dtype) for a in arguments])
        except Exception as error:
            raise ArgumentError(
                f"interop.jax: JAX must know the shapes of results before it runs {self.name}, "
                f"and it fails at made-up numbers ({type(error).__name__}: {error}); state them: "
                f"linad.interop.jax({self.name}, result=jax.ShapeDtypeStruct(shape, dtype))"
            ) from error
        return self.out_structure, _types(results)


def _key(arrays: Any) -> Any:
    return tuple([(np.shape(a), np.dtype(a.dtype)) for a in arrays])


def _types(values: Any) -> Types:
    canonical = library.dtypes.canonicalize_dtype
    return [library.ShapeDtypeStruct(np.shape(y), canonical(y.dtype)) for y in values]


def _result_types(program: Program, arguments: Any) -> Types:
    """Shapes and dtypes of the results of a program, or of a derivative of one."""
    if isinstance(program, Pushed):
        results = _result_types(program.parent, arguments[: program.count])
        return [y for y in results if is_inexact(y.dtype)]
    if isinstance(program, Pulled):
        return _types([arguments[i] for i in program.wrt])
    assert isinstance(program, _TypedProgram)
    return program.types(arguments)


_apply = JaxPrimitive("linad_program")
_apply.multiple_results = True


@_apply.def_impl
def _run(*arrays: Any, program: Program) -> list[Any]:
    results = program.value(*[np.asarray(a) for a in arrays])
    return [library.numpy.asarray(y) for y in results]


@_apply.def_abstract_eval
def _abstract(*arguments: Any, program: Program) -> list[Any]:
    types = _result_types(program, arguments)
    return [library.core.ShapedArray(y.shape, y.dtype) for y in types]


def _called_back(*arrays: Any, program: Program) -> list[Any]:
    types = _result_types(program, arrays)

    def host(*given: Any) -> list[np.ndarray]:
        results = program.value(*[np.asarray(a) for a in given])
        for y, expected in zip(results, types, strict=True):
            if y.shape != expected.shape or not np.can_cast(y.dtype, expected.dtype, "same_kind"):
                raise ShapeError(
                    f"interop.jax: {name_of(program.function)} was compiled for a result "
                    f"{expected.dtype}{list(expected.shape)} and returned "
                    f"{y.dtype}{list(y.shape)}; JAX needs types that do not depend on values"
                )
        return [y.astype(t.dtype, copy=False) for y, t in zip(results, types, strict=True)]

    return library.pure_callback(host, types, *arrays, vmap_method="sequential")


mlir.register_lowering(_apply, mlir.lower_fun(_called_back, multiple_results=True))


def _zero(y: Any) -> Any:
    return ad.Zero(library.typeof(y).to_tangent_aval())


def _jvp(primals: Any, tangents: Any, *, program: Program) -> Any:
    results = _apply.bind(*primals, program=program)
    wrt = tuple([i for i, t in enumerate(tangents) if type(t) is not ad.Zero])
    if not any([is_inexact(y.dtype) for y in results]):
        return results, [_zero(y) for y in results]
    pushed = program.pushed(wrt, len(primals))
    moved = iter(_apply.bind(*primals, *[tangents[i] for i in wrt], program=pushed))
    return results, [next(moved) if is_inexact(y.dtype) else _zero(y) for y in results]


ad.primitive_jvps[_apply] = _jvp


def _transpose(cotangents: Any, *arguments: Any, program: Any) -> list[Any]:
    point = arguments[: program.count]
    given = [ad.instantiate_zeros(w) for w in cotangents]
    pulled = _apply.bind(*point, *given, program=program.transposed())
    return [None] * len(point) + list(pulled)


ad.primitive_transposes[_apply] = _transpose


def _batched(arrays: Any, axes: Any, *, program: Program) -> Any:
    rows = [
        library.numpy.moveaxis(a, axis, 0)
        for a, axis in zip(arrays, axes, strict=True)
        if axis is not None
    ]

    def one(entries: Any) -> Any:
        entry = iter(entries)
        given = [a if axis is None else next(entry) for a, axis in zip(arrays, axes, strict=True)]
        return _apply.bind(*given, program=program)

    stacked = library.lax.map(one, rows)
    return stacked, [0] * len(stacked)


batching.primitive_batchers[_apply] = _batched
