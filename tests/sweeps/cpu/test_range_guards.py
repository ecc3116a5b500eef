"""Numbers that inlined functions are not right for, in every kind of loop."""

import numba
import numpy as np
import pytest

import linad
from linad.sweeps.cpu import kernel_cache, range_guards
from linad.sweeps.cpu.target import CPU

FAR = {5: 1e8, 7001: 1e22, 69_999: -1e300}
EDGES = {5: 0.0, 7001: 5e-324, 69_999: np.inf}


def with_entries(entries, dtype=np.float64):
    x = np.random.default_rng(3).uniform(0.1, 30, 70_000).astype(dtype)
    for k, value in entries.items():
        with np.errstate(over="ignore"):
            x[k] = value
    return x


def overwritten(x):
    y = np.zeros_like(x)
    y[...] = x
    y[1:] = np.sin(y[1:])
    return y


LOOPS = {
    "a map": (np.sin, FAR),
    "of several": (lambda x: np.exp(np.cos(x)) * np.tan(x), FAR),
    "powers": (lambda x: x**1.7 * np.cos(x), {**FAR, **EDGES}),
    "logarithms": (lambda x: (np.log(x), np.log2(x), np.log10(x)), EDGES),
    "a sum, by pieces": (lambda x: np.sum(np.sin(x)), FAR),
    "a sum, in one": (lambda x: np.sum(np.cos(x[:5000])), FAR),
    "sums of rows": (lambda x: np.sum(np.sin(x.reshape(700, 100)), axis=1), FAR),
    "sums of columns": (lambda x: np.sum(np.sin(x.reshape(700, 100)), axis=0), FAR),
    "a short axis": (lambda x: np.cos(x[:-1].reshape(-1, 3)), FAR),
    "columns": (lambda x: np.sin(x.reshape(700, 100)).T + 1, FAR),
    "overwritten": (overwritten, FAR),
    "smallest": (lambda x: np.min(np.log(x)), EDGES),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops(name):
    f, entries = LOOPS[name]
    x = with_entries(entries)
    compiled = linad.jit(f)
    compiled(with_entries({}))
    with np.errstate(all="ignore"):
        expected = f(x)
    for found in (compiled(x), compiled(x)):
        np.testing.assert_allclose(found, expected, 1e-10, 1e-10)


def test_single_precision():
    x = with_entries({5: 1e5, 7001: 3e38, 9: -np.inf}, np.float32)
    compiled = linad.jit(lambda x: np.sin(x) + np.cos(x))
    compiled(with_entries({}, np.float32))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(compiled(x), np.sin(x) + np.cos(x), 1e-5, 1e-6)


def test_an_entry_changes_no_digit_of_another():
    compiled = linad.jit(lambda x: np.sin(x) * np.log(x))
    near, far = with_entries({}), with_entries({k: abs(v) for k, v in FAR.items()})
    compiled(near)
    same = [k for k in range(near.size) if k not in FAR]
    np.testing.assert_array_equal(compiled(near)[same], compiled(far)[same])


@pytest.mark.parametrize("f", [np.sin, lambda x: np.sum(np.sin(x) * x)])
def test_any_number_of_threads_gives_the_same_digits(f):
    x = with_entries(FAR).repeat(10) / 3
    found = []
    for threads in (1, 2, 5):
        with linad.config(threads=threads):
            compiled = linad.jit(f)
            compiled(x)
            found.append(compiled(x))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_functions_of_compiled_code_in_parallel():
    x = with_entries(FAR)[:7000].reshape(7, 1000).copy()
    sine = linad.jit(lambda row: np.sum(np.sin(row) + np.tan(row) * 0)).njit(x[0])

    @numba.njit(parallel=True)
    def each(x, y):
        for i in numba.prange(len(x)):
            y[i] = sine(x[i])

    y = np.empty(len(x))
    each(x, y)
    np.testing.assert_allclose(y, np.sum(np.sin(x), axis=1), 1e-12)


def sources(f, *args):
    program = CPU.compile(linad.trace(f, *args)[1])
    program.run(list(args))
    return [i.source for i in program.lowering.instructions if hasattr(i, "source")]


@pytest.mark.usefixtures("kernels")
def test_what_cannot_be_computed_again_has_functions_of_the_library():
    x = np.ones((3, 4))
    assert all("again(" in s and "v_sin(" in s for s in sources(lambda x: np.sin(x) + 1, x))
    (*_, columns) = sources(lambda x: np.sum(np.sin(x), axis=0), x)
    assert "l_sin(" in columns
    assert "again(" not in columns
    inside = [s for s in sources(overwritten, x) if "sin(" in s]
    assert inside
    assert all("l_sin(" in s and "again(" not in s for s in inside)
    # Where all functions hold everywhere there is nothing to look for.
    assert not any("again(" in s for s in sources(lambda x: np.exp(x) * np.tanh(x), x))


def test_twin():
    text = "    t1 = v_sin(t0) * v_exp(t0)\n    return again(p + 16, start, stop)\n"
    assert range_guards.source_of_twin(text) == "    t1 = w_sin(t0) * w_exp(t0)\n    return 0\n"


def test_numpy_computes_where_the_twin_cannot_be_compiled(monkeypatch):
    x = with_entries({})
    compiled = linad.jit(lambda x: np.sin(x) - np.log(x) / 7)
    compiled(x)
    compiled(x)
    kernel = kernel_cache.kernel

    def refusing(source, *options):
        if "w_sin" in source:
            raise RuntimeError("no room")
        return kernel(source, *options)

    monkeypatch.setattr(kernel_cache, "kernel", refusing)
    x[3] = 1e9
    np.testing.assert_allclose(compiled(x), np.sin(x) - np.log(x) / 7, 1e-12)
