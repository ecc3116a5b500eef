"""Functions of scipy.special in compiled loops against SciPy itself."""

import os
import subprocess
import sys

import numpy as np
import pytest
from compiled_runs import check_compiled, fallbacks, in_one_program

import linad
from linad.core.primitive import Primitive
from linad.sweeps.cpu import special_functions as special
from linad.sweeps.special_names import ARGUMENTS

MODERATE = [0.0, -0.0, 1.0, 0.5, -1.0, 2.0, np.nan, 0.25, 3.0, 0.7, 12.5, -0.3]
EXTREME = [*MODERATE, np.inf, -np.inf, 5e-324, 1e-310, 1e308, -1e5]


def operands(count, dtype):
    rng = np.random.default_rng(0)
    values = EXTREME if count < 3 else MODERATE
    grid = np.reshape(np.meshgrid(*[values] * min(count, 2)), (min(count, 2), -1))
    if count > 2:
        grid = np.array(values)[rng.integers(len(values), size=(count, 300))]
    more = np.exp(rng.normal(size=(count, 100)))
    with np.errstate(over="ignore"):
        return list(np.concatenate([grid, more], axis=1).astype(dtype))


@pytest.mark.parametrize("count", ARGUMENTS)
def test_all_are_found_and_agree(count):
    names = ARGUMENTS[count].split()
    assert all(special.address(name) for name in names)
    assert set(names) <= Primitive.registry.keys()
    expected, found, program = in_one_program(names, operands(count, np.float64))
    assert not fallbacks(program)
    for name, y, got in zip(names, expected, found, strict=True):
        np.testing.assert_allclose(got, y, rtol=1e-13, atol=0, err_msg=name)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_single_precision_is_computed_in_double(count):
    names = ARGUMENTS[count].split()
    arrays = operands(count, np.float32)
    _, found, _ = in_one_program(names, arrays)
    wide, _, _ = in_one_program(names, [a.astype(np.float64) for a in arrays])
    for name, got, y in zip(names, found, wide, strict=True):
        assert got.dtype == np.float32
        with np.errstate(all="ignore"):
            y = y.astype(np.float32)
        np.testing.assert_allclose(got, y, rtol=3e-7, atol=1e-45, err_msg=name)


def test_in_a_chain_with_gradient():
    sp = pytest.importorskip("scipy.special")
    x = np.linspace(0.5, 4.0, 9)
    check_compiled(linad.grad(lambda x: np.sum(sp.gammaln(x) * np.exp(-x) + sp.ndtr(x))), x)


def test_integers_in_floating_functions():
    sp = pytest.importorskip("scipy.special")
    check_compiled(lambda x: sp.gammaln(np.astype(x, np.int64)), np.arange(1.0, 6.0))


@pytest.mark.full
def test_kept_on_disk_for_the_next_process(tmp_path):
    code = (
        "import numpy as np, scipy.special as sp, linad\n"
        "from linad.sweeps import cache\n"
        "from linad.sweeps.cpu.target import CPU\n"
        "x = np.linspace(0.5, 3.0, 4)\n"
        "y, tape = linad.trace(lambda x: sp.psi(x) + sp.betaln(x, 2.0), x)\n"
        "assert np.allclose(CPU.compile(tape).run([x])[0], y)\n"
        "print(cache.counts.compiled)\n"
    )
    environment = {**os.environ, "LINAD_CACHE_DIR": str(tmp_path / "kernels")}
    counts = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert counts == ["1", "0"]
