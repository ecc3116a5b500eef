"""Which entries of an array a view of it shows: read and written in arrays of any layout."""

import numpy as np
import pytest

from linad.core.regions import Grid, Part, Positions, Window
from linad.core.view_regions import region_of
from linad.errors import UnsupportedError

rng = np.random.default_rng(0)


BASE = rng.standard_normal((3, 4, 2))


LAYOUTS = {
    "C": BASE,
    "F": np.asfortranarray(BASE),
    "permuted": np.ascontiguousarray(BASE.transpose(1, 2, 0)).transpose(2, 0, 1),
    "gaps": np.repeat(BASE, 2, axis=1)[:, ::2],
    "reversed": np.ascontiguousarray(BASE[::-1, :, ::-1])[::-1, :, ::-1],
}


VIEWS = {
    "whole": lambda a: a[...],
    "entry": lambda a: a[1, 2, 0, ...],
    "row": lambda a: a[2],
    "steps": lambda a: a[::2, ::-3],
    "transposed": lambda a: a.transpose(2, 0, 1)[:, 1:],
    "newaxis": lambda a: a[:, None, 1],
    "diagonal": lambda a: a.diagonal(),
    "nothing": lambda a: a[1:1],
    "one": lambda a: a[1:2, 0:1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", VIEWS)
def test_region_of_a_view(name, layout):
    base = LAYOUTS[layout]
    view = VIEWS[name](base)
    region = region_of(view, base)
    assert region.shape == view.shape
    assert repr(region)
    np.testing.assert_array_equal(region.read(base), view)
    for other in LAYOUTS.values():  # the same entries of an array in any layout
        np.testing.assert_array_equal(region.read(2.0 * other), 2.0 * view)
    seeds = rng.standard_normal((2, 5, *base.shape))
    picked = np.stack([[VIEWS[name](s) for s in row] for row in seeds])
    np.testing.assert_array_equal(region.read(seeds), picked)
    numbers = region.numbers(base.shape)
    np.testing.assert_array_equal(base.ravel()[numbers], view)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", VIEWS)
def test_writing_at_a_region(name, layout):
    region = region_of(VIEWS[name](LAYOUTS[layout]), LAYOUTS[layout])
    for other in LAYOUTS.values():
        found, expected = other.copy("K"), BASE.copy()
        value = rng.standard_normal(region.shape)
        region.assign(found, value)
        region.add(found, 1.0)
        target = VIEWS[name](expected)
        target.flags.writeable = True
        target[...] = value + 1.0
        np.testing.assert_array_equal(found, expected)
    seeds = np.zeros((2, *BASE.shape))
    region.add(seeds, np.ones(region.shape))
    assert seeds.sum() == 2 * region.read(BASE).size


def test_kinds_of_regions():
    f = LAYOUTS["F"]
    assert type(region_of(BASE[1], BASE)) is Window
    assert type(region_of(f[1], f)) is Grid
    assert type(region_of(f.ravel("K")[1:], f)) is Positions
    z = BASE + 1j
    assert type(region_of(z.real, z)) is type(region_of(z[1:].imag[0], z)) is Part
    with pytest.raises(UnsupportedError, match="view of dtype int64"):
        region_of(BASE.view(np.int64), BASE)
    gaps = LAYOUTS["gaps"]
    with pytest.raises(UnsupportedError, match="gaps in the memory"):
        region_of(np.lib.stride_tricks.as_strided(gaps, (3,), (24,)), gaps)


def test_a_list_of_entries_is_a_view_where_the_layout_allows():
    f = LAYOUTS["F"].copy("K")
    region = region_of(f.ravel("K")[3:7], f)
    assert np.shares_memory(region.read(f), f)
    assert not np.shares_memory(region.read(BASE), BASE)
    np.testing.assert_array_equal(region.read(f), region.read(BASE))
