"""Where rows are in an operand, and in the result."""

import numpy as np
import pytest

from linad.core.primitive import Primitive
from linad.core.regions import Window
from linad.core.tape import Equation, Var
from linad.sweeps.rows import WHOLE, row_form


def equation(primitive, shapes, params, shape):
    inputs = [Var(k, s, np.dtype(float)) for k, s in enumerate(shapes)]
    out = Var(9, shape, np.dtype(float))
    return Equation(Primitive.registry[primitive], tuple(inputs), params, (out,))


def form_of(eqn, places):
    name = eqn.primitive.name
    return row_form(eqn, places, 12, name == "add", name == "sum")


COLUMNS = Window(0, (12, 2), (3, 1), 2)

ROWS = {
    "stretched": ("add", [(12, 3), (3,)], {}, (12, 3), [0, WHOLE], (0, WHOLE), 0),
    "inside": ("add", [(2, 12, 3), (12, 1)], {}, (2, 12, 3), [1, ~0], (1, 0), 1),
    "of the left": ("matmul", [(12, 3), (3, 4)], {}, (12, 4), [~0, WHOLE], (0, WHOLE), 0),
    "of the right": ("matmul", [(4, 3), (3, 12)], {}, (4, 12), [WHOLE, 1], (WHOLE, 1), 1),
    "of a stack": ("matmul", [(12, 4, 3), (3, 2)], {}, (12, 4, 2), [0, WHOLE], (0, WHOLE), 0),
    "of two stacks": ("matmul", [(12, 4, 3), (12, 3, 2)], {}, (12, 4, 2), [0, ~0], (0, 0), 0),
    "contracted": ("matmul", [(4, 12), (12, 3)], {}, (4, 3), [1, ~0], (1, 0), None),
    "summed": ("sum", [(12, 3)], {"axes": (0,)}, (3,), [0], (0,), None),
    "beside a sum": ("sum", [(3, 12)], {"axes": (0,)}, (12,), [1], (1,), 0),
    "seen": ("view_region", [(12, 3)], {"region": COLUMNS}, (12, 2), [0], (0,), 0),
    "turned": ("transpose", [(12, 3)], {"axes": (1, 0)}, (3, 12), [0], (0,), 1),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows_are_followed(name):
    primitive, shapes, params, shape, places, operands, axis = ROWS[name]
    found = form_of(equation(primitive, shapes, params, shape), places)
    assert (found.operands, found.axis) == (operands, axis)


def test_shapes_and_windows_are_for_fewer_rows():
    eqn = equation("reshape", [(12, 2, 3)], {"shape": (12, 6)}, (12, 6))
    assert form_of(eqn, [0]).params_for(5) == {"shape": (5, 6)}
    eqn = equation("broadcast_to", [(12, 1)], {"shape": (4, 12, 3)}, (4, 12, 3))
    assert form_of(eqn, [0]).params_for(5) == {"shape": (4, 5, 3)}
    window = Window(36 + 2, (2, 12), (72, 3), 3)
    eqn = equation("read_region", [(4, 12, 3)], {"region": window}, (2, 12))
    found = form_of(eqn, [1])
    x = np.arange(4 * 12 * 3).reshape(4, 12, 3)
    fewer = found.params_for(5)["region"].take(np.ascontiguousarray(x[:, :5]))
    np.testing.assert_array_equal(fewer, window.take(x)[:, :5])
    assert found.axis == 1


WINDOWS = {
    "some of the rows": Window(0, (2, 11), (36, 3), 3),
    "every other row": Window(0, (2, 6), (36, 6), 3),
    "a row first": Window(3, (2, 12), (36, 3), 3),
    "rows and more": Window(0, (1, 12, 4), (36, 3, 1), 3),
    "backward": Window(33, (2, 12), (36, -3), 3),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_other_windows_are_refused(name):
    window = WINDOWS[name]
    eqn = equation("read_region", [(4, 12, 3)], {"region": window}, window.shape)
    assert form_of(eqn, [1]) is None


REFUSED = {
    "rows that change places": ("roll", [(12, 3)], {"shift": (1,), "axis": (0,)}, (12, 3)),
    "rows that are joined to others": ("concatenate", [(6, 3), (6, 3)], {"axis": 0}, (12, 3)),
    "rows in two axes": ("add", [(12, 1), (12,)], {}, (12, 12)),
    "rows that become two axes": ("reshape", [(12, 3)], {"shape": (3, 12)}, (3, 12)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_ways_of_reading_rows_are_refused(name):
    primitive, shapes, params, shape = REFUSED[name]
    places = [0 if s[0] == 12 else WHOLE for s in shapes]
    assert form_of(equation(primitive, shapes, params, shape), places) is None
