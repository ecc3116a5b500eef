"""Settings: for a block, for the process, from the environment; never ignored."""

import os
import subprocess
import sys
import threading
from contextlib import ExitStack

import numpy as np
import pytest

import linad
from linad.core.settings import KINDS, settings
from linad.errors import ArgumentError, OptionError


@pytest.fixture(autouse=True)
def unchanged():
    before = settings()
    yield
    linad.config(**{name: getattr(before, name) for name in KINDS})
    assert settings() == before


def in_thread(question):
    found = []
    thread = threading.Thread(target=lambda: found.append(question()))
    thread.start()
    thread.join()
    return found[0]


def test_a_block():
    before = settings()
    with linad.config(threads=3, cache=False) as inside:
        assert inside is settings()
        assert (inside.threads, inside.cache) == (3, False)
        assert in_thread(settings) is before
        with linad.config(threads=4):
            assert (settings().threads, settings().cache) == (4, False)
        assert settings() is inside
    assert settings() is before


def test_without_a_block_it_holds_in_the_whole_process():
    linad.config(threads=4)
    assert settings().threads == 4
    assert in_thread(lambda: settings().threads) == 4
    with linad.config(threads=2):
        linad.config(variants=5)
        assert settings().threads == 2
    assert (settings().threads, settings().variants) == (4, 5)
    kept = linad.config(threads=6)
    assert settings().threads == 6
    with kept:
        assert settings().threads == 6
    assert settings().threads == 4


def test_other_ways_into_a_block():
    before = settings()
    with ExitStack() as stack:
        stack.enter_context(linad.config(threads=3))
        assert settings().threads == 3
        assert in_thread(lambda: settings().threads) == before.threads
    assert settings() == before

    @linad.config(threads=5)
    def threads():
        return settings().threads

    assert settings() == before
    assert threads() == 5
    assert settings() == before


def test_compiled_programs_follow():
    f = linad.jit(lambda x: np.sum(np.sin(x)))
    x = np.ones(3)
    found = [f(x) for _ in range(3)]
    linad.config(threads=2)
    assert [f(x) for _ in range(3)] == found


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("value", [None, "x", -1, float("nan"), 2.5, [], object()], ids=range(7))
def test_wrong_values(name, value):
    with pytest.raises(OptionError, match=rf"^config: {name} must be .*, got "):
        linad.config(**{name: value})


def test_names_that_are_no_settings():
    with pytest.raises(ArgumentError, match=r"unknown setting 'treads'; threads\? expected one"):
        linad.config(treads=2)


@pytest.mark.rest
def test_the_environment():
    program = "from linad.config import settings; print(settings().threads)"
    run = [sys.executable, "-P", "-c", program]
    done = subprocess.run(
        run, env=os.environ | {"LINAD_THREADS": "3"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "3"
    done = subprocess.run(
        run, env=os.environ | {"LINAD_THREADS": "x"}, capture_output=True, text=True, check=False
    )
    assert "LINAD_THREADS must be an integer, got 'x'" in done.stderr
