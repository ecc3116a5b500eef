"""Caches of adopted code that keep what they computed by the bytes of arrays."""

import numpy as np
import pytest
from near_points import differences

import linad
from linad.errors import LeakedTracerError, OutputError, SwallowedError, UnsupportedError

SOURCE = """
import numpy as np

CACHE = {}


def key_of(*args):
    return tuple([hash(a.tobytes()) if isinstance(a, np.ndarray) else a for a in args])


def square(x, n):
    key = key_of(x, n)
    if key not in CACHE:
        CACHE[key] = x**2 * n
    return CACHE[key]


def both(x):
    return square(x, 3.0) + square(np.eye(3)[0], 2.0) + square(1.0 * x + 0.0, 3.0) * x
"""

X = np.array([0.3, 0.5, 0.7])


def test_bytes_of_traced_arrays_are_keys_that_are_not_found(installed):
    package = installed(SOURCE)
    expected = np.diag(6 * X + 9 * X**2)
    with linad.adopt(package.__name__):
        value = package.both(X)
        for _ in range(2):
            np.testing.assert_allclose(linad.jacobian(package.both)(X), expected)
        jitted = linad.jit(linad.jacobian(package.both))
        np.testing.assert_allclose(jitted(X), expected)
        np.testing.assert_allclose(jitted(2 * X), np.diag(12 * X + 36 * X**2))
        np.testing.assert_array_equal(package.both(X), value)


def test_hashes_of_bytes_are_not_given_again(installed):
    package = installed(SOURCE)
    seen = set()

    def f(x):
        seen.update([package.key_of(x), package.key_of(x)])
        return x**2

    with linad.adopt(package.__name__):
        for _ in range(5):
            linad.grad(lambda x: np.sum(f(x)))(X)
    assert len(seen) >= 10


DIGESTS = """
import hashlib
from hashlib import sha1

import numpy as np

CACHE = {}

def by_update(x):
    h = hashlib.blake2b(b"name")
    h.update(x.tobytes())
    return h.hexdigest()

def at_once(x):
    return sha1(np.ascontiguousarray(x)).digest(), hashlib.new("md5", data=np.ones(3)).digest()

def by_key(x):
    return x.tobytes()

def kept(key, x):
    key = key(x), len(x.tobytes())
    if key not in CACHE:
        CACHE[key] = x**2
    return CACHE[key]

def both(x):
    y = 2.0 * x
    return sum([kept(key, x) + kept(key, 0.5 * y) * x for key in (by_update, at_once, by_key)])

def copied(x):
    kept = x.T.tobytes("F"), x.tobytes()
    x[0] = 5.0
    flat = np.frombuffer(kept[0], dtype=np.float64)
    part = np.frombuffer(kept[1], float, 2, offset=8)
    return np.concatenate([flat.reshape(x.shape) ** 2, part * x[1:], np.frombuffer(b"12345678")])

def as_numbers(x):
    return np.frombuffer(x.tobytes(), np.int64)

def too_many(x):
    return np.frombuffer(x.tobytes(), float, 4)

def written(x):
    return x * memoryview(x.tobytes())[0]
"""


def test_digests_of_traced_arrays_are_not_given_again(installed):
    package = installed(DIGESTS)
    value = package.both(X)
    with linad.adopt(package.__name__):
        for _ in range(2):
            J = linad.jacobian(package.both)(X)
            np.testing.assert_allclose(J, np.diag(6 * X + 9 * X**2))
        np.testing.assert_array_equal(package.both(X), value)
        assert package.by_update(X) == package.by_update(X.copy())


def test_bytes_of_traced_arrays_are_read_as_what_they_were(installed):
    package = installed(DIGESTS)
    expected = np.vstack([np.diag(2 * X), np.eye(3)[1:] * 2 * X, np.zeros((1, 3))])
    with linad.adopt(package.__name__):
        np.testing.assert_allclose(linad.jacobian(package.copied)(X), expected)
        with pytest.raises(UnsupportedError, match="array of float64 are read .* not as int64"):
            linad.jacobian(package.as_numbers)(X)
        with pytest.raises(ValueError, match="smaller than requested"):
            linad.jacobian(package.too_many)(X)
        with pytest.raises(UnsupportedError, match="compiled code, .* 'BytesOfTraced'"):
            linad.jacobian(package.written)(X)


