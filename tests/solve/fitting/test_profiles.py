"""How far the intervals of a fit are, for whoever waits."""

import re
import warnings

import numpy as np
import pytest

import linad
from linad.core import patience
from linad.solve import waiting

T = np.linspace(0.0, 1.0, 9)


@pytest.mark.parametrize("progress", [True, False])
def test_what_is_said(progress, monkeypatch, capsys):
    found = linad.solve.curve_fit(lambda t, a, b: a * np.exp(b * t), T, np.exp(T) + 0.01 * T**2)
    for name in ("perf_counter", "thread_time"):
        now = iter(range(0, 10**6, 20))
        monkeypatch.setattr(patience.time, name, lambda now=now: float(next(now)))
    with linad.config(progress=progress):
        found.profile_intervals()
    said = "\n".join(x for x in capsys.readouterr().err.splitlines() if "profile_int" in x)
    told = (
        r"profile_intervals: (\w+), refit \d+ after \d+ s, (\d) of 4 ends known; (about|compiled)"
    )
    lines = re.findall(told, said)
    assert bool(lines) == progress
    assert said.count("profile_intervals: ") == len(lines)
    assert [ends for _, ends, _ in lines] == sorted(ends for _, ends, _ in lines)
    assert said.count("with linad.jit(") == len(lines)
    assert said.count("a fit may take less") == len(lines)


def test_a_long_model_is_told_to_be_long(monkeypatch, capsys):
    def model(t, a, b):
        for _ in range(40):
            a = a + 0.01 * b * a
        return a * np.exp(b * t)

    found = linad.solve.curve_fit(model, T, np.exp(T) + 0.01 * T**2)
    for name in ("perf_counter", "thread_time"):
        now = iter(range(0, 10**6, 20))
        monkeypatch.setattr(patience.time, name, lambda now=now: float(next(now)))
    with linad.config(progress=True):
        found.profile_intervals(names="a")
    words = r"; model is 1\d\d operations in Python at each run: compiled, with linad.jit\(model\)"
    assert re.search(words, capsys.readouterr().err)


def test_levels_that_are_none():
    found = linad.solve.curve_fit(lambda t, a, b: a * np.exp(b * t), T, np.exp(T) + 0.01 * T**2)
    with pytest.raises(linad.errors.OptionError, match=r"got 'a'; parameters .* by names='a'$"):
        found.profile_intervals("a")
    with pytest.raises(linad.errors.OptionError, match=r"0 and 1, got 95; 95 % is 0.95$"):
        found.confidence_intervals(95)


def test_a_line_of_the_fits_does_not_come_on_top(monkeypatch):
    found = linad.solve.curve_fit(lambda t, a, b: a * np.exp(b * t), T, np.exp(T) + 0.01 * T**2)
    residual, told = found.solve.residual, []
    residual.silent, residual.seconds = False, 1e6
    monkeypatch.setattr(waiting, "say", told.append)
    found.profile_intervals()
    assert not told
    assert not residual.silent


def test_a_better_fit_is_told_of():
    x = np.linspace(0.0, 6.0, 40)
    y = np.sin(1.3 * x) + 0.01 * np.cos(40 * x)
    side = linad.solve.curve_fit(lambda x, w, a: a * np.sin(w * x), x, y, [2.2, 0.3])
    assert side.chi_square > 5.0
    with pytest.warns(UserWarning, match="the fit is not the best there is"):
        side.profile_intervals()


def test_an_integration_that_ends_early_ends_an_interval():
    def model(t, a, rate):
        y = a * np.exp(-rate * t)
        return y if rate > 0.6 else y[:3]

    found = linad.solve.curve_fit(model, T, np.exp(-T) + 0.05 * np.cos(9 * T), [1.0, 1.0])
    low, high = found.profile_intervals(0.99999)["rate"]
    assert low == pytest.approx(0.6, abs=0.01)
    assert high > 1.1
    with pytest.raises(linad.errors.ShapeError, match="np.inf where the model has no meaning"):
        linad.solve.curve_fit(model, T, np.exp(-T), [1.0, 0.5])


def test_an_end_where_the_cost_jumps_beside_the_minimum_is_not_found():
    def log_likelihood(a):
        return -((a - 1.0) ** 2) - 100.0 * (a > 1.0 + 1e-9)

    found = linad.solve.maximum_likelihood(log_likelihood, {"a": 0.5})
    with pytest.warns(UserWarning, match="the log-likelihood jumps beside a = 1: that end of its"):
        low, high = found.profile_intervals()["a"]
    assert low == pytest.approx(1.0 - 1.959964 / np.sqrt(2.0))
    assert np.isnan(high)


def refits_of(found):
    """The fits that a fit solves from now on, in a list that grows."""
    runs, beside = [], found.solve.beside

    def counted(*given):
        runs.append(beside(*given))
        return runs[-1]

    found.solve.beside = counted
    return runs


