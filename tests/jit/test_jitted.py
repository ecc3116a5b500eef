"""`linad.jit` against the function itself: results, dtypes, containers, writes, errors."""

import dataclasses
import inspect
import pickle
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse

import linad
from linad.core import patience, tree
from linad.errors import DTypeError, OutputError, TracerError, UnsupportedError


def check(f, *args, calls=3, rtol=1e-14, **kwargs):
    """Compare several calls of the jitted function with the function itself."""
    jitted = linad.jit(f)
    for _ in range(calls):
        expected, structure = tree.flatten(f(*args, **kwargs))
        before = [np.array(a) for a in tree.flatten((args, kwargs))[0]]
        found, same = tree.flatten(jitted(*args, **kwargs))
        assert same == structure
        for a, b in zip(found, expected, strict=True):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert isinstance(a, np.ndarray) == isinstance(b, np.ndarray)
            if np.asarray(b).dtype.kind in "fc":
                np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)
            else:
                np.testing.assert_array_equal(a, b)
        for a, b in zip(tree.flatten((args, kwargs))[0], before, strict=True):
            np.testing.assert_array_equal(a, b)
    return jitted


def f(x):
    return np.sin(x) * 2 + x[..., ::-1]


def misaligned(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)[1:]
    view = memory.view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned
    return view


def read_only(x):
    y = x.copy()
    y.flags.writeable = False
    return y


LAYOUTS = {
    "contiguous": lambda x: x,
    "fortran": np.asfortranarray,
    "negative strides": lambda x: x[::-1, ::-1],
    "every second": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "broadcast": lambda x: np.broadcast_to(x[0], x.shape),
    "misaligned": misaligned,
    "read-only": read_only,
    "byte-swapped": lambda x: x.astype(">f8"),
    "with metadata": lambda x: x.astype(np.dtype("f8", metadata={"unit": "m"})),
    "empty": lambda x: x[:, :0],
    "no rows": lambda x: x[:0],
}


