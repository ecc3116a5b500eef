"""Which texts are for people: only printed, or logged."""

import logging
import sys

import pytest

from linad.core.texts import is_for_people

LOG = logging.getLogger(__name__)


WATCHING = """
class Watching:

    def __init__(self):
        self.printed = []

    def __str__(self):
        self.printed.append(is_for_people())
        return "x"

    def __format__(self, how):
        return str(self)
"""


def watching():
    """What asks whenever it is written as a text, in methods of linad's as those of an array."""
    scope = {"__name__": "linad.watching", "is_for_people": is_for_people}
    exec(WATCHING, scope)
    return scope["Watching"]()


def prints(x):
    print("loss", x)
    print(f"loss {x:>9}", file=sys.stderr)
    print("loss " + str(x).rjust(9))
    print(*[f"{v}" for v in (x,)], sep=", ")
    sys.stdout.write("loss {}\n".format(x))  # noqa: UP032
    LOG.warning(f"loss {x}")


def decides(x):
    if "-" in str(x):
        raise ValueError
    key = f"{x}"
    print(len(str(x)))
    print({str(x): 1}[key])


def prints_by_its_own(x):
    kept = []
    print = kept.append
    for _ in range(4):
        print(f"{x}")


CASES = [(prints, True), (decides, False), (prints_by_its_own, False)]


@pytest.mark.parametrize("function, answer", CASES)
def test_texts(function, answer, capsys):
    x = watching()
    function(x)
    assert len(x.printed) >= 4
    assert set(x.printed) == {answer}


def test_code_without_source_decides():
    x = watching()
    exec("print(str(x))", {"x": x})
    assert x.printed == [False]
