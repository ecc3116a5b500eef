"""A compiled model at other places than those of the data.

A program is for one number of places. Python runs a model many times while it would be recorded and
compiled, and pictures and tables ask for a number of places once. So what is compiled already is
used, and for other numbers of places the model runs in Python, until that has taken as long as a
program might.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.during import during
from linad.errors import ArgumentError
from linad.jit.long_calls import makes_programs

WORTH = 10.0
"""Seconds in Python, for each number of places, before a program is made."""


class OtherPlaces:
    """How long a model has run in Python, by the shapes of its places."""

    def __init__(self) -> None:
        self.seconds: dict[Any, float] = {}

    def run(self, title: str, xdata: Any, call: Callable[[], Any]) -> Any:
        """What a call gives that runs the model at these places."""
        key = tuple([getattr(leaf, "shape", ()) for leaf in tree.flatten(xdata)[0]])
        known = self.seconds.get(key, 0.0)
        try:
            return self._run(key, known, call)
        except (TypeError, IndexError) as error:
            if np.ndim(xdata):
                raise
            raise ArgumentError(
                f"predict: {title} takes arrays of places, and got the number {xdata} ({error}); "
                f"give an array of one, np.array([{xdata}])"
            ) from error

    def _run(self, key: Any, known: float, call: Callable[[], Any]) -> Any:
        if known >= WORTH:
            return call()
        begun = time.perf_counter()
        try:
            with during(makes_programs, False):
                return call()
        except Exception:  # np.zeros(n, like=a) takes a traced number alone
            return call()
        finally:
            self.seconds[key] = known + time.perf_counter() - begun
