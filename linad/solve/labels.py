"""Labels of pandas: what is taken place by place may have them in another order."""

from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.showing import shown
from linad.errors import ArgumentError


def other_order(labels: Any, rows: Any) -> int | None:
    """The first place at which two indexes of pandas differ that hold the same labels; None where
    they are equal, or are not to be matched."""
    if labels.equals(rows) or len(labels) != len(rows):
        return None
    if labels.is_unique and rows.is_unique and labels.isin(rows).all():
        return int(np.argmax(np.asarray(labels != rows)))
    return None


def refuse_bounds_in_other_order(name: str, bounds: Any, unknowns: list[Array]) -> None:
    """Raise where bounds have the labels of the leaves of x0 in another order.

    Parameters
    ----------
    name : str
        The solver, for messages.
    bounds : pair of containers like x0, or another form, in which nothing has labels
    unknowns : list of array
        The leaves of x0, as they were given.
    """
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        return
    for side, given in zip(("lower", "upper"), bounds, strict=True):
        for part, x in zip(tree.flatten(given)[0], unknowns, strict=False):
            for axis in ("index", "columns"):
                if not all(hasattr(a, "iloc") and hasattr(a, axis) for a in (part, x)):
                    continue
                labels, rows = getattr(part, axis), getattr(x, axis)
                k = other_order(labels, rows)
                if k is not None:
                    raise ArgumentError(
                        f"{name}: the {side} bounds have the labels of x0 in another order: at "
                        f"place {k} is {shown(labels[k])}, where x0 has {shown(rows[k])}, and "
                        f"bounds are taken place by place; give them with .reindex_like(x0)"
                    )
