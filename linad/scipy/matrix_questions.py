"""What is asked of a matrix: its answers are constants, which decide what a program does."""

from typing import Any

import numpy as np
import scipy.linalg

from linad.rules import linalg
from linad.rules.shaping import still
from linad.scipy.mirror import bound_form
from linad.scipy.plain_results import by_scipy


@bound_form(scipy.linalg.issymmetric)
def issymmetric(a: Any, atol: float | None, rtol: float | None) -> bool:
    return _equal(a, np.swapaxes(a, -1, -2), "issymmetric", atol, rtol)


@bound_form(scipy.linalg.ishermitian)
def ishermitian(a: Any, atol: float | None, rtol: float | None) -> bool:
    return _equal(a, linalg.adjoint(a), "ishermitian", atol, rtol)


def _equal(a: Any, other: Any, name: str, atol: float | None, rtol: float | None) -> bool:
    linalg.check_square(a, name)
    if atol is None and rtol is None:
        return bool(np.array_equal(a, other))
    return bool(np.allclose(a, other, atol=atol or 0.0, rtol=rtol or 0.0))


@bound_form(scipy.linalg.bandwidth)
def bandwidth(a: Any) -> tuple[int, int]:
    below, above = by_scipy(scipy.linalg.bandwidth, still(a))
    return int(below), int(above)
