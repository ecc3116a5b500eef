"""Machine code of linad's own: what it computes, by what it is kept, that Numba is left alone."""

import os
import subprocess
import sys

import numpy as np
import pytest

from linad.sweeps.cpu import direct_calls, engine, made_results, own_functions, threads
from linad.sweeps.cpu.native import ARRAY_DATA, set_word, word

STEP = 3


def advance(at, count):
    total = 0
    for k in range(count):
        total += word(at + 8 * k)
        set_word(at + 8 * k, total + STEP)
    return total


def first_word(array):
    return word(word(array + ARRAY_DATA))


def itself(thing):
    return thing


def nothing():
    return 0


def test_on_words():
    numbers = np.arange(5)
    assert own_functions.callable_on_words(advance)(numbers.ctypes.data, 5) == 10
    assert numbers.tolist() == [3, 4, 6, 9, 13]


@pytest.mark.parametrize("releases", [False, True])
def test_on_objects(releases):
    called = own_functions.callable_on_objects(first_word, releases)
    assert called(np.array([-7, 1])) == -7
    assert called.__name__ == "first_word"
    for wrong in ((), (1, 2)):
        with pytest.raises(TypeError):
            called(*wrong)


def test_an_object_comes_with_its_reference():
    thing = object()
    before = sys.getrefcount(thing)
    given = own_functions.callable_on_objects(itself, gives="object")
    own_functions.ctypes.pythonapi.Py_IncRef(own_functions.ctypes.py_object(thing))
    assert given(thing) is thing
    assert sys.getrefcount(thing) == before


def test_no_object_after_an_error():
    with pytest.raises(SystemError):  # without an error, which Python notices
        own_functions.callable_on_objects(nothing, gives="object")()


def test_the_name_says_all_that_it_depends_on(monkeypatch, tmp_path):
    """Numbers that it reads, and the text of each module of which it calls a function."""
    name = own_functions.key_of(advance, "words")
    assert name == own_functions.key_of(advance, "words") != own_functions.key_of(advance, "word")
    monkeypatch.setitem(globals(), "STEP", 4)
    assert name != own_functions.key_of(advance, "words")
    monkeypatch.undo()
    changed = tmp_path / "native.py"
    changed.write_text("# another text\n")
    monkeypatch.setattr(sys.modules[word._defn.__module__], "__file__", str(changed))
    assert name != own_functions.key_of(advance, "words")


@pytest.mark.parametrize(
    "function, modules",
    [
        (engine._enter, {"engine", "native"}),
        (made_results._call, {"engine", "native", "made_results"}),
        (direct_calls._called, {"direct_calls", "engine", "native", "made_results"}),
        (threads.run_with_helpers, {"threads", "atomic", "native"}),
    ],
)
def test_what_they_are_written_with(function, modules):
    found, numbers = own_functions.written_with(function)
    assert modules <= {m.rpartition(".")[2] for m in found}
    assert numbers


WARM = """
import sys
import numpy as np, linad
def wave(x):
    return np.sin(x) * x
f = linad.jit(linad.grad(lambda x: np.sum(wave(x))))
for _ in range(3):
    f(np.ones(3))
print(*[name in sys.modules for name in ("numba.cpython.numbers", "linad.solve")])
"""


@pytest.mark.rest
def test_a_program_from_disk_needs_little(tmp_path):
    """What Numba knows takes a quarter of a second to register, the solvers a tenth to import."""
    environment = dict(os.environ, LINAD_CACHE_DIR=str(tmp_path / "kernels"))
    said = [
        subprocess.run(
            [sys.executable, "-c", WARM],
            env=environment, capture_output=True, text=True, check=True, timeout=240,
        ).stdout.split()
        for _ in range(2)
    ]  # fmt: skip
    assert said == [["True", "False"], ["False", "False"]]
