"""Modules answer to the names they had before linad had rooms."""

import importlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import linad
from linad.core.former_names import CLASSES, TABLE


@pytest.mark.parametrize("old", TABLE)
def test_a_former_name_is_the_same_module(old):
    assert importlib.import_module(old) is importlib.import_module(TABLE[old])


def test_a_module_keeps_its_own_name():
    assert importlib.import_module("linad.arrays.buffers").__spec__.name == "linad.arrays.buffers"


@pytest.mark.rest
def test_public_functions_stay_what_they_are():
    """In a new process: each old module is imported, then each public name is used twice."""
    script = """
import importlib, linad
before = {name: getattr(linad, name) for name in linad.__all__}
from linad.core.former_names import CLASSES, TABLE
for old in TABLE:
    importlib.import_module(old)
assert all(getattr(linad, name) is value for name, value in before.items())
"""
    subprocess.run([sys.executable, "-P", "-W", "error", "-c", script], check=True)


def test_old_pickles_load():
    """Written by linad 0.1.0 when its modules lay loose: classes, found by module and name."""
    operator = linad.eye(3)
    new = pickle.dumps(operator, protocol=0).decode("latin-1")
    module = type(operator).__module__
    old = new.replace(module, next((o for o, n in TABLE.items() if n == module), module))
    assert np.array_equal(pickle.loads(old.encode("latin-1")).todense(), np.eye(3))
    jitted = pickle.loads(b"clinad.jit\n_jitted\n(cnumpy\nsin\n(t(ttR.")
    assert jitted(np.zeros(2)).tolist() == [0, 0]
    primitive = pickle.loads(b"clinad.primitive\nPrimitive\n.")
    assert primitive is linad.core.primitive.Primitive


def test_classes_are_found_where_they_were():
    for module, name in [
        ("linad.operators.composites", "Adjoint"),
        ("linad.operators.structured", "Matrix"),
        ("linad.operators.dft", "Fit"),
        ("linad.solve.implicit", "Equation"),
    ]:
        assert name in CLASSES[module]
        assert isinstance(getattr(importlib.import_module(module), name), type)


@pytest.mark.parametrize("module", CLASSES)
def test_a_former_class_is_the_same_class(module):
    for name, where in CLASSES[module].items():
        found = getattr(importlib.import_module(module), name)
        where, _, new = where.partition(":")
        assert found is getattr(importlib.import_module(where), new or name)
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = importlib.import_module(module).nothing_of_the_kind
