"""Operators of writes into arrays: take a region out, put it in, erase it.

x1 = x0 with v written at the region:   dx1 = Erase dx0 + Insert dv

Erase is a projection, its own adjoint; the adjoint of Insert is Extract. A sweep that holds a
tangent or cotangent alone writes into it, so a write costs it the region, not the array.
"""

from typing import Any

from linad.buffers import Region, insert_region, read_region, write_region
from linad.operators.base import JacobianOperator
from linad.primitive import Traced
from linad.shapes import Shape


class Extract(JacobianOperator):
    """y = the entries of x at a region."""

    fresh = True

    def __init__(self, region: Region, out_shape: Shape, in_shape: Shape, dtype: Any) -> None:
        self.region = region
        self.scatters = in_shape != () and not region.overlaps
        super().__init__(out_shape, in_shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return read_region(tangent, region=self.region).copy()

    def pullback(self, cotangent: Any) -> Any:
        return insert_region(cotangent, region=self.region, shape=self.in_shape)

    def pullback_into(self, cotangent: Any, total: Any) -> None:
        if isinstance(total, Traced) or total.flags.c_contiguous:
            self.region.add(total, cotangent)
        else:
            total += self.pullback(cotangent)


class Insert(JacobianOperator):
    """y = zeros with x at a region: the part of a write that comes from the value."""

    fresh = True

    def __init__(self, region: Region, shape: Shape, dtype: Any) -> None:
        self.region = region
        super().__init__(shape, region.shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return insert_region(tangent, region=self.region, shape=self.out_shape)

    def pullback(self, cotangent: Any) -> Any:
        return read_region(cotangent, region=self.region).copy()


class Erase(JacobianOperator):
    """y = x with zeros at a region: the part of a write that comes from the array."""

    fresh = True
    writes = True

    def __init__(self, region: Region, shape: Shape, dtype: Any) -> None:
        self.region = region
        super().__init__(shape, shape, dtype)

    def pushforward(self, tangent: Any) -> Any:
        return write_region(tangent, 0, region=self.region)

    pullback = pushforward
