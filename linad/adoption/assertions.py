"""Assertions of `numpy.testing` in adopted code: each is one decision on traced values.

    np.testing.assert_equal(a.x, b.x)       as ``if not np.array_equal(a.x, b.x): raise ...``
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.arrays.traces import running_trace
from linad.core import tree
from linad.core.primitive import Traced
from linad.scipy.implicit_solutions import plain
from linad.scipy.plain_results import by_scipy

_COMPARING = (
    *("assert_equal", "assert_almost_equal", "assert_approx_equal", "assert_allclose"),
    *("assert_array_equal", "assert_array_almost_equal", "assert_array_less"),
    "assert_array_almost_equal_nulp",
)


def assertions() -> dict[str, Callable[..., None]]:
    """The forms of what `numpy.testing` compares with, by name."""
    return {name: _of_traced(getattr(np.testing, name)) for name in _COMPARING}


def _of_traced(f: Callable[..., None]) -> Callable[..., None]:
    """An assertion of `numpy.testing` for arguments that may be traced, or hold such."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> None:
        leaves, structure = tree.flatten((args, kwargs))
        leaves = list(map(tree.bare, leaves))
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Traced)]
        if running_trace() is None or not places:
            return f(*args, **kwargs)

        def asserted(*values: Any) -> None:
            given = [*leaves]
            for k, value in zip(places, values, strict=True):
                given[k] = value
            args, kwargs = tree.unflatten(structure, given)
            f(*args, **kwargs)

        def holds(*values: Any) -> Any:
            try:
                asserted(*values)
            except AssertionError:
                return np.False_
            return np.True_

        traced = [leaves[k] for k in places]
        if not by_scipy(holds, *traced):
            asserted(*map(plain, traced))  # which says where they differ
        return None

    return call
