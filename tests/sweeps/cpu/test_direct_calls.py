"""Calls that the interpreter makes of machine code: equal to those through Python, in all ways."""

import copy
import gc
import inspect
import pickle
import sys
import weakref

import numpy as np
import pytest
from compiled_runs import calls_of_python, direct
from together import together

import linad
from linad.jit.jitted import Jitted
from linad.sweeps.cpu import made_results
from linad.sweeps.cpu.direct_calls import NO_ENTRY

pytestmark = pytest.mark.skipif(made_results.TABLE is None, reason="calls go through Python")

SCALE = np.array([1.0, 2.0, 3.0])


def scaled(x, t):
    return SCALE * x * t, np.sum(x)


def test_no_function_of_python_is_called():
    x = np.ones(3)
    assert calls_of_python(direct(np.sin, x), x) == []
    gradient = direct(linad.value_and_grad(lambda x: np.sum(x**2)), x)
    assert calls_of_python(gradient, x) == []
    assert calls_of_python(direct(scaled, x, 2.0), x, 3.0) == []
    alone = direct(linad.grad(lambda x: np.sum(x**2), argnums=(0,)), x)
    assert calls_of_python(alone, x) == []
    (found,) = alone(x)
    np.testing.assert_array_equal(found, 2 * x)
    assert sys.getrefcount(found) == 2
    assert calls_of_python(gradient, np.ones(4))[:1] == ["__call__"]


@pytest.mark.parametrize("t", [3.0, 2, np.float64(0.5), np.array(4.0), np.float32(2)])
def test_a_number_of_another_kind(t):
    x = np.arange(3.0)
    jitted = direct(scaled, x, 1.0)
    for _ in range(4):
        for found, expected in zip(jitted(x, t), scaled(x, t), strict=True):
            assert type(found) is type(expected)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "t", [1.5, np.float64(1.5), 1.5 - 2j, np.complex128(1.5 - 2j), np.float32(1.5)], ids=repr
)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_numbers_of_every_kind(t, dtype):
    x = np.arange(3).astype(dtype)
    jitted = direct(lambda x, t: (t * x, t * t), x, t)
    assert calls_of_python(jitted, x, t) == []
    for factor in (1, 2, -1):
        for other in (t, t.item() if isinstance(t, np.generic) else np.dtype(type(t)).type(t)):
            found, expected = jitted(x, factor * other), (factor * other * x, (factor * other) ** 2)
            for a, b in zip(found, expected, strict=True):
                assert a.dtype == np.asarray(b).dtype
                np.testing.assert_allclose(a, b, rtol=1e-15)


def test_numbers_beside_single_precision():
    """There Python's number leaves the dtype as it is, and NumPy's does not."""
    x = np.ones(3, np.float32)
    jitted = direct(lambda x, t: x * t, x, np.float64(2))
    for _ in range(4):
        assert jitted(x, np.float64(2)).dtype == np.float64
        assert jitted(x, 2.0).dtype == np.float32
        assert jitted(x, np.float32(2)).dtype == np.float32


@pytest.mark.parametrize(
    "x",
    [
        np.arange(6.0)[::2],
        np.arange(3.0)[::-1],
        np.arange(3),
        np.arange(3, dtype=np.float32),
        np.arange(3.0).astype(">f8"),
        np.broadcast_to(1.0, 3),
    ],
    ids=repr,
)
def test_arrays_of_another_kind(x):
    jitted = direct(lambda x: x * 2.0, np.ones(3))
    expected = np.asarray(x) * 2.0
    for _ in range(4):
        np.testing.assert_array_equal(jitted(x), expected)


def test_what_stands_outside_counts(monkeypatch):
    x = np.ones(3)
    jitted = direct(scaled, x, 1.0)
    np.testing.assert_array_equal(jitted(x, 2.0)[0], 2 * SCALE)
    monkeypatch.setitem(globals(), "SCALE", np.array([5.0, 6.0, 7.0]))
    np.testing.assert_array_equal(jitted(x, 2.0)[0], [10.0, 12.0, 14.0])
    SCALE[0] = -1.0
    np.testing.assert_array_equal(jitted(x, 2.0)[0], [-2.0, 12.0, 14.0])
    monkeypatch.setitem(globals(), "SCALE", np.ones((2, 3)))
    assert jitted(x, 2.0)[0].shape == (2, 3)
    monkeypatch.delitem(globals(), "SCALE")
    with pytest.raises(NameError, match="SCALE"):
        jitted(x, 2.0)


def test_error_states_and_settings_count():
    jitted = direct(lambda x: 1.0 / x, np.ones(2))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        jitted(np.zeros(2))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(jitted(np.zeros(2)), [np.inf, np.inf])
    x = np.full(2, 2.0)
    for _ in range(2):
        with linad.config(fast_math=True):
            for _ in range(4):
                np.testing.assert_array_equal(jitted(x), [0.5, 0.5])
            assert calls_of_python(jitted, x) == []
        assert calls_of_python(jitted, x) != []
        jitted(x)
        assert calls_of_python(jitted, x) == []


