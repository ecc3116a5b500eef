"""An array that a loop reads and writes here and there: in which order it can be done at once."""

import numpy as np
import pytest

from linad.control.carried_arrays import Access, CarriedArray, Place, Update, read_and_written
from linad.core.primitive import Primitive
from linad.core.regions import Window
from linad.core.tape import Equation, Var, tape_of

TIMES = np.arange(3)
FORWARD, AHEAD, BEHIND, ELSEWHERE = [0, 1, 2], [1, 2, 3], [-1, 0, 1], [7, 8, 9]


def place(entries):
    return Place(None, np.reshape(entries, (3, -1)), True)


def carried(reads=(), writes=()):
    array = CarriedArray(0, None)
    array.reads += [Access(version, place(entries)) for entries, version in reads]
    array.updates += [Update(Access(k, place(e)), "", k) for k, e in enumerate(writes)]
    return array


@pytest.mark.parametrize(
    "entries, version, at_once",
    [
        (FORWARD, 0, True),  # y[i] = f(y[i])
        (FORWARD, 1, False),  # what has just been written
        (AHEAD, 0, True),  # y[i] = f(y[i + 1])
        (AHEAD, 1, True),
        (BEHIND, 0, False),  # y[i] = f(y[i - 1]): of the repetition before
        (BEHIND, 1, False),
        (ELSEWHERE, 1, True),
        ([2, 1, 0], 0, False),  # first the one, then the other
    ],
)
def test_what_is_read_was_there_before_the_loop(entries, version, at_once):
    array = carried([(entries, version)], [FORWARD])
    assert array.arrange(TIMES) is at_once
    if entries in (AHEAD, BEHIND):  # from the other end they change places
        assert carried([(entries, version)], [FORWARD]).arrange(TIMES[::-1]) is not at_once


@pytest.mark.parametrize(
    "writes, order",
    [
        ([FORWARD], [0]),
        ([FORWARD, FORWARD], [0, 1]),
        ([FORWARD, AHEAD], [1, 0]),  # y[i + 1] of one repetition is y[i] of the next
        ([AHEAD, FORWARD], [0, 1]),
        ([FORWARD, ELSEWHERE], [0, 1]),
        ([FORWARD, AHEAD, [2, 3, 4]], [2, 1, 0]),
        ([FORWARD, [2, 1, 0]], None),
    ],
)
def test_writes_are_in_the_order_of_the_repetitions(writes, order):
    array = carried(writes=writes)
    assert array.arrange(TIMES) is (order is not None)
    if order is not None:
        assert [u.value for u in array.ordered] == order


FLOAT, INTEGER = np.dtype(float), np.dtype(np.int64)
Y, Z = Var(0, (9,), FLOAT), Var(1, (9,), FLOAT)
HERE, THERE, V = Var(2, (), INTEGER), Var(3, (), INTEGER), Var(4, (), FLOAT)
ENTRY, NEXT = Window(0, (), (), 1), Window(1, (), (), 1)
OLD, NEW = Var(5, (), FLOAT), Var(6, (), FLOAT)


def body(operation="add", array=Y, at=HERE, region=ENTRY, order=(OLD, V), results=()):
    """``y[i] = operation(y[i], v)``, or what is like it."""

    def equation(name, inputs, output, **params):
        return Equation(Primitive.registry[name], inputs, params, (output,))

    written = Var(7, (9,), FLOAT)
    equations = [
        equation("read_moving", (Y, HERE), OLD, region=ENTRY),
        equation(operation, order, NEW),
        equation("write_moving", (array, NEW, at), written, region=region),
    ]
    return tape_of("body", [Y, Z, HERE, THERE, V], equations, [written, *results])


@pytest.mark.parametrize("operation", ["add", "subtract"])
def test_an_addition_in_place_is_found(operation):
    tape = body(operation)
    reading, both, writing = tape.equations
    additions, parts = read_and_written(tape, {HERE: TIMES, THERE: TIMES + 1})
    assert additions == {writing: both}
    assert parts == {reading: Y, both: Y}
    same_numbers = body(operation, at=THERE)
    assert read_and_written(same_numbers, {HERE: TIMES, THERE: TIMES.copy()})[0]


@pytest.mark.parametrize(
    "changed",
    [
        {"operation": "multiply"},
        {"array": Z},
        {"at": THERE},
        {"region": NEXT},
        {"order": (V, OLD)},
        {"results": (OLD,)},  # something else needs what was read
        {"results": (NEW,)},
    ],
    ids=str,
)
def test_what_is_no_addition_in_place(changed):
    assert read_and_written(body(**changed), {HERE: TIMES, THERE: TIMES + 1}) == ({}, {})


def test_places_that_are_not_known():
    assert read_and_written(body(), {}) == ({}, {})
