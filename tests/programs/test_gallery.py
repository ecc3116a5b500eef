"""The programs that docs/gallery.md shows are the ones tested here, to the letter."""

import inspect
from pathlib import Path

import pytest
from programs import bundle, heat, hidden_markov, kalman, lstm, mixture, nbody, springs, tridiagonal

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery.md"
SHOWN = [
    kalman.log_likelihood,
    hidden_markov.log_likelihood,
    mixture.log_likelihood,
    lstm.run,
    lstm.loss,
    bundle.rotate,
    bundle.project,
    bundle.residual,
    tridiagonal.solve,
    nbody.potential,
    nbody.accelerations,
    nbody.simulate,
    springs.energy,
    heat.diffuse,
    heat.diffuse_plate,
]


@pytest.mark.parametrize("program", SHOWN, ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_the_gallery_shows_what_is_tested(program):
    assert inspect.getsource(program) in GALLERY.read_text(encoding="utf-8")
