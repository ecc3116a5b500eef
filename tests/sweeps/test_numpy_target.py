"""NumPy as a target: what jitted functions run on where Numba has been told to compile nothing."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
from random_programs import assert_same, make, near_a_jump, rounding
from sweeps_of_examples import poison

import linad
from linad.core import tree
from linad.errors import GuardError
from linad.sweeps.compiled import Compiled
from linad.sweeps.numpy_target import NUMPY
from linad.sweeps.program import OtherArgumentsError
from linad.transforms.simplify import simplify

SCRIPT = """
import sys
import numpy as np
import linad
from linad.core import tree

def f(x, c):
    c[:] = x * 2
    return np.sum(np.sin(x) * c) if x[0] > 0 else np.sum(x)

jitted, x = linad.jit(f), np.arange(1.0, 4.0)
for s in (1, 1, -1, 1, -1):
    c, d = np.zeros(3), np.zeros(3)
    assert jitted(s * x, c) == f(s * x, d)
    assert np.array_equal(c, d)

def g(x):
    return np.prod(x) * np.sum(np.tanh(x))

for outer in (linad.grad, linad.hessian, linad.value_and_grad):
    expected = outer(g)(x)
    for function in (outer(linad.jit(g)), linad.jit(outer(g)), linad.jit(outer(linad.jit(g)))):
        for _ in range(3):
            for a, b in zip(tree.flatten(function(x))[0], tree.flatten(expected)[0]):
                np.testing.assert_allclose(a, b, rtol=1e-13)
y, J = linad.linearize(linad.jit(np.sin), x)
np.testing.assert_allclose(J.T @ x, np.cos(x) * x)
for refused in (lambda: linad.explain(g)(x), lambda: linad.jit(g).njit(x)):
    try:
        refused()
    except linad.errors.FallbackError as error:
        assert "NUMBA_DISABLE_JIT" in str(error)
    else:
        raise AssertionError
assert "numba" not in sys.modules
print("right")
"""


@pytest.mark.rest
@pytest.mark.parametrize("off", ["1", pytest.param("true", marks=pytest.mark.full)])
def test_in_a_process(off):
    environment = os.environ | {"NUMBA_DISABLE_JIT": off}
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True
    )
    assert found.stdout == "right\n", found.stderr


def test_results_are_the_callers_own():
    x = np.arange(3.0)
    _, tape = linad.trace(lambda x: (x, x[1:], x * 2, np.sum(x)), x)
    results = NUMPY.compile(tape).run([x])
    for y in results:
        y[...] = -1
    np.testing.assert_array_equal(x, [0, 1, 2])


def test_guards():
    _, tape = linad.trace(lambda x: x * 2 if x[0] > 0 else x, np.ones(2))
    run = Compiled(tape, [np.ones(2)], NUMPY)
    assert run.takes([np.ones(2)])
    assert not run.takes([-np.ones(2)])
    with pytest.raises(GuardError):
        run(-np.ones(2))


def test_guards_come_before_what_they_guard():
    """No warning of a root that Python would not take there."""
    _, tape = linad.trace(lambda x: np.sqrt(x) if np.all(x > 0) else x, np.ones(2))
    with pytest.raises(GuardError):
        NUMPY.compile(simplify(tape)).run([-np.ones(2)])


def test_other_arguments_are_refused():
    _, tape = linad.trace(np.sin, np.ones(3))
    program = NUMPY.compile(tape)
    for other in (np.ones(4), np.ones(3, np.float32), np.ones(6)[::2], [1.0, 1.0, 1.0]):
        with pytest.raises(OtherArgumentsError):
            program.run([other])


def test_a_program_is_pickled_with_its_target():
    _, tape = linad.trace(np.sin, np.ones(3))
    again = pickle.loads(pickle.dumps(NUMPY.compile(tape)))
    assert again.target is NUMPY
    np.testing.assert_array_equal(again.run([np.ones(3)])[0], np.sin(np.ones(3)))


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed):
    """Places, views, writes in place and the arena, without a kernel."""
    f, inputs = make(seed, 20, ["f8", "f8", "c16", "f4"])
    if near_a_jump(f, inputs):
        return
    with np.errstate(all="ignore"):
        y, tape = linad.trace(f, *inputs)
        program = NUMPY.compile(simplify(tape))
        for _ in range(2):
            poison(program)
            found = program.run([np.array(x) for x in inputs])
            assert_same(found, tree.flatten(y)[0], rounding(tape))
