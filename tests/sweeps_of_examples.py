"""How many examples a random test runs, and what its programs start from."""

from hypothesis import HealthCheck, settings


def examples(count):
    """So many examples, the same ones each time, however long they take."""
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def inexact(values):
    return [v for v in values if v.dtype.kind in "fc"]


def poison(program):
    """Fill the memory of the next run with NaN."""
    workspace = program.borrow()
    workspace.arena[...] = 0xFF
    program.give_back(workspace)
