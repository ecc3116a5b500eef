"""Cosine and sine transforms in compiled programs against SciPy's."""

import numpy as np
import pytest

import linad
from linad.core.primitive import Primitive
from linad.sweeps.cosine_forms import LARGEST, TRANSFORMS

cosines = Primitive.registry["cosines"]
RNG = np.random.default_rng(0)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("kind, type", [*TRANSFORMS, ("dct", 4)])
def test_transforms(kind, type, dtype):
    for n in (1, 2, 3, 8, 9):
        for shape, axis in (((n,), -1), ((3, n, 2), -2)):
            if n == 1 and (kind, type) == ("dct", 1):
                continue  # which SciPy refuses
            x = RNG.normal(size=shape)
            x = (x + 1j * x[::-1] if dtype[0] == "c" else x).astype(dtype)

            def f(x, axis=axis):
                return cosines(x, kind=kind, type=type, axis=axis)

            compiled, wanted = linad.jit(f), f(x)
            for _ in range(2):
                found = compiled(x)
                assert found.dtype == wanted.dtype
                close = 1e-5 if np.finfo(dtype).bits == 32 else 1e-13
                np.testing.assert_allclose(found, wanted, rtol=close, atol=close)
            assert bool(linad.explain(compiled)(x).fallbacks) == (type == 4)


def test_large_ones_are_scipys():
    f, x = linad.jit(lambda x: cosines(x, kind="dct", type=2, axis=-1)), np.ones(LARGEST + 1)
    f(x)
    assert [step.name for step in linad.explain(f)(x).fallbacks] == ["cosines"]
