"""Python's `statistics` of traced numbers, as sums of NumPy.

The module computes with fractions, which hold no derivative. Its functions that sort and pick
(`median`, `quantiles`) trace as they are. Each is called with the plain numbers first, for its
errors.
"""

import functools
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.conversions import concrete_parts, decided, held, listed
from linad.core.array_type import Array
from linad.rules.creation import asarray


def _weighted_mean(data: Array, weights: Array | None = None) -> Any:
    return np.mean(data) if weights is None else data @ weights / np.sum(weights)


def _geometric_mean(data: Array) -> Any:
    return np.exp(np.mean(np.log(data)))


def _harmonic_mean(data: Array, weights: Array | None = None) -> Any:
    weights = np.ones(data.shape) if weights is None else weights
    return np.sum(weights) / np.sum(weights / data)


def _sum_of_squares(data: Array, center: Array | None) -> Any:
    return np.sum((data - (np.mean(data) if center is None else center)) ** 2)


def _variance(data: Array, xbar: Array | None = None) -> Any:
    return _sum_of_squares(data, xbar) / (data.size - 1)


def _pvariance(data: Array, mu: Any = None) -> Any:
    return _sum_of_squares(data, mu) / data.size


def _covariance(x: Array, y: Array, /) -> Any:
    return (x - np.mean(x)) @ (y - np.mean(y)) / (x.size - 1)


def _correlation(x: Array, y: Array, /, *, method: str = "linear") -> Any:
    if method == "ranked":  # constant between its steps
        return statistics.correlation(decided(x), decided(y), method=method)  # type: ignore[call-arg]
    return _covariance(x, y) / np.sqrt(_variance(x) * _variance(y))


def _linear_regression(x: Array, y: Array, /, *, proportional: bool = False) -> Any:
    if proportional:
        return statistics.LinearRegression(x @ y / (x @ x), 0.0)
    slope = _covariance(x, y) / _variance(x)
    return statistics.LinearRegression(slope, np.mean(y) - slope * np.mean(x))


_TRACED: dict[str, Callable[..., Any]] = {
    "mean": np.mean,
    "fmean": _weighted_mean,
    "geometric_mean": _geometric_mean,
    "harmonic_mean": _harmonic_mean,
    "variance": _variance,
    "pvariance": _pvariance,
    "stdev": lambda data, xbar=None: np.sqrt(_variance(data, xbar)),
    "pstdev": lambda data, mu=None: np.sqrt(_pvariance(data, mu)),
    "covariance": _covariance,
    "correlation": _correlation,
    "linear_regression": _linear_regression,
}


def _form(original: Callable[..., Any], traced: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(listed, args))
        kwargs = {name: listed(value) for name, value in kwargs.items()}
        if not held((*args, *kwargs.values())):
            return original(*args, **kwargs)
        original(
            *map(concrete_parts, args), **{name: concrete_parts(v) for name, v in kwargs.items()}
        )
        return traced(*map(_array, args), **{name: _array(v) for name, v in kwargs.items()})

    return function


def _array(x: Any) -> Any:
    return asarray(x) if isinstance(x, (list, tuple)) else x


STATISTICS = {name: _form(getattr(statistics, name), traced) for name, traced in _TRACED.items()}
