"""How the CPU lowers what is not a loop: by its own routines, and by those of all targets."""

from linad.sweeps import (
    along_axis,
    assurances,
    data_movement,
    guarded_outer_sums,
    moving_entries,
    searching,
    sorted_orders,
)
from linad.sweeps.routines import PORTABLE, Routines

TOPICS = (
    along_axis,
    assurances,
    data_movement,
    guarded_outer_sums,
    moving_entries,
    searching,
    sorted_orders,
)
"""Modules whose routines are for all targets; these register themselves."""

ROUTINES = Routines(PORTABLE)

routine = ROUTINES.lowers
