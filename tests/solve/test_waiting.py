"""A function that takes long in Python: said once, with what would help."""

import functools
import time
from types import SimpleNamespace

import numpy as np
import pytest

import linad
from linad.scipy.integrate import solve_ivp
from linad.solve import curve_fit, lbfgs, maximum_likelihood, trust_region, waiting
from linad.solve.compile_clock import compiled_seconds
from linad.solve.problems import Residual
from linad.solve.waiting import Waiting


def slow(x):
    return x


@pytest.fixture
def clock(monkeypatch):
    """Each look at the clock is two seconds later."""
    for name in ("perf_counter", "thread_time"):
        now = iter(range(0, 10**6, 2))
        monkeypatch.setattr(waiting.time, name, lambda now=now: float(next(now)))


@pytest.mark.parametrize(
    "given, words",
    [
        (slow, 1),
        (functools.partial(slow, 1), 1),
        (linad.jit(slow), 0),
        pytest.param(linad.kernel(slow), 0, id="kernel"),
        (linad.grad, 0),
    ],
)
def test_what_is_said(given, words, clock, capsys):
    with linad.config(progress=True):
        run = Waiting("newton", "slow", given, lambda x: x + 1)
        assert [run(k) for k in range(9)] == list(range(1, 10))
        with run, pytest.raises(KeyError), run:
            raise KeyError
        # The first run does not count, and a block within another not twice.
        assert run.seconds == 18.0
    said = capsys.readouterr().err
    assert said.count("newton: slow has run for 2 s in Python; newton(linad.jit(slow)") == words


def test_time_in_which_it_waits_does_not_count():
    run = Waiting("newton", "slow", slow, time.sleep)
    run(0.2)
    assert run.seconds < 0.1


def test_what_is_done_for_the_first_time_does_not_count(clock):
    run = Waiting("newton", "slow", slow, np.sin)
    for _ in range(2):
        run(0.0)
    assert run.seconds == 2.0
    with run:  # linearize
        pass
    run.saw(SimpleNamespace(steps=[None] * 8, shape=(1, 2)))
    assert run.seconds == 0.0
    run(0.0)
    assert run.seconds == 2.0


def test_nothing_is_advised_where_runs_without_a_derivative_are_fast(clock, capsys):
    with linad.config(progress=True):
        run = Waiting("newton", "slow", slow, np.sin)
        run.saw(SimpleNamespace(steps=[None] * 8, shape=(1, 2)))
        run.runs = int(9 / waiting.WORTH)
        for _ in range(3):
            run(0.0)
    assert capsys.readouterr().err == ""
    assert not run.pays_compiled


def test_nothing_is_said(clock, capsys):
    with linad.config(progress=False):
        run = Waiting("newton", "slow", slow, np.sin)
        for _ in range(9):
            run(0.0)
    assert capsys.readouterr().err == ""


def test_it_is_said_again_but_seldom(clock, capsys):
    with linad.config(progress=True):
        run = Waiting("newton", "slow", slow, np.sin)
        for _ in range(120):  # two seconds each
            run(0.0)
    told = [
        int(line.split("run for ")[1].split()[0]) for line in capsys.readouterr().err.splitlines()
    ]
    assert told == [2, 20, 200]


@pytest.mark.parametrize(
    "lengths, words",
    [
        (range(200, 231, 3), "200 operations at one point and 230 at another, ever another number"),
        ((200, 230) * 6, "(linad.jit(slow), ...) compiles it, in seconds that count"),  # an `if`
        ((12_000, 12_000), "it is 12000 operations: newton(linad.jit(slow), ...) compiles a loop"),
        ((12_000, 12_000), "and any other one by one, which takes longer; linad.kernel"),
        ((200, 200), "(linad.jit(slow), ...) compiles it, in seconds that count if it runs once"),
        ((0, 0), "(linad.jit(slow), ...) compiles it, in seconds that count if it runs once"),
        ((3, 5), "(linad.jit(slow), ...) makes one program of its 5 operations"),
    ],
)
def test_what_is_advised(lengths, words, clock, capsys):
    with linad.config(progress=True):
        run = Waiting("newton", "slow", slow, np.sin)
        for length in (*lengths, lengths[-1]):  # a line comes as a run begins
            run.saw(SimpleNamespace(steps=[None] * length, shape=(1, 2)))
            run(0.0)
    assert words in capsys.readouterr().err
    assert run.pays_compiled == ("ever another" not in words)


def nested(x):
    total = 0.0
    for i in range(9):
        for j in range(i):
            total = total + x[i] * x[j]
    return total


def in_turn(x):
    total = 0.0
    for i in range(9):
        total = total + x[i]
    for j in range(9):
        total = total * x[j]
    return total


def test_a_loop_within_a_loop_is_for_a_kernel(clock, capsys):
    for f, said in ((nested, True), (in_turn, False)):
        with linad.config(progress=True):
            run = Waiting("newton", "slow", f, np.sin)
            for _ in range(4):
                run.saw(SimpleNamespace(steps=[None] * 200, shape=(1, 9)))
                run(0.0)
        assert ("newton(linad.kernel(slow), ...) compiles" in capsys.readouterr().err) == said


