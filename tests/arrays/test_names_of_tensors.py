"""What is said of attributes that arrays of other libraries have."""

import copy
import pickle

import numpy as np
import pytest

import linad
from linad.arrays.names_of_tensors import instead_of_attribute
from linad.arrays.tracer import Tracer


@pytest.mark.parametrize("x", [np.ones(3), 1.0])
@pytest.mark.parametrize(
    "name, remedy",
    [
        ("at", r"write x\[i\] = v"),
        ("detach", r"leave it out.*linad.stop_gradient\(x\) has none"),
        ("value", "leave it out: x is the number or the array itself"),
        ("numpy", "leave it out: x is the number or the array itself"),
        ("backward", r"linad.grad\(f\)\(x\)"),
        ("block_until_ready", "leave it out"),
        ("unsqueeze", "np.expand_dims"),
        ("tanh", r"use np.tanh\(x\)"),
        ("det", r"use np.linalg.det\(x\)"),
    ],
)
def test_names_of_other_libraries(name, remedy, x):
    with pytest.raises(AttributeError, match=f"here traced, has no attribute '{name}'; .*{remedy}"):
        linad.grad(lambda x: np.sum(getattr(x, name)))(x)


def test_attributes_are_read_the_quick_way():
    """A class with __getattr__ has Python look for each attribute in many steps."""
    assert not hasattr(Tracer, "__getattr__")


def test_only_what_an_array_has_not_is_worded_anew():
    def of_another(x):
        return x.sum() + Tracer.qwertz

    def written(x):
        x.qwertz = 1.0
        return x.sum()

    with pytest.raises(AttributeError, match="^type object 'Tracer' has no attribute 'qwertz'$"):
        linad.grad(of_another)(np.ones(3))
    with pytest.raises(AttributeError, match="^.Tracer. object has no attribute .qwertz."):
        linad.grad(written)(np.ones(3))
    with pytest.raises(AttributeError, match="^'ndarray' object, here traced, has no attribute"):
        linad.grad(linad.grad(lambda x: x.qwertz))(np.ones(3))
    with pytest.raises(AttributeError, match="^'float64' object, here traced, has no attribute"):
        linad.jit(lambda x: x.__array_interface__)(1.0)


def test_unknown_names():
    def f(x):
        assert not hasattr(x, "qwertz")
        assert not hasattr(x, "_qwertz")
        with pytest.raises(AttributeError, match="no attribute 'qwertz'$"):
            x.qwertz  # noqa: B018
        copy.copy(x)
        return x.sum()

    assert (linad.grad(f)(np.ones(3)) == 1).all()
    assert pickle.loads(pickle.dumps(linad.jit(np.sin)))(0.0) == 0


def test_no_name_is_an_attribute_of_arrays():
    named = [name for name in dir(np.ndarray) if instead_of_attribute(name).startswith("write")]
    assert not named
