"""What is asked of a matrix: its answers are constants, which decide what a program does."""

import numpy as np
import scipy.linalg

from linad.core.array_type import Array
from linad.rules import linalg
from linad.rules.shaping import still
from linad.scipy.mirror import bound_form
from linad.scipy.plain_results import by_scipy


@bound_form(scipy.linalg.issymmetric)
def issymmetric(a: Array, atol: float | None, rtol: float | None) -> bool:
    return _equal(a, np.swapaxes(a, -1, -2), "issymmetric", atol, rtol)


@bound_form(scipy.linalg.ishermitian)
def ishermitian(a: Array, atol: float | None, rtol: float | None) -> bool:
    return _equal(a, linalg.adjoint(a), "ishermitian", atol, rtol)


def _equal(a: Array, other: Array, name: str, atol: float | None, rtol: float | None) -> bool:
    linalg.check_square(a, name)
    if atol is None and rtol is None:
        return bool(np.array_equal(a, other))
    return bool(np.allclose(a, other, atol=atol or 0.0, rtol=rtol or 0.0))


@bound_form(scipy.linalg.bandwidth)
def bandwidth(a: Array) -> tuple[int, int]:
    below, above = by_scipy(scipy.linalg.bandwidth, still(a))
    return int(below), int(above)
