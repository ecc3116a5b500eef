"""What all solvers share: callbacks, StopIteration, printed progress, results."""

import gc
import itertools
import subprocess
import sys
import weakref

import numpy as np
import pytest
from solve.problems import rosenbrock, rosenbrock_value

from linad import solve
from linad.solve import Status
from linad.transforms.tape_operator import TapeOperator

START = np.array([-1.2, 1.0])
SOLVERS = {
    "newton": lambda **k: solve.newton(rosenbrock, START, **k),
    "newton_krylov": lambda **k: solve.newton_krylov(rosenbrock, START, **k),
    "gauss_newton": lambda **k: solve.gauss_newton(rosenbrock, START, **k),
    "levenberg_marquardt": lambda **k: solve.levenberg_marquardt(rosenbrock, START, **k),
    "newton_cg": lambda **k: solve.newton_cg(rosenbrock_value, START, **k),
    "trust_region": lambda **k: solve.trust_region(rosenbrock_value, START, **k),
    "lbfgs": lambda **k: solve.lbfgs(rosenbrock_value, START, **k),
    "continuation": lambda **k: solve.continuation(
        lambda x, a: x**2 + a**2 - 1.0, np.ones(1), 0.0, folds=1, **k
    ),
}
EACH = pytest.mark.parametrize("name", list(SOLVERS))


@EACH
@pytest.mark.parametrize("options", [{}, {"maxiter": 1}], ids=["end", "early"])
def test_no_tape_waits_for_the_garbage_collector(name, options, monkeypatch):
    tapes, made = [], TapeOperator.__init__

    def noted(self, *args):
        made(self, *args)
        tapes.append(weakref.ref(self))

    monkeypatch.setattr(TapeOperator, "__init__", noted)
    if name == "continuation":
        options = {}
    gc.disable()
    try:
        found = SOLVERS[name](**options)
        del found
        assert tapes
        assert [tape() for tape in tapes] == [None] * len(tapes)
    finally:
        gc.enable()


@EACH
def test_the_result(name):
    found = SOLVERS[name]()
    assert type(found).__name__ == "OptimizeResult"
    assert found.success is True
    assert found.status == Status.CONVERGED == 0
    assert found.message.startswith(f"{name}: converged")
    for key in ("x", "fun", "jac", "nit", "nfev", "njev", "njvp", "nvjp"):
        assert key in found
    for key in ("nit", "nfev", "njev", "njvp", "nvjp", "status"):
        assert type(found[key]) is int


@EACH
@pytest.mark.parametrize("maxiter", [-1, 1.5, "3"])
def test_limits_that_are_none(name, maxiter):
    with pytest.raises(ValueError, match=f"{name}: maxiter must be .* >= 0.*, got {maxiter!r}"):
        SOLVERS[name](maxiter=maxiter)


@EACH
def test_callback_with_the_result(name):
    seen = []

    def callback(intermediate_result):
        seen.append((intermediate_result.nit, intermediate_result.nfev))
        intermediate_result.x[...] = np.nan  # a copy: it does not disturb the solver

    found = SOLVERS[name](callback=callback)
    assert found.success
    assert [nit for nit, _ in seen] == list(range(1, 1 + len(seen)))
    assert len(seen) in (found.nit, found.nit - 1)
    assert all(a <= b for (_, a), (_, b) in itertools.pairwise(seen))


@EACH
def test_callback_with_the_point(name):
    seen = []
    found = SOLVERS[name](callback=lambda xk: seen.append(xk))
    assert seen
    assert all(np.shape(x) == np.shape(found.x) for x in seen)


@EACH
def test_stop_iteration(name):
    def callback(intermediate_result):
        if intermediate_result.nit >= 2:
            raise StopIteration

    found = SOLVERS[name](callback=callback)
    assert found.status == Status.STOPPED == 99
    assert found.success is False
    assert found.nit == 2
    assert "stopped by the callback" in found.message


@EACH
def test_other_exceptions_pass(name):
    def callback(intermediate_result):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        SOLVERS[name](callback=callback)


@EACH
def test_disp(name, capsys):
    found = SOLVERS[name](disp=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{name}:")
    assert {"nit", "nfev"} <= set(lines[0].split())
    assert len(lines) - 2 in (found.nit, found.nit - 1)
    assert lines[1].split()[0] == "1"
    assert all(len(line.split()) == len(lines[0].split()) - 1 for line in lines[1:-1])
    assert lines[-1].startswith(found.message)
    SOLVERS[name](disp=False)
    assert capsys.readouterr().out == ""


@EACH
def test_a_callback_that_is_none(name):
    with pytest.raises(TypeError, match=f"{name}: callback must be a function"):
        SOLVERS[name](callback=3)


@pytest.mark.full  # tests/api/test_public_names.py asks the same of all rooms
def test_linad_solve_is_loaded_late():
    code = "import sys, linad; assert 'linad.solve' not in sys.modules; linad.solve.newton"
    subprocess.run([sys.executable, "-c", code], check=True)