KEYS = """
import functools
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass

KEPT, LAST, SEEN = {}, OrderedDict(), set()
SPECIAL = {0.3, 1.0, -1.0, -2.0}
NAMES = {0.9: "first", 0.8: "other"}


def power(s, n):
    if (s, n) not in KEPT:
        KEPT[s, n] = s**n
    return KEPT[(s, n)]


def kept(x):
    return power(x[0], 2) + power(x[0], 3) * power(1.0 * x[0], 2) + power(x[1], 2)


class Memoized:
    def __init__(self, function):
        self.function, self.cache = function, {}

    def __call__(self, *args):
        try:
            return self.cache[args]
        except KeyError:
            value = self.cache[args] = self.function(*args)
            return value
        except TypeError:
            return self.function(*args)


@Memoized
def cube(s):
    return s**3


def memoized(x):
    return cube(x[0]) * cube(x[1])


def last(x):
    s = x[0] * x[1]
    if s not in LAST:
        LAST[s] = s**2
        LAST.move_to_end(s)
    return LAST[s]


def special(x):
    return x[1] * x[2] if x[0] in SPECIAL else x[0] * x[1] * x[2]


def named(x):
    return x[1] * len(NAMES.get(x[0], "none"))


def by_entries(x):
    places = {v: i + 1 for i, v in enumerate(x)}
    return sum(x[i] ** 2 * places[x[i]] for i in range(3))


def distinct(x):
    return sum((i + 1) * v for i, v in enumerate(sorted(set(x) | {x[0]})))


def counted(x):
    return sum(n * s**2 for s, n in Counter([x[0], x[1], x[0], x[2]]).items())


def collected(x):
    found = defaultdict(list)
    for i, v in enumerate([*x, x[1]]):
        found[v].append(i * v)
    return sum(sum(parts) ** 2 for parts in found.values())


def inside(x):
    @functools.lru_cache
    def square(s):
        return s**2

    return square(x[0]) * square(x[1]) + square(x[0])


@dataclass(frozen=True)
class Point:
    a: object
    b: object


def points(x):
    found = {Point(x[0], x[1]): x[2]}
    return found[Point(x[0], x[1])] * found[Point(x[0], x[1])]


def mixed(x):
    return sum({0.5, x[0]})


def groups(x):
    if x[0] not in KEPT:
        KEPT[x[0]] = [x[0]]
    KEPT[x[0]] = [2 * x[1]]
    return KEPT[x[0]][0] * x[0]


def swallowing(x):
    try:
        return sum(set(x))
    except TypeError:
        return sum(x)


def strict(x):
    return NAMES[x[0]] and x[1]
"""

FUNCTIONS = [
    *("kept", "memoized", "last", "special", "named", "by_entries"),
    *("distinct", "counted", "collected", "inside", "points"),
]
Y = np.array([0.3, 0.7, 0.45])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_traced_numbers_as_keys(installed, kernels, name):
    # Plain calls at the same points have filled what outlives the call.
    package, other = installed(KEYS), installed(KEYS)
    f, plain = getattr(package, name), getattr(other, name)
    with linad.adopt(package.__name__):
        jitted, slope = linad.jit(f), linad.jit(linad.grad(f))
        for x in (Y, Y + 0.01, Y, np.array([-1.0, -2.0, 0.3])):
            expected = differences(plain, x)
            if name == "special" and x[0] in other.SPECIAL:  # which differences step over
                expected = np.array([0.0, x[2], x[1]])
            assert f(x) == plain(x)
            for found in (linad.grad(f)(x), linad.grad(f)(x), slope(x)):
                np.testing.assert_allclose(found, expected, rtol=1e-6)
            pushed = [linad.jvp(f, (x,), (d,))[1] for d in np.eye(3)]
            np.testing.assert_allclose(pushed, expected, rtol=1e-6)
            np.testing.assert_allclose(jitted(x), plain(x), rtol=1e-14)
        nested = linad.jacobian(linad.grad(f))(Y + 0.02)
        expected = differences(linad.grad(f), Y + 0.02)
        np.testing.assert_allclose(nested, expected, rtol=1e-6, atol=1e-9)
    for table in (package.KEPT, package.LAST, package.cube.cache):
        for key in table:
            assert "Tracer" not in repr([type(part) for part in np.atleast_1d(key)])