@pytest.mark.usefixtures("kernels")
class TestInputs:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_layouts(self, layout):
        check(f, LAYOUTS[layout](np.arange(12.0).reshape(3, 4)))

    def test_any_layout_after_any_other(self):
        jitted = linad.jit(f)
        x = np.arange(12.0).reshape(3, 4)
        arrays = [LAYOUTS[name](x) for name in LAYOUTS]
        rng = np.random.default_rng(0)
        for k in rng.integers(len(arrays), size=60):
            np.testing.assert_allclose(jitted(arrays[k]), f(arrays[k]), rtol=1e-14, strict=True)

    @pytest.mark.parametrize(
        "dtype",
        ["f2", "f4", "f8", "g", "c8", "c16", "i1", "i2", "i4", "i8", "q", "u1", "u2", "u8", "?"],
    )
    def test_dtypes(self, dtype):
        x = np.arange(6).astype(dtype)

        def g(x):
            y = x.copy()
            y[1:3] = x[3:5]
            y[0] = x[5]
            half = x[::-1]
            both = np.concatenate([x, half])
            return y, half, both, np.where(x > 2, x, half), x == half, x.reshape(2, 3).T, np.max(x)

        check(g, x)
        check(lambda x: (x + x, np.sum(x), x.astype(complex) * 2, x[[2, 1, 2]]), x)

    @pytest.mark.parametrize("name", ["M8[s]", "m8[s]", "U1", "S1"])
    def test_arrays_of_other_things_are_part_of_the_program(self, name):
        labels = np.array([1, 2, 1], "i8").astype(name)
        jitted = linad.jit(lambda x, labels: np.where(labels == labels[0], x, -x))
        x = np.arange(1.0, 4.0)
        for _ in range(3):
            np.testing.assert_array_equal(jitted(x, labels), [1, -2, 3])
        labels[2] = labels[1]  # contents count, not the object
        np.testing.assert_array_equal(jitted(x, labels), [1, -2, -3])

    def test_scalars(self):
        for x in (2.0, np.float64(2.0), np.float32(2.0), np.array(2.0), 2 + 1j, np.complex64(2j)):
            check(lambda x: (np.sin(x) * 2, x * x), x)

    @pytest.mark.parametrize(
        "number", [3, 2.5, True, 1j, np.float32(2.5), np.float64(2.5)], ids=repr
    )
    @pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "?", "f2"])
    def test_numbers_beside_arrays(self, number, dtype):
        check(lambda x, s: x * s, np.arange(4).astype(dtype), number)

    def test_python_numbers_that_meet_single_precision_inside(self):
        weights = np.arange(3, dtype=np.float32)
        check(lambda x, s: x.astype(np.float32) * s, np.arange(3.0), 2.0)
        check(lambda x, s: (x, weights * s), np.arange(3.0), 2.0)
        jitted = linad.jit(lambda x, s: x.astype(np.float32) * s)
        for s in (1.0, 2.0, 2.0, 3.0):
            np.testing.assert_array_equal(
                jitted(np.ones(2), s), np.full(2, s, np.float32), strict=True
            )

    def test_zeros_of_both_signs(self):
        jitted = linad.jit(lambda x, s: np.copysign(x, s))
        for dtype in (np.float32, np.float64):
            x = np.ones(2, dtype)
            for s in (0.0, 0.0, -0.0, -0.0, 0.0):
                np.testing.assert_array_equal(jitted(x, s), np.copysign(x, s))

    def test_strings_integers_and_none_choose_the_program(self):
        def g(x, name, n, flag, nothing):
            for _ in range(n):
                x = np.sin(x) if name == "sin" else np.cos(x)
            return x if flag and nothing is None else -x

        jitted = linad.jit(g)
        x = np.arange(3.0)
        for name in ("sin", "cos"):
            for n in (1, 3, 1):
                for flag in (True, False, 1):
                    for nothing in (None, "something"):
                        expected = g(x, name, n, flag, nothing)
                        for _ in range(2):
                            np.testing.assert_allclose(
                                jitted(x, name, n, flag, nothing), expected, rtol=1e-14
                            )

    def test_nan_and_infinity(self):
        x = np.array([np.nan, 1.0, -np.inf, np.inf, -0.0])

        def g(x):
            return (
                np.maximum(x, 1) + np.minimum(x, 3),
                np.sign(x),
                np.clip(x, 0, 1),
                np.where(x > 0, x, 0),
                np.max(x[1:]),
                np.sum(x),
                x * 0,
            )

        with np.errstate(all="ignore"):
            check(g, x)

    def test_objects_are_refused(self):
        jitted = linad.jit(lambda x, y: x)
        with pytest.raises(DTypeError, match="got dtype object"):
            jitted(np.zeros(2), np.array([1, None]))

    @pytest.mark.parametrize(
        "odd", [np.eye(2).view(np.matrix), np.ma.array([1.0, 2.0], mask=[0, 1])]
    )
    def test_other_arithmetic_is_refused(self, odd):
        with pytest.raises(UnsupportedError, match="jit: an argument is a"):
            linad.jit(lambda x: x * x)(odd)

    def test_one_array_twice(self):
        x = np.arange(3.0)
        check(lambda a, b: a * b + np.sum(a), x, x)
        check(lambda a, b: np.sum(a) * b, x, x[::-1])

    def test_sparse_arrays(self):
        matrix = scipy.sparse.random_array((5, 4), density=0.5, rng=0, format="csr")
        check(lambda x: matrix @ x, np.arange(4.0))
        jitted = linad.jit(lambda matrix, x: matrix @ x)
        for k in range(4):  # also after its numbers have changed in place
            matrix.data[:] = k + 1
            np.testing.assert_allclose(
                jitted(matrix, np.arange(4.0)), matrix @ np.arange(4.0), rtol=1e-14
            )


@dataclasses.dataclass
class Point:
    x: object
    y: object


class Pair(NamedTuple):
    first: object
    second: object


