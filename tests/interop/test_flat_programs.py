"""Programs of flat arrays, which other libraries differentiate: `linad.interop.flat_programs`."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import linad
from linad.errors import OutputError
from linad.interop.flat_programs import Program, check_result, stand_in


def squares(x, n, z):
    return np.sum(x**2) * z, n + 1, np.sin(x)


POINT = np.array([0.3, -1.2]), np.array([4]), np.array(2.0 + 1.0j)


def counted(f):
    def function(*args):
        function.runs += 1
        return f(*args)

    function.runs = 0
    return function


def test_pushed_and_pulled_are_adjoint():
    program = Program(squares)
    rng = np.random.default_rng(0)
    t = rng.standard_normal(2), np.array(0.4 - 1.0j)
    w = np.array(1.5 + 0.5j), rng.standard_normal(2)
    pushed = program.pushed((0, 2), 3).value(*POINT, *t)
    pulled = program.pulled((0, 2), 3).value(*POINT, *w)
    left = sum(np.vdot(a, b).real for a, b in zip(w, pushed, strict=True))
    right = sum(np.vdot(a, b).real for a, b in zip(pulled, t, strict=True))
    assert left == pytest.approx(right, rel=1e-14)


def test_the_transpose_is_the_conjugate_of_the_adjoint():
    program = Program(lambda z: (z**2,))
    z, w = np.array([1.0 + 2.0j]), np.array([0.5 - 1.0j])
    [found] = program.pulled((0,), 1, False).value(z, w)
    np.testing.assert_allclose(found, 2 * z * w, rtol=1e-15)
    pushed = program.pushed((0,), 1)
    assert pushed.transposed().transposed() is pushed


def test_second_derivatives():
    program = Program(lambda x: (np.sum(x**3),))
    x, t = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    gradient = program.pulled((0,), 1)
    one = np.array(1.0)
    [forward] = gradient.pushed((0,), 2).value(x, one, t)
    [reverse] = gradient.pulled((0,), 2).value(x, one, t)
    np.testing.assert_allclose(forward, 6 * x * t, rtol=1e-14)
    np.testing.assert_allclose(reverse, 6 * x * t, rtol=1e-14)


def test_value_and_pullback_run_the_function_once():
    f = counted(lambda x: (np.sum(x**2),))
    program = Program(f)
    gradient = program.pulled((0,), 1)
    for k in range(4):
        x = np.full(3, float(k))
        program.value(x)
        np.testing.assert_array_equal(gradient.value(x, np.array(1.0))[0], 2 * x)
    assert f.runs == 5  # twice at first, when nobody had asked for a derivative yet
    program.value(x + 1)
    before = f.runs
    program.value(x + 2)
    assert f.runs == before + 1


def test_a_linearization_is_kept_for_equal_bits_only():
    """1/x is another number at -0.0, which compares as equal."""
    program = Program(lambda x: (np.copysign(x, x) * np.abs(x),))
    kept = program.linearized([np.array(0.0)], (0,))
    assert program.linearized([np.array(0.0)], (0,)) is kept
    assert program.linearized([np.array(-0.0)], (0,)) is not kept


def test_the_caller_may_write_into_everything():
    def f(x):
        x *= 2
        return (np.exp(x), x)

    program = Program(f)
    x = np.array([0.5])
    program.wanted = (0,)
    y, _ = program.value(x)
    assert x[0] == 0.5
    y[:] = 0.0
    [g] = program.pulled((0,), 1).value(x, np.ones(1), np.zeros(1))
    assert g[0] == pytest.approx(2 * np.e)
    y, twice = program.value(x)
    assert (y[0], twice[0]) == (pytest.approx(np.e), 1.0)


def test_programs_are_pickled_without_what_they_keep():
    program = Program(squares)
    program.pulled((0,), 3).value(*POINT, np.array(1j), np.ones(2))
    again = pickle.loads(pickle.dumps(program))
    np.testing.assert_array_equal(again.value(*POINT)[0], squares(*POINT)[0])


@pytest.mark.parametrize("value", [3.0, "text", np.array([None]), [1.0]])
def test_results_are_arrays(value):
    with pytest.raises(OutputError, match=r"interop.jax: squares returned"):
        check_result(value, squares, "jax")


def test_numbers_that_stand_in():
    a = stand_in((3, 3), np.float32)
    assert a.dtype == np.float32
    assert np.linalg.eigvalsh(a).min() > 0
    assert np.all((stand_in((4,), float) > 0.5) & (stand_in((4,), float) < 1))
    assert np.array_equal(stand_in((2,), int), [0, 0])


@pytest.mark.rest
def test_linad_imports_no_other_library():
    script = (
        "import sys, linad, linad.interop\n"
        "found = {'torch', 'jax', 'pytensor', 'onnx', 'dask', 'distributed'} & {*sys.modules}\n"
        "assert not found, found\n"
        "assert dir(linad.interop) == ['jax', 'pytensor', 'torch']\n"
    )
    subprocess.run([sys.executable, "-P", "-W", "error", "-c", script], check=True)


@pytest.mark.parametrize("name", ["jax", "pytensor", "torch"])
def test_a_missing_library_is_named(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    module = {"jax": "jax_function", "pytensor": "pytensor_op", "torch": "torch_function"}[name]
    monkeypatch.delitem(sys.modules, f"linad.interop.{module}", raising=False)
    monkeypatch.delitem(vars(linad.interop), name, raising=False)
    with pytest.raises(ImportError, match=rf"linad.interop.{name} needs .*'linad\[{name}\]'"):
        getattr(linad.interop, name)


def test_other_names_are_none_of_its():
    with pytest.raises(AttributeError, match="'linad.interop' has no attribute 'tensorflow'"):
        linad.interop.tensorflow  # noqa: B018
