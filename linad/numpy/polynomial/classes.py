"""The classes of numpy.polynomial with traced coefficients, domains and points.

Each is a NumPy subclass, with NumPy's methods over the traced functions of its module.
"""

import sys
from types import FunctionType
from typing import Any

from numpy.polynomial import _polybase

import linad.numpy as traced_numpy
from linad.numpy.polynomial import polyutils
from linad.numpy.polynomial.rebinding import rebound_names
from linad.scipy.twins import same_code

_NAMES = {**rebound_names(_polybase), "pu": polyutils}


def _rebound_members(cls: type, names: dict[str, Any]) -> dict[str, Any]:
    """The methods of a class, with other global names."""
    members: dict[str, Any] = {}
    for name, member in vars(cls).items():
        if type(member) is FunctionType:
            members[name] = same_code(member, names)
        elif isinstance(member, classmethod):
            members[name] = classmethod(same_code(member.__func__, names))  # type: ignore[arg-type]
    return members


def traced_class(numpy_class: Any, functions: dict[str, Any]) -> Any:
    """The traced form of `numpy.polynomial.Polynomial` or one of its kind.

    Parameters
    ----------
    numpy_class : type
    functions : dict
        The traced functions of its module, by name.
    """

    def ours(self: Any, other: Any) -> Any:
        """A series of NumPy's own class as one of this class."""
        if type(other) is not numpy_class:
            return other
        return type(self)(other.coef, other.domain, other.window, other.symbol)

    base = _rebound_members(_polybase.ABCPolyBase, _NAMES)
    theirs = vars(sys.modules[numpy_class.__module__])
    own = _rebound_members(numpy_class, {**theirs, **functions, "np": traced_numpy})

    def __eq__(self: Any, other: Any) -> Any:
        return base["__eq__"](self, ours(self, other))

    def _get_coefficients(self: Any, other: Any) -> Any:
        return base["_get_coefficients"](self, ours(self, other))

    computed = {
        name: staticmethod(functions[member.__func__.__name__])
        for name, member in vars(numpy_class).items()
        if isinstance(member, staticmethod) and member.__func__.__name__ in functions
    }
    members = {
        **base,
        **own,
        **computed,
        "__eq__": __eq__,
        "__hash__": None,
        "_get_coefficients": _get_coefficients,
        "__doc__": numpy_class.__doc__,
        "__module__": functions["__name__"],
    }
    return type(numpy_class.__name__, (numpy_class,), members)
