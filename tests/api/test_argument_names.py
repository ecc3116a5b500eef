"""What users call the parameters of their functions collides with no name of linad's."""

import numpy as np
import pytest

import linad

X = np.array([1.0, 2.0])


def with_parameter(name):
    """x, factor -> sum(x^2) factor, the factor under another name."""
    namespace = {"np": np}
    exec(f"def f(q, {name}=1.0): return np.sum(q**2) * {name}", namespace)
    return namespace["f"]


CALLS = {
    "grad": lambda f: linad.grad(f),
    "value_and_grad": lambda f: lambda *a, **k: linad.value_and_grad(f)(*a, **k)[1],
    "jacobian": lambda f: linad.jacobian(f),
    "jit of grad": lambda f: linad.jit(linad.grad(f)),
    "grad of jit": lambda f: linad.grad(linad.jit(f)),
}


@pytest.mark.parametrize("name", ["f", "self", "trace", "fun", "args", "kwargs", "x", "key", "out"])
def test_any_name_passes(name):
    f = with_parameter(name)
    for call, transformed in CALLS.items():
        g = transformed(f)
        for _ in range(3):
            np.testing.assert_allclose(g(X, **{name: 3.0}), 6 * X, err_msg=call)
    jitted = linad.jit(f)
    for _ in range(3):
        assert jitted(X, **{name: 3.0}) == 15.0
