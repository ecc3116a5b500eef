"""What a type checker sees of linad in a user's file: signatures live on, mistakes are found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILE = """
import numpy as np
import linad
from typing import assert_type
from linad.operators.base import JacobianOperator
from linad.solve import FitResult

def f(x: np.ndarray, scale: float) -> float:
    return float(scale * np.sum(x**2))

x = np.ones(2)
assert_type(linad.value_and_grad(f)(x, 1.0)[0], float)
assert_type(linad.jit(f)(x, 1.0), float)

@linad.jit
def g(x: np.ndarray) -> np.ndarray:
    return x + 1

@linad.jit(static_argnums=1)
def h(x: np.ndarray, n: int) -> np.ndarray:
    return x + n

assert_type(g(x), np.ndarray)
assert_type(h(x, 2), np.ndarray)
y, J = linad.linearize(f, x, 1.0)
assert_type(J.T @ J, JacobianOperator)
assert_type(linad.solve.curve_fit(lambda t, a: a * t, x, x), FitResult)
linad.grad(f)(x, "1")               # wrong
linad.value_and_grad(f)(x)          # wrong
linad.jacobian(f)(x, 1.0, 2.0)      # wrong
linad.jit(f)(x)                     # wrong
linad.jit(linad.grad(f))(x, 1j)     # wrong
linad.hessian(f)(scales=1.0)        # wrong
linad.no_such_name                  # wrong
"""


@pytest.mark.full
def test_mypy_on_a_users_file(tmp_path):
    path = tmp_path / "user.py"
    path.write_text(FILE, encoding="utf-8")
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent",
         "--cache-dir", str(tmp_path / "cache"), str(path)],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT)},
    )  # fmt: skip
    errors = [line for line in found.stdout.splitlines() if ": error:" in line]
    lines = {int(line.split("user.py:")[1].split(":")[0]) for line in errors}
    wrong = {i for i, line in enumerate(FILE.splitlines(), 1) if line.endswith("# wrong")}
    assert lines == wrong, found.stdout
