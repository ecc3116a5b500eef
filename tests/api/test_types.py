"""What a type checker sees of linad in a user's file: signatures live on, mistakes are found."""

import json
import subprocess
import sys

import pytest

import linad

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
assert_type(y, float)
assert_type(J.T @ J, JacobianOperator)
assert_type(linad.jvp(f, (x, 1.0), (x, 0.0)), tuple[float, float])
assert_type(linad.vjp(f, x, 1.0)[0], float)

@linad.primitive
def cube(x: np.ndarray) -> np.ndarray:
    return x**3

@cube.pullback
def _(x: np.ndarray) -> object:
    return cube(x), lambda dy: 3 * x**2 * dy

assert_type(cube(x), np.ndarray)
assert_type(linad.solve.curve_fit(lambda t, a: a * t, x, x), FitResult)
linad.grad(f)(x, "1")               # wrong
linad.value_and_grad(f)(x)          # wrong
linad.jacobian(f)(x, 1.0, 2.0)      # wrong
linad.jit(f)(x)                     # wrong
linad.jit(linad.grad(f))(x, 1j)     # wrong
linad.hessian(f)(scales=1.0)        # wrong
cube(x, x)                          # wrong
linad.no_such_name                  # wrong
"""


WRONG = {i for i, line in enumerate(FILE.splitlines(), 1) if line.endswith("# wrong")}


def mypy_errors(file):
    """The lines of a file in which mypy finds something wrong."""
    found = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", "cache", "--output", "json", file.name],
        capture_output=True, text=True, cwd=file.parent,
    )  # fmt: skip
    reports = [json.loads(line) for line in found.stdout.splitlines() if line.startswith("{")]
    return {r["line"]: r["message"] for r in reports if r["severity"] == "error"}


def pyright_errors(file):
    """The lines of a file in which pyright finds something wrong."""
    (file.parent / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    found = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson",
         file.name],
        capture_output=True, text=True, cwd=file.parent,
    )  # fmt: skip
    reports = json.loads(found.stdout)["generalDiagnostics"]
    return {
        r["range"]["start"]["line"] + 1: r["message"] for r in reports if r["severity"] == "error"
    }


@pytest.mark.full
@pytest.mark.parametrize("checker", [mypy_errors, pyright_errors])
def test_a_users_file(checker, tmp_path):
    """linad is found as it is installed, in place as well."""
    file = tmp_path / "user.py"
    file.write_text(FILE, encoding="utf-8")
    found = checker(file)
    assert set(found) == WRONG, found


@pytest.mark.full
@pytest.mark.parametrize("checker", [mypy_errors, pyright_errors])
def test_every_public_name_is_known(checker, tmp_path):
    file = tmp_path / "names.py"
    names = [f"linad.{name}" for name in linad.__all__]
    file.write_text("\n".join(["import linad", *names, ""]), encoding="utf-8")
    assert checker(file) == {}
