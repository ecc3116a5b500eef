"""The type of arrays in signatures."""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any] | Any
"""An array, or what stands for one: a NumPy scalar, or a traced value (`linad.arrays.tracer`),
which has ndarray's attributes and methods. To the type checker it has no others."""