@pytest.mark.usefixtures("kernels")
class TestContainers:
    def test_nested(self):
        def g(a, *, scale, **more):
            total = a["p"][0] * scale + a["p"][1].x
            return {"r": [total, (a["q"].second, None)], "s": Pair(more["t"] * 2, 1)}

        x = np.arange(3.0)
        a = {"p": [x, Point(2 * x, 1.0)], "q": Pair(x, x + 1)}
        check(g, a, scale=2.0, t=x)

    def test_dataclass_in_and_out(self):
        check(lambda p: Point(p.x * 2, p.y + p.x), Point(np.arange(3.0), 2.0))

    def test_keywords_in_any_order(self):
        jitted = linad.jit(lambda x, *, a, b: x * a - b)
        for _ in range(3):
            assert jitted(2.0, a=3.0, b=1.0) == 5
            assert jitted(2.0, b=3.0, a=1.0) == -1

    def test_other_containers_of_the_same_arrays(self):
        jitted = linad.jit(lambda p: p[0] - p[1] if isinstance(p, tuple) else p[0] + p[1])
        a, b = np.ones(2), np.full(2, 3.0)
        for _ in range(3):
            np.testing.assert_array_equal(jitted((a, b)), [-2, -2])
            np.testing.assert_array_equal(jitted([a, b]), [4, 4])

    def test_a_container_that_grows(self):
        jitted = linad.jit(lambda p: sum(p.values()))
        p = {"a": np.ones(2)}
        for k in range(2, 6):
            for _ in range(3):
                np.testing.assert_array_equal(jitted(p), np.full(2, k - 1.0))
            p[f"b{k}"] = np.ones(2)

    def test_kinds_of_arguments_in_turn(self):
        jitted = linad.jit(lambda x, n: np.sin(x) * n)
        for _ in range(4):
            for x in (np.ones(3), np.ones((2, 2)), np.float64(2.0), 3.0, np.ones(3, np.float32)):
                for n in (2, 3):
                    found = jitted(x, n)
                    np.testing.assert_allclose(found, np.sin(x) * n, rtol=1e-6)
                    assert np.asarray(found).dtype == (np.sin(x) * n).dtype

    def test_static_arguments(self):
        calls = []

        def g(x, n, *, kind):
            calls.append(n)
            return x * len(n) if kind is abs else x

        jitted = linad.jit(g, static_argnums=1, static_argnames="kind")
        for _ in range(3):
            assert jitted(2.0, (1, 2), kind=abs) == 4
        assert jitted(2.0, (1, 2, 3), kind=abs) == 6
        assert jitted(2.0, (1, 2, 3), kind=len) == 2
        assert calls == [(1, 2), (1, 2, 3), (1, 2, 3)]

    def test_equal_static_arguments_of_other_types(self):
        jitted = linad.jit(lambda x, s: x * s[0], static_argnums=-1)
        x = np.arange(3)
        for s in ((1,), (1.0,), (True,), (1.0,), (1,)):
            np.testing.assert_array_equal(jitted(x, s), x * s[0], strict=True)

    def test_the_order_of_keys(self):
        a, b = {"a": np.ones(2), "b": np.zeros(2)}, {"b": np.zeros(2), "a": np.ones(2)}
        for f in (lambda p: np.stack(list(p.values())), lambda p: list(p), lambda p: p):
            jitted = linad.jit(f)
            for p in (a, a, a, b, b, a, b):
                found, expected = jitted(p), f(p)
                np.testing.assert_array_equal(list(found), list(expected))

        jitted = linad.jit(lambda **p: next(iter(p.values())))
        for _ in range(3):
            assert (jitted(a=1.0, b=2.0), jitted(b=2.0, a=1.0)) == (1, 2)

    def test_a_static_dict_that_grows(self):
        jitted, options = linad.jit(lambda x, o: x * len(o), static_argnums=1), {"a": 1}
        for k in range(1, 4):
            for _ in range(3):
                assert jitted(2.0, options) == 2 * k
            options[str(k)] = 1

    def test_static_objects_that_cannot_be_hashed(self):
        jitted = linad.jit(lambda x, options: x * options["k"], static_argnames="options")
        options = {"k": 2.0}
        for _ in range(3):
            assert jitted(3.0, options=options) == 6
        assert jitted(3.0, options={"k": 5.0}) == 15

    def test_decorators(self):
        @linad.jit
        def g(x):
            """Twice."""
            return 2 * x

        @linad.jit(static_argnums=1)
        def h(x, n):
            return n * x

        assert (g(2.0), g(2.0), h(2.0, 3), h(2.0, 3)) == (4, 4, 6, 6)
        assert (g.__name__, g.__doc__) == ("g", "Twice.")
        told = inspect.getdoc(linad.jit(linad.grad(g)))
        assert told == "Gradient of g in argnums=0, a function of the arguments of g.\n\nTwice."

    @pytest.mark.parametrize("options", [{}, {"static_argnums": 1}])
    def test_none_is_no_decorator(self, options):
        with pytest.raises(TypeError, match="jit"):
            linad.jit(None, **options)
        assert linad.jit(**options)(lambda x, n=2: n * x)(1.0) == 2
        assert "<left out>" in str(inspect.signature(linad.jit))

    def test_methods(self):
        class Model:
            def __init__(self, w):
                self.w = w

            @linad.jit
            def run(self, x):
                return self.w * x

        two, three = Model(2.0), Model(3.0)
        for _ in range(3):
            assert (two.run(5.0), three.run(5.0)) == (10, 15)
            assert Model.run(two, 5.0) == 10
        np.testing.assert_allclose(linad.grad(two.run)(1.0), 2.0)

    def test_methods_of_classes(self):
        class Model:
            scale = 2.0

            @classmethod
            @linad.jit
            def inside(cls, x):
                return cls.scale * x

            @linad.jit
            @classmethod
            def outside(cls, x):
                return cls.scale * x

            @linad.jit
            @staticmethod
            def static(x):
                return 7 * x

            @property
            @linad.jit
            def own(self):
                return self.scale * np.ones(2)

        class Other(Model):
            scale = 3.0

        for _ in range(3):
            for kind, scale in ((Model, 2), (Other, 3)):
                assert kind.inside(5.0) == kind.outside(5.0) == kind().outside(5.0) == 5 * scale
                assert kind.static(5.0) == kind().static(5.0) == 35
                np.testing.assert_array_equal(kind().own, [scale, scale])

    def test_what_is_no_function(self):
        with pytest.raises(TypeError, match="jit: the first argument must be a function, got 3"):
            linad.jit(3)


