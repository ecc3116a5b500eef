"""The programs of examples/handed_over with the libraries themselves: run by ``tox -e interop``.

Not collected by the default run, which needs none of these libraries. What a program prints is
compared with what is kept beside it: words to the letter, numbers loosely, as samplers draw them.
"""

import contextlib
import io
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "handed_over"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d*")


def numbers(text):
    return [float(found) for found in NUMBER.findall(text)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCRIPTS)
def test_program(name):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(FOLDER / f"{name}.py"))
    expected = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    found = printed.getvalue()
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", expected).split()
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=0.1, atol=0.03)
