"""Sums that wait for a later loop over the same entries."""

import numpy as np
import pytest
from compiled_runs import check_compiled

import linad
from linad.core.shapes import size_of
from linad.sweeps.cpu.target import CPU
from linad.sweeps.plan import LONG, Planner
from linad.sweeps.steps import CallStep

SAMPLE = np.random.default_rng(5).uniform(0.5, 2.0, 2 * LONG)
T = np.array([0.3, -0.4])


def gaussian(t, y):
    s = np.log1p(np.exp(t[1]))
    return np.sum((y - t[0]) ** 2) / (2 * s * s) + y.size * np.log(s)


def gamma(t, y):
    a, b = np.exp(t)
    return b * np.sum(y) - np.sum((a - 1) * np.log(y))


def weighted(t, y):
    """The second loop needs the first sum, and reads what the others are of."""
    y, w = y[:LONG], y[LONG:]
    mean = np.sum(y) / y.size
    return np.sum(np.exp(w)) + np.max(np.sin(w)) + np.sum((y - mean) ** 2 * w * t[0])


def needed_before(t, y):
    """Every sum is needed for the next."""
    a = np.sum(np.sin(y))
    b = np.sum(np.sin(y) * a)
    return np.sum(np.sin(y) * b) + t[0]


def overwritten(t, y):
    """What the first sum is of is gone when the second loop runs."""
    z = y * 1.5
    before = np.sum(z * z)
    z[3:] = t[0]
    z[:2] = np.exp(t[1])
    return before * t[0] + np.sum(z * z * np.exp(t[1]))


def several(t, y):
    return np.sum(y), np.sum(y * np.exp(t[0])), y - np.sum(np.cos(y)), np.max(y) * t[1]


PROGRAMS = [gaussian, gamma, weighted, needed_before, overwritten, several]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f", PROGRAMS)
def test_results(f):
    check_compiled(f, T, SAMPLE)
    if f is not several:
        check_compiled(linad.value_and_grad(f, argnums=(0, 1)), T, SAMPLE)


def long_loops(f, *args):
    """Names of the equations of each loop over the sample."""
    program = CPU.compile(linad.trace(f, *args)[1])
    program.run(list(args))
    found = []
    for call in program.lowering.instructions:
        if any(size_of(v.shape) >= LONG for eqn in call.equations for v in eqn.inputs[:1]):
            found.append([eqn.primitive.name for eqn in call.equations])
    return found


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("f, passes", [(gamma, 1), (weighted, 2), (needed_before, 3)])
def test_passes_over_the_sample(f, passes):
    loops = long_loops(f, T, SAMPLE)
    assert len(loops) == passes, loops


@pytest.mark.usefixtures("kernels")
def test_sums_that_wait_are_with_those_that_read_the_same():
    first, second = long_loops(weighted, T, SAMPLE)
    assert first == ["sum"]
    assert {"exp", "sin", "max", "sum"} <= set(second)


def test_what_may_go_on_for_ever_waits_for_the_guards_before_it():
    def root(p):
        if np.sum(p * np.arange(3.0)) < 0:
            return 0 * p[0]
        return linad.while_loop(
            lambda x: abs(x * x - p[0]) > 1e-12, lambda x: (x + p[0] / x) / 2, p[0]
        )

    f = linad.jit(root)
    f(np.array([2.0, 1.0, 3.0]))
    ((path,),) = f.variants.values()
    steps = Planner(path.tape, CPU, {}, {}).steps()
    called = [step.equation.primitive for step in steps if isinstance(step, CallStep)]
    order = [p for p in called if p.endless or p.guards]
    assert [p.endless for p in order] == [False, True]
    assert f(np.array([-2.0, 1.0, -3.0])) == 0