class TestOutputs:
    def test_constants(self):
        check(lambda x: (1.0, x * 2, None, [3, "s"], np.arange(3), True), np.ones(2))

    def test_arguments_as_they_are(self):
        check(lambda x, y: (x, y[1:], x, x.T, 2.0), np.ones((2, 3)), np.arange(3.0))

    def test_results_are_the_callers_own(self):
        constant = np.arange(3.0)
        jitted = linad.jit(lambda x: (x, x[1:], x, constant, np.zeros(2), x * 2, x[0]))
        x = np.arange(3.0)
        expected = [np.array(r) for r in jitted.function(x)]
        for _ in range(4):
            results = jitted(x)
            for found, right in zip(results, expected, strict=True):
                np.testing.assert_array_equal(found, right)
            for r in results[:-1]:
                r[...] = np.nan
            np.testing.assert_array_equal(x, [0, 1, 2])
            np.testing.assert_array_equal(constant, [0, 1, 2])

    def test_results_do_not_share_memory(self):
        jitted = linad.jit(lambda x: (x * 2, (x * 2)[::-1], np.transpose(x * 2)))
        for _ in range(3):
            results = jitted(np.arange(3.0))
            for k, a in enumerate(results):
                assert a.flags.owndata or a.base is not None
                for b in results[k + 1 :]:
                    assert not np.shares_memory(a, b) or k == -1

    def test_integers_and_booleans(self):
        check(lambda x: (x > 1, np.argmax(x), np.floor(x).astype(int), x.shape), np.arange(3.0))

    def test_nothing(self):
        jitted = linad.jit(lambda x: None)
        for _ in range(2):
            with pytest.raises(OutputError, match="returned None"):
                jitted(np.ones(2))

    @pytest.mark.parametrize("size", [3, 200_000])
    @pytest.mark.parametrize("calls", [1, 2, 3])
    def test_closures_are_read_at_each_call(self, size, calls):
        weights = np.ones(size)
        jitted = linad.jit(lambda x: x * weights * weights[::-1])
        for k in range(5):
            if k == calls:
                weights[:] = 5.0
            np.testing.assert_array_equal(jitted(2.0)[::size], 2 if k < calls else 50)
        np.testing.assert_array_equal(linad.grad(lambda x: jitted(x)[0])(2.0), 25)

    def test_other_objects_may_hold_traced_values(self):
        class Model:
            def __init__(self, x):
                self.x = x

        for f, what in (
            (lambda x: (x * k for k in range(2)), "generator"),
            (lambda x: zip([x], [x], strict=True), "zip"),
            (Model, "Model"),
            (lambda x: np.array([1, None]), "array of dtype object"),
            (lambda x: linad.vjp(np.sin, x), r"method; .*vjp\(jit\(f\), x\) run"),
            (lambda x: linad.linearize(np.sin, x), r"TapeOperator; .*linearize\(jit\(f\)"),
        ):
            jitted = linad.jit(f)
            for _ in range(2):
                with pytest.raises(OutputError, match=f"it returned an? {what}"):
                    jitted(np.ones(()))

    def test_constant_sets_are_the_callers_own(self):
        jitted = linad.jit(lambda x: (x, {1, 2}, frozenset("a"), Pair))
        for _ in range(3):
            result = jitted(2.0)
            assert result == (2, {1, 2}, frozenset("a"), Pair)
            result[1].add(3)


