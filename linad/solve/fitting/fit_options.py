"""What the options of a fit may be."""

from typing import Any

import numpy as np

from linad.core import tree
from linad.core.options import FLAG, Kind, choice, is_integer, is_number
from linad.solve.described_starts import holds_parameters

VERBOSE = Kind(
    "0, 1 or 2",
    lambda value: isinstance(value, bool) or (is_integer(value) and value in (0, 1, 2)),
)


def _holds_numbers(value: Any) -> bool:
    leaves = tree.flatten(value)[0]
    return bool(leaves) and all(np.asarray(leaf).dtype.kind in "biuf" for leaf in leaves)


def _holds_finite(value: Any) -> bool:
    """Whether all are finite numbers, whatever is behind a mask."""
    return _holds_numbers(value) and all(
        np.isfinite(np.ma.filled(leaf, 1.0)).all() for leaf in tree.flatten(value)[0]
    )


def _holds_data(value: Any) -> bool:
    """Whether there are numbers, or texts, of which `Data` has more to say."""
    leaves = tree.flatten(value)[0]
    return _holds_numbers(value) or any(np.asarray(leaf).dtype.kind in "SU" for leaf in leaves)


def _holds_none(value: Any) -> bool:
    """Whether None is in a container, of which it would be an empty one."""
    parts = value.values() if isinstance(value, dict) else value
    many = isinstance(value, (dict, list, tuple))
    return value is None or (many and any(_holds_none(part) for part in parts))


START = Kind(
    "finite real numbers, an array or a container of such",
    lambda value: holds_parameters(value) or (_holds_finite(value) and not _holds_none(value)),
)
ABSOLUTE = Kind(f"{FLAG.words} (all starts are in one list, p0=[1, 2])", FLAG.fits)
POSITIVES = Kind(
    "positive numbers, one or like ydata or one for each data set, or a covariance matrix",
    _holds_data,
).optional
WEIGHTS = Kind(
    "numbers >= 0, one or like ydata or one for each data set",
    _holds_data,
).optional
NAN_POLICY = choice("raise", "omit", "propagate", None)
LEVEL = Kind("a number between 0 and 1", lambda value: is_number(value) and 0 < value < 1)
