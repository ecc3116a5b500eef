"""Functions of angles, circular and hyperbolic, as compositions; see `onnx_compositions`."""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.export.onnx_exponentials import LN2
from linad.export.onnx_writer import composed


@composed("tan")
def tan(x: Array) -> Any:
    return np.sin(x) / np.cos(x)


@composed("sinh")
def sinh(x: Array) -> Any:
    # e^x alone overflows earlier than its half.
    size = np.abs(x)
    near = np.expm1(np.minimum(size, 20.0))
    far = np.exp(0.5 * size)
    y = np.where(size < 20, 0.5 * (near + near / (near + 1)), 0.5 * far * far)
    return np.where(x != x, x, np.sign(x) * y)


@composed("cosh")
def cosh(x: Array) -> Any:
    half = np.exp(0.5 * np.abs(x))
    return 0.5 * half * half + 0.5 / half / half


@composed("arcsinh")
def arcsinh(x: Any) -> Any:
    size = np.abs(x)
    huge = size > 1e8 if x.dtype == np.float64 else size > 1e4
    z = np.where(huge, 1.0, size)
    y = np.log1p(z + z * z / (1 + np.sqrt(1 + z * z)))
    return np.sign(x) * np.where(huge, np.log(np.where(huge, size, 1.0)) + LN2, y)


@composed("arccosh")
def arccosh(x: Any) -> Any:
    huge = x > 1e8 if x.dtype == np.float64 else x > 1e4
    t = np.where(huge, 1.0, x) - 1
    y = np.log1p(t + np.sqrt(2 * t + t * t))
    return np.where(huge, np.log(np.where(huge, x, 1.0)) + LN2, y)


@composed("arctanh")
def arctanh(x: Any) -> Any:
    return 0.5 * (np.log1p(x) - np.log1p(-x))


def _series(t: Array) -> Any:
    """arctan of |t| <= tan(pi / 16), by its power series."""
    square = t * t
    total = square * 0
    for k in range(13, 0, -1):
        total = square * ((-1) ** k / (2 * k + 1) + total)
    return t + t * total


@composed("arctan")
def arctan(x: Array) -> Any:
    # Beyond 1 the reciprocal; then the angle is halved twice: tan(a/2) = t / (1 + sqrt(1 + t^2)).
    size = np.abs(x)
    steep = size > 1
    t = np.where(steep, 1 / np.where(steep, size, 1.0), size)
    for _ in range(2):
        t = t / (1 + np.sqrt(1 + t * t))
    angle = 4 * _series(t)
    y = np.sign(x) * np.where(steep, 0.5 * np.pi - angle, angle)
    return np.where(x != x, x, y)


@composed("arctan2")
def arctan2(y: Array, x: Array) -> Any:
    origin, far = (x == 0) & (y == 0), np.isinf(x) & np.isinf(y)
    above = np.where(far, np.sign(y), y)
    along = np.where(origin, np.copysign(1.0, x), np.where(far, np.sign(x), x))
    angle = np.arctan(np.abs(above) / np.abs(along))
    angle = np.where(along < 0, np.pi - angle, angle)
    return np.where(np.signbit(y), -angle, angle)


@composed("arcsin")
def arcsin(x: Any) -> Any:
    return np.arctan2(x, np.sqrt((1 - x) * (1 + x)))


@composed("arccos")
def arccos(x: Any) -> Any:
    return 2 * np.arctan2(np.sqrt(1 - x), np.sqrt(1 + x))


@composed("hypot")
def hypot(a: Array, b: Array) -> Any:
    a, b = np.abs(a), np.abs(b)
    large, small = np.maximum(a, b), np.minimum(a, b)
    ratio = small / np.where(large == 0, 1.0, large)
    y = large * np.sqrt(1 + ratio * ratio)
    return np.where((a == np.inf) | (b == np.inf), np.inf, y)


@composed("sinc")
def sinc(x: Any) -> Any:
    y = np.pi * np.where(x == 0, 1.0, x)
    return np.where(x == 0, 1.0, np.sin(y) / y)


@composed("radians", "deg2rad")
def radians(x: Any) -> Any:
    return x * (np.pi / 180)


@composed("degrees", "rad2deg")
def degrees(x: Any) -> Any:
    return x * (180 / np.pi)


@composed("radian")
def radian(d: Any, m: Any, s: Any) -> Any:
    return (d + m / 60 + s / 3600) * (np.pi / 180)


def _turn(x: Any) -> Any:
    """Degrees in [-45, 45], and the number of the quarter, 0 to 3."""
    quarter = np.rint(x / 90)
    return (x - 90 * quarter) * (np.pi / 180), quarter - 4 * np.floor(quarter / 4)


@composed("sindg")
def sindg(x: Any) -> Any:
    a, quarter = _turn(x)
    y = np.where((quarter == 1) | (quarter == 3), np.cos(a), np.sin(a))
    return np.where(quarter >= 2, -y, y)


@composed("cosdg")
def cosdg(x: Any) -> Any:
    a, quarter = _turn(x)
    y = np.where((quarter == 1) | (quarter == 3), np.sin(a), np.cos(a))
    return np.where((quarter == 1) | (quarter == 2), -y, y)


@composed("tandg")
def tandg(x: Any) -> Any:
    return sindg(x) / cosdg(x)


@composed("cotdg")
def cotdg(x: Any) -> Any:
    return cosdg(x) / sindg(x)


@composed("cosm1")
def cosm1(x: Any) -> Any:
    return -2 * np.sin(0.5 * x) ** 2
