"""Odd programs at the door of jit: plain and compiled agree, or linad says why not."""

import contextlib
import math

import numpy as np
import pytest

import linad
from linad.core.dispatch import FUNCTIONS
from linad.core.failures import is_own_fault
from linad.errors import InternalError, LinadError, TracerError
from linad.rules.floating import FLOATING
from linad.sweeps import program as programs
from linad.transforms.record import RecordTrace

X = np.linspace(0.3, 1.7, 5)
LARGE = [2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, -(2**63), -(2**63) - 1]


def written(x, place, value):
    y = x * 1.0
    y[place] = value
    return y


def outcome(f, *args):
    with np.errstate(all="ignore"):
        try:
            return f(*args)
        except Exception as error:
            return error


def agree(f, *args, times=3):
    expected = outcome(f, *args)
    compiled = linad.jit(f)
    for _ in range(times):
        found = outcome(compiled, *args)
        assert not isinstance(found, (InternalError, Warning)), found
        if isinstance(expected, Exception):
            assert isinstance(found, (LinadError, type(expected))), found
        elif not isinstance(found, LinadError):
            assert not isinstance(found, Exception), found
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(found, expected, rtol=1e-12)


PROGRAMS = {
    "*": lambda x, n: x * n,
    "n /": lambda x, n: n / x,
    "**": lambda x, n: x**n,
    "n **": lambda x, n: n**x,
    "<": lambda x, n: np.where(x < n, x, -x),
    "==": lambda x, n: np.where(x == n, x, -x),
    "if <": lambda x, n: x * 2 if x[0] < n else -x,
    "maximum": lambda x, n: np.maximum(x, n),
    "where": lambda x, n: np.where(x > 1, x, n),
    "clip": lambda x, n: np.clip(x, 0, n),
    "write": lambda x, n: written(x, 0, n),
    "write a list": lambda x, n: written(x, slice(2), [n, 1]),
    "index": lambda x, n: x[n],
    "slice": lambda x, n: x[:n] * 2,
    "roll": lambda x, n: np.roll(x, n) * 2,
    "full_like": lambda x, n: x + np.full_like(x, n),
    "polyval": lambda x, n: np.polyval([n, 1.0], x),
    "of integers": lambda x, n: x * (np.arange(5) < n),
}


@pytest.mark.usefixtures("kernels")
class TestLargeIntegers:
    @pytest.mark.parametrize("name", PROGRAMS)
    def test_anywhere(self, name):
        for n in LARGE:
            agree(lambda x, f=PROGRAMS[name], n=n: f(x, n), X, times=2)

    def test_as_arguments(self):
        for n in LARGE:
            agree(lambda x, n: x * n, X, n, times=2)

    def test_single_precision(self):
        agree(lambda x: x * 10**30, X.astype(np.float32))

    def test_a_series(self):
        agree(lambda x: np.sum(sum(x**i / math.factorial(i) for i in range(22))), X)
        slope = linad.jit(linad.grad(lambda x: np.sum(x * math.factorial(22) / 10**20)))
        for _ in range(2):
            np.testing.assert_allclose(slope(X), math.factorial(22) / 10**20, rtol=1e-14)


@pytest.mark.usefixtures("kernels")
class TestOddConstants:
    def test_scalars(self):
        for s in (
            np.float16(1.5), np.longdouble(1.5), np.clongdouble(1j), np.uint64(2**64 - 1),
            np.int8(-3), np.uint8(200), np.bool_(True), np.datetime64("2020"), np.bytes_(b"a"),
            np.str_("a"), np.nan, np.inf, -np.inf, complex("nan"), range(5),
        ):  # fmt: skip
            agree(lambda x, s=s: x * s, X, times=2)
            agree(lambda x, s=s: x * (x == s), X, times=2)
            agree(lambda x, s=s: x * (x != s), X, times=2)

    def test_arrays(self):
        A = np.arange(12.0).reshape(3, 4)
        read_only = A.copy()
        read_only.flags.writeable = False
        unaligned = np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(float).reshape(3, 4)
        for a in (
            np.asfortranarray(A), A.T, A[:, ::2], A[::-1], A.astype(">f8"), read_only, unaligned,
            A.astype(np.float16), A.astype(np.longdouble), np.zeros((0, 3)), np.zeros((3, 0)),
            A.astype(object), np.zeros(3, [("a", float)]), np.array(["a"]), np.ones((1,) * 33),
        ):  # fmt: skip
            agree(lambda a: np.sin(a) * 2, a, times=2)
            agree(lambda a: np.sum(a, axis=0), a, times=2)

    def test_nesting_and_length(self):
        deep = X
        for _ in range(3000):
            deep = [deep]

        def reach(x):
            while isinstance(x, list):
                x = x[0]
            return x * 2

        with pytest.raises(LinadError, match="nested"):
            linad.jit(reach)(deep)
        agree(lambda values: sum(values), [float(k) for k in range(1000)], times=2)

    @pytest.mark.parametrize(
        "wrap", [lambda x: [x], lambda x: (x,), lambda x: {"a": x}], ids=["list", "tuple", "dict"]
    )
    def test_results_that_are_nested_deeply(self, wrap):
        def nested(x):
            for _ in range(250):
                x = wrap(x)
            return x

        jitted = linad.jit(nested)
        for _ in range(3):
            found = jitted(X)
            while isinstance(found, (list, tuple, dict)):
                found = found["a"] if isinstance(found, dict) else found[0]
            np.testing.assert_array_equal(found, X)


