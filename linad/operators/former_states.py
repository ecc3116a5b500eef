"""Pickles that were written before a class had all the attributes that it has today.

`linad.core.former_names` finds the class; here its state gets what was not there yet. A state says
that it is an earlier one by an attribute that it lacks.
"""

from collections.abc import Callable
from typing import Any

from linad.arrays.zero_dim import number

State = dict[str, Any]


def _along_last_axis(kind: type, state: State) -> State:
    """Convolutions had one axis."""
    return {**state, "axes": 1}


def _real_transform(kind: type, state: State) -> State:
    """What weights the coefficients was kept as a factor."""
    shapes = state["out_shape"], state["in_shape"]
    made = kind(state["axis"], state["norm"], *shapes, state["dtype"], state["_real"])
    return made.__dict__


def _cosine_transform(kind: type, state: State) -> State:
    names = "out_shape", "dtype", "kind", "type", "axis"
    return kind(*(state[name] for name in names)).__dict__


def _read_triangle(kind: type, state: State) -> State:
    return kind(state["op"], state["reading"]).__dict__


def _slot(kind: type, state: State) -> State:
    """Nobody asked whether a value without axes was a number; nearly all are."""
    return {**state, "kind": None if state["shape"] else number}


CHANGED: dict[str, tuple[str, Callable[[type, State], State]]] = {
    "Convolution": ("axes", _along_last_axis),
    "ValidKernel": ("axes", _along_last_axis),
    "RealFourier": ("_counts", _real_transform),
    "HermitianFourier": ("_counts", _real_transform),
    "CosineTransform": ("_both", _cosine_transform),
    "Read": ("of_triangle", _read_triangle),
    "Slot": ("kind", _slot),
}
"""By the name of a class: an attribute that earlier states lack, and what makes today's of one."""


def todays_state(kind: type, state: State) -> State:
    """The state of an instance of a class, as a pickle of any revision has it, as it is today."""
    lacked, remade = CHANGED.get(kind.__name__, (None, None))
    return state if remade is None or lacked in state else remade(kind, state)