class TestWrites:
    def test_into_an_argument(self):
        def mul(c, a, b):
            c[:] = a @ b
            return c[0, 0]

        rng = np.random.default_rng(0)
        jitted = linad.jit(mul)
        for _ in range(4):
            a, b = rng.normal(size=(2, 3)), rng.normal(size=(3, 2))
            for c in (np.zeros((2, 2)), np.zeros((4, 2))[::2], np.zeros((2, 2), order="F")):
                first = jitted(c, a, b)
                np.testing.assert_allclose(c, a @ b, rtol=1e-14)
                assert first == c[0, 0]

    @pytest.mark.parametrize("dtype", [">f8", "f4", "i2", "c16"])
    def test_into_other_dtypes(self, dtype):
        def g(c):
            c[1:] = c[:-1]
            c[0] += 5

        jitted = linad.jit(g)
        for _ in range(3):
            c, d = np.arange(4).astype(dtype), np.arange(4).astype(dtype)
            jitted(c)
            g(d)
            np.testing.assert_array_equal(c, d, strict=True)

    def test_two_names_of_one_array(self):
        """Written through one name, read through the other: as in NumPy, from the first call."""

        def g(c, a):
            c[1:] = a[:-1] * 2
            return np.sum(a)

        jitted = linad.jit(g)
        for _ in range(3):
            for views in (
                lambda x: (x, x),
                lambda x: (x[2:], x[:-2]),
                lambda x: (x[:3], x[3:]),
                lambda x: (x[::2], x[1::2]),
            ):
                x, y = np.arange(6.0), np.arange(6.0)
                assert jitted(*views(x)) == g(*views(y))
                np.testing.assert_array_equal(x, y)

    def test_two_names_of_one_array_inside_a_derivative(self):
        def g(c, a):
            c[1:] = a[:-1] * 2
            return np.sum(a * a)

        jitted = linad.jit(g)
        for k in range(3):
            x = np.arange(4.0) + k

            def loss(x, h):
                y = x * 1.0
                return h(y, y)

            def apart(x, h):
                y = x * 1.0
                return h(y, x)

            for function in (loss, apart):
                found, expected = (linad.grad(function)(x, h) for h in (jitted, g))
                np.testing.assert_allclose(found, expected, rtol=1e-13)

    def test_numbers_are_replaced(self):
        def g(s, x):
            before = s
            s += 1
            return before * x, s * x

        for s in (2.0, np.float64(2.0), 2 + 1j):
            check(g, s, np.ones(2))

    def test_read_only_arrays(self):
        jitted = linad.jit(lambda c: c.__setitem__(0, 1.0))
        for _ in range(3):
            with pytest.raises(ValueError, match="read-only"):
                jitted(read_only(np.zeros(2)))
            c = np.zeros(2)
            jitted(c)
            assert c[0] == 1

    def test_under_a_derivative(self):
        def mul(c, a):
            c[:] = a * a
            c[0] = a[1]

        jitted = linad.jit(mul)

        def loss(a, write):
            c = np.zeros_like(a)
            write(c, a)
            return np.sum(c * a)

        a = np.arange(1.0, 4.0)
        expected = linad.grad(lambda a: loss(a, mul))(a)
        for _ in range(3):
            np.testing.assert_allclose(linad.grad(lambda a: loss(a, jitted))(a), expected)


