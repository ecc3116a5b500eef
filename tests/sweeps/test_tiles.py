"""Groups of equations over rows, run by NumPy: many programs, many lengths, any axis of rows."""

import itertools

import numpy as np
import pytest
from programs_over_rows import PROGRAMS, SCALAR, D, arguments, mixture, network, totals, two_groups
from tiles_by_force import tiled_in_numpy

import linad
from linad.core import tree
from linad.sweeps.tiles import Tiles, tiling_of
from linad.transforms.simplify import simplify


def tape_of(f, *args, gradient):
    g = linad.value_and_grad(f, argnums=(0, 1, 2)) if gradient else f
    with np.errstate(all="ignore"):
        y, tape = linad.trace(g, *args)
    return tree.flatten(y)[0], simplify(tape, for_programs=True)


def tiles_of(tape):
    return [e.primitive for e in tape.equations if isinstance(e.primitive, Tiles)]


def check(tape, tiled, args, expected):
    assert tiled.outputs == tape.outputs
    found = tiled.run([np.array(a) for a in args])
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11 * np.max(np.abs(b), initial=1))


def check_lengths(f, n, lengths):
    if n == 0 and f in (mixture, two_groups, totals):
        n = 5  # no maximum of nothing
    args = arguments(n)
    for gradient in (False, True)[: 1 + (f in SCALAR)]:
        expected, tape = tape_of(f, *args, gradient=gradient)
        for length in lengths:
            tiled = tiled_in_numpy(tape, n, length)
            check(tape, tiled, args, expected)
            assert bool(tiles_of(tiled)) == (n > length)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 8])
@pytest.mark.parametrize("f", PROGRAMS)
def test_tiles_give_what_the_program_gives(f, n):
    check_lengths(f, n, (3,))


@pytest.mark.full
@pytest.mark.parametrize("n", [2, 6, 7, 8, 30, 31])
@pytest.mark.parametrize("f", PROGRAMS)
def test_tiles_of_any_length_do(f, n):
    check_lengths(f, n, range(1, 9))


def test_one_group_holds_all_that_has_rows():
    args = arguments(30)
    for f in (mixture, network):
        _, tape = tape_of(f, *args, gradient=True)
        tiled = tiled_in_numpy(tape, 30, 7)
        assert len(tiles_of(tiled)) == 1
        (group,) = [t.group for t in tiles_of(tiled)]
        # The gradient in x is all that has rows and is kept.
        assert [v.shape for v in group.kept] == [(30, D)]
        outside = [v for e in tiled.equations for v in e.outputs if 30 in v.shape]
        assert outside == group.kept


def test_what_needs_a_total_is_in_the_next_group():
    args = arguments(30)
    _, tape = tape_of(two_groups, *args, gradient=False)
    tiled = tiled_in_numpy(tape, 30, 7)
    first, second, *_ = tiles_of(tiled)
    assert "exp" in [e.primitive.name for e in first.group.forms]
    assert "divide" in [e.primitive.name for e in second.group.forms]


def test_views_alone_are_no_group():
    _, tape = linad.trace(lambda x: (x.T, np.exp(x[:, None])), np.ones((30, 3)))
    tape = simplify(tape, for_programs=True)
    [tiles] = tiles_of(tiled_in_numpy(tape, 30, 7))
    assert [e.primitive.name for e in tiles.group.forms].count("transpose") == 0
    _, tape = linad.trace(lambda x: (x.T, x[:, None]), np.ones((30, 3)))
    assert tiled_in_numpy(tape, 30, 7) is tape


def test_rows_of_tiles():
    assert tiling_of(100, 30, 10) == (100, 30, 4, 10)
    assert tiling_of(95, 30, 10) == (95, 30, 3, 35)
    assert tiling_of(60, 30, 30) == (60, 30, 2, 30)
    assert tiling_of(59, 30, 30) is None
    for n, length, least in itertools.product(range(1, 60), (1, 5, 8), (1, 5)):
        found = tiling_of(n, length, min(length, least))
        if found is not None:
            assert (found.tiles - 1) * length + found.last == n
            assert min(length, least) <= found.last < length + max(least, 1)


def test_an_array_that_equations_read_in_two_ways():
    """Symmetric products: rows of x against all of x."""
    x = np.random.default_rng(1).standard_normal((12, 12))
    for f in (lambda x: x @ x, lambda x: np.exp(x) @ x + x.T, lambda x: (x * x[0]) @ x[:, 3]):
        y, tape = linad.trace(f, x)
        tiled = tiled_in_numpy(tape, 12, 5)
        check(tape, tiled, [x], [y])
