"""NumPy functions as differentiable operations of other libraries: `torch`, `jax`, `pytensor`.

Each takes a function in plain NumPy and returns one of that library's own arrays, which its own
transforms differentiate: linad does the work. A library is imported when its function is first
asked for.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linad.interop.jax_function import jax
    from linad.interop.pytensor_op import pytensor
    from linad.interop.torch_function import torch

__all__ = ["jax", "pytensor", "torch"]

_MODULES = {"jax": "jax_function", "pytensor": "pytensor_op", "torch": "torch_function"}
_LIBRARIES = {"jax": "JAX", "pytensor": "PyTensor", "torch": "PyTorch"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'linad.interop' has no attribute {name!r}")
    try:
        module = importlib.import_module(f"linad.interop.{_MODULES[name]}")
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != name:
            raise
        words = f"linad.interop.{name} needs {_LIBRARIES[name]}: pip install 'linad[{name}]'"
        raise ImportError(words) from error
    found = getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)
