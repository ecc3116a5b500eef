"""What is part of a jitted function's program: it is told apart when it changes."""

import copy
import datetime as dt
import decimal
import types
from collections import deque

import numpy as np
import pandas as pd
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


HERE = dt.timezone(dt.timedelta(hours=1))
TABLE = {"t": [1, 2], "site": ["a", "b"], "group": pd.Categorical(["u", "v"])}

UNLIKE = {
    "instants": [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-05")],
    "zones": [pd.Timestamp("2020-01-01 12:00", tz=z) for z in ("UTC", None)],
    "instant in two zones": [
        pd.Timestamp("2020-01-01 12:00", tz="UTC").tz_convert(z) for z in ("UTC", HERE)
    ],
    "Python's in two zones": [
        dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC).astimezone(z)
        for z in (dt.UTC, HERE)
    ],
    "decimals": [decimal.Decimal("1.0"), decimal.Decimal("1.00")],
    "durations": [pd.Timedelta(1, "s"), pd.Timedelta(9, "s")],
    "periods": [pd.Period("2020"), pd.Period("2024")],
    "intervals": [pd.Interval(0, 1), pd.Interval(0, 1, closed="left")],
    "offsets": [pd.offsets.Day(1), pd.offsets.Day(3)],
    "entries": [pd.Series([1.0, 2.0]), pd.Series([1.0, 3.0])],
    "dtypes": [pd.Series([1, 2]), pd.Series([1, 2], dtype="Int64")],
    "large integers": [pd.array([2**53, None]), pd.array([2**53 + 1, None])],
    "labels": [pd.Series([1.0, 2.0]), pd.Series([1.0, 2.0], index=[1, 0])],
    "names": [pd.Series([1.0], name="a"), pd.Series([1.0], name="b")],
    "columns": [pd.DataFrame(TABLE), pd.DataFrame(TABLE).rename(columns={"t": "s"})],
    "texts": [pd.DataFrame(TABLE), pd.DataFrame(TABLE | {"site": ["a", "c"]})],
    "categories": [
        pd.Series(["u"], dtype=pd.CategoricalDtype(c)) for c in (["u"], ["u", "v"])
    ],
    "ranges": [pd.RangeIndex(3), pd.RangeIndex(4)],
    "dates": [pd.date_range("2020", periods=3), pd.date_range("2021", periods=3)],
    "levels": [pd.MultiIndex.from_product([["a", "b"], n]) for n in ([1, 2], [1, 3])],
    "codes": [pd.MultiIndex.from_tuples([(a, 1), (b, 1)]) for a, b in ("ab", "ba")],
}


@pytest.mark.parametrize("case", UNLIKE)
def test_values_of_pandas_and_of_python(case):
    a, b = UNLIKE[case]
    assert StaticValue(copy.deepcopy(a)) == StaticValue(a)
    assert hash(StaticValue(copy.deepcopy(a))) == hash(StaticValue(a))
    assert StaticValue(a) != StaticValue(b)


class Recording(pd.DataFrame):
    """A table of a user's, with an attribute that pandas hands on."""

    _metadata = ["rate"]  # noqa: RUF012

    @property
    def _constructor(self):
        return Recording


class Signal:
    """An array to NumPy, with an attribute beside."""

    def __init__(self, entries):
        self.entries, self.rate = np.array(entries), 2.0

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.entries, dtype)


def recording():
    made = Recording({"a": [1.0, 2.0]})
    made.rate = 2.0
    return made


BESIDE = {
    "attrs": (pd.Series([1.0]), lambda v: v.attrs.update(k=3.0)),
    "inside of attrs": (
        pd.DataFrame({"a": [1.0]}).assign(b=1), lambda v: v.attrs.setdefault("k", []).append(1)
    ),
    "flags": (pd.Series([1.0]), lambda v: setattr(v.flags, "allows_duplicate_labels", False)),
    "given": (pd.DataFrame({"a": [1.0]}), lambda v: object.__setattr__(v, "units", "m")),
    "subclass": (recording(), lambda v: setattr(v, "rate", 3.0)),
    "columns of a subclass": (recording(), lambda v: setattr(v, "columns", ["b"])),
    "entries of a subclass": (recording(), lambda v: v.__setitem__("a", 5.0)),
    "array": (Signal([1.0]), lambda v: setattr(v, "rate", 3.0)),
    "entries": (Signal([1.0]), lambda v: v.entries.__setitem__(0, 3.0)),
}  # fmt: skip


@pytest.mark.parametrize("case", BESIDE)
def test_what_tables_and_arrays_have_beside_their_entries(case):
    value, change = BESIDE[case]
    before = StaticValue(value)
    assert StaticValue(value) == before
    change(value)
    assert StaticValue(value) != before


def test_labelled_arrays_of_xarray():
    xarray = pytest.importorskip("xarray")
    values = np.array([1.0, 2.0, 3.0])
    table = xarray.Dataset({"u": ("t", values)}, {"t": [0, 1, 2]}, {"rate": 2.0})
    x = xarray.DataArray(values.copy(), {"t": [0, 1, 2]}, "t", attrs={"rate": 2.0})
    for value, read in ((x, lambda v: v), (table, lambda v: v["u"])):

        def f(p, v, read=read):
            return p * v.attrs["rate"] * read(v).sel(t=1).item()

        jitted, around = linad.jit(f), linad.jit(lambda p, f=f, v=value: f(p, v))
        for change in (
            lambda: None,
            lambda: None,
            lambda v=value: v.attrs.update(rate=5.0),
            lambda v=value: v.coords.update({"t": [1, 0, 2]}),
            lambda v=value, read=read: read(v).values.__setitem__(0, 7.0),
        ):
            change()
            assert jitted(1.5, value) == around(1.5) == f(1.5, value)
        assert f(1.5, value) == 1.5 * 5.0 * 7.0


def test_labels_that_are_replaced_in_place():
    other = pd.Series([1.0, 2.0, 3.0])
    jitted = linad.jit(lambda s, x: (s * other).to_numpy() * x)  # aligned by labels
    s = pd.Series([10.0, 20.0, 30.0])
    for _ in range(3):
        assert list(jitted(s, 1.0)) == [10, 40, 90]
    s.index = [2, 1, 0]
    for _ in range(3):
        assert list(jitted(s, 1.0)) == [30, 40, 30]


def test_equal_tables_share_a_program_and_their_identity_counts_where_it_is_asked():
    table, calls = pd.DataFrame(TABLE), []

    def read(t, x):
        calls.append(1)
        return x * t["t"].to_numpy()

    jitted = linad.jit(read)
    assert [list(jitted(table.copy(), x)) for x in (1.0, 2.0, 3.0)] == [[1, 2], [2, 4], [3, 6]]
    assert len(calls) == 1
    asked = linad.jit(lambda t, x: x if t is table else -x)
    assert [asked(t, 1.0) for t in (table, table.copy(), table, table.copy())] == [1, -1, 1, -1]


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
