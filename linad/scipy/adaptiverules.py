"""SciPy's adaptive rules for integrals of functions of arrays: `tanhsinh`, `cubature`.

They are Python over arrays, and run as SciPy's own code (`linad.scipy.twins`) while a trace runs:
the functions that they are given may close over traced values. The derivative is that of the rule
at the places where it has ended, which is a rule for the integral of the derivative.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

from linad.core.primitive import Traced
from linad.scipy.implicit_solutions import while_tracing
from linad.scipy.twins import function_twin


def _ends(a: Any, b: Any) -> tuple[Any, Any]:
    """The ends of an interval as arrays that can be exchanged: both traced, if one is."""
    for one, other in ((a, b), (b, a)):
        if isinstance(one, Traced) and not isinstance(other, Traced):
            filled = np.array(np.asarray(other, one.dtype), like=one)
            return (a, filled) if one is a else (filled, b)
    return a, b


@while_tracing(scipy.integrate.tanhsinh)
def tanhsinh(f: Callable[..., Any], a: Any, b: Any, **given: Any) -> Any:
    a, b = _ends(a, b)
    return function_twin(scipy.integrate.tanhsinh)(f, a, b, **given)


@while_tracing(scipy.integrate.cubature)
def cubature(f: Callable[..., Any], a: Any, b: Any, **given: Any) -> Any:
    return function_twin(scipy.integrate.cubature)(f, a, b, **given)