def test_a_program_that_sets_the_error_state_for_good():
    x = np.ones(2)
    with np.errstate():
        np.seterr(all="ignore")
        jitted = direct(lambda x: 1.0 / x, x)
        assert calls_of_python(jitted, x) == []
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            jitted(np.zeros(2))
        assert calls_of_python(jitted, x) == []
    assert calls_of_python(jitted, x) == []


def test_keywords_and_wrong_numbers_of_arguments():
    x = np.ones(3)
    jitted = direct(scaled, x, 1.0)
    np.testing.assert_array_equal(jitted(x, t=2.0)[0], jitted(x, 2.0)[0])
    np.testing.assert_array_equal(jitted(t=2.0, x=x)[0], jitted(x, 2.0)[0])
    for args in ((x,), (x, 1.0, 2.0), ()):
        with pytest.raises(TypeError):
            jitted(*args)


def test_two_kinds_of_arguments_in_turn():
    jitted = direct(lambda x: (x * 2, np.sum(x)), np.ones(3))
    for n in (3, 4, 3, 3, 4, 4):
        y, s = jitted(np.ones(n))
        assert y.shape == (n,)
        assert s == n


def test_functions_that_need_python_again():
    """After arguments of a kind that machine code is not for, it is not called."""
    jitted = linad.jit(lambda x: [2 * v for v in x] if isinstance(x, list) else 2 * x)
    for _ in range(3):
        jitted(np.ones(3))
    for _ in range(3):
        assert isinstance(jitted([np.ones(3), np.ones(2)]), list)
    assert jitted._entry is NO_ENTRY
    np.testing.assert_array_equal(jitted(np.ones(3)), 2 * np.ones(3))


def test_decisions_are_made_again():
    jitted = direct(lambda x: x * 2 if x[0] > 0 else x * 3, np.ones(3))
    for sign in (1.0, -1.0, -1.0, 1.0):
        factor = 2 if sign > 0 else 3
        np.testing.assert_array_equal(jitted(np.full(3, sign)), np.full(3, sign * factor))


def test_the_object_is_as_it_was():
    x = np.ones(3)
    jitted = direct(scaled, x, 1.0)
    plain = linad.jit(scaled)
    assert isinstance(jitted, Jitted)
    assert type(jitted).__name__ == "Jitted"
    assert str(inspect.signature(jitted)) == "(x, t)"
    assert repr(jitted) == repr(plain)
    assert callable(jitted)
    for other in (pickle.loads(pickle.dumps(jitted)), copy.copy(jitted), copy.deepcopy(jitted)):
        np.testing.assert_array_equal(other(x, 2.0)[0], jitted(x, 2.0)[0])

    class Model:
        f = jitted

        @linad.jit
        def double(self, x):
            return 2 * x

    model = Model()
    for _ in range(4):
        np.testing.assert_array_equal(model.double(x), 2 * x)
    assert model.f.__self__ is model
    np.testing.assert_array_equal(linad.grad(lambda x: jitted(x, 2.0)[1])(x), x)


def test_nothing_is_left_behind():
    x, wrong = np.ones(3), np.ones(3, np.float32)
    jitted = direct(scaled, x, 1.0)
    jitted(wrong, 1.0)
    jitted(x, 1.0)

    counted = [x, wrong, SCALE, x.dtype, None, jitted, jitted._entry]

    def counts():
        gc.collect()
        return [sys.getrefcount(k) for k in counted]

    for _ in range(3):
        before = counts()
        for _ in range(1000):
            jitted(x, 1.5)
        assert max(b - a for a, b in zip(before, counts(), strict=True)) < 500
    y, s = jitted(x, 1.0)
    assert sys.getrefcount(y) == sys.getrefcount(s) == 2
    entry = weakref.ref(jitted._entry[0])
    gone = weakref.ref(jitted)
    counted.clear()
    del jitted
    gc.collect()
    assert gone() is None
    assert entry() is None


def test_threads_have_results_of_their_own():
    jitted = direct(lambda x: (np.exp(x) - x, np.sum(x)), np.ones(50))

    def work(k):
        x = np.full(50, float(k))
        expected = np.exp(x) - x
        for _ in range(2000):
            y, s = jitted(x)
            assert np.allclose(y, expected)
            assert s == 50 * k

    together(4, work)


def test_errors_of_the_function_pass():
    def f(x):
        if x.shape[0] > 3:
            raise ValueError("too long")
        return x + 1

    jitted = direct(f, np.ones(3))
    with pytest.raises(ValueError, match="too long"):
        jitted(np.ones(4))
    np.testing.assert_array_equal(jitted(np.ones(3)), 2 * np.ones(3))


def test_a_compiler_that_cannot_be_imported_is_told_of(monkeypatch):
    jitted = linad.jit(lambda x: x + 1)
    jitted(np.ones(3))
    monkeypatch.setitem(sys.modules, "linad.sweeps.cpu.target", None)
    with pytest.raises(ImportError):
        jitted(np.ones(3))
