"""What linad.config changes in compiled programs."""

import warnings

import numpy as np
import pytest

import linad
from linad.errors import OptionError
from linad.sweeps.cpu import kernel_cache as cache


def programs(f):
    return [v.compiled.program for variants in f.variants.values() for v in variants]


def test_fast_math_is_another_kernel_and_another_program():
    f = linad.jit(lambda x: np.sum(x * x - x))
    x = np.linspace(0.0, 1.0, 100)
    exact = [f(x) for _ in range(2)][1]
    with linad.config(fast_math=True):
        fast = [f(x) for _ in range(2)][1]
    assert fast == pytest.approx(exact, rel=1e-13)
    one, two = programs(f)
    assert [i.fast for i in one.lowering.instructions] == [False]
    assert [i.fast for i in two.lowering.instructions] == [True]
    assert one.addresses != two.addresses
    source = one.lowering.instructions[0].source
    assert cache.key_of(source) != cache.key_of(source, True)


def test_tests_for_nan_hold_in_fast_math():
    f = linad.jit(lambda x: np.where(np.isnan(x), 0.0, x) + np.isfinite(x))
    x = np.array([1.0, np.nan, np.inf])
    with linad.config(fast_math=True):
        for _ in range(3):
            np.testing.assert_array_equal(f(x), [2, 0, np.inf])


def test_fast_math_holds_for_loops_in_registers():
    step = linad.jit(lambda x: linad.scan(lambda y, _: (0.5 * y + x, None), x, length=60)[0])
    asks = linad.jit(
        lambda x: linad.scan(lambda y, _: (np.where(np.isnan(y), 0.0, y), None), x, length=60)[0]
    )
    with linad.config(fast_math=True):
        for _ in range(2):
            found = step(np.float64(0.5)), asks(np.float64(np.nan))
    assert found == (pytest.approx(1.0), 0.0)
    for f, fast in ((step, True), (asks, False)):
        [program] = programs(f)
        [made] = [i for i in program.lowering.instructions if "in registers" in i.label]
        assert made.fast is fast


def test_a_derivative_is_compiled_as_its_function_was():
    f = linad.jit(lambda x: np.sin(x) * x)
    with linad.config(fast_math=True):
        _, J = linad.linearize(f, np.ones(3))
    J.pullback(np.ones((2, 3)))  # compiled here, with other settings in force
    [[variant]] = f.variants.values()
    made = [p.program.chosen.fast_math for p in variant.compiled.programs()]
    assert made
    assert all(made)


def test_vector_math_is_another_kernel():
    f = linad.jit(lambda x: np.tanh(x))
    x = np.linspace(-2.0, 2.0, 77)
    f(x)
    f(x)
    with linad.config(vector_math=False):
        f(x)
        np.testing.assert_allclose(f(x), np.tanh(x), rtol=1e-15)
    first, second = [p.lowering.instructions[0].source for p in programs(f)]
    assert "v_tanh" in first
    assert "m_tanh" in second


def test_without_a_cache_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setenv("LINAD_CACHE_DIR", str(tmp_path / "kernels"))
    f = linad.jit(lambda x: np.cos(x) - 0.25 * np.sinh(x) * x + 0.125 * x**3)
    with linad.config(cache=False):
        for _ in range(3):
            f(np.ones(3))
    assert not (tmp_path / "kernels").exists()
    g = linad.jit(lambda x: np.cos(x) - 0.25 * np.sinh(x) * x * x + 0.125 * x**3)
    for _ in range(3):
        g(np.ones(3))
    assert list((tmp_path / "kernels").glob("k*.o"))


def test_variants_are_bounded():
    with linad.config(variants=2):
        f = linad.jit(lambda x: x * 2 if x[0] > 2 else x * 3 if x[0] > 1 else x * 5)

        def take_all_paths():
            for start, factor in ((3.0, 2), (1.5, 3), (0.5, 5)):
                assert f(np.array([start]))[0] == factor * start

        with pytest.warns(UserWarning, match="took a new path"):
            take_all_paths()
        take_all_paths()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(np.array([0.5]))[0] == 2.5


@pytest.mark.parametrize("name", ["threads", "variants"])
def test_at_least_one(name):
    with pytest.raises(OptionError, match=f"{name} must be an integer >= 1, got 0"):
        linad.config(**{name: 0}).__enter__()
    with pytest.raises(OptionError, match="cache must be True or False"):
        linad.config(cache="yes").__enter__()
