"""What NumPy's two protocols find when a traced value arrives.

Rule files fill these tables; `linad.arrays.tracer.Tracer` looks them up.
"""

import importlib
from collections.abc import Callable
from typing import Any

from numpy.matrixlib.defmatrix import matrix

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""ufunc -> primitive, or a function with the ufunc's positional arguments."""

OPERATORS: dict[Any, Callable[..., Any]] = {}
"""ufunc -> the same for Python's operator, where this is not quite the ufunc."""

UFUNC_METHODS: dict[tuple[Any, str], Callable[..., Any]] = {}
"""(ufunc, "reduce" | "accumulate" | "outer" | "reduceat" | "at") -> function."""

FOREIGN: dict[type, Callable[..., Any]] = {}
"""A class that is not an array but combines with them, SciPy's sparse arrays for one ->
``function(ufunc, a, b)``, the traced form of an operator between it and a traced value."""

ROOMS_OF: dict[str, str] = {}
"""A package that is not imported for its own sake, or a NumPy class -> the module of linad
that registers its classes in `FOREIGN`, and is imported when a traced value meets the first."""


MATRIX: Any = matrix
"""NumPy's class: packages set ``np.matrix`` to a class of their own."""


def matrix_room() -> Any:
    """The module that treats `numpy.matrix`."""
    return importlib.import_module(ROOMS_OF["numpy.matrix"])


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {}
"""NumPy function -> traced function with the same signature."""

NAMESPACE: list[Any] = []
"""The module that ``x.__array_namespace__()`` gives: `linad.numpy` puts itself here."""

REMEDIES: dict[str, str] = {}
"""Name of a NumPy function or module with no traced form -> what to do instead."""


def remedy(name: str) -> str:
    """What to do where a function is needed that linad does not trace."""
    return (
        REMEDIES.get(name)
        or REMEDIES.get(name.rpartition(".")[0])
        or "compute it from functions that trace, or wrap it with @linad.primitive and give "
        "its Jacobian"
    )


def implements(*numpy_functions: Callable[..., Any]) -> Callable[..., Any]:
    """Register a function as the traced form of NumPy functions of the same signature."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for numpy_function in numpy_functions:
            FUNCTIONS[numpy_function] = function
        return function

    return register


def implements_ufunc(ufunc: Any, method: str = "__call__") -> Callable[..., Any]:
    """Register a function as the traced form of a ufunc, or of one of its methods."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if method == "__call__":
            UFUNCS[ufunc] = function
        else:
            UFUNC_METHODS[ufunc, method] = function
        return function

    return register
