"""linad: automatic differentiation of plain NumPy code, with Jacobians as SciPy operators."""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

# In a checkout linad.rules is the folder rules/ beside this one; in a wheel it is in this one.
if not Path(__path__[0], "rules").exists():
    __path__.append(str(Path(__path__[0]).parent))

from linad import errors, numpy as numpy, rules
from linad.api.custom_primitives import primitive
from linad.api.derivatives import derivative, jacobian, jvp, linearize, stop_gradient, vjp
from linad.api.gradients import grad, hessian, hessian_operator, hvp, value_and_grad
from linad.api.ravels import ravel
from linad.api.sparse_derivatives import sparse_hessian, sparse_jacobian
from linad.core import dispatch, former_names, guessed_names
from linad.core.settings import config
from linad.jit.jitted import jit
from linad.linalg import operator_answers as operator_answers  # what operators are asked
from linad.linalg.sparsity import operator_forms as operator_forms  # the same of zeros
from linad.operators.base import JacobianOperator
from linad.operators.blocks import block_diag, eye, hstack, vstack
from linad.testing.derivative_checks import check_derivatives
from linad.transforms.record import trace
from linad.transforms.tape_operator import TapeOperator

del __path__[1:]  # linad/ lies beside rules/, and would be found once more as linad.linad

__all__ = [
    "JacobianOperator",
    "TapeOperator",
    "adopt",
    "block_diag",
    "check_derivatives",
    "cond",
    "config",
    "cuda",
    "derivative",
    "errors",
    "explain",
    "eye",
    "fori_loop",
    "grad",
    "hessian",
    "hessian_operator",
    "hstack",
    "hvp",
    "interop",
    "jacobian",
    "jit",
    "jvp",
    "kernel",
    "linearize",
    "log_compiles",
    "loop",
    "lower",
    "map",
    "normal_of",
    "onnx",
    "primitive",
    "ravel",
    "rules",
    "scan",
    "scipy_args",
    "solve",
    "solve_linear",
    "sparse_hessian",
    "sparse_jacobian",
    "stop_gradient",
    "sum_of",
    "switch",
    "tag",
    "trace",
    "value_and_grad",
    "vjp",
    "vstack",
    "while_loop",
]

_LAZY = {
    "adopt": "linad.adoption.adopting",
    "cond": "linad.control.deciding",
    "cuda": "linad.cuda",
    "explain": "linad.api.inspection",
    "fori_loop": "linad.control.loops",
    "interop": "linad.interop",
    "kernel": "linad.kernels.decorator",
    "log_compiles": "linad.api.inspection",
    "loop": "linad.control.python_loop",
    "lower": "linad.export.lowered",
    "map": "linad.control.loops",
    "normal_of": "linad.shards.normal",
    "onnx": "linad.export.onnx_model",
    "scan": "linad.control.loops",
    "scipy": "linad.scipy",
    "scipy_args": "linad.solve.scipy_arguments",
    "solve": "linad.solve",
    "solve_linear": "linad.linalg.linear_systems",
    "sum_of": "linad.shards.sums",
    "switch": "linad.control.deciding",
    "tag": "linad.operators.tagged",
    "while_loop": "linad.control.deciding",
}
"""Rooms, and what stands in them, that are imported when they are first asked for."""


former_names.install({*__all__})
dispatch.ROOMS_OF["pandas"] = "linad.adoption.labelled_operands"
dispatch.ROOMS_OF["numpy.matrix"] = "linad.adoption.numpy_matrix"


if TYPE_CHECKING:  # what a type checker sees of them
    __version__: str
    from linad import cuda as cuda, interop as interop, scipy as scipy, solve as solve
    from linad.adoption.adopting import adopt
    from linad.api.inspection import explain, log_compiles
    from linad.control.deciding import cond, switch, while_loop
    from linad.control.loops import fori_loop, map, scan
    from linad.control.python_loop import loop
    from linad.export.lowered import lower
    from linad.export.onnx_model import onnx
    from linad.kernels.decorator import kernel
    from linad.linalg.linear_systems import solve_linear
    from linad.operators.tagged import tag
    from linad.shards.normal import normal_of
    from linad.shards.sums import sum_of
    from linad.solve.scipy_arguments import scipy_args
else:

    def _version() -> str:
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("linad")
        except PackageNotFoundError:  # a folder on PYTHONPATH
            return "0+unknown"

    def _unknown(name: str) -> AttributeError:
        solvers = importlib.import_module("linad.solve").__all__ if name[0] != "_" else []
        public = [f"linad.{known}" for known in __all__]
        public += [f"linad.solve.{known}" for known in solvers]
        hints = {**guessed_names.OF_SOLVERS, **guessed_names.OF_LINAD}
        return guessed_names.unknown(__name__, name, hints, public)

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            return _version()
        if name not in _LAZY:
            raise _unknown(name)
        module = importlib.import_module(_LAZY[name])
        # Not by getattr: what a module does not have it looks for all over SciPy, to name it.
        return vars(module).get(name, module)


def __dir__() -> list[str]:
    return sorted([*__all__, "numpy", "scipy", "testing"])