class TestErrors:
    def test_of_the_function(self):
        def g(x):
            if x.shape[0] > 2:
                raise KeyError("mine")
            return x

        jitted = linad.jit(g)
        for _ in range(2):
            with pytest.raises(KeyError, match="mine"):
                jitted(np.ones(3))
            np.testing.assert_array_equal(jitted(np.ones(2)), [1, 1])

    @pytest.mark.usefixtures("kernels")
    def test_of_linear_algebra(self):
        for g in (np.linalg.inv, np.linalg.cholesky, lambda a: np.linalg.solve(a, a[0])):
            jitted = linad.jit(g)
            for _ in range(3):
                np.testing.assert_allclose(jitted(np.eye(2)), g(np.eye(2)))
                with pytest.raises(np.linalg.LinAlgError):
                    jitted(-np.zeros((2, 2)))

    def test_float_of_a_traced_number(self):
        with pytest.raises(TracerError, match=r"float\(\)"):
            linad.jit(lambda s: float(s))(2.0)

    def test_numpy_warnings_do_not_break_it(self):
        jitted = linad.jit(lambda x: 1 / x)
        with np.errstate(all="ignore"):
            for _ in range(3):
                assert jitted(np.zeros(1))[0] == np.inf


@pytest.mark.usefixtures("kernels")
class TestGuards:
    def test_conditions(self):
        def g(x):
            return np.sum(x**2) if x[0] > 0 else np.sum(x**3)

        jitted = linad.jit(g)
        x = np.arange(1.0, 4.0)
        for s in (1, -1, 1, -1, 1, -1):
            np.testing.assert_allclose(jitted(s * x), g(s * x), rtol=1e-14)
            np.testing.assert_allclose(linad.grad(jitted)(s * x), linad.grad(g)(s * x), rtol=1e-14)

    def test_nan_takes_its_own_path(self):
        jitted = linad.jit(lambda x: x * 2 if x < 1 else x * 3)
        for x in (0.0, 2.0, np.nan, 0.0, 2.0):
            np.testing.assert_array_equal(jitted(x), jitted.function(x))

    def test_loops_until_convergence(self):
        def root(a):
            x = a
            while abs(x * x - a) > 1e-12 * a:
                x = (x + a / x) / 2
            return x

        jitted = linad.jit(root)
        for a in (2.0, 3.0, 2.0, 100.0, 2.5, 3.0):
            np.testing.assert_allclose(jitted(a), np.sqrt(a), rtol=1e-12)
            np.testing.assert_allclose(linad.grad(jitted)(a), 0.5 / np.sqrt(a), rtol=1e-9)

    def test_computed_indices(self):
        def g(x):
            k = int(np.argmax(x))
            return x[k] * 2 + x[k - 1]

        jitted = linad.jit(g)
        for k in (0, 1, 2, 1, 0):
            x = np.roll(np.arange(4.0), k)
            assert jitted(x) == g(x)

    def test_computed_shapes(self):
        jitted = linad.jit(lambda x: x[x > 2] * 2)
        x = np.arange(1.0, 5.0)
        for v in (x, x, -x, x[::-1], x + 5, x):
            np.testing.assert_array_equal(jitted(v), jitted.function(v), strict=True)

    def test_computed_dtypes(self):
        jitted = linad.jit(np.emath.sqrt)
        for x in (1.0, 1.0, -1.0, -1.0, 1.0):
            v = np.full(2, x)
            np.testing.assert_allclose(jitted(v), np.emath.sqrt(v), strict=True)

    def test_the_number_of_paths_is_bounded(self):
        jitted = linad.jit(lambda x, k: x * int(np.argmax(k)))
        with linad.config(variants=3):
            for n in range(3):
                assert jitted(2.0, np.eye(5)[n]) == 2 * n
            with pytest.warns(UserWarning, match=r"(?s)new path .* test_jitted\.py:\d+.*np\.where"):
                assert jitted(2.0, np.eye(5)[3]) == 6
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for n in (4, 0, 3, 1):
                    assert jitted(2.0, np.eye(5)[n]) == 2 * n
                np.testing.assert_allclose(linad.grad(jitted)(2.0, np.eye(5)[4]), 4)


def cubic(x):
    return np.sum(np.sin(x) * x * x) + np.prod(x[:2])


