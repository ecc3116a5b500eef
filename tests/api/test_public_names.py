"""What completion shows, and the rooms that load when they are first asked for."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from needing_libraries import ELSEWHERE

import linad
import linad.solve

ROOMS = [
    "linad",
    "linad.numpy",
    "linad.numpy.polynomial",
    "linad.numpy.polynomial.chebyshev",
    "linad.solve",
    "linad.scipy",
    "linad.scipy.fft",
    "linad.scipy.integrate",
    "linad.scipy.interpolate",
    "linad.scipy.linalg",
    "linad.scipy.ndimage",
    "linad.scipy.signal",
    "linad.scipy.sparse",
    "linad.scipy.sparse.linalg",
    "linad.scipy.special",
    "linad.scipy.stats",
]


@pytest.mark.parametrize("name", ROOMS)
def test_public_names_only(name):
    room = importlib.import_module(name)
    shown = dir(room)
    assert not [n for n in shown if n.startswith("_")]
    assert not {"Any", "importlib", "functools", "tracer", "annotations"} & set(shown)


def test_what_is_exported_is_shown():
    for n in dir(linad):
        getattr(linad, n)
    assert set(linad.__all__) <= set(dir(linad))
    assert set(linad.solve.__all__) == set(dir(linad.solve))
    assert {"array", "zeros", "sum", "polynomial", "vectorize"} <= set(dir(linad.numpy))
    assert "holds_traced" not in dir(linad.numpy)
    assert {"linalg", "stats", "optimize"} <= set(dir(linad.scipy))


def test_an_operator_shows_what_users_ask():
    _, J = linad.linearize(np.sin, np.ones(3))
    for op in (J, J.T, J @ J, 2.0 * J, linad.eye(3)):
        shown = dir(op)
        assert not [n for n in shown if n.startswith("_")]
        assert {"shape", "T", "H", "matvec", "todense", "tosparse", "pushforward"} <= set(shown)
        assert not {"steps", "clinear", "pullback_into", "in_slots", "wide"} & set(shown)
        for n in shown:
            getattr(op, n)


@pytest.mark.rest
def test_rooms_load_on_first_use():
    program = """
import linad, sys
rooms = "linad.scipy", "linad.solve", "linad.cuda", "linad.sweeps.cuda"
assert not [m for m in sys.modules if m.startswith(rooms)]
linad.solve, linad.scipy, linad.interop, linad.testing
assert not [m for m in sys.modules if m in ("scipy.integrate", "scipy.optimize", "scipy.stats")]
linad.scipy.linalg.expm, linad.scipy.stats.norm.logpdf, linad.scipy.sparse.linalg.cg
linad.scipy.optimize.brentq, linad.solve.root, linad.numpy.polynomial.Polynomial
"""
    subprocess.run([sys.executable, "-P", "-c", program], check=True)


REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference.md"


@pytest.mark.rest
def test_each_public_name_twice():
    """In a new process: before all rooms are loaded, and after."""
    program = """
import importlib, pkgutil, re, sys
from pathlib import Path
import linad

def found(name):
    room, _, last = name.rpartition(".")
    return getattr(importlib.import_module(room), last)

text = Path(sys.argv[1]).read_text(encoding="utf-8")
names = re.findall(r"^   (linad[.][\\w.]+)$", text, re.MULTILINE)
assert {"linad.solve.root", "linad.jit.Jitted"} <= {*names}
names += [f"linad.{name}" for name in linad.__all__]
before = [found(name) for name in names]
for room in pkgutil.walk_packages(linad.__path__, "linad."):
    if room.name not in sys.argv[2:] and not room.name.endswith("__main__"):
        importlib.import_module(room.name)
assert [name for name, value in zip(names, before) if found(name) is not value] == []
"""
    subprocess.run([sys.executable, "-P", "-c", program, REFERENCE, *ELSEWHERE], check=True)
