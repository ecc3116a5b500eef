"""What stands for a module, and for a ufunc or another function of NumPy, in adopted code."""

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.adoption.object_arrays import gathered
from linad.arrays.traces import running_trace
from linad.numpy.list_arguments import TakingLists
from linad.rules.shaping import of_holder
from linad.scipy.sparse.arrays import SparseArray


class FormOfModule(types.ModuleType):
    """A module some of whose functions are forms; the others are its own.

    Attributes
    ----------
    later : dict
        Forms by their names that are made when they are first asked for.
    """

    def __init__(self, original: types.ModuleType, forms: dict[str, Any]) -> None:
        super().__init__(original.__name__)
        self.__dict__.update(forms)
        self._original = original
        self.later: dict[str, Callable[[], Any]] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self.later:
            made = self.__dict__[name] = self.later[name]()
            return made
        return getattr(self._original, name)


class FormOfArrayFunction(TakingLists):
    """A ufunc or function of NumPy, which takes what adopted code holds traced numbers in."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if running_trace() is not None:
            if (
                len(args) == 1
                and isinstance(args[0], SparseArray)
                and type(self._original) is np.ufunc
            ):
                # As NumPy does with what is not an array: the method of that name.
                return getattr(args[0], self._original.__name__)()
            args, kwargs = self._gathered_by(gathered, args, kwargs)
        try:
            return self._original(*args, **kwargs)
        except (ValueError, TypeError) as error:
            if not ("__array__" in str(error) or "__array_interface__" in str(error)):
                raise
        return self._original(*map(_of_holders, args), **kwargs)


def _of_holders(a: Any) -> Any:
    """The arrays of objects that hold traced ones, in lists and tuples as well."""
    return type(a)(map(_of_holders, a)) if type(a) in (list, tuple) else of_holder(a)