def refused(f, x, error, words):
    for derivative in (linad.grad(f), linad.jit(f), lambda x: linad.jvp(f, (x,), (Y,))):
        with pytest.raises(error, match=words):
            derivative(x)


def test_keys_of_one_value_with_unlike_derivatives_are_refused(installed):
    package, tied = installed(KEYS), np.array([0.5, 0.7, 0.7])
    with linad.adopt(package.__name__):
        for f in (package.distinct, package.counted, package.collected):
            refused(f, tied, UnsupportedError, "another key of the same value, 0.7, which has an")
        refused(package.mixed, tied, UnsupportedError, "of the same value, 0.5, which is plain")
        refused(
            package.strict, np.full(3, 0.9), UnsupportedError, r"line \d+: a .* 0.9, which is plain"
        )
        refused(package.swallowing, tied, SwallowedError, "the same value, 0.7")
        np.testing.assert_allclose(linad.grad(package.mixed)(Y), [1.0, 0.0, 0.0])
        # What a function keeps for itself is found by the number alone that it was kept for.
        x = np.array([0.7, 0.7, 0.3])
        expected = differences(package.kept, x)
        np.testing.assert_allclose(linad.grad(package.kept)(x), expected, rtol=1e-6)


def test_a_table_that_is_no_cache_is_refused_afterwards(installed):
    package = installed(KEYS)
    with linad.adopt(package.__name__):
        linad.grad(package.groups)(Y)
        package.KEPT[0.3] = [7.0]
        with pytest.raises(UnsupportedError, match=r"by traced and plain numbers 0\.3"):
            linad.grad(package.groups)(Y)
    assert package.KEPT == {0.3: [7.0]}


def test_keys_elsewhere(installed):
    package = installed("def key(x):\n    return {x: 1.0}[x] * x\n")
    with pytest.raises(TypeError, match="unhashable"):
        linad.grad(package.key)(0.5)
    with linad.adopt(package.__name__):
        assert linad.grad(package.key)(0.5) == 1.0
        with pytest.raises(TypeError, match="unhashable"):
            linad.grad(lambda x: {x: 1.0}[x] * x)(0.5)
        with pytest.raises(TypeError, match="unhashable"):
            linad.jacobian(package.key)(Y)


def test_a_lasting_cache_forgets(installed):
    package = installed(
        "import functools\n\n\ndef make():\n    return functools.lru_cache(lambda s: s**2)\n\n\n"
        "def f(x, square):\n    return square(x) * x\n"
    )
    square = package.make()
    with linad.adopt(package.__name__):
        assert square(2.0) == 4.0
        for x in (3.0, 3.0, 4.0):
            assert linad.grad(lambda x: package.f(x, square))(x) == 3 * x**2
            assert linad.jit(linad.grad(lambda x: package.f(x, square)))(x) == 3 * x**2
    assert square(3.0) == 9.0


CACHED = """
import functools

CALLS = []


@functools.lru_cache(maxsize=4)
def series(n, s, *, factor=0.1):
    CALLS.append(n)
    return s + n if n < 2 else series(n - 1, s) * s * factor + series(n - 2, s)


def at_twenty(x):
    return series(20, x[0]) + series(20, x[1], factor=x[2]) + series(20, 0.5) * x[0]


@functools.lru_cache
def total(rows, k):
    return sum(rows) * k


def of_tuples(x):
    return total((x[0], x[1]), 2) * total((x[0], x[1]), 2.0) * total(tuple(x), k=x[0])
"""


def test_cached_functions_keep_results_of_traced_numbers_for_their_trace(installed):
    package, plain = installed(CACHED), installed(CACHED)
    with linad.adopt(package.__name__):
        for f, g in (
            (package.at_twenty, plain.at_twenty),
            (package.of_tuples, plain.of_tuples),
        ):
            for x in (Y, Y, np.array([0.3, 0.3, 0.1])):
                expected = differences(g, x)
                np.testing.assert_allclose(linad.grad(f)(x), expected, rtol=1e-6)
                np.testing.assert_allclose(f(x), g(x), rtol=1e-14)
        package.CALLS.clear()
        linad.grad(package.at_twenty)(Y)
    assert len(package.CALLS) <= 3 * 21


