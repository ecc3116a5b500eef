"""All nonlinear regressions of NIST's Statistical Reference Datasets, with defaults alone.

From both starts, six digits of every parameter and of every standard deviation. Lanczos1 is data
of a sum of exponentials to 14 digits: its residuals, 1e-13 of numbers near 1, are as large as the
rounding of a double, and so are its standard deviations. There the sum of squares is held to that.
"""

import numpy as np
import pytest
from solve.nist_runs import MODELS, Regression, digits

import linad

RUNS = [(name, start) for name in MODELS for start in (0, 1)]


@pytest.mark.parametrize("name", list(MODELS))
def test_certificates(name):
    """The data are NIST's: the certified parameters have the certified sum of squares."""
    run = Regression(name)
    squares = np.sum(run.residual(run.certified) ** 2)
    assert squares == pytest.approx(run.squares, rel=1e-8, abs=1e-20)


@pytest.mark.sweep(part=0.5)
@pytest.mark.parametrize("name, start", RUNS)
def test_six_digits(name, start):
    run = Regression(name)
    found = linad.solve.curve_fit(run.model, run.x, run.y, run.starts[start])
    assert found.success, found.message
    assert digits(found.x, run.certified) >= 6
    if name != "Lanczos1":
        assert digits(found.errors, run.deviations) >= 6
        assert found.chi_square == pytest.approx(run.squares, rel=1e-9)


@pytest.mark.parametrize("start", [0, 1])
def test_lanczos1_to_what_doubles_allow(start):
    """Each y is rounded by up to 1e-16 y, and each step of the model rounds again.

    examples/gallery/fits/last_digits.py shows that exact arithmetic on the doubles has 3.4 digits.
    """
    run = Regression("Lanczos1")
    found = linad.solve.curve_fit(run.model, run.x, run.y, run.starts[start])
    rounding = np.linalg.norm(np.finfo(float).eps * run.y)
    distance = abs(np.sqrt(found.chi_square) - np.sqrt(run.squares))
    assert distance < rounding
    # A standard deviation is proportional to |r|, so it is known as well as that.
    known = rounding / np.sqrt(run.squares)
    np.testing.assert_allclose(found.errors, run.deviations, rtol=known)
    # The other factor, of the Jacobian, is not: with NIST's |r| it gives NIST's numbers.
    assert digits(found.errors * np.sqrt(run.squares / found.chi_square), run.deviations) >= 9


@pytest.mark.parametrize("name, start", [("MGH09", 0), ("BoxBOD", 0), ("Bennett5", 1)])
def test_the_solver_alone(name, start):
    run = Regression(name)
    found = linad.solve.levenberg_marquardt(run.residual, run.starts[start])
    assert found.success, found.message
    assert digits(found.x, run.certified) >= 6
