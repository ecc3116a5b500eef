"""Python's `statistics.NormalDist` of traced numbers: its own code over forms of `math`.

Only its inverse is compiled, and its fit to samples computes with fractions:

    x with cdf(x) = p:   x = mu + sigma ndtri(p)
"""

import statistics
import types
from collections.abc import Callable, Iterable
from typing import Any

from scipy.special import ndtri

from linad.adoption.averages import STATISTICS
from linad.arrays.conversions import BUILTINS, MATH, decided, held

_SPACE = vars(statistics) | MATH | {"float": BUILTINS[float]}


def _over_forms(f: Any) -> types.FunctionType:
    made = types.FunctionType(f.__code__, _SPACE, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__, made.__doc__ = f.__kwdefaults__, f.__doc__
    return made


class _OfBoth(type):
    """To `isinstance` a plain distribution is one as well, since the code tests its operands."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, statistics.NormalDist)


def _inv_cdf(self: Any, p: Any) -> Any:
    given = (p, self._mu, self._sigma)
    p_now, mu, sigma = map(decided, given)
    plain = statistics.NormalDist(mu, sigma).inv_cdf(p_now)  # its errors
    return self._mu + self._sigma * ndtri(p) if held(given) else plain


def _overlap(self: Any, other: Any) -> Any:
    if type(other) is statistics.NormalDist:
        other = NormalDist(other.mean, other.stdev)
    return _OVERLAP(self, other)


def _from_samples(cls: Callable[..., Any], data: Iterable[Any]) -> Any:
    data = list(data)
    return cls(STATISTICS["fmean"](data), STATISTICS["stdev"](data))


_OVERLAP = _over_forms(statistics.NormalDist.overlap)

NormalDist: Any = _OfBoth(
    "NormalDist",
    (statistics.NormalDist,),
    {
        "__slots__": (),
        "__doc__": statistics.NormalDist.__doc__,
        **{
            name: _over_forms(member)
            for name, member in vars(statistics.NormalDist).items()
            if isinstance(member, types.FunctionType)
        },
        "inv_cdf": _inv_cdf,
        "overlap": _overlap,
        "from_samples": classmethod(_from_samples),
    },
)
_SPACE["NormalDist"] = NormalDist