def test_results_by_traced_keys_are_refused(installed):
    package = installed("def f(x):\n    return {x: x**2}\n\n\ndef g(x):\n    return {(1, x): x}\n")
    with linad.adopt(package.__name__):
        for f in (package.f, package.g):
            for derivative in (linad.jacobian(f), linad.jit(f), linad.derivative(f)):
                with pytest.raises(OutputError, match="traced numbers as keys"):
                    derivative(0.3)


KEEPING = """
import functools

import numpy as np

KEPT, LISTED = {}, []
GLOBAL = None


class Holder:
    @functools.cached_property
    def weights(self):
        return np.arange(3.0) + 1.0


HOLDER = Holder()


def of_dict(x):
    if 3 not in KEPT:
        KEPT[3] = np.ones(3) * 3.0
    return np.sum(KEPT[3] * x)


def of_filled(x):
    if "filled" not in KEPT:
        KEPT["filled"] = np.zeros(3)
        KEPT["filled"][1:] = 2.0
    return np.sum(KEPT["filled"] * x)


def of_tuples(x):
    if "pair" not in KEPT:
        KEPT["pair"] = np.ones(3), np.ones(3) * 2.0
    return np.sum(KEPT["pair"][1] * x)


def of_list(x):
    if not LISTED:
        LISTED.append(np.ones(3) * 7.0)
    return np.sum(LISTED[0] * x)


def of_global(x):
    global GLOBAL
    if GLOBAL is None:
        GLOBAL = np.ones(3) * 8.0
    return np.sum(GLOBAL * x)


def of_property(x):
    return np.sum(HOLDER.weights * x)


@functools.lru_cache
def basis(n):
    rho = np.zeros(n)
    rho[:] = np.arange(n)

    @functools.lru_cache
    def power(k):
        out = np.zeros(n)
        out += rho**k
        return out

    return power(2) + power(1) + power(2)


def of_caches(x):
    return np.sum(basis(3) * x)


def of_argument(x):
    if "x" not in KEPT:
        KEPT["x"] = np.ones(3) * x
    return np.sum(KEPT["x"] * x)
"""


@pytest.mark.parametrize(
    "name",
    ["dict", "filled", "tuples", "list", "global", "property", "caches"],
)
@pytest.mark.parametrize(
    "first", [linad.grad, linad.jit, lambda f: lambda x: linad.jvp(f, (x,), (x,))]
)
def test_constants_that_are_kept_are_plain_later(installed, name, first):
    package, plain = installed(KEEPING), installed(KEEPING)
    f, expected = getattr(package, f"of_{name}"), getattr(plain, f"of_{name}")
    slope = np.array([expected(row) for row in np.eye(3)])
    with linad.adopt(package.__name__):
        first(f)(X)
        for _ in range(2):
            np.testing.assert_array_equal(linad.grad(f)(X), slope)
        np.testing.assert_allclose(linad.jit(linad.grad(f))(X), slope, rtol=1e-14)
        assert f(X) == expected(X)
    for kept in (package.KEPT, vars(package.HOLDER)):
        assert {type(v) for v in kept.values()} <= {np.ndarray, tuple}
    assert f(X) == expected(X)


def test_what_depends_on_an_argument_is_not_kept(installed):
    package = installed(KEEPING)
    with linad.adopt(package.__name__):
        linad.grad(package.of_argument)(X)
        with pytest.raises(LeakedTracerError, match="KEPT"):
            linad.grad(package.of_argument)(X)


SEARCHES = """
import numpy as np
from scipy.optimize import brentq

def by_operators(th):
    kept = {}

    def f(x):
        if x not in kept:
            kept[x] = th[0] * x - np.exp(-x * th[1])
        return kept[x]

    return brentq(f, 0, 10)

def by_writes(th):
    kept = {}

    def f(x):
        if x not in kept:
            sides = np.zeros(2)
            sides[0], sides[1] = th[0] * x, np.exp(-x * th[1])
            kept[x] = sides[0] - sides[1]
        return kept[x]

    return brentq(f, 0, 10)
"""


@pytest.mark.parametrize("name", ["by_operators", "by_writes"])
def test_what_a_search_has_kept_is_computed_again_for_its_derivative(installed, name):
    """Brent's method is the last to evaluate at the root, and what it computes is plain."""
    package, th = installed(SEARCHES), np.array([2.0, 0.7])
    with linad.adopt(package.__name__):
        f = getattr(package, name)
        np.testing.assert_allclose(linad.grad(f)(th), differences(f, th), rtol=1e-6)
