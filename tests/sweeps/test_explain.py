"""linad.explain and linad.log_compiles."""

import logging

import numpy as np
import pytest

import linad
from linad.errors import TracerError


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def with_roots(a, b):
    if b[0] > 0:
        a = 2 * a
    return np.tanh(a @ b) + np.sum(np.abs(np.roots(b)))


def test_a_report_has_the_numbers_of_the_program():
    f = linad.jit(linad.grad(rosenbrock))
    x = np.linspace(-1.0, 1.0, 50)
    report = linad.explain(f)(x)
    assert report.inputs == report.outputs == ["float64[50]"]
    assert report.fallbacks == report.guards == []
    assert 1 <= report.kernels <= len(report.steps) <= 5
    assert report.moved_bytes >= 2 * x.nbytes
    assert report.seconds > 0
    # What the report describes is what a call runs.
    [[variant]] = f.variants.values()
    assert len(variant.compiled.program.lowering.instructions) == len(report.steps)
    np.testing.assert_allclose(f(x), linad.grad(rosenbrock)(x), rtol=1e-12)


def test_a_report_names_what_runs_in_numpy_and_what_is_checked():
    report = linad.explain(with_roots)(np.ones((3, 3)), np.array([1.0, 2.0, 0.5]))
    assert "roots" in [s.name for s in report.fallbacks]
    assert all(s.in_numpy for s in report.fallbacks)
    assert "test_explain.py" in str(report.fallbacks[0].source)
    assert len(report.guards) == 1
    text = str(report)
    assert "if b[0] > 0" in text
    assert "NumPy: roots" in text
    assert repr(report) == text


def test_the_arguments_are_not_written_into():
    def f(x):
        x *= 2
        return np.sum(x)

    x = np.ones(3)
    linad.explain(f)(x)
    assert x.tolist() == [1, 1, 1]


def test_another_path_is_another_report():
    f = linad.jit(lambda x: np.sum(x) if x[0] > 0 else np.prod(x * x))
    names = [
        [name for step in linad.explain(f)(s * np.ones(3)).steps for name in step.primitives]
        for s in (1.0, -1.0, 1.0)
    ]
    assert names[0] == names[2] != names[1]
    assert len(f.variants[next(iter(f.variants))]) == 2


def test_a_long_program_is_cut_short():
    def f(x):
        for k in range(1, 101):  # no two steps are of one size, so no loop is rolled
            x = np.sin(np.ones((k + 1, k)) @ x)
        return x

    report = linad.explain(f)(np.ones((1, 3)))
    assert len(report.steps) > 100
    assert "more steps" in str(report)
    assert len(str(report).splitlines()) < 60


def test_decisions_are_checked_in_the_program():
    f = linad.jit(lambda x: x * 2 if np.all(x > 0) else -x)
    report = linad.explain(f)(np.ones(3))
    [decision] = [step for step in report.steps if "guard" in step.primitives]
    assert not decision.in_numpy
    assert not report.fallbacks


def test_programs_of_derivatives_are_listed():
    f = linad.jit(rosenbrock)
    linad.grad(f)(np.ones(5))
    report = linad.explain(f)(np.ones(5))
    assert len(report.derivatives) == 2
    assert "differentiated by" in str(report)


def test_inside_a_derivative_there_is_nothing_to_explain():
    with pytest.raises(TracerError, match="plain arrays"):
        linad.grad(lambda x: linad.explain(np.sin)(x) and np.sum(x))(np.ones(2))


def test_compiles_are_logged_inside_the_block_only(capsys):
    f = linad.jit(lambda x: np.cos(x) * 3)
    with linad.log_compiles():
        f(np.ones(3))
        f(np.ones(3))
        f(np.ones(3))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines] == ["traced", "compiled"]
    f(np.ones(4))
    f(np.ones(4))
    assert capsys.readouterr().err == ""
    assert not logging.getLogger("linad").handlers


def test_the_level_comes_back_after_an_exception():
    logger = logging.getLogger("linad")
    level = logger.level
    with pytest.raises(ZeroDivisionError), linad.log_compiles():
        raise ZeroDivisionError
    assert logger.level == level
