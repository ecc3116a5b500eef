"""Long values in messages are cut between items."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import linad
from linad.core.showing import shown

LONG = {
    "numbers": ([*range(1000, 1100)], f"[{', '.join(map(str, range(1000, 1010)))}, ...]"),
    "pairs": ([(k, 0.2) for k in range(9)], f"[{', '.join(f'({k}, 0.2)' for k in range(6))}, ...]"),
    "nested": ([[0.125, 0.25]] * 9, f"[{'[0.125, 0.25], ' * 4}...]"),
    "names": ({"a b" * 9: 1, "c" * 40: 2}, f"{{'{'a b' * 9}': 1, ...}}"),
    "array": (np.full((9, 2), 0.1), f"array([{'[0.1, 0.1], ' * 4}[0.1, ...]])"),
    "text": ("word " * 20, f"'{'word ' * 11}word..."),
}


@pytest.mark.parametrize("value, text", LONG.values(), ids=LONG)
def test_long_values_are_cut_between_items(value, text):
    assert shown(value) == text


def test_short_values_are_shown_as_they_are():
    assert shown([1.5, "a"]) == "[1.5, 'a']"
    assert shown([np.float64(1.5), np.int8(-2), np.float32("nan")]) == "[1.5, -2, nan]"
    assert shown(np.eye(2)) == "array([[1., 0.], [0., 1.]])"


def test_messages_cut_no_value_elsewhere():
    folders = Path(linad.__file__).parent, Path(inspect.getfile(linad.rules)).parent
    for file in [file for folder in folders for file in folder.rglob("*.py")]:
        assert not re.search(r"!r:\.\d", file.read_text(encoding="utf-8")), file