def test_fits_along_a_curved_valley_begin_on_its_floor():
    """Begun on the wall they ended on the way down, and an interval where they had ended."""
    i = np.linspace(0.0, 1.0, 30)

    def model(i, a, n):  # a and n make up for each other
        return np.log(a) * 5.0 - n * 50.0 + a * i / (1.0 + n * i)

    y = model(i, 2.0, 0.3) + 0.05 * np.cos(40 * i)
    found = linad.solve.curve_fit(model, i, y, [2.0, 0.3])
    runs = refits_of(found)
    ends = found.profile_intervals()
    assert sum(run.nit for run in runs) <= 4 * len(runs)
    t = found._quantile(0.95)
    for name in ("a", "n"):
        for end in ends[name]:
            held = linad.solve.curve_fit(
                model, i, y, {**found.values, name: end}, fixed=[name]
            )
            tau = np.sqrt(2 * (held.cost - found.cost) / found._variance)
            assert tau == pytest.approx(t, rel=1e-5)


def test_an_interval_without_end_takes_few_fits():
    t = np.linspace(0.0, 1.0, 20)
    y = 1.0 - t + 0.05 * np.cos(30 * t)
    found = linad.solve.curve_fit(lambda t, a, k: a * (1.0 - t) * np.exp(-t / k), t, y, [1.0, 9.0])
    runs = refits_of(found)
    assert found.profile_intervals(names="k")["k"][1] == np.inf
    assert len(runs) < 40


@pytest.mark.parametrize("loss", ["linear", "soft_l1"])
def test_the_cost_where_a_fit_begins_is_that_of_a_fit(loss):
    found = linad.solve.curve_fit(
        lambda t, a, b: a * np.exp(b * t), T, np.exp(T) + 0.01 * T**2, loss=loss
    )
    assert found.solve.cost_at(found.vector) == pytest.approx(found.cost)


def test_an_interval_ends_before_zero_where_the_model_is_another_beyond():
    """V s / (K + s) fits with both negative, too: the first step out leads there at once."""
    s = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    rate = np.array([0.12, 0.19, 0.33, 0.37, 0.55, 0.58])
    fit = linad.solve.curve_fit(lambda s, V, K: V * s / (K + s), s, rate, p0=[5.0, 5.0])
    found = fit.profile_intervals()
    for name, (low, high) in found.items():
        assert 0.5 < low < 1.5
        assert high == np.inf
        held = linad.solve.curve_fit(
            lambda s, V, K: V * s / (K + s), s, rate, p0=[1.2, 0.7], fixed={name: low}
        )
        tau = np.sqrt(2 * (held.cost - fit.cost) / fit._variance)
        assert tau == pytest.approx(fit._quantile(0.95), rel=1e-5)


@pytest.mark.parametrize("level", [0.1, 0.95, 0.999])
def test_ends_of_likelihoods_take_few_fits_of_few_steps(level):
    t = np.linspace(0.0, 3.0, 25)
    counts = np.random.default_rng(0).poisson(4000 * np.exp(-1.1 * t) + 30)
    runs = []

    def log_likelihood(height, rate, floor):
        runs.append(height)
        expected = height * np.exp(-rate * t) + floor
        return np.sum(counts * np.log(expected) - expected)

    found = linad.solve.maximum_likelihood(
        log_likelihood, {"height": 4e3, "rate": 1.0, "floor": 30.0}
    )
    runs.clear()
    ends = found.profile_intervals(level)
    assert len(runs) < 150  # for six ends
    for name, pair in ends.items():
        for end in pair:
            held = linad.solve.maximum_likelihood(
                log_likelihood, {**found.values, name: end}, fixed=[name]
            )
            tau = np.sqrt(2 * (held.cost - found.cost))
            assert tau == pytest.approx(found._quantile(level), rel=2e-6)


@pytest.mark.parametrize("options", [{}, {"loss": "soft_l1", "f_scale": 0.01}])
def test_of_complex_data_are_those_of_their_real_and_imaginary_parts(options):
    rng = np.random.default_rng(1)
    f = np.logspace(-2, 3, 50)

    def impedance(f, r0, r, c):
        return r0 + r / (1 + 2j * np.pi * f * r * c)

    def parts(f, r0, r, c):
        z = impedance(f, r0, r, c)
        return np.concatenate([z.real, z.imag])

    z = impedance(f, 1.0, 2.0, 0.1) * (1 + 0.01 * rng.standard_normal(50))
    z = z + 0.01j * rng.standard_normal(50)
    real = np.concatenate([z.real, z.imag])
    found = linad.solve.curve_fit(impedance, f, z, [1, 1, 0.2], **options)
    same = linad.solve.curve_fit(parts, f, real, [1, 1, 0.2], **options)
    x = found.vector
    np.testing.assert_allclose(found.solve.cost_at(x), found.cost, rtol=1e-12)
    there = same.solve.cost_at(1.1 * x)
    np.testing.assert_allclose(found.solve.cost_at(1.1 * x), there, rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = found.profile_intervals()
    for name, end in same.profile_intervals().items():
        np.testing.assert_allclose(ends[name], end, rtol=1e-6)
