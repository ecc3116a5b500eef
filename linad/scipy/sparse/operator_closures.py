"""LinearOperators whose products close over traced values: of the twin of SciPy's class."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator as Original

from linad.arrays.traces import running_trace
from linad.core.shapes import Shape
from linad.scipy.mirror import holds_traced
from linad.scipy.twins import class_twin


class _Made(type):
    """Calls of `LinearOperator`, and of what is derived from it."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        if cls is not LinearOperator:
            return super().__call__(*args, **options)
        if running_trace() is not None and _closes_over_traced(*args, **options):
            return class_twin(Original)(*args, **options)
        return Original(*args, **options)

    def __instancecheck__(cls, x: Any) -> bool:
        if cls is LinearOperator:
            return isinstance(x, Original) or is_closure(x)
        return super().__instancecheck__(x)


def _closes_over_traced(shape: Shape, matvec: Callable[..., Any], *_: Any, **options: Any) -> bool:
    return holds_traced(matvec(np.ones(shape[1])))


class LinearOperator(Original, metaclass=_Made):
    """As `scipy.sparse.linalg.LinearOperator`; ``matvec`` may close over traced values."""

    is_twin = True  # SciPy's code names the class itself


def is_closure(A: Any) -> bool:
    """Whether an operator closes over traced values."""
    return isinstance(A, class_twin(Original))
