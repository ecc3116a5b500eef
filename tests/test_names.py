"""One name for one thing: classes and functions have names of their own that say what they are."""

import importlib.util
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SWEEPS = str(Path("linad/sweeps"))
DEFINITION = re.compile(r"^ *(class|def) (\w+)[(:\[]", re.MULTILINE)


@cache
def definitions():
    """Where classes and functions are defined: (kind, name) -> [place, ...]."""
    found = defaultdict(list)
    for folder in ("linad", "rules"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for match in DEFINITION.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                found[match[1], match[2]].append(f"{path.relative_to(ROOT)}:{line}")
    return found


def test_no_two_classes_have_one_name():
    """The back end may have a name in common with what it serves: its classes stay inside."""
    above = {
        name: [place for place in places if not place.startswith(SWEEPS)]
        for (kind, name), places in definitions().items()
        if kind == "class"
    }
    assert {name: places for name, places in above.items() if len(places) > 1} == {}


def test_every_function_has_a_name():
    assert definitions()["def", "linearize"]
    assert definitions()["def", "_"] == []


OF_EACH_TARGET = {"program", "routines", "target"}
"""What the sweeps of all targets have, and each of them again."""


def is_mirror(place):
    """Whether NumPy or SciPy has a module of this name in the same room."""
    if not any([place.is_relative_to(f"linad/{room}") for room in ("numpy", "scipy")]):
        return False
    name = ".".join(place.relative_to("linad").with_suffix("").parts)
    return importlib.util.find_spec(name) is not None


def test_no_two_modules_have_one_name():
    """But for mirrors of NumPy's and SciPy's modules, which have the names of these."""
    found = defaultdict(list)
    for folder in ("linad", "rules"):
        for path in (ROOT / folder).rglob("*.py"):
            place = path.relative_to(ROOT)
            if path.stem not in {"__init__", *OF_EACH_TARGET} and not is_mirror(place):
                found[path.stem].append(str(place))
    assert [places for places in found.values() if len(places) > 1] == []


OUTSIDE_OF_ROOMS = {"fuzz", "programs", "survey"}
"""Folders of tests that are of all rooms together."""


def test_tests_stand_in_the_room_of_what_they_test():
    """With the name of a module there, or of a promise: no module elsewhere is meant by it."""
    rooms = defaultdict(set)
    for folder, start in (("linad", ROOT / "linad"), ("rules", ROOT)):
        for path in (ROOT / folder).rglob("*.py"):
            module = path.relative_to(start).with_suffix("")
            module = module.parent if module.name == "__init__" else module
            rooms[module.name].add(module.parent)
    tests = ROOT / "tests"
    astray = []
    for path in tests.rglob("test_*.py"):
        room, name = path.parent.relative_to(tests), path.stem.removeprefix("test_")
        if room == Path() or room.parts[0] in OUTSIDE_OF_ROOMS:
            continue
        is_room = (ROOT / "linad" / room).is_dir() or room.parts[0] == "rules"
        elsewhere = rooms[name] if room not in rooms[name] else ()
        mirrored = [(tests / other / path.name).exists() for other in elsewhere]
        if not is_room or (mirrored and not any(mirrored)):
            astray.append(str(path.relative_to(tests)))
    assert astray == []
