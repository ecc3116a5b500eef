"""Tapes: what is recorded, how it prints, that it runs and differentiates."""

import numpy as np
import pytest

import linad
from linad.core.tape import Equation, Source, Tape, Var
from linad.errors import GuardError, LinadError, ShapeError
from linad.testing.derivative_checks import check_derivatives
from linad.transforms.programs import trace_vjp

X = np.array([0.1, 0.2, 0.3])


def model(x, a):
    y = np.sin(x) * a
    if np.sum(y) > 0:
        y = y + 1.0
    return {"loss": np.sum(y * y), "y": y}


def test_a_tape_runs_again_and_differentiates():
    y, tape = linad.trace(model, X, 2.0)
    tape.check()
    np.testing.assert_array_equal(y["y"], model(X, 2.0)["y"])
    again = tape(X + 1, 3.0)
    np.testing.assert_array_equal(again["loss"], model(X + 1, 3.0)["loss"])
    f, g = (lambda x, h=h: h(x, 2.0)["loss"] for h in (model, tape))
    np.testing.assert_array_equal(linad.grad(f)(X), linad.grad(g)(X))
    np.testing.assert_array_equal(linad.hessian(f)(X), linad.hessian(g)(X))


def test_it_prints_as_a_program():
    tape = linad.trace(lambda x: np.sin(x) * 2.0, X)[1]
    first, second, last = str(tape).splitlines()[1:]
    assert first.strip().startswith("%1: float64[3] = sin(%0)")
    assert "test_tape.py" in first
    assert "np.sin(x) * 2.0" in first
    assert second.strip().startswith("%2: float64[3] = multiply(%1, 2)")
    assert last.strip() == "return %2"
    assert repr(tape) == "<tape <lambda>: 1 inputs, 2 equations, 1 outputs>"
    assert repr(tape.equations[0]) == "<equation %1: float64[3] = sin(%0)>"


def test_decisions_are_guarded():
    tape = linad.trace(model, X, 2.0)[1]
    with pytest.raises(GuardError, match="another path"):
        tape(-X, 2.0)
    with pytest.raises(ShapeError, match=r"recorded with shape \(3,\), got \(2,\)"):
        tape(X[:2], 2.0)
    masked = linad.trace(lambda x: np.sum(x[x > 0.15]), X)[1]
    assert masked(X * 1.1) == np.sum((X * 1.1)[1:])
    with pytest.raises(GuardError):
        masked(X * 10)


def test_unused_equations_are_dropped():
    tape = linad.trace(lambda x: (np.exp(x), x * 2)[1], X)[1]
    assert [eqn.primitive.name for eqn in tape.equations] == ["multiply"]


def test_writes_are_pure_on_a_tape():
    def f(x):
        y = np.zeros_like(x)
        y[0] = x[1] * x[2]
        x[1:] *= y[0]
        return x + y

    y, tape = linad.trace(f, X)
    tape.check()
    np.testing.assert_array_equal(tape(X), y)
    np.testing.assert_array_equal(tape(X), y)
    np.testing.assert_allclose(linad.jacobian(tape)(X), linad.jacobian(f)(X))
    check_derivatives(tape, X)


def test_equations_are_immutable():
    eqn = linad.trace(np.sin, X)[1].equations[0]
    with pytest.raises(AttributeError, match="immutable"):
        eqn.params = {}


def test_the_checker():
    a, b = Var(0, (), float), Var(1, (), float)
    eqn = linad.trace(np.sin, 1.0)[1].equations[0]
    sin = Equation(eqn.primitive, (b,), {}, (a,))
    tree = linad.core.tree.LEAF
    with pytest.raises(LinadError, match="equation 0: %1 is used before it is defined"):
        Tape("f", [], [sin], [a], tree, tree).check()
    with pytest.raises(LinadError, match="defined twice"):
        Tape("f", [a, b], [sin], [a], tree, tree).check()
    with pytest.raises(LinadError, match="output %1 is never defined"):
        Tape("f", [a], [], [b], tree, tree).check()


def test_forward_and_reverse_programs():
    forward, reverse = trace_vjp(model, X, 2.0)
    forward.check()
    reverse.check()
    y, residuals = forward(X, 2.0)
    np.testing.assert_array_equal(y["loss"], model(X, 2.0)["loss"])
    seed = {"loss": 1.0, "y": np.zeros(3)}
    expected = linad.vjp(model, X, 2.0)[1](seed)
    for found, wanted in zip(reverse(residuals, seed), expected, strict=True):
        np.testing.assert_allclose(found, wanted)
    # The matrix product reads as the two products of its rule.
    _, reverse = trace_vjp(lambda A, B: A @ B, np.ones((2, 3)), np.ones((3, 4)))
    names = [eqn.primitive.name for eqn in reverse.equations]
    assert names.count("matmul") == 2
    assert set(names) <= {"matmul", "transpose"}


def test_the_reverse_program_names_the_lines_it_comes_from():
    def f(x):
        y = np.sin(x)
        x[0] = y[1]
        return y * x

    _, reverse = trace_vjp(f, X)
    lines = {str(eqn.source).split(": ", 1)[1] for eqn in reverse.equations if eqn.source}
    assert lines == {"y = np.sin(x)", "x[0] = y[1]", "return y * x"}


@pytest.mark.parametrize(
    "file, shown",
    [
        ("/tmp/ipykernel_4123/3840853109.py", "cell:6"),
        (r"C:\Users\me\AppData\Local\Temp\ipykernel_4123\3840853109.py", "cell:6"),
        ("<ipython-input-3-5d2f0c1e8a77>", "cell:6"),
        ("/home/me/ipykernel_work/model.py", "model.py:6"),
        ("/home/me/2024.py", "2024.py:6"),
    ],
)
def test_a_line_of_a_notebook_is_named_as_that_of_a_cell(file, shown):
    assert str(Source(file, 6)) == shown


def test_errors_name_the_line_of_a_notebooks_cell():
    space = {"linad": linad, "np": np, "X": X}
    code = "def f(x):\n    return np.sum(x.tobytes())\n"
    exec(compile(code, "/tmp/ipykernel_4123/3840853109.py", "exec"), space)
    with pytest.raises(LinadError) as caught:
        linad.grad(space["f"])(X)
    assert "3840853109" not in str(caught.value)
    assert "cell:2" in str(caught.value)


def test_a_derivative_is_recorded_as_primitives():
    y, tape = linad.trace(linad.grad(lambda x: np.sum(np.tanh(x) ** 2)), X)
    tape.check()
    np.testing.assert_allclose(
        tape(X + 0.5), linad.grad(lambda x: np.sum(np.tanh(x) ** 2))(X + 0.5)
    )
    assert not any("function" in str(eqn) for eqn in tape.equations)
