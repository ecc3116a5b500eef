"""Convolutions in compiled programs: what NumPy gives, without Python."""

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive
from linad.scipy.signal import convolve2d
from linad.sweeps.cpu.convolution_routines import BLOCK, FEW

RNG = np.random.default_rng(0)
LENGTHS = [(1, 1), (7, 1), (7, 3), (3, 7), (9, 9), (40, 33), (BLOCK + 5, 3), (2 * BLOCK + 9, BLOCK)]

convolve = Primitive.registry["convolve"]


def numbers(shape, dtype="f8"):
    x = np.rint(9 * RNG.normal(size=shape))
    return (x + 1j * x[..., ::-1] if dtype[0] == "c" else x).astype(dtype)


def check(f, *args):
    """Compiled and eager give the same, of whole numbers to the last bit; nothing is left over."""
    compiled = linad.jit(f)
    for _ in range(3):
        found, wanted = compiled(*args), f(*args)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
    assert not linad.explain(compiled)(*args).fallbacks


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_vectors(lengths, mode):
    a, v = map(numbers, lengths)
    for function in (np.convolve, np.correlate):
        check(lambda a, v, f=function: f(a, v, mode), a, v)
        check(lambda a, v, f=function: f(a[::-1], v[::2], mode), a, v)


@pytest.mark.parametrize("dtype", ["f4", "c8", "c16", "i4", "i8"])
def test_dtypes(dtype):
    a, v = numbers(20, dtype), numbers(6, dtype)
    for mode in ("full", "valid"):
        check(lambda a, v, mode=mode: np.convolve(a, v, mode), a, v)
        check(lambda a, v, mode=mode: np.convolve(a, v, mode), a, v.real.astype("f8"))
        check(lambda a, v, mode=mode: np.convolve(a[:7], v, mode), a, v)


@pytest.mark.parametrize("mode", ["full", "valid"])
@pytest.mark.parametrize("lead", [((4,), ()), ((), (4,)), ((3, 1), (4,)), ((1, 2), (3, 1))])
def test_rows(lead, mode):
    a, v = numbers((*lead[0], 9)), numbers((*lead[1], 4))
    check(lambda a, v: convolve(a, v, mode=mode), a, v)
    check(lambda a, v: convolve(a, v, mode=mode), np.asfortranarray(a), np.asfortranarray(v))
    if mode == "full":
        check(lambda a, v: convolve(v, a, mode=mode), a, v)


GRIDS = [((5, 4), (3, 2)), ((2, 7), (4, 3)), ((6, 6), (6, 6)), ((1, 9), (4, 1))]
GRIDS += [((7, 8), (5, 7)), ((3, 4, 5), (2, 3, 1))]


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16", "i8"])
@pytest.mark.parametrize("shapes", GRIDS)
def test_grids(shapes, dtype):
    a, v = [numbers(shape, dtype) for shape in shapes]
    axes = len(shapes[0])
    for lead in (a, np.stack([a, 2 * a])):
        check(lambda a, v: convolve(a, v, mode="full", axes=axes), lead, v)
        check(lambda a, v: convolve(v, a, mode="full", axes=axes), lead, np.stack([v, -v]))
        if all(np.array(shapes[0]) >= shapes[1]):
            check(lambda a, v: convolve(a[..., ::-1], v, mode="valid", axes=axes), lead, v)


def test_images_and_their_derivatives():
    a, v = numbers((7, 9)), numbers((3, 2))
    for mode in ("full", "same", "valid"):
        check(lambda a, v, mode=mode: convolve2d(a, v, mode), a, v)

        def f(a, v, mode=mode):
            return np.sum(convolve2d(a, v, mode) ** 2)

        check(linad.grad(f, argnums=(0)), a, v)
        check(linad.grad(f, argnums=1), a, v)


def test_infinite_and_missing_terms_stay_where_they_are():
    a, v = numbers(12), numbers(4)
    a[[2, 7, 11]] = np.nan, np.inf, -np.inf
    v[1] = 0
    for mode in ("full", "valid"):
        check(lambda a, v, mode=mode: np.convolve(a, v, mode), a, v)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_derivatives_need_no_numpy(mode):
    a, v = numbers(30), numbers(5)

    def f(a, v):
        return np.sum(np.convolve(a, v, mode) ** 2)

    for derivative in (linad.grad(f), linad.grad(f, argnums=1), linad.hessian(f, argnums=1)):
        check(derivative, a, v)


def test_what_is_left_to_numpy():
    x = numbers(2 * FEW, "c16")
    compiled = linad.jit(np.convolve)
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x, x), np.convolve(x, x))
    assert len(linad.explain(compiled)(x, x).fallbacks) == 1
