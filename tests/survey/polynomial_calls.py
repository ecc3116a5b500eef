"""One call of each function of numpy.polynomial: see `survey.numpy_calls`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from survey.numpy_calls import Call

TICKS = np.array([0.0, 0.4, 1.0])


def _one(f: Any, a: Any) -> Any:
    return f(a[0])


def _two(f: Any, a: Any) -> Any:
    return f(a[0], a[1])


SERIES = ("poly", "cheb", "leg", "herm", "herme", "lag")
MODULES = ("polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre")

OF_SERIES: dict[str, Call] = {
    "add": _two,
    "sub": _two,
    "mul": _two,
    "div": lambda f, a: f(a[0], a[1, :2]),
    "pow": lambda f, a: f(a[0], 2),
    "mulx": _one,
    "der": _one,
    "int": _one,
    "trim": _one,
    "line": lambda f, a: f(a[0, 0], a[0, 1]),
    "val": lambda f, a: f(a[0], a),
    "val2d": lambda f, a: f(a[0], a[1], a),
    "val3d": lambda f, a: f(a[0], a[1], a[2], a[:, :, None]),
    "grid2d": lambda f, a: f(a[0], a[1], a),
    "grid3d": lambda f, a: f(a[0], a[1], a[2], a[:, :, None]),
    "valnd": lambda f, a: f((a[0], a[1]), a),
    "gridnd": lambda f, a: f((a[0], a[1]), a),
    "valfromroots": _two,
    "vander": lambda f, a: f(a[0], 2),
    "vander2d": lambda f, a: f(a[0], a[1], [1, 1]),
    "vander3d": lambda f, a: f(a[0], a[1], a[2], [1, 1, 1]),
    "vandernd": lambda f, a: f((a[0], a[1]), [1, 1]),
    "fromroots": lambda f, a: f(np.sort(a[0])),
    "roots": lambda f, a: f(a[0, :2]),
    "companion": _one,
    "weight": lambda f, a: f(0.5 * a),
    "fit": lambda f, a: f(TICKS, a[0], 1),
    "interpolate": lambda f, a: f(lambda x, c: c[0] * x, 2, (a[0],)),
}
UTILITIES: dict[str, Call] = {
    "as_series": lambda f, a: f([a[0], a[1]]),
    "trimseq": _one,
    "trimcoef": _one,
    "getdomain": _one,
    "mapparms": lambda f, a: f(a[0, :2], a[1, :2]),
    "mapdomain": lambda f, a: f(a[2], a[0, :2], a[1, :2]),
}
CLASSES = ("Polynomial", "Chebyshev", "Legendre", "Hermite", "HermiteE", "Laguerre")


def _polynomials() -> Iterator[tuple[str, Call]]:
    for prefix, module, cls in zip(SERIES, MODULES, CLASSES, strict=True):
        for suffix, call in OF_SERIES.items():
            yield f"{module}.{prefix}{suffix}", call
        yield f"{module}.poly2{prefix}", _one
        yield f"{module}.{prefix}2poly", _one
        yield f"{module}.{cls}", lambda f, a: f(a[0])(a[1])
    for name, call in UTILITIES.items():
        yield f"polyutils.{name}", call


CALLS: dict[str, Call] = {f"numpy.polynomial.{name}": call for name, call in _polynomials()}
