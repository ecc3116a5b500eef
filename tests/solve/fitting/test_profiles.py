"""How far the intervals of a fit are, for whoever waits."""

import re

import numpy as np
import pytest

import linad
from linad.solve.fitting import profiles

T = np.linspace(0.0, 1.0, 9)


@pytest.mark.parametrize("progress", [True, False])
def test_what_is_said(progress, monkeypatch, capsys):
    found = linad.solve.curve_fit(lambda t, a, b: a * np.exp(b * t), T, np.exp(T) + 0.01 * T**2)
    now = iter(range(0, 10**6, 20))
    monkeypatch.setattr(profiles.time, "perf_counter", lambda: float(next(now)))
    with linad.config(progress=progress):
        found.profile_intervals()
    said = capsys.readouterr().err
    told = (
        r"profile_intervals: 1 of 2 parameters in \d+ s, about \d+ s to go; a model that linad.jit"
    )
    assert len(re.findall(told, said)) == progress
    assert said.count("profile_intervals: ") == progress
