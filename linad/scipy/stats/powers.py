"""The exponents that make data most like normal ones: the maxima of `boxcox_llf`, `yeojohnson_llf`.

SciPy finds λ; there l'(λ, x) = 0 holds, and Newton's method on traced values carries the
derivative, see `linad.scipy.implicit_solutions`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats

from linad.api.derivatives import derivative
from linad.errors import UnsupportedError
from linad.scipy.implicit_solutions import Watched, plain, root_of_number
from linad.scipy.mirror import bound_form, inexact
from linad.scipy.twinforms import form_by_twin


def _at_maximum(name: str, likelihood: Callable[..., Any], x: Any, found: Any) -> Any:
    slope = derivative(lambda exponent: likelihood(exponent, x))
    return root_of_number(name, Watched(slope), np.float64(found))


@bound_form(scipy.stats.boxcox_normmax)
def boxcox_normmax(x: Any, method: str, **options: Any) -> Any:
    if method != "mle":
        raise UnsupportedError(
            f'boxcox_normmax: method={method!r} is not traced by linad; use method="mle"'
        )
    x = inexact(x)
    found = scipy.stats.boxcox_normmax(plain(x), method=method, **options)
    return _at_maximum("boxcox_normmax", form_by_twin(scipy.stats.boxcox_llf), x, found)


@bound_form(scipy.stats.yeojohnson_normmax)
def yeojohnson_normmax(x: Any, brack: Any) -> Any:
    x = inexact(x)
    found = scipy.stats.yeojohnson_normmax(plain(x), brack)
    return _at_maximum("yeojohnson_normmax", form_by_twin(scipy.stats.yeojohnson_llf), x, found)
