"""What MINPACK's searches tell beside the point: residuals, a covariance, factors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.api.derivatives import jacobian
from linad.arrays.buffers import concrete
from linad.scipy.implicit_solutions import Watched, undetermined, with_derivative
from linad.scipy.refusedparts import refuse_parts

Function = Callable[..., Any]

FACTORS = dict.fromkeys(("fjac", "r", "qtf"), "use linad.jacobian of the function there")
"""Parts of MINPACK's results: factors of its last approximation to a Jacobian."""


def flat(r: Watched) -> Function:
    """A function, whose values are the residuals in a row."""
    return lambda x: r.values(x).reshape(-1)


def covariance_of(name: str, residuals: Function, x: Any) -> Any:
    """The inverse of J^T J."""
    J = jacobian(residuals)(x)
    try:
        return np.linalg.inv(J.T @ J)
    except np.linalg.LinAlgError as error:
        raise undetermined(name, concrete(x)) from error


def residuals_told(name: str, told: Any, residuals: Any) -> Any:
    """What MINPACK tells of a fit, with residuals that move."""
    told["fvec"] = with_derivative(told["fvec"], residuals)
    refuse_parts(told, name, FACTORS)
    return told
