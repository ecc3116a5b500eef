"""The programs of a derivative, as they are recorded: what is kept, and what is not."""

import numpy as np

import linad
from linad.sweeps.compiled import Compiled
from linad.sweeps.derived_programs import Derived
from linad.sweeps.numpy_target import NUMPY

X, W = np.array([0.5, 1.0, -2.0]), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def derived(f, *args, active=(0,), mode=None, seeds=()):
    return Derived(Compiled(linad.trace(f, *args)[1], list(args), NUMPY), active, mode, seeds)


def names(compiled):
    return [e.primitive.name for e in compiled.tape.equations]


def test_results_and_residuals():
    found = derived(lambda x: np.exp(x), X)
    assert found.results == 1
    (y,), residuals = found.run([X])
    np.testing.assert_array_equal(y, np.exp(X))
    np.testing.assert_array_equal(residuals, [np.exp(X)])  # the slope of exp is its result
    assert set(found.sweeps) == {"push", "pull"}
    (pulled,) = found.sweeps["pull"]._run(*residuals, np.ones(3))
    np.testing.assert_array_equal(pulled, np.exp(X))


def test_an_argument_is_kept_as_it_is():
    found = derived(lambda x, w: w @ x, X, W)
    assert found.arguments == [1]
    assert found.run([X, W])[1][0] is W


def test_views_of_arguments_are_taken_again():
    found = derived(lambda x, w: w.T[::2].T @ x[::2], X, W, mode="pull")
    assert found.run([X, W])[1][0] is W
    assert "transpose" in names(found.sweeps["pull"])


def test_one_mode_records_one_sweep_and_no_results():
    found = derived(np.sin, X, mode="push", seeds=(4,))
    assert (found.results, set(found.sweeps)) == (0, {"push"})
    residuals = found.run([X])[1]
    (pushed,) = found.sweeps["push"]._run(*residuals, np.ones((4, 3)))
    np.testing.assert_allclose(pushed, np.cos(X) * np.ones((4, 1)))


def test_what_a_linear_function_keeps():
    found = derived(lambda x: 3 * x, X)
    assert found.arguments == []
    assert names(found.forward) == ["multiply"]


def test_what_the_function_silences_is_silent_in_the_programs_of_its_derivative():
    """Warnings are errors here: none is given, as by the function itself."""

    def f(x):
        with np.errstate(divide="ignore"):
            return np.exp(np.log(x))

    x = np.array([0.0, 1.0])
    g = linad.jit(f)
    for _ in range(3):
        y, _ = linad.linearize(g, x)
        np.testing.assert_array_equal(y, x)
