"""Whatever an operator is asked, somebody answers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import linad
from linad.operators.provided import ANSWERS

ASKED = {
    name
    for path in (Path(linad.__file__).parent / "operators").glob("*.py")
    for name in re.findall(r"\bANSWERS\.(\w+)", path.read_text(encoding="utf-8"))
}


OF_PROGRAMS = {"fused", "on_device"}


@pytest.mark.rest
def test_each_question_has_an_answer_in_a_new_process():
    """`fused`, `on_device` are for operators with compiled programs in them, which bring them."""
    script = "import linad; from linad.operators.provided import ANSWERS; print(*vars(ANSWERS))"
    told = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True
    )
    assert set(told.stdout.split()) >= ASKED - OF_PROGRAMS
    assert len(ASKED) > 15


def test_nobody_answers_twice():
    assert vars(ANSWERS).keys() >= ASKED - OF_PROGRAMS