MATRIX = np.array([[120, 3, 100], [7, 110, 5], [90, 8, 127]], np.int8)


@pytest.mark.parametrize("function", FLOATING, ids=lambda f: f.__name__)
def test_integers_that_are_computed_with_as_floats(function):
    """As NumPy does: no sum of int8 that is too large for one."""
    assert function in FUNCTIONS
    both = function in (np.linalg.solve, np.linalg.lstsq, np.linalg.tensorsolve)
    for a in (MATRIX, MATRIX[0], MATRIX > 50):
        args = (a, a) if both else (a,)
        expected = outcome(function, *args)
        if isinstance(expected, Exception):
            continue
        recorder = RecordTrace()
        with recorder:
            found = function(*[recorder.input(a) for a in args])
            several = isinstance(expected, (tuple, list))
            pairs = zip(expected, found, strict=True) if several else [(expected, found)]
            for p, q in pairs:
                value = np.asarray(getattr(q, "concrete", q))
                assert value.shape == np.shape(p)
                if value.size:
                    assert value.dtype == np.asarray(p).dtype
                    np.testing.assert_allclose(value, p, rtol=1e-9, atol=1e-12)


def test_means_of_large_integers():
    for a in (np.array([2**62] * 4), np.array([2**63 + 5] * 4, np.uint64), np.array(3)):
        agree(lambda a, x: np.mean(a) * x, a, X)


class TestTheLastDoor:
    """A failure of linad's own code: an uncompiled call and a request for a report, or an error."""

    @pytest.fixture(params=["simplify", "Lowering"])
    def broken(self, request, monkeypatch):
        def fail(*args):
            raise AssertionError("broken")

        monkeypatch.setattr(programs, request.param, fail)

    def test_a_program_that_cannot_be_compiled(self, broken):
        def f(x):
            y = np.sin(x) * 2
            x *= 3
            return y, np.sum(x)

        compiled = linad.jit(f)
        for k in range(3):
            x, expected = X.copy(), X.copy()
            asked = pytest.warns(RuntimeWarning, match="please report it")
            with asked if k == 1 else contextlib.nullcontext():
                y, s = compiled(x)
            z, t = f(expected)
            np.testing.assert_array_equal(x, expected)
            np.testing.assert_allclose([*y, s], [*z, t], rtol=1e-15)

    @pytest.mark.filterwarnings("ignore:.*please report it:RuntimeWarning")
    def test_its_derivatives(self, broken):
        f = linad.jit(lambda x: np.sum(np.sin(x) * x))
        for _ in range(2):
            np.testing.assert_allclose(linad.grad(f)(X), np.cos(X) * X + np.sin(X), rtol=1e-13)
            J = linad.linearize(f, X)[1]
            np.testing.assert_allclose(J @ X, np.sum(X * (np.cos(X) * X + np.sin(X))), rtol=1e-13)

    def test_a_fault_while_a_function_is_traced(self, monkeypatch):
        def fail(*args, **kwargs):
            raise KeyError("broken")

        fail = type(fail)(fail.__code__, {**globals(), "__name__": "linad.rules.broken"})
        monkeypatch.setitem(FUNCTIONS, np.flip, fail)
        with pytest.raises(InternalError, match="KeyError: 'broken' .*please report it"):
            linad.jit(lambda x: np.flip(x))(X)

    @pytest.mark.parametrize("error", [AssertionError, KeyError, AttributeError, NameError])
    def test_errors_of_the_user_pass(self, error):
        calls = []

        def f(x):
            calls.append(1)
            raise error("mine")

        for g in (f, linad.jit(f)):
            with pytest.raises(error, match="mine") as caught:
                g(X)
            assert not is_own_fault(caught.value)
        assert len(calls) == 2

    def test_attributes_that_arrays_do_not_have(self):
        with pytest.raises(AttributeError) as caught:
            linad.jit(lambda x: x.nothing)(X)
        assert not isinstance(caught.value, InternalError)


def test_a_number_that_python_has_to_know():
    f = linad.jit(lambda x, s: x * math.log(s))
    with pytest.raises(TracerError, match=r"static_argnums=\(1,\)"):
        f(X, 2.0)
    g = linad.jit(lambda x, s: x * math.log(s), static_argnums=(1,))
    np.testing.assert_allclose(g(X, 2.0), X * math.log(2.0))
