"""Functions of matrices of scipy.linalg, traced."""

from typing import Any

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.core.primitive import Traced
from linad.errors import UnsupportedError
from linad.rules import linalg, matrixfunctions
from linad.scipy.mirror import bound_form, check_finite as check, doubled, traced_form


@traced_form(scipy.linalg.expm)
def expm(A: Array) -> Any:
    linalg.check_square(A, "expm")
    return matrixfunctions.expm_(A)


@bound_form(scipy.linalg.expm_frechet)
def expm_frechet(A: Any, E: Any, compute_expm: bool, check_finite: bool) -> Any:
    A, E = doubled(A), doubled(E)
    check(check_finite, A, E)
    n = A.shape[-1]
    both = matrixfunctions.expm_(np.block([[A, E], [np.zeros(A.shape, A.dtype), A]]))
    derivative = both[:n, n:]
    return (both[:n, :n], derivative) if compute_expm else derivative


@traced_form(scipy.linalg.logm)
def logm(A: Array) -> Any:
    linalg.check_square(A, "logm")
    return matrixfunctions.logm_(doubled(A))


@traced_form(scipy.linalg.sqrtm)
def sqrtm(A: Array) -> Any:
    linalg.check_square(A, "sqrtm")
    return matrixfunctions.sqrtm_(A)


@traced_form(scipy.linalg.fractional_matrix_power)
def fractional_matrix_power(A: Array, t: Any) -> Any:
    if isinstance(t, Traced):
        raise UnsupportedError(
            "fractional_matrix_power: a traced exponent t is not supported; expm(t * logm(A)) is"
        )
    linalg.check_square(A, "fractional_matrix_power")
    return matrixfunctions.fractional_power_(doubled(A), t=t)


def _of_matrix(name: str) -> Any:
    primitive = getattr(matrixfunctions, f"{name}_")

    @traced_form(getattr(scipy.linalg, name))
    def function(A: Any) -> Any:
        linalg.check_square(A, name)
        return primitive(A)

    return function


cosm = _of_matrix("cosm")
sinm = _of_matrix("sinm")
tanm = _of_matrix("tanm")
coshm = _of_matrix("coshm")
sinhm = _of_matrix("sinhm")
tanhm = _of_matrix("tanhm")
