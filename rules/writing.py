"""Writes into arrays as pure functions: what a tape shows of ``x[i] = v``.

read_region    y = the entries of x at a region           J = Extract
write_region   y = x with v at the region                 J_x = Erase, J_v = Extract^H
insert_region  y = zeros with v at the region             J = Extract^H
add_moving     y = x with v added at the region           J_x = I, J_v = Extract^H

Those of regions that move with a loop have one operand more: by how many entries.

While a function runs, the write itself happens in place; see `linad.arrays.buffers`.
"""

from typing import Any

from linad.core.array_type import Array
from linad.core.moving_regions import (
    Moving,
    add_moving,
    insert_moving,
    read_moving,
    write_moving,
)
from linad.core.regions import insert_region, read_region, view_region, write_region
from linad.core.shapes import Shape
from linad.operators.base import JacobianOperator
from linad.operators.region_writes import Erase, Extract
from linad.operators.reordering import broadcast
from linad.operators.structured import Identity


@read_region.jacobian(wrt=0)
@view_region.jacobian(wrt=0)
def read_region_wrt_x(y: Array, x: Array, *, region: Any) -> JacobianOperator:
    return Extract(region, y.shape, x.shape, x.dtype)


@write_region.jacobian(wrt=0)
def write_region_wrt_x(y: Array, x: Array, value: Array, *, region: Any) -> JacobianOperator:
    return Erase(region, y.shape, y.dtype)


@write_region.jacobian(wrt=1)
def write_region_wrt_value(y: Array, x: Array, value: Array, *, region: Any) -> JacobianOperator:
    shape = y.shape[: y.ndim - region.ndim] + region.shape
    insert = Extract(region, shape, y.shape, y.dtype).H
    return insert @ broadcast(shape, value.shape, region.dtype_in(y.dtype))


@insert_region.jacobian(wrt=0)
def insert_region_wrt_value(
    y: Array, value: Array, *, region: Any, shape: Shape
) -> JacobianOperator:
    return Extract(region, value.shape, y.shape, y.dtype).H


@read_moving.jacobian(wrt=0)
def read_moving_wrt_x(y: Array, x: Array, at: Array, *, region: Any) -> JacobianOperator:
    return Extract(Moving(region, at), y.shape, x.shape, x.dtype)


@write_moving.jacobian(wrt=0)
def write_moving_wrt_x(y: Array, x: Array, v: Array, at: Array, *, region: Any) -> JacobianOperator:
    return Erase(Moving(region, at), y.shape, y.dtype)


@add_moving.jacobian(wrt=0)
def add_moving_wrt_x(y: Array, x: Array, v: Array, at: Array, *, region: Any) -> JacobianOperator:
    return Identity(y.shape, y.dtype)


@write_moving.jacobian(wrt=1)
@add_moving.jacobian(wrt=1)
def moving_wrt_value(y: Array, x: Array, v: Array, at: Array, *, region: Any) -> JacobianOperator:
    return write_region_wrt_value(y, x, v, region=Moving(region, at))


@insert_moving.jacobian(wrt=0)
def insert_moving_wrt_value(
    y: Array, v: Array, at: Array, *, region: Any, shape: Shape
) -> JacobianOperator:
    return Extract(Moving(region, at), v.shape, y.shape, y.dtype).H
