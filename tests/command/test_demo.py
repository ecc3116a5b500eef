"""The demonstration: the numbers it finds, what it prints, the image it writes."""

import functools
import inspect
import re
import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import linad
from linad import demo
from linad.command import bratu, cli
from linad.command.terminal import Terminal
from linad.testing.derivative_checks import check_derivatives


@pytest.fixture(scope="module")
def fits():
    return demo.all_fits()


@pytest.fixture(scope="module")
def equation():
    return bratu.solved()


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
    compiled, matrix, two_point, three_point = (
        np.abs(fit.jacobian - demo.exact_jacobian(fit.theta)).max() for fit in fits
    )
    assert max(compiled, matrix) < 1e-12
    assert two_point > three_point > 10 * compiled


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
    z = np.stack(demo.states(theta), axis=1)
    u, v = np.exp(z)
    invariant = delta * u - gamma * z[0] + beta * v - alpha * z[1]
    np.testing.assert_allclose(invariant, invariant[0], rtol=1e-5)


def test_derivatives_of_a_short_run():
    def end(theta):
        return demo.states(theta, steps=2, years=1)[-1]

    check_derivatives(end, demo.START)


def test_the_equation_is_solved_in_both_ways(equation):
    assert np.abs(bratu.bratu(equation.u)).max() < 1e-9
    assert equation.apart < 1e-8
    n = bratu.SIDE
    assert equation.entries == 5 * n * n - 4 * n


@pytest.mark.parametrize("terminal", [Terminal(80, True), Terminal(80), Terminal(40, True)])
def test_report(fits, terminal):
    text = demo.report(fits, terminal)
    for name in demo.NAMES:
        assert re.search(rf"^  {re.escape(name)} +\d+\.\d+", text, re.MULTILINE)
    assert re.search(r"alpha +0\.54\d +0\.0\d\d +0\.55\n", text)
    assert "linad.jit" in text
    assert "differences, 2-point" in text
    assert "●" in text or text.isascii()
    if terminal.width == 80:
        assert max(map(len, text.splitlines())) <= 80


def test_the_equation_is_reported(equation):
    slow = replace(equation, seconds=0.1, seconds_by_differences=0.35)
    text = demo.report_of_equation(slow, Terminal(80))
    assert "100 ms" in text
    assert "350 ms, with differences: 3.5 times as long" in text
    source = inspect.getsource(bratu.bratu).splitlines()[2:]
    assert [line for line in source if line not in text] == []  # what is shown is what was run
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_told_to_type_next_runs(tmp_path, monkeypatch, capsys):
    """The commands as printed; the names of the Python lines exist."""
    (tmp_path / "model.py").write_text("import numpy as np\ndef loss(x): return np.sum(x**2)\n")
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^  linad (\w.*?)(?:   .*)?$", demo.NEXT, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert cli.main(shlex.split(command)) == 0
    for name in re.findall(r"linad\.([\w.]+)\(", demo.NEXT):
        assert functools.reduce(getattr, name.split("."), linad) is not None


def test_plot_writes_an_image(fits, tmp_path):
    demo.save_plot(fits[0].theta, tmp_path / "fit.png")
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")


class TestCommand:
    @pytest.fixture(autouse=True)
    def quick(self, fits, equation, monkeypatch):
        monkeypatch.setattr(demo, "all_fits", lambda: fits)
        monkeypatch.setattr(demo, "solved", lambda: equation)

    def test_demo(self, capsys):
        assert cli.main(["demo"]) == 0
        assert "alpha" in capsys.readouterr().out

    @pytest.mark.full
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


@pytest.mark.rest
def test_matplotlib_is_imported_only_to_plot():
    script = (
        "import sys, linad.command.cli, linad.demo;"
        "assert not {'matplotlib', 'scipy.optimize', 'numba'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
