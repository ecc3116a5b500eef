"""The gallery: each script of examples/gallery/ runs as it is, and what it finds is compared with
closed forms, with SciPy, or with another way to compute the same.

The programs of tests/programs/ are shown there to the letter.
"""

import inspect
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose
from programs import bundle, heat, hidden_markov, kalman, lstm, mixture, nbody, springs, tridiagonal

import linad

GALLERY = Path(__file__).resolve().parents[1] / "examples" / "gallery"
SCRIPTS = {path.stem: path for path in sorted(GALLERY.rglob("*.py"))}
QUICK = ("truss",)
"""Scripts that the default run starts; one takes less than a second."""

SHOWN = {
    "kalman_filter": [kalman.log_likelihood],
    "hidden_markov": [hidden_markov.log_likelihood],
    "gaussian_mixture": [mixture.log_likelihood],
    "lstm": [lstm.run, lstm.loss],
    "bundle_adjustment": [bundle.rotate, bundle.project, bundle.residual],
    "tridiagonal": [tridiagonal.solve],
    "three_bodies": [nbody.potential, nbody.accelerations, nbody.simulate],
    "springs": [springs.energy],
    "heat_backwards": [heat.diffuse, heat.diffuse_plate],
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_gallery_shows_what_is_tested(name):
    for program in SHOWN[name]:
        assert inspect.getsource(program) in SCRIPTS[name].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_page_has_what_sphinx_gallery_asks_for(name):
    """A title, an introduction, a picture that a script shows as well, and a way on."""
    text = SCRIPTS[name].read_text(encoding="utf-8")
    title, underline, blank, introduction = text.removeprefix('"""\n').splitlines()[:4]
    assert set(underline) == {"="}
    assert len(underline) == len(title)
    assert not blank
    assert introduction
    assert "plt.show()\n\n# %%\n# **Try next.** " in text
    assert (SCRIPTS[name].parent / "GALLERY_HEADER.rst").exists()


def slope(f, x, d, h=1e-5):
    """The derivative of f at x in the direction d, by central differences."""
    return (f(x + h * d) - f(x - h * d)) / (2 * h)


def direction(shape):
    return np.random.default_rng(5).standard_normal(shape)


def check_kalman_filter(s):
    other = scipy.optimize.minimize(s["misfit"], [0.0, 0.0], method="Nelder-Mead", tol=1e-9)
    assert_allclose(s["fit"].x, other.x, atol=1e-4)


def check_hidden_markov(s):
    assert_allclose(s["counts"]["transition"].sum(), 9)
    alpha, beta = [], [np.ones(2)]
    model = {name: np.exp(log) for name, log in s["by_time"].items()}
    before = model["start"]
    for column in model["emission"].T:
        alpha.append(before * column / np.sum(before * column))
        before = alpha[-1] @ model["transition"]
    for column in model["emission"].T[:0:-1]:
        back = model["transition"] @ (column * beta[-1])
        beta.append(back / back.sum())
    both = np.stack(alpha) * np.stack(beta[::-1])
    assert_allclose(s["posterior"].T, both / both.sum(axis=1, keepdims=True), rtol=1e-9)


def check_gaussian_mixture(s):
    assert np.abs(s["fit"].jac).max() < 1e-3
    d = direction(s["start"].shape)
    assert_allclose(linad.grad(s["misfit"])(s["start"]) @ d, slope(s["misfit"], s["start"], d))


def check_lstm(s):
    g = linad.grad(s["loss"], 1)(s["weights"], s["inputs"], s["targets"])
    d = direction(g.shape)
    expected = slope(lambda x: s["loss"](s["weights"], x, s["targets"]), s["inputs"], d)
    assert_allclose(np.sum(g * d), expected, rtol=1e-6)


def check_bundle_adjustment(s):
    assert np.std(s["r"]) < 0.5 < 1 < np.std(s["misfit"](s["start"]))
    d = direction(s["start"].shape)
    assert_allclose(s["J"] @ d, slope(s["misfit"], s["fit"].x, d), rtol=1e-5, atol=1e-5)


def check_heat_backwards(s):
    def away(u):
        return np.linalg.norm(u - s["before"])

    assert away(s["fit"].x) < 0.6 * away(s["now"])


def check_last_digits(s):
    """Decimals have NIST's digits, doubles lose all but three, and linad loses little more."""
    assert s["digits"](s["of_decimals"]) > 10
    assert 3 < s["digits"](s["of_doubles"]) < 4
    assert s["digits"](s["found"].errors) > 2.5
    assert s["digits"](s["of_exact_length"]) > 10


def check_spectrum(s):
    names = ("centres", "areas", "width", "height", "fall")

    def flat(p):
        return np.concatenate([np.ravel(p[name]) for name in names])

    def model(x, *p):
        p = np.array(p)
        return s["spectrum"](x, dict(zip(names, (p[:3], p[3:6], *p[6:]), strict=True)))

    sigma = np.sqrt(np.maximum(s["counts"], 1))
    x, covariance = scipy.optimize.curve_fit(
        model, s["x"], s["counts"], flat(s["found"].x), sigma, absolute_sigma=True
    )
    found, errors = flat(s["found"].x), flat(s["found"].errors)
    assert_allclose(found, x, rtol=1e-5)
    assert_allclose(errors, np.sqrt(np.diag(covariance)), rtol=1e-3)
    assert np.all(np.abs(found - flat(s["truth"])) < 3.5 * errors)


def check_epidemic(s):
    def ill(day, *p):
        found = scipy.integrate.solve_ivp(
            lambda t, y: s["rates"](y, *p),
            (0, 13),
            [760.0, 3.0],
            t_eval=day,
            rtol=1e-10,
            atol=1e-8,
        )
        return found.y[1]

    x, covariance = scipy.optimize.curve_fit(ill, s["day"], s["in_bed"], [1.0, 0.3])
    assert_allclose(list(s["found"].x.values()), x, rtol=1e-5)
    assert_allclose(list(s["found"].errors.values()), np.sqrt(np.diag(covariance)), rtol=1e-3)


def check_conductivity(s):
    x, d = s["truth"].ravel(), direction(s["fit"].x.shape)
    g = linad.grad(s["misfit"])(x)
    assert_allclose(g @ d, slope(s["misfit"], x, d), rtol=1e-5)
    assert s["likeness"] > 0.95


def check_tomography(s):
    plain, priced = (np.std(p - s["slice_"]) for p in s["pictures"].values())
    assert priced < 0.05 < plain


def check_uncertainty(s):
    x, d, t = s["elements"], direction(6), s["t"]
    expected = slope(lambda x: s["positions"](x, t), x, d).ravel()
    assert_allclose(s["J"] @ d, expected, rtol=1e-6, atol=1e-8)
    for k in range(13):
        sampled = np.cov(s["drawn"][:, k].T)
        assert_allclose(np.trace(sampled), np.trace(s["spread"][k, :, k]), rtol=0.15)


def check_gaussian_process(s):
    assert np.abs(linad.grad(s["misfit"])(s["fit"].x)).max() < 1e-3
    assert_allclose(np.exp(s["fit"].x[5]), 0.2, rtol=0.2)
    d = direction(6)
    expected = slope(s["misfit"], s["start"], d)
    assert_allclose(linad.grad(s["misfit"])(s["start"]) @ d, expected, rtol=1e-6)


def check_hamiltonian_monte_carlo(s):
    """Means and variances are those of a sum over a grid of all four parameters."""
    z = np.linspace(-5, 5, 17)
    grid = np.stack(np.meshgrid(z, z, z, z, indexing="ij"), axis=-1).reshape(-1, 4)
    p = s["top"] + grid @ s["scales"].T
    intercept, slope, log_scale, log_freedom = p.T[:, :, np.newaxis]
    log_weights = scipy.stats.t.logpdf(
        s["y"], np.exp(log_freedom), intercept + slope * s["x"], np.exp(log_scale)
    ).sum(axis=1)
    log_weights -= (0.5 * (log_freedom - 1) ** 2 + 0.5 * (log_scale + 1) ** 2)[:, 0]
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    mean = weights @ p
    spread = np.sqrt(weights @ (p - mean) ** 2)
    assert s["accepted"] > 0.8
    assert_allclose((s["chain"].mean(axis=0) - mean) / spread, 0, atol=0.15)
    assert_allclose(s["chain"].std(axis=0), spread, rtol=0.15)


def check_tridiagonal(s):
    assert_allclose(s["J"].todense(), np.linalg.inv(s["A"]), atol=1e-12)


def check_three_bodies(s):
    """The energy at the end is that at the start."""
    masses = s["masses"]

    def energy(positions, velocities):
        return s["potential"](positions, masses) + 0.5 * masses @ np.sum(velocities**2, axis=1)

    assert_allclose(energy(*s["state"]), energy(s["positions"], s["velocities"]), rtol=0.05)
    assert s["growth"][-1] > 100 * s["growth"][0]


def check_springs(s):
    """At rest no mass feels a force: springs against gravity, by hand."""
    shape = np.concatenate([s["hooks"][:1], s["fit"].x.reshape(-1, 2), s["hooks"][1:]])
    links = np.diff(shape, axis=0)
    lengths = np.linalg.norm(links, axis=1, keepdims=True)
    pulls = 50.0 * (lengths - 0.1) * links / lengths
    assert_allclose(np.diff(pulls, axis=0), [[0, 0.01 * 9.81]] * 15, atol=1e-4)


def check_membrane(s):
    assert np.abs(s["g"]).max() < 1e-8
    assert np.all(s["u"] > s["bump"].ravel() - 0.05)


def check_billiards(s):
    assert s["best"].fun < 1e-4
    shot, d = s["first"], np.array([0.6, 0.8])
    expected = slope(s["miss"], shot, d, h=1e-7)
    assert_allclose(linad.grad(s["miss"])(shot) @ d, expected, rtol=1e-4)


def check_growth(s):
    assert s["fit"].fun < 1e-2 * s["flat"](s["guess"])[0]
    assert s["error"] < 0.1
    d = np.random.default_rng(1).standard_normal((s["n"], s["n"]))
    expected = slope(s["misfit"], s["true_rate"], d, h=1e-7)
    assert_allclose(np.vdot(linad.grad(s["misfit"])(s["true_rate"]), d), expected, rtol=1e-5)


def check_stiff_kinetics(s):
    assert_allclose(s["found"].y[:, -1], s["reference"], rtol=1e-4)
    assert_allclose(s["slope"], s["difference"], atol=1e-4 * np.abs(s["slope"]).max())


def check_quantum_well(s):
    assert_allclose(np.linalg.eigvalsh(s["kinetic"] + np.diag(s["v"]))[:5], s["wanted"], rtol=1e-9)
    assert_allclose(s["J"], s["states"][:, :5].T ** 2, atol=1e-10)


def check_porous_medium(s):
    exact = s["barenblatt"](s["t"])
    assert_allclose(s["u"].sum(), s["barenblatt"](1.0).sum(), rtol=1e-9)
    assert np.abs(s["u"] - exact).max() < 0.05 * exact.max()


def check_cart_pole(s):
    """The force that was found swings the pole up, in SciPy's integrator."""
    time = np.linspace(0, s["DURATION"], s["STEPS"] + 1)

    def rate(t, y):
        return s["motion"](y[np.newaxis], np.interp(t, time, s["force"]))[0]

    end = scipy.integrate.solve_ivp(rate, (0, s["DURATION"]), s["first"], rtol=1e-9, max_step=0.01)
    assert_allclose(end.y[:2, -1], s["last"][:2], atol=0.1)  # the trapezoidal rule's error
    assert np.abs(s["constraints"](s["z"])).max() < 1e-9


def check_truss(s):
    """Michell's condition; and the strains, from the displacements themselves."""
    area = s["areas"](s["fit"].x)
    G = s["G"]
    u = np.linalg.solve(G.T @ ((area / s["length"])[:, np.newaxis] * G), s["load"])
    strain, thick = np.abs(G @ u) / s["length"], s["thick"]
    assert_allclose(strain[thick], s["strain"][thick], rtol=1e-6)
    assert np.ptp(strain[thick]) < 0.02 * s["strain"].max()
    assert_allclose(area @ s["length"], s["MASS"])


def check_robot_arm(s):
    assert max(s["misses"]) < 1e-5


def check_lens(s):
    """Paraxial rays meet where the thick lens formula says."""
    assert np.std(s["residual"](s["found"].x)) < 0.2 * np.std(s["residual"](s["start"]))
    height, angle, before = 1.0, 0.0, 1.0  # y and n times the slope
    for k, curvature in enumerate(s["found"].x):
        behind = s["INDICES"][k, 1] if k < 2 else 1.0
        angle -= height * curvature * (behind - before)
        before = behind
        if k < 2:
            height += angle / before * (s["PLACES"][k + 1] - s["PLACES"][k])
    on_screen = height + angle * (s["FOCUS"] - s["PLACES"][2])
    traced = s["trace"](s["found"].x, np.array([1e-3]))[-1, 1, 0, 1] / 1e-3
    assert_allclose(traced, on_screen, atol=1e-6)


def check_greeks(s):
    spot, volatility, time, rate = s["market"].values()
    total = volatility * np.sqrt(time)
    d1 = (np.log(spot / 100) + rate * time) / total + total / 2
    density = np.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi)
    assert_allclose(s["greeks"]["spot"], scipy.special.ndtr(d1))
    assert_allclose(s["greeks"]["volatility"], spot * density * np.sqrt(time))
    assert_allclose(s["gamma"], density / (spot * total))
    d2 = d1 - total
    exact = np.exp(-rate * time - d2**2 / 2) / np.sqrt(2 * np.pi) / (spot * total)
    assert_allclose(s["exact_delta"], exact)
    simulated = linad.grad(s["simulated"])(s["market"], s["call"])["spot"]
    assert_allclose(simulated, s["greeks"]["spot"], atol=0.01)
    assert s["told"][0].category is linad.errors.DisconnectedWarning


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.full) for n in SCRIPTS]
)
def test_script(name, capsys):
    try:
        names = runpy.run_path(str(SCRIPTS[name]))
        assert plt.get_fignums()
        globals()[f"check_{name}"](names)
    finally:
        plt.close("all")
