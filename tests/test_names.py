"""One name for one thing: classes and functions have names of their own that say what they are."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("guide", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_files_that_the_guides_name_are_there(guide):
    """Beside the guide, or in linad/."""
    named = re.findall(r"\b[\w/]+/\w+\.py\b", (ROOT / guide).read_text(encoding="utf-8"))
    assert named
    assert [p for p in named if not ((ROOT / p).exists() or (ROOT / "linad" / p).exists())] == []
