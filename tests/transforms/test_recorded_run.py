"""What a recorded run of a function says of it."""

import numpy as np

from linad.arrays.tracer import Tracer
from linad.core.settings import settings
from linad.core.tape import Var, unchanged
from linad.transforms.recorded_run import RecordedRun

LARGE = settings().snapshot_bytes // 8 + 1


def started(*given, outside=(), direct=(), first=None):
    return RecordedRun(list(given), list(outside), set(direct), first, lambda: None)


def names(equations):
    return [e.primitive.name for e in equations]


def test_results_and_what_was_written():
    x = np.array([1.0, 2.0])
    run = started(x, np.float64(3.0))
    with run.trace:
        a, s = run.tracers
        constant = np.ones(2)
        result = np.sin(a) * s
        a[0] = 5.0
        equations = run.finish([result, constant, "word"])
    assert names(equations) == ["sin", "multiply", "write_region"]
    assert [type(node) for node in run.nodes] == [Var, np.ndarray, type(None)]
    np.testing.assert_array_equal(run.delivered[0], 3 * np.sin(x))
    assert run.delivered[1] is not constant
    assert run.written == [0]
    np.testing.assert_array_equal(run.entries[0], [5.0, 2.0])
    assert len(run.outputs) == 3


def test_the_arguments_themselves_are_not_written():
    x = np.array([1.0, 2.0])
    run = started(x)
    with run.trace:
        run.tracers[0][...] = 0.0
        run.find_written()
    np.testing.assert_array_equal(x, [1.0, 2.0])
    np.testing.assert_array_equal(run.entries[0], [0.0, 0.0])


def test_one_argument_by_two_names_is_one_traced_value():
    x = np.ones(2)
    run = started(x, x, first=[0, 0])
    assert run.tracers[0] is run.tracers[1]
    assert len(run.inputs) == 2
    assert run.trace.memory_counts


def test_arrays_from_outside_are_compared_where_plain_numpy_reads_them():
    a, b = np.ones(2), np.zeros(2)
    run = started(outside=(a, b), direct=(1,))
    assert all(type(t) is Tracer for t in run.stand_ins)
    (check,) = run.trace.equations
    assert check.primitive is unchanged
    assert check.params["expected"] is a


def test_large_constants_are_copied_once():
    x, w = np.ones(LARGE), np.arange(float(LARGE))
    run = started(x)
    with run.trace:
        equations = run.finish([run.tracers[0] * w + w])
    (_, first), (_, second) = (e.inputs for e in equations)
    assert first is second
    assert first is not w
    assert not first.flags.writeable
