"""Functions of SciPy that take another way for one value of an option, where it has a derivative.

iqr                 a scale of 1 is not divided by
pmean               the exponent 0 is the geometric mean
power_divergence    Cressie and Read's exponents -1, 0 and 1 have formulas of their own
"""

import inspect
from typing import Any

import scipy.stats
from scipy.stats import _stats_py

from linad.errors import UnsupportedError
from linad.rules.shaping import still
from linad.scipy.mirror import bound_form, holds_traced
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import function_twin, stands_for


def _refuse_at(name: str, option: str, value: Any, *special: float) -> None:
    """Raise for a traced option at one of the values that SciPy has a formula without it for."""
    if holds_traced(value) and still(value) in special:
        raise UnsupportedError(
            f"{name}: for {option}={float(still(value)):g} SciPy has a formula without "
            f"{option}, and the derivative in it is not traced by linad; pass "
            f"linad.stop_gradient({option}), or a number"
        )


_signature = inspect.signature(_stats_py._power_divergence)


def _power_divergence(*args: Any, **kwargs: Any) -> Any:
    exponent = _signature.bind(*args, **kwargs).arguments["lambda_"]
    _refuse_at("power_divergence", "lambda_", exponent, -1, 0, 1)
    return function_twin(_stats_py._power_divergence)(*args, **kwargs)


stands_for(_stats_py._power_divergence, _power_divergence)

power_divergence = form_by_twin(scipy.stats.power_divergence)


@bound_form(scipy.stats.pmean)
def pmean(a: Any, p: Any, **options: Any) -> Any:
    _refuse_at("pmean", "p", p, 0)
    return function_twin(scipy.stats.pmean)(a, p, **options)


@bound_form(scipy.stats.iqr)
def iqr(x: Any, scale: Any, **options: Any) -> Any:
    if not holds_traced(scale):
        return function_twin(scipy.stats.iqr)(x, scale=scale, **options)
    return function_twin(scipy.stats.iqr)(x, **options) / scale
