"""The routines of all targets: of what is not a loop, and by kernels that any target compiles."""

from linad.sweeps import (
    along_axis,
    assurances,
    data_movement,
    entries_at_positions,
    guarded_outer_sums,
    moving_entries,
    raising,
    searching,
    sorted_orders,
)
from linad.sweeps.routines import PORTABLE, Routines

TOPICS = (
    along_axis,
    assurances,
    data_movement,
    entries_at_positions,
    guarded_outer_sums,
    moving_entries,
    raising,
    searching,
    sorted_orders,
)
"""Modules with such routines, which register themselves."""


def routines_of_target() -> Routines:
    """A table for a target's own routines, in which those of all targets stand already."""
    return Routines(PORTABLE)
