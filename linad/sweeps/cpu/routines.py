"""How the CPU lowers what is not a loop: by its own routines, and by those of all targets."""

from linad.sweeps.portable_routines import routines_of_target

ROUTINES = routines_of_target()

routine = ROUTINES.lowers
