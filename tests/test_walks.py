"""A call goes through the rooms once on its way down to the function, and once on its way back.

Rooms are the folders above the ground, which all of them stand on: what is in `core/`, and the
duck array itself. What operations do while the function runs is a walk of its own, one for each.
"""

import sys
from pathlib import Path

import numpy as np

import linad

INSTALLED = Path(linad.__file__).parent
RULES = Path(linad.rules.__file__).parent
GROUND = {"core", "arrays", "errors.py"}


def room_of(code):
    """The room that a function stands in; None for the ground, and for what is not linad's."""
    path = Path(code.co_filename)
    if path.is_relative_to(RULES):
        return "rules"
    if not path.is_relative_to(INSTALLED):
        return None
    room = path.relative_to(INSTALLED).parts[0]
    return None if room in GROUND else room


def walk(call, *args):
    """The rooms that a call is in, one after the other; "f" where the function runs."""
    rooms, stack = [], []

    def follow(frame, event, _):
        if event == "call":
            stack.append("f" if frame.f_code is f.__code__ else room_of(frame.f_code))
        elif event == "return" and stack:
            stack.pop()
        if event in ("call", "return"):
            here = "f" if "f" in stack else next((r for r in reversed(stack) if r), None)
            if here and rooms[-1:] != [here]:
                rooms.append(here)

    sys.setprofile(follow)
    try:
        call(*args)
    finally:
        sys.setprofile(None)
    return rooms


def f(x):
    return np.sum(np.sin(x) * x)


def test_of_a_derivative():
    linad.vjp(f, np.ones(3))  # imports what waits for the first
    down, back = ["api", "transforms", "api"], ["api", "transforms", "api"]
    assert walk(linad.vjp, f, np.ones(3)) == [*down, "f", *back]


def test_of_a_first_jitted_call():
    linad.jit(f)(np.ones(3))
    down, back = ["jit", "transforms", "jit", "control"], ["control", "jit", "transforms", "jit"]
    assert walk(linad.jit(f), np.ones(3)) == [*down, "f", *back]


def test_of_an_operation():
    """A NumPy function that is a primitive itself; others pass by `rules/` before."""
    rooms = []

    def g(x):
        rooms.extend(walk(np.sin, x))
        return x

    linad.vjp(g, np.ones(3))
    assert rooms == ["transforms", "rules", "transforms"]
