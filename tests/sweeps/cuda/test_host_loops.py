"""What the host does between the kernels of a device."""

import numpy as np
import pytest

from linad.sweeps.cuda.host_loops import Choice, Copy, Put, Repeating, Repetitions, Run, parts_of
from linad.sweeps.instructions import NO_RESULT, KernelCall
from linad.sweeps.places import new_place

NUMBER, ROWS = (), (4, 2)
DOUBLE, INTEGER = np.dtype(float), np.dtype(np.int64)


def places(*shapes, dtype=DOUBLE):
    return [new_place(shape, dtype) for shape in shapes]


def taken(steps):
    """All steps, and the status."""
    found = []
    while True:
        try:
            found.append(next(steps))
        except StopIteration as end:
            return found, end.value


def test_repetitions():
    first, last, x, made, a, b = places((), (), ROWS, ROWS, (), ())
    loop = Repetitions(
        "", [], 3, True, carries=[first], rows=[x], constants=[], last=[last], made=[made],
        between=([a], [b]),
    )  # fmt: skip
    steps, status = taken(loop.steps(None))
    assert status == 0
    assert [(s.places[0], s.places[2]) for s in steps] == [(first, a), (a, b), (b, last)]
    assert [s.places[1].offset for s in steps] == [32, 16, 0]
    assert [s.places[3].shape for s in steps] == 3 * [(2,)]


def repeating(limit, kept, leap=2):
    first, last, a, b = places((), (), (), ())
    (go,) = places((), dtype=np.dtype(bool))
    counts = places((), (), dtype=INTEGER)
    rows = places((3,)) if kept else []
    return Repeating(
        "", None, None, limit=limit, leap=leap, carries=[first], constants=[], go=go,
        between=([a], [b]), last=[last], counts=counts[: 1 + kept], kept=rows,
    )  # fmt: skip


def test_a_loop_as_long_as_it_is_told():
    answers = iter([1, 1, 0])
    steps, status = taken(repeating(None, False).steps(lambda _: next(answers)))
    assert status == 0
    assert [s.program for s in steps if isinstance(s, Run)] == [0, 1, 0, 1, 0]
    assert [s.value for s in steps if isinstance(s, Put)] == [2]


def test_a_limit():
    steps, status = taken(repeating(2, False).steps(lambda _: 1))
    assert status == NO_RESULT
    assert [s.program for s in steps] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize(
    "leap, count, expected, stride", [(2, 9, (0, 4, 8), 4), (3, 14, (0, 6, 12), 6)]
)
def test_rows_go_where_they_are_full(leap, count, expected, stride):
    """Three rows: of repetitions 0, 1, 2; then 0, 2, 4, or 0, 3, 6; then every second of these."""
    answers = iter([1] * count + [0])
    steps, _ = taken(repeating(None, True, leap).steps(lambda _: next(answers)))
    rows, now = {}, -1
    for s in steps:
        if isinstance(s, Run) and s.program == 0:
            now += 1
        elif isinstance(s, Copy) and s.target.buffer.size == 24:
            again = s.source.buffer is s.target.buffer
            rows[s.target.offset] = rows[s.source.offset] if again else now
    assert [rows[at] for at in (0, 8, 16)] == list(expected)
    assert [s.value for s in steps if isinstance(s, Put)] == [count, stride]


def test_a_choice():
    index, x, y = places((), (), ())
    loop = Choice("", [None, None], index, [x], [y])
    assert taken(loop.steps(lambda _: 1)) == ([Run(1, [x, y])], 0)
    assert taken(loop.steps(lambda _: 2)) == ([], NO_RESULT)


def test_parts():
    kernels = [KernelCall("", 1, [], "") for _ in range(3)]
    loop = Choice("", [], *places(()), [], [])
    assert parts_of([*kernels[:2], loop, kernels[2]]) == [kernels[:2], loop, kernels[2:]]