@pytest.mark.usefixtures("kernels")
class TestDerivatives:
    x = np.linspace(0.3, 1.7, 4)

    def test_of_jitted_functions(self):
        jitted, x = linad.jit(cubic), self.x
        for _ in range(2):
            np.testing.assert_allclose(linad.grad(jitted)(x), linad.grad(cubic)(x), rtol=1e-13)
            np.testing.assert_allclose(
                linad.hessian(jitted)(x), linad.hessian(cubic)(x), rtol=1e-12, atol=1e-13
            )
            for a, b in zip(
                linad.jvp(jitted, (x,), (x,)), linad.jvp(cubic, (x,), (x,)), strict=True
            ):
                np.testing.assert_allclose(a, b, rtol=1e-13)
            np.testing.assert_allclose(
                linad.hvp(jitted, (x,), (x,)), linad.hvp(cubic, (x,), (x,)), rtol=1e-12
            )

    def test_third_order(self):
        jitted, x = linad.jit(cubic), self.x

        def third(f):
            return linad.jvp(lambda x: linad.hvp(f, (x,), (x,)), (x,), (x,))[1]

        np.testing.assert_allclose(third(jitted), third(cubic), rtol=1e-11)
        whole = linad.jit(lambda x: linad.jvp(lambda x: linad.hvp(cubic, (x,), (x,)), (x,), (x,)))
        for _ in range(3):
            np.testing.assert_allclose(whole(x)[1], third(cubic), rtol=1e-11)

    def test_jitted_derivatives(self):
        x = self.x
        for transform in (linad.grad, linad.hessian, linad.value_and_grad):
            check(transform(cubic), x, rtol=1e-12)
        check(lambda x, v: linad.hvp(cubic, (x,), (v,)), x, x + 1, rtol=1e-12)
        check(lambda x, v: linad.jvp(cubic, (x,), (v,)), x, x + 1, rtol=1e-12)

    def test_nested(self):
        x = self.x
        inner = linad.jit(cubic)
        gradient = linad.jit(linad.grad(inner))
        outer = linad.jit(lambda x: np.sum(gradient(x) ** 2) + inner(x))

        def plain(x):
            return np.sum(linad.grad(cubic)(x) ** 2) + cubic(x)

        for _ in range(3):
            np.testing.assert_allclose(outer(x), plain(x), rtol=1e-13)
            np.testing.assert_allclose(linad.grad(outer)(x), linad.grad(plain)(x), rtol=1e-12)
            np.testing.assert_allclose(
                linad.jit(linad.grad(outer))(x), linad.grad(plain)(x), rtol=1e-12
            )

    def test_a_jitted_function_with_a_traced_closure(self):
        def outer(f):
            return linad.grad(lambda a: linad.grad(lambda x: f(lambda x: a * x * x)(x))(3.0))(2.0)

        assert outer(lambda f: f) == outer(linad.jit) == 6

    def test_recursion(self):
        def power(x, n):
            return x if n == 1 else jitted(x, n - 1) * x

        jitted = linad.jit(power)
        for _ in range(3):
            np.testing.assert_allclose(jitted(1.1, 5), 1.1**5, rtol=1e-14)
            np.testing.assert_allclose(linad.grad(jitted)(1.1, 5), 5 * 1.1**4, rtol=1e-13)

    def test_jacobians(self):
        def g(x):
            return np.stack([np.sum(np.sin(x)), np.prod(x), x[0] * x[1]])

        jitted, x = linad.jit(g), self.x
        expected = linad.jacobian(g)(x)
        np.testing.assert_allclose(linad.jacobian(jitted)(x), expected, rtol=1e-13)
        y, J = linad.linearize(jitted, x)
        _, K = linad.linearize(g, x)
        np.testing.assert_allclose(y, g(x), rtol=1e-14)
        w = np.arange(3.0)
        for _ in range(2):
            np.testing.assert_allclose(J @ x, K @ x, rtol=1e-13)
            np.testing.assert_allclose(J.T @ w, K.T @ w, rtol=1e-13)
            np.testing.assert_allclose(J.matmat(np.eye(4)), expected, rtol=1e-13)
            np.testing.assert_allclose(J.rmatmat(np.eye(3)), expected.T, rtol=1e-13)
            np.testing.assert_allclose(J.todense(), expected, rtol=1e-13)
        normal = linad.jit(lambda v: J.T @ (J @ v))
        for _ in range(3):
            np.testing.assert_allclose(normal(x), expected.T @ expected @ x, rtol=1e-13)

    def test_sparse_jacobians(self):
        def g(x):
            return x[1:] ** 2 * x[:-1]

        found = linad.sparse_jacobian(linad.jit(g), self.x)
        np.testing.assert_allclose(found.todense(), linad.jacobian(g)(self.x), rtol=1e-13)

    def test_complex_arguments(self):
        def g(z):
            return np.sum(np.real(z * np.conj(z)) ** 2)

        z = np.array([1 + 2j, -0.5j])
        np.testing.assert_allclose(linad.grad(linad.jit(g))(z), linad.grad(g)(z), rtol=1e-13)
        check(linad.grad(g), z, rtol=1e-13)

    def test_several_arguments_some_of_them_plain(self):
        def g(a, b, n):
            return np.sum(a["x"] * b) * n

        jitted = linad.jit(g)
        a, b = {"x": self.x}, self.x + 1
        for argnums in (0, 1, (0, 1)):
            found, expected = (linad.grad(f, argnums)(a, b, 3) for f in (jitted, g))
            for u, v in zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True):
                np.testing.assert_allclose(u, v, rtol=1e-13)

    def test_primitives_of_users(self):
        @linad.primitive
        def cube(x):
            return x**3

        cube.pullback(lambda x: (x**3, lambda ybar: 3 * x**2 * ybar))

        def g(x):
            return np.sum(cube(np.sin(x)) * x)

        jitted, x = linad.jit(g), self.x
        for _ in range(3):
            np.testing.assert_allclose(jitted(x), g(x), rtol=1e-14)
            np.testing.assert_allclose(linad.grad(jitted)(x), linad.grad(g)(x), rtol=1e-13)
        check(linad.grad(g), x, rtol=1e-13)


