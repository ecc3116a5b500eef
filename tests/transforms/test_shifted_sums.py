"""Sums of windows, on one axis and on several, read as a whole and in part."""

import numpy as np
import pytest

import linad
from linad.transforms.simplify import simplify


def bratu(u):
    p = np.pad(u, 1)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u + np.exp(u)


def wide(u):
    """Steps of two and three, diagonal ones too, on a border that is not even."""
    p = np.pad(u, ((3, 1), (0, 2)))
    return np.sin(p[4:, 2:]) * p[:-4, :-2] + p[2:-2, 1:-1]


def without_border(u):
    return u[2:, 1:] * u[:-2, :-1] + u[1:-1, :-1]


def solid(u):
    p = np.pad(u, 1)
    return p[2:, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] * p[1:-1, 1:-1, :-2]


def columns(u):
    p = np.pad(u, ((0, 0), (2, 2)))
    return p[:, 4:] * p[:, :-4] + p[:, 2:-2]


FUNCTIONS = [(bratu, (40, 40)), (wide, (40, 50)), (without_border, (60, 30)), (solid, (12, 9, 10))]


@pytest.mark.parametrize("f, shape", [*FUNCTIONS, (columns, (30, 40)), (bratu, (3, 4))])
def test_pullbacks(f, shape):
    rng = np.random.default_rng(0)
    u = rng.standard_normal(shape)
    w = rng.standard_normal(f(u).shape)

    def pulled(u, w):
        return linad.vjp(f, u)[1](w)[0]

    y, tape = linad.trace(pulled, u, w)
    np.testing.assert_allclose(simplify(tape, for_programs=True).run([u, w])[0], y, atol=1e-13)
    # For several seeds at a time the windows have an axis more.
    seeds = rng.standard_normal((3, *w.shape))
    y, tape = linad.trace(lambda u, w: linad.linearize(f, u)[1].pullback(w), u, seeds)
    np.testing.assert_allclose(simplify(tape).run([u, seeds])[0], y, atol=1e-13)


def test_a_sum_that_is_read_in_part_and_whole():
    def f(u):
        y = np.zeros_like(u, shape=(40, 40))
        y[1:-1, 1:-1] += u
        y[2:, 1:-1] += 2 * u
        inner = y[1:-1, 1:-1] * 3
        y[:-2, 1:-1] += u * u
        return inner, y, y[5:9]

    u = np.random.default_rng(0).standard_normal((38, 38))
    expected, tape = linad.trace(f, u)
    for a, b in zip(simplify(tape).run([u]), expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)


def test_a_middle_with_borders_has_no_padded_zeros():
    u, w = np.ones((40, 40)), np.ones((40, 40))
    _, tape = linad.trace(lambda u, w: linad.vjp(bratu, u)[1](w), u, w)
    made = simplify(tape).equations
    assert "add_at" not in [e.primitive.name for e in made]
    assert max([v.shape for e in made for v in e.outputs]) == (40, 40)


def test_what_is_added_to_a_sum_is_a_window():
    """The value itself, and a sum of other windows: one pass, in which each entry is written."""

    def added(u):
        return np.sum(u[1:] * u[:-1]) + np.sum(u**3) + np.sum(np.exp(u[2:]) * u[:-2])

    for f, shape in ((added, (200,)), (lambda u: added(u) + np.sum(u[:, 1:] ** 4), (90, 50))):
        u = np.random.default_rng(0).standard_normal(shape)
        slopes, tape = linad.trace(linad.grad(f), u)
        simple = simplify(tape, for_programs=True)
        np.testing.assert_allclose(simple.run([u])[0], slopes, atol=1e-12)
        names = [eqn.primitive.name for eqn in simple.equations]
        assert "add_at" not in names
        pieces = names.count("write_region")
        assert pieces == names.count("empty_like") * pieces  # all of one array


def test_a_sum_and_an_array_that_are_needed_apart():
    def f(u, v):
        y = np.zeros_like(u, shape=(100,))
        y[1:] += u
        y[:-1] += u * u
        return y + v, y, v + y[:50].repeat(2)

    rng = np.random.default_rng(0)
    u, v = rng.standard_normal(99), rng.standard_normal(100)
    expected, tape = linad.trace(f, u, v)
    for a, b in zip(simplify(tape).run([u, v]), expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)
