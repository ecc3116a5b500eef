"""Operators whose two sides differ in dtype."""

from typing import Any

from linad.operators.base import JacobianOperator


class Typed(JacobianOperator):
    """An operator whose argument and result may differ in dtype."""

    _in_dtype: Any
    _out_dtype: Any

    @property
    def in_dtype(self) -> Any:
        return self._in_dtype

    @property
    def out_dtype(self) -> Any:
        return self._out_dtype
