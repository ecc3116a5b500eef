"""Piecewise polynomials by their coefficients of powers, of scipy.interpolate, traced.

Of a spline s of degree k the coefficient of (x - t_i)^j is s^(j)(t_i) / j!, on each piece between
knots; those between repeated knots have no length.
"""

import math
from typing import Any

import numpy as np
import scipy.interpolate

from linad.core.array_type import Array
from linad.errors import ShapeError
from linad.rules.creation import asarray
from linad.rules.shaping import astype
from linad.scipy.bsplines import Spline
from linad.scipy.mirror import holds_traced, inexact
from linad.scipy.piecewise import Piecewise, Polynomials, extrapolation, increasing


class PPoly(Polynomials, scipy.interpolate.PPoly):
    """As `scipy.interpolate.PPoly`; a traced argument makes a `Piecewise`."""

    @staticmethod
    def of_traced(c: Array, x: Any, extrapolate: Any, axis: int) -> Any:
        c, x = inexact(c), increasing("PPoly", x)
        if c.ndim < 2 or not c.shape[0] or not 0 <= axis < c.ndim - 1:
            raise ShapeError(f"PPoly: c of shape {c.shape} has no coefficients along axis {axis}")
        if axis:
            c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 0)
        if c.shape[1] != x.shape[0] - 1:
            raise ShapeError(
                f"PPoly: {x.shape[0]} breakpoints need {x.shape[0] - 1} pieces, got {c.shape[1]}"
            )
        wanted = complex if c.dtype.kind == "c" else float
        return Piecewise(astype(c, wanted, copy=False), x, extrapolation(extrapolate), axis)

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: Any = None) -> Any:
        """As `scipy.interpolate.PPoly.from_spline`."""
        if not (isinstance(tck, Spline) or holds_traced(tck)):
            return super().from_spline(tck, extrapolate)
        spline = tck
        if isinstance(tck, Spline):
            extrapolate = tck.extrapolate if extrapolate is None else extrapolate
        else:
            spline = Spline(asarray(tck[0]), asarray(tck[1]), int(tck[2]))
        starts = spline.t[:-1]
        c = [spline(starts, order) / math.factorial(order) for order in range(spline.k + 1)]
        return Piecewise(np.stack(c[::-1]), spline.t, extrapolation(extrapolate))
