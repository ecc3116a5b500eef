"""The demonstration: the numbers it finds, what it prints, the image it writes."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from linad import demo
from linad.command import cli
from linad.command.terminal import Terminal
from linad.testing.derivative_checks import check_derivatives


@pytest.fixture(scope="module")
def fits():
    return demo.all_fits()


def test_estimates_are_the_published_ones(fits):
    found = dict(zip(demo.NAMES, fits[0].estimates, strict=True))
    for name, allowed in {"alpha": 0.03, "beta": 0.003, "gamma": 0.03, "delta": 0.002}.items():
        assert found[name] == pytest.approx(demo.PUBLISHED[name], abs=allowed)
    # Published: posterior standard deviations 0.065, 0.004, 0.09, 0.004, with wider priors.
    errors = fits[0].standard_errors
    np.testing.assert_allclose(errors[:4], [0.059, 0.0038, 0.084, 0.0033], rtol=0.02)


def test_every_jacobian_leads_to_the_same_estimates(fits):
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.estimates, fits[0].estimates, rtol=1e-4)
        np.testing.assert_allclose(fit.standard_errors, fits[0].standard_errors, rtol=1e-3)


def test_the_jacobian_is_exact_to_rounding(fits):
    operator, matrix, two_point, three_point = (
        np.abs(fit.jacobian - demo.exact_jacobian(fit.theta)).max() for fit in fits
    )
    assert max(operator, matrix) < 1e-12
    assert two_point > three_point > 10 * operator


def test_the_gradient_vanishes(fits):
    gradient = fits[0].jacobian.T @ demo.residual(fits[0].theta)
    assert np.abs(gradient).max() < 1e-3


def test_the_integrator_is_of_order_four():
    theta = np.log([0.55, 0.028, 0.80, 0.024, 33.0, 6.0])
    exact = demo.states(theta, steps=160, years=3)[-1]
    errors = [np.abs(demo.states(theta, steps, years=3)[-1] - exact).max() for steps in (5, 10, 20)]
    assert np.log2(errors[0] / errors[2]) / 2 == pytest.approx(4, abs=0.2)
    assert errors[1] < 1e-5


def test_the_orbit_keeps_its_invariant():
    theta = np.log([0.55, 0.028, 0.80, 0.024, 33.0, 6.0])
    alpha, beta, gamma, delta = np.exp(theta[:4])
    z = np.concatenate(demo.states(theta), axis=1)
    u, v = np.exp(z)
    invariant = delta * u - gamma * z[0] + beta * v - alpha * z[1]
    np.testing.assert_allclose(invariant, invariant[0], rtol=1e-5)


def test_derivatives_of_a_short_run():
    def end(theta):
        return demo.states(theta, steps=2, years=1)[-1]

    check_derivatives(end, demo.START)


def test_work_is_counted(fits):
    count = {what: int(n) for n, what in re.findall(r"(\d+) (\w+)", fits[0].work)}
    assert count["linearizations"] >= 5
    assert count["JVPs"] > count["linearizations"]
    assert count["VJPs"] > count["linearizations"]


@pytest.mark.parametrize("terminal", [Terminal(80, True), Terminal(80), Terminal(40, True)])
def test_report(fits, terminal):
    text = demo.report(fits, terminal)
    for name in demo.NAMES:
        assert re.search(rf"^  {re.escape(name)} +\d+\.\d+", text, re.MULTILINE)
    assert re.search(r"alpha +0\.54\d +0\.0\d\d +0\.55\n", text)
    assert "linad, operator" in text
    assert "differences, 2-point" in text
    assert "●" in text or text.isascii()
    if terminal.width == 80:
        assert max(map(len, text.splitlines())) <= 80


def test_times_are_told_as_they_are(fits):
    slow, fast = (replace(fits[0], seconds=seconds) for seconds in (3.0, 1.5))
    told = " ".join(demo._verdict([slow, fast, replace(slow, seconds=2.0), slow]).split())
    assert "The operator took 1.5 times as long as 2-point differences, the matrix 0.8" in told


def test_plot_writes_an_image(fits, tmp_path):
    demo.save_plot(fits[0].theta, tmp_path / "fit.png")
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")


class TestCommand:
    @pytest.fixture(autouse=True)
    def quick(self, fits, monkeypatch):
        monkeypatch.setattr(demo, "all_fits", lambda: fits)

    def test_demo(self, capsys):
        assert cli.main(["demo"]) == 0
        assert "alpha" in capsys.readouterr().out

    def test_plot(self, tmp_path, capsys):
        path = tmp_path / "fit.svg"
        assert cli.main(["demo", "--plot", str(path)]) == 0
        assert "<svg" in path.read_text(encoding="utf-8")
        assert f"wrote {path}" in capsys.readouterr().out

    @pytest.mark.parametrize("name", ["gone/fit.png", "fit.nonsense"])
    def test_plot_that_cannot_be_written(self, tmp_path, capsys, name):
        assert cli.main(["demo", "--plot", str(tmp_path / name)]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""  # told before the work, not after it
        assert "cannot be written" in printed.err

    def test_without_matplotlib(self, monkeypatch, capsys):
        monkeypatch.setattr(demo, "find_spec", lambda name: None)
        assert cli.main(["demo", "--plot", "fit.png"]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "pip install 'linad[plot]'" in printed.err


def test_matplotlib_is_imported_only_to_plot():
    script = (
        "import sys, linad.command.cli, linad.demo;"
        "assert not {'matplotlib', 'scipy.optimize', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
