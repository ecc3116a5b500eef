"""Cressie and Read's power divergence: where its exponent has a formula of its own."""

import inspect
from typing import Any

import scipy.stats
from scipy.stats import _stats_py

from linad.errors import UnsupportedError
from linad.rules.shaping import still
from linad.scipy.mirror import holds_traced
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import function_twin, stands_for

_signature = inspect.signature(_stats_py._power_divergence)


def _power_divergence(*args: Any, **kwargs: Any) -> Any:
    exponent = _signature.bind(*args, **kwargs).arguments["lambda_"]
    if holds_traced(exponent) and still(exponent) in (-1, 0, 1):
        raise UnsupportedError(
            f"power_divergence: for lambda_={float(still(exponent)):g} SciPy has a formula without "
            "lambda_, and the derivative in it is not traced by linad; pass "
            "linad.stop_gradient(lambda_), or a number"
        )
    return function_twin(_stats_py._power_divergence)(*args, **kwargs)


stands_for(_stats_py._power_divergence, _power_divergence)

power_divergence = form_by_twin(scipy.stats.power_divergence)
