"""Programs and pages that need other libraries: run by ``tox -e gallery``.

Not collected by the default run, which needs none of these libraries. What a program of
examples/handed_over prints is compared with what is kept beside it: words to the letter, numbers
loosely, as samplers draw them. Of the pages all blocks run, those as well that the documentation
build leaves out.
"""

import contextlib
import io
import re
import runpy

import numpy as np
import pytest
from test_docs import NOT_RUN_ANYWHERE, ROOT, run_page

FOLDER = ROOT / "examples" / "handed_over"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d*")


def numbers(text):
    return [float(found) for found in NUMBER.findall(text)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCRIPTS)
def test_program(name):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), np.errstate():  # which lmfit sets
        runpy.run_path(str(FOLDER / f"{name}.py"))
    expected = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    found = printed.getvalue()
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", expected).split()
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=0.1, atol=0.03)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["interop.md", "onnx.md"])
def test_page(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(ROOT / "docs" / name, {"__name__": "__main__"}, NOT_RUN_ANYWHERE)
