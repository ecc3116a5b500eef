"""Operators of writes into arrays: take a region out, put it in, erase it.

x1 = x0 with v written at the region:   dx1 = Erase dx0 + Insert dv

Erase is a projection, its own adjoint; the adjoint of Insert is Extract. A sweep that holds a
tangent or cotangent alone writes into it, so a write costs it the region, not the array. The
region may be the real or imaginary parts of complex entries: these maps are linear over the
reals only, and the adjoint of taking the imaginary part v out is to put i v in.
"""

from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.moving_regions import Moving
from linad.core.primitive import Traced
from linad.core.regions import Part, Region
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.facts import UNSTRUCTURED
from linad.operators.relation_shapes import region_numbers
from linad.operators.relations import Gather


def _is_complex_linear(region: Region) -> bool:
    return type(region.inner if type(region) is Moving else region) is not Part


def is_known(region: Region) -> bool:
    """Whether it is known where a region lies, so that plain arrays can be written there."""
    return type(region) is not Moving or not isinstance(region.at, Traced)


class Extract(JacobianOperator):
    """y = the entries of x at a region; ``dtype`` is that of x."""

    copies = True
    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(
        self, region: Region, out_shape: Shape, in_shape: Shape, dtype: np.dtype[Any]
    ) -> None:
        self.region = region
        self.scatters = in_shape != () and is_known(region)
        self.clinear = _is_complex_linear(region)
        self.out_shape, self.in_shape, self.dtype = out_shape, in_shape, dtype

    @property
    def out_dtype(self) -> Any:
        return self.region.dtype_in(self.dtype)

    def pushforward(self, tangent: Array) -> Array:
        return self.region.read_from(tangent).copy()

    def pullback(self, cotangent: Array) -> Array:
        return self.region.inserted_in(cotangent, self._inner())

    def _inner(self) -> Shape:
        """Shape of the array that the region is of; axes of x before it are seeds."""
        return self.in_shape[len(self.in_shape) - self.region.ndim :]

    def pullback_into(self, cotangent: Array, total: Array) -> None:
        if isinstance(total, Traced) or total.flags.c_contiguous:
            self.region.add(total, cotangent)
        else:
            total += self.pullback(cotangent)

    def relation(self) -> Gather:
        return Gather(region_numbers(self.region, self.in_shape)[0], self.shape[1])

    def relation_key(self) -> Any:
        return self.region


class Insert(JacobianOperator):
    """y = zeros with x at a region: the part of a write that comes from the value."""

    copies = True
    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(self, region: Region, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.region = region
        self.clinear = _is_complex_linear(region)
        lead = shape[: len(shape) - region.ndim]
        self.out_shape, self.in_shape, self.dtype = shape, lead + region.shape, dtype

    @property
    def in_dtype(self) -> Any:
        return self.region.dtype_in(self.dtype)

    def pushforward(self, tangent: Array) -> Array:
        shape = self.out_shape[len(self.out_shape) - self.region.ndim :]
        return self.region.inserted_in(tangent, shape)

    def pullback(self, cotangent: Array) -> Array:
        return self.region.read_from(cotangent).copy()

    def relation(self) -> Gather:
        m, n = self.shape
        source = np.full(m, -1)
        source[region_numbers(self.region, self.out_shape)[0]] = np.arange(n)
        return Gather(source, n)

    def relation_key(self) -> Any:
        return self.region


class Erase(JacobianOperator):
    """y = x with zeros at a region: the part of a write that comes from the array."""

    copies = True
    unknown = UNSTRUCTURED

    owns_result = True

    def __init__(self, region: Region, shape: Shape, dtype: np.dtype[Any]) -> None:
        self.region, self.writes = region, is_known(region)
        self.clinear = _is_complex_linear(region)
        self.out_shape = self.in_shape = shape
        self.dtype = dtype

    def pushforward(self, tangent: Array) -> Array:
        return self.region.written_in(tangent, 0)

    def pullback(self, cotangent: Array) -> Array:
        return self.region.written_in(cotangent, 0)

    def relation(self) -> Gather:
        n = self.shape[1]
        source = np.arange(n)
        if self.clinear:
            source[region_numbers(self.region, self.in_shape)[0]] = -1
        return Gather(source, n)

    def relation_key(self) -> Any:
        return self.region
