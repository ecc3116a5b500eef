"""Real kernels: values, gradients, tangents and Hessians against other ways to them."""

import numpy as np
import pytest
from kernel_cases import CASES
from kernel_checks import check

import linad
from linad.kernels import running


@pytest.mark.parametrize("name", CASES)
def test_kernel_in_python(name, as_python):
    function, make, unrolled = CASES[name]
    check(function, make(np.random.default_rng(1)), unrolled=unrolled)


@pytest.mark.parametrize("name", ["heat", "nbody", "conjugate_gradients", "levinson", "soft_dtw"])
@pytest.mark.parametrize("checkpoints", [0, 2])
def test_arrays_of_their_own_may_hold_anything_before(name, checkpoints, as_python, monkeypatch):
    function, make, _ = CASES[name]
    arguments = make(np.random.default_rng(1))
    k = [j for j, a in enumerate(arguments) if getattr(a, "dtype", None) == "f8"]

    def gradients():
        kernel = linad.kernel(checkpoints=checkpoints)(function)

        def f(x):
            given = [*arguments]
            for j, a in zip(k, x, strict=True):
                given[j] = a * 1.0
            result = kernel(*given)
            parts = result if isinstance(result, tuple) else () if result is None else (result,)
            return sum([np.sum(a**2) for a in (*parts, *[given[j] for j in k])])

        x = [arguments[j] for j in k]
        _, hv = linad.jvp(linad.grad(f), (x,), ([np.ones_like(a) for a in x],))
        return [*linad.grad(f)(x), *hv]

    expected = gradients()
    scratch = running.RunnableProgram.scratch

    def poisoned(self, given):
        made = scratch(self, given)
        for a in made[: len(self.program.rooms)]:
            a[...] = np.nan if a.dtype == float else 1000
        return made

    monkeypatch.setattr(running.RunnableProgram, "scratch", poisoned)
    for a, b in zip(gradients(), expected, strict=True):
        np.testing.assert_array_equal(a, b)
