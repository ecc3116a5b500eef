"""linad: automatic differentiation of plain NumPy code, with Jacobians as SciPy operators."""

import linad.rules  # registers every rule
from linad.config import config
from linad.custom import primitive
from linad.derivatives import (
    derivative,
    grad,
    hessian,
    hessian_operator,
    hvp,
    jacobian,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)
from linad.operators.blocks import block_diag, eye, hstack, vstack
from linad.transforms.record import trace

__version__ = "0.1.0"