def test_what_holds_an_unknown_is_no_loop_that_varies(clock, capsys):
    with linad.config(progress=True):
        run = Waiting("newton", "slow", slow, np.sin)
        for length, unknowns in ((135, 4), (139, 3), (135, 4)):
            run.saw(SimpleNamespace(steps=[None] * length, shape=(1, unknowns)))
            run(0.0)
    assert run.pays_compiled
    assert "(linad.jit(slow), ...) compiles it" in capsys.readouterr().err


@pytest.mark.parametrize("compiled", [linad.jit, linad.kernel])
@pytest.mark.parametrize("operations", [3, 200])  # so many of its own are worth it
def test_what_hands_on_to_a_compiled_function_need_not_be_compiled(
    compiled, operations, clock, capsys
):
    fast = compiled(slow)
    with linad.config(progress=True):
        run = Waiting("newton", "handed on", lambda x: -fast(x), np.sin)
        for _ in range(3):
            run.saw(SimpleNamespace(steps=[None] * operations, shape=(1, 2)))
            run(0.0)
    assert run.pays_compiled == (operations == 200)
    assert ("linad.jit(" in capsys.readouterr().err) == (operations == 200)


@pytest.mark.parametrize("operations", [0, 8, 200])
def test_nothing_is_advised_for_what_is_fast_and_runs_often(operations, clock, capsys):
    with linad.config(progress=True):
        run = Waiting("newton", "slow", slow, np.sin)
        for _ in range(9):
            for _ in range(int(2 / waiting.WORTH) + 1):
                run.saw(SimpleNamespace(steps=[None] * operations, shape=(1, 2)))
            run(0.0)
    assert capsys.readouterr().err == ""
    assert not run.pays_compiled


P = np.array([0.5, 2.0])
T = np.linspace(0.0, 1.0, 9)


@pytest.mark.parametrize(
    "solve",
    [
        lambda f: maximum_likelihood(lambda p: -f(p), P),
        lambda f: maximum_likelihood(lambda p: -f(p), P, bounds=(0, 3)),
        lambda f: trust_region(f, P),
        lambda f: lbfgs(f, P),
        lambda f: curve_fit(lambda t, a, b: a * np.exp(-b * t), T, np.exp(-T**2)),
    ],
    ids=["likelihood", "bounded", "trust_region", "lbfgs", "curve_fit"],
)
def test_all_solvers_count_derivatives(solve, clock, capsys, monkeypatch):
    """A line is not printed where each is quick, and is where each takes its time."""
    for worth, said in ((1e4, False), (1e-4, True)):
        monkeypatch.setattr(waiting, "WORTH", worth)
        with linad.config(progress=True):
            solve(lambda p: np.sum((p - 1.0) ** 4 + (p - 1.0) ** 2))
        assert ("in Python" in capsys.readouterr().err) == said


def test_solvers_tell_how_many_operations_there_were():
    def f(x):
        for _ in range(100 + int(linad.stop_gradient(x[0]))):
            x = 0.999 * x
        return x - 1.0

    problem = Residual(f, np.array([3.0]), (), "newton")
    for x in range(3, 12):
        assert not problem.waiting.varies
        problem.linearize(np.array([1.0 * x]))
    assert problem.waiting.varies


def test_integrations_are_loops_of_a_program():
    def f(x):
        solution = solve_ivp(lambda t, y: -x[0] * y, (0.0, 9.0), [1.0], rtol=1e-8)
        return solution.y[0, -1:] - 0.5

    problem = Residual(f, np.array([1.0]), (), "newton")
    for x in (1.0, 9.0):
        problem.linearize(np.array([x]))
    assert not problem.waiting.varies
    assert problem.waiting.pays_compiled


def test_what_numba_compiles_is_not_the_functions_time():
    import numba

    def compiled(x):
        return numba.njit(lambda y: y + 1.0)(x)

    run = Waiting("newton", "compiled", compiled, compiled)
    run(1.0)  # the first one does not count at all
    began = time.perf_counter()
    before = compiled_seconds()
    run(1.0)
    passed = time.perf_counter() - began
    assert 0.0 < run.seconds < passed - 0.9 * (compiled_seconds() - before)


@pytest.mark.parametrize("ends", [False, True])
def test_no_compiler_is_advised_for_an_integration_with_events(ends, clock, capsys):
    """It is a program of its own for each set of steps."""

    def fallen(p):
        def hit(t, y):
            return y[0]

        hit.terminal = True
        def rhs(t, y):
            return [y[1], -p[0]]

        events = hit if ends else None
        return solve_ivp(rhs, (0, 1), [9.0, p[1]], t_eval=[0.5], events=events).y[:, -1]

    with linad.config(progress=True):
        problem = Residual(fallen, np.array([9.0, 1.0]), (), "newton")
        for _ in range(3):
            problem.linearize(np.array([9.0, 1.0]))
    assert problem.waiting.pays_compiled == (not ends)
    assert ("linad.jit(fallen)" in capsys.readouterr().err) == (not ends)
