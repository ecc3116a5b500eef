"""What is part of a jitted function's program: it is told apart when it changes."""

import types
from collections import deque

import numpy as np
import pytest

import linad
from linad.errors import OptionError
from linad.jit.static_values import StaticValue


class TestRequests:
    def test_by_position_and_by_keyword(self):
        calls = []

        def f(x, w, *, kind="a"):
            calls.append(kind)
            return x * len(w) + float(w[0])

        w = np.arange(1.0, 4.0)
        for request in ({"static_argnums": 1}, {"static_argnames": "w"}, {"static_argnums": (-1,)}):
            jitted = linad.jit(f, **request)
            for _ in range(2):
                assert jitted(2.0, w) == jitted(2.0, w=w) == 7

    def test_from_the_end_with_defaults_left_out(self):
        jitted = linad.jit(lambda x, n=3.0: x * n, static_argnums=-1)
        assert [jitted(2.0), jitted(3.0), jitted(2.0, 4.0), jitted(2.0, n=4.0)] == [6, 9, 8, 8]
        assert len(jitted.variants) == 3  # x is data

    def test_of_functions_that_take_anything(self):
        jitted = linad.jit(
            lambda *xs, **kw: xs[0] * len(xs[-1]) + kw["n"], static_argnums=-1, static_argnames="n"
        )
        for _ in range(3):
            assert jitted(2.0, "abc", n=1) == 7

    def test_what_there_is_not(self):
        def f(x, n):
            return x

        with pytest.raises(OptionError, match=r"static_argnames has 'm'; f takes by keyword.*'n'"):
            linad.jit(f, static_argnames="m")
        with pytest.raises(OptionError, match=r"static_argnums has 2; f takes 2 arguments"):
            linad.jit(f, static_argnums=(0, 2))

    def test_the_signature_of_a_function_of_c_is_not_needed(self):
        jitted = linad.jit(max, static_argnums=1)  # has none
        assert [jitted(2.0, 1.0) for _ in range(3)] == [2, 2, 2]


CHANGES = {
    "list": ([1, [2.0]], lambda v: v[1].append(3.0)),
    "dict": ({"a": {"b": 1.0}}, lambda v: v["a"].update(b=2.0)),
    "order of a dict": ({"a": 1, "b": 2}, lambda v: v.update(a=v.pop("a"))),
    "set": ({1, 2}, lambda v: v.add(3)),
    "deque": (deque([1]), lambda v: v.append(2)),
    "bytes": (bytearray(b"ab"), lambda v: v.append(3)),
    "array": (np.arange(3), lambda v: v.__setitem__(0, 7)),
    "large array": (np.zeros(10_000), lambda v: v.__setitem__(1234, 1e-300)),
    "list in a tuple": ((1, [2.0]), lambda v: v[1].clear()),
    "namespace": (types.SimpleNamespace(a=1), lambda v: setattr(v, "a", 1.0)),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changes_in_place_are_seen(case):
    value, change = CHANGES[case]
    before = StaticValue(value)
    assert StaticValue(value) == before
    assert hash(StaticValue(value)) == hash(before)
    change(value)
    assert StaticValue(value) != before


@pytest.mark.parametrize("a, b", [(1, True), (1, 1.0), (0.0, -0.0), ("a", b"a"), ((1,), [1])])
def test_values_that_python_takes_for_equal_or_alike(a, b):
    assert StaticValue(a) != StaticValue(b)


class Model:
    def __init__(self, weights):
        self.weights, self.parts, self.me = weights, [], self

    @linad.jit
    def run(self, x):
        return self.weights * x + sum([part.weights for part in self.parts])


class Slotted:
    __slots__ = ("__hidden", "weights")

    def __init__(self, weights):
        self.weights = self.__hidden = weights

    def __eq__(self, other):
        return isinstance(other, Slotted)

    def hide(self, value):
        self.__hidden = value

    @linad.jit
    def run(self, x):
        return self.weights * x - self.__hidden


class TestObjects:
    """An object of a user's class is another argument when its attributes have changed."""

    def test_attributes_replaced_and_overwritten(self):
        model, part, x = Model(np.ones(2)), Model(np.ones(2)), np.ones(2)

        def check(expected):
            for _ in range(3):
                np.testing.assert_array_equal(model.run(x), expected)
            gradient = linad.grad(lambda x: np.sum(model.run(x)))(x)
            np.testing.assert_array_equal(gradient, model.weights)

        check([1, 1])
        model.weights = np.full(2, 5.0)
        check([5, 5])
        model.weights[1] = 2
        check([5, 2])
        model.parts.append(part)
        check([6, 3])
        part.weights *= 10
        check([15, 12])
        model.weights, model.parts = np.ones(2), []
        check([1, 1])

    def test_slots_and_objects_that_cannot_be_hashed(self):
        a, b = Slotted(2.0), Slotted(3.0)
        for _ in range(3):
            assert (a.run(1.0), b.run(1.0)) == (0, 0)
        a.weights = 5.0
        assert (a.run(1.0), b.run(1.0)) == (3, 0)
        a.hide(1.0)
        assert (a.run(1.0), b.run(1.0)) == (4, 0)

    def test_two_equal_objects_are_two(self):
        assert StaticValue(Slotted(1.0)) != StaticValue(Slotted(1.0))

    def test_what_acts_as_an_array(self):
        class Series:
            def __init__(self, values):
                self.values = values

            def __array__(self, dtype=None, copy=None):
                return self.values

        series = Series(np.ones(2))
        before = StaticValue(series)
        assert StaticValue(series) == before
        series.values[0] = 2
        assert StaticValue(series) != before

    def test_functions_classes_and_modules_are_what_they_are(self):
        jitted = linad.jit(lambda g, x: g.sin(x) if g is np else g(x))
        for g, expected in (
            (np, np.sin(2.0)),
            (np.cos, np.cos(2.0)),
            (linad.jit(np.exp), np.exp(2)),
        ):
            for _ in range(3):
                np.testing.assert_allclose(jitted(g, 2.0), expected, rtol=1e-15)
        assert len(jitted.variants) == 3