def views_of_views(x):
    x = x * 2
    for _ in range(3000):
        x = x[::-1].reshape(-1)
    return np.sum(x**2)


def a_long_expression_of_differences(x):
    z = x[1:] - x[:-1]
    for _ in range(1200):
        z = z * 1.0001 + z * z * 1e-3
    return np.sum(z**2)


def writes_of_writes(x):
    y = x.copy()
    for k in range(3000):
        y[k % 8] = np.sin(y[(k + 1) % 8])
    return np.sum(y**2)


@pytest.mark.parametrize("f", [views_of_views, a_long_expression_of_differences, writes_of_writes])
def test_no_recursion(f):
    """However deep a program is."""
    x = np.linspace(0.1, 1, 100)
    jitted = linad.jit(linad.grad(f))
    for _ in range(2):
        found = jitted(x)
    np.testing.assert_allclose(found, linad.grad(f)(x), rtol=1e-12, atol=1e-12)


def module_level(x):
    return np.sin(x) * 2


decorated = linad.jit(module_level)


@linad.jit
def by_name(x):
    return np.cos(x)


class TestPickling:
    def test_functions(self):
        x = np.arange(3.0)
        for g in (decorated, by_name):
            expected = g.function(x)
            g(x), g(x)
            again = pickle.loads(pickle.dumps(g))
            for _ in range(3):
                np.testing.assert_allclose(again(x), expected, rtol=1e-14)
        assert pickle.loads(pickle.dumps(by_name)) is by_name

    def test_linearizations(self):
        x = np.arange(1.0, 4.0)
        J = linad.linearize(decorated, x)[1]
        K = pickle.loads(pickle.dumps(J))
        np.testing.assert_array_equal(K.T @ x, J.T @ x)
        np.testing.assert_array_equal(K @ x, J @ x)


@pytest.mark.parametrize("progress", [True, False])
def test_recording_that_takes_long_says_so_once(capsys, monkeypatch, progress):
    def model(x):
        for k in range(400):
            x = np.sin(x) * np.cos(x) + (x if k % 7 else x * x)
        return x

    monkeypatch.setattr(patience, "SECONDS", 0.0)
    with linad.config(progress=progress):
        linad.jit(model)(np.ones(2))
    said = capsys.readouterr().err
    assert said.count("linad: recording model: ") == progress
    assert ("linad.scan" in said) is progress


def test_traced_values_are_not_written_into_a_plain_argument():
    def f(out, y):
        out[:] = y
        return np.sum(out * y)

    compiled = linad.jit(f)
    for _ in range(2):
        with pytest.raises(TracerError, match="writes what depends on traced values into a plain"):
            linad.grad(lambda y: compiled(np.zeros(3), y))(np.ones(3))
    given = np.ones(3)
    np.testing.assert_array_equal(
        linad.grad(lambda y: compiled(np.zeros(3, like=y), y))(given), 2 * given
    )
