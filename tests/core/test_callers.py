"""Warnings are shown at the user's line: Python's filters know it by that."""

import ast
import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import IntegrationWarning

import linad
import linad.scipy
from linad.core.callers import warn_user
from linad.errors import DisconnectedWarning


def many_paths():
    def order(x):
        return x * 2.0 if x[0] > x[1] else x * 3.0

    with linad.config(variants=1):
        g = linad.jit(order)
        g(np.array([1.0, 2.0]))
        g(np.array([2.0, 1.0]))


def random_draws():
    rng = np.random.default_rng(0)
    linad.jit(lambda x: x * rng.normal())(1.0)


def disconnected():
    linad.grad(np.sign)(1.0)


def integration():
    quad = linad.scipy.integrate.quad
    linad.grad(lambda w: quad(lambda t: np.sin(w * t) / t, 1e-9, 1.0, limit=2)[0])(1e4)


def no_number():
    linad.jvp(np.nanmax, (np.full(2, np.nan),), (np.ones(2),))


def no_median():
    linad.jvp(np.nanmedian, (np.full(2, np.nan),), (np.ones(2),))


WARNINGS = {
    many_paths: UserWarning,
    random_draws: UserWarning,
    disconnected: DisconnectedWarning,
    integration: IntegrationWarning,
    no_number: RuntimeWarning,
    no_median: RuntimeWarning,
}


@pytest.mark.parametrize("call", WARNINGS)
def test_warnings_are_at_the_users_line(call):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    assert {(w.category, w.filename) for w in told} == {(WARNINGS[call], __file__)}


def test_only_one_function_warns():
    folders = Path(linad.__file__).parent, Path(inspect.getfile(linad.rules)).parent
    for file in [file for folder in folders for file in folder.rglob("*.py")]:
        text = file.read_text(encoding="utf-8")
        if "warnings.warn" not in text:
            continue
        calls = [ast.unparse(n.func) for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call)]
        used = {"warnings.warn", "warnings.warn_explicit"}.intersection(calls)
        assert not used or file.samefile(inspect.getfile(warn_user)), file
