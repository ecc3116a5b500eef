"""Distributions whose methods run whole as SciPy's own code, masks and moments included.

They are those of `linad.scipy.twins`; what is added here is that counts have no derivative.
"""

from collections.abc import Callable
from typing import Any

import scipy.stats

from linad.errors import UnsupportedError
from linad.scipy.mirror import holds_traced
from linad.scipy.stats.distribution import check_formula
from linad.scipy.twinforms import FormOfObject

NAMES = (
    *("crystalball", "genhalflogistic", "gibrat", "halfgennorm", "kappa3"),
    *("kstwobign", "norminvgauss"),
    *("recipinvgauss", "truncpareto", "tukeylambda", "vonmises_line"),
    *("betabinom", "betanbinom", "boltzmann", "dlaplace", "logser", "planck"),
    *("yulesimon", "zipf"),
)
_OF_POINTS = ("pdf", "logpdf", "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf")


class WholeDistribution(FormOfObject):
    """A SciPy distribution, traced in what is not a count."""

    def __getattr__(self, name: str) -> Any:
        found = super().__getattr__(name)
        if name.startswith("_") or not callable(found):
            return found
        return self._of_numbers(name, found)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check_counts("parameters", args, kwargs)
        return super().__call__(*args, **kwargs)

    def _of_numbers(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def function(*args: Any, **kwargs: Any) -> Any:
            if holds_traced((args, kwargs)):
                check_formula(self._original, name)
            if name in _OF_POINTS:
                if hasattr(self._original, "pmf") and args:
                    self._refuse(name, "k", args[0])
                self._check_counts(name, args[1:], kwargs)
            return method(*args, **kwargs)

        function.__name__, function.__doc__ = name, method.__doc__
        return function

    def _check_counts(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for k, shape in enumerate(self._original._shape_info()):
            if shape.integrality:
                given = kwargs.get(shape.name, args[k] if k < len(args) else None)
                self._refuse(name, shape.name, given)

    def _refuse(self, name: str, argument: str, value: Any) -> None:
        if holds_traced(value):
            raise UnsupportedError(
                f"{self._original.name}.{name}: the derivative in {argument} does not exist: "
                f"counts are integers; pass linad.stop_gradient({argument}), or a number"
            )


WHOLE = {name: WholeDistribution(getattr(scipy.stats, name)) for name in NAMES}
