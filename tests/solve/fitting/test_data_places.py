"""xdata as a model gets it: as SciPy gives it, where SciPy takes it."""

import decimal
import pickle
from array import array
from collections import deque

import numpy as np
import pandas as pd
import pytest
import scipy.optimize

import linad
from linad.errors import ArgumentError
from linad.solve import curve_fit
from linad.solve.fitting.data_places import as_places, joined_places

N = np.arange(1, 40, dtype=np.int16)


def cubic(n, a, b):
    return a * n**3 + b


def decline(n, a, b):
    return a * n**-2 + b


def rows(X, a, b):
    return a * X[0, :] + b * X[1, :]


@pytest.mark.parametrize("model", [cubic, decline])
@pytest.mark.parametrize("form", [N, N.tolist(), N.astype(np.uint8), N.astype(object)])
def test_integers_are_floats(model, form):
    y = model(N.astype(float), 1e-3, 2.0)
    found = curve_fit(model, form, y, [1, 1])
    np.testing.assert_allclose(found.x, [1e-3, 2.0], rtol=1e-6)
    later = np.array([200], np.uint8)
    np.testing.assert_allclose(found.predict(later), model(200.0, *found.x))


def test_a_series_of_integers():
    pd = pytest.importorskip("pandas")
    y = cubic(N.astype(float), 1e-3, 2.0)
    found = curve_fit(cubic, pd.Series(N), y, [1, 1])
    np.testing.assert_allclose(found.x, [1e-3, 2.0], rtol=1e-8)


def test_dicts_keep_integers_that_are_wide():
    made = as_places({"group": N, "flag": N > 3, "t": [1, 2], "inner": {"k": np.uint8([1])}})
    assert [made[key].dtype for key in ("group", "flag", "t")] == [np.int64, bool, np.int64]
    assert made["inner"]["k"].dtype == np.int64
    offsets = np.array([0.5, 2.0])
    group = N % 2
    found = curve_fit(
        lambda x, p: p["slope"] * x["t"] + p["offset"][x["group"]],
        {"t": N, "group": group},
        3.0 * N + offsets[group],
        {"slope": 1.0, "offset": np.zeros(2)},
    )
    np.testing.assert_allclose(found["offset"], offsets)


@pytest.mark.parametrize("form", [tuple, list, np.array])
def test_lists_of_places_are_one_array(form):
    X = form([N / 40.0, (N / 7.0) % 1])
    y = rows(np.array(X), 2.0, 3.0)
    found = curve_fit(rows, X, y, [1, 1])
    np.testing.assert_allclose(found.x, scipy.optimize.curve_fit(rows, X, y, [1, 1])[0])
    np.testing.assert_array_equal(found.predict(X), found.predict())
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict(X), found.predict())


def test_what_is_no_array_stays():
    ragged = (np.ones(2), np.ones(3))
    assert joined_places(ragged) is ragged
    assert joined_places(()) == ()
    texts = np.array(["a", "b"], object)
    assert as_places(texts) is texts
    assert as_places(np.array([decimal.Decimal("1.5"), 2])).tolist() == [1.5, 2.0]


def test_places_for_each_data_set_stay_a_list():
    def both(x, k):
        first, second = x
        assert isinstance(x, list)
        return [k * first, 2 * k * second]

    t = np.arange(1.0, 5.0)
    assert curve_fit(both, [t, t], [3 * t, 6 * t], [1.0]).x == pytest.approx([3.0])


def test_what_can_be_read_once_is_refused():
    with pytest.raises(ArgumentError, match=r"xdata is a generator.*np.array\(list\(xdata\)\)"):
        curve_fit(cubic, (n for n in range(9)), np.ones(9), [1, 1])


GROUP = np.arange(30, dtype=np.uint8) % 3
TIME = np.linspace(0.0, 4.0, 30)


def grouped(X, p):
    t, group = X
    return p["slope"] * t + p["offset"][group]


class TestLabels:
    """Integers that a model indexes by stay integers, though others are floats."""

    Y = 2.0 * TIME + np.array([0.5, 1.0, 3.0])[GROUP]

    @pytest.mark.parametrize("form", [tuple, list])
    @pytest.mark.parametrize("compiled", [False, True])
    def test_beside_other_places(self, form, compiled):
        model = linad.jit(grouped) if compiled else grouped
        found = curve_fit(model, form([TIME, GROUP]), self.Y, {"slope": 1.0, "offset": np.zeros(3)})
        np.testing.assert_allclose(found["offset"], [0.5, 1.0, 3.0])
        np.testing.assert_allclose(found.predict((TIME[:2], [2, 1])), [3.0, 2 * TIME[1] + 1.0])
        assert np.isfinite(found.prediction_errors()).all()
        again = pickle.loads(pickle.dumps(found)) if not compiled else found
        np.testing.assert_array_equal(again.predict(), found.predict())

    @pytest.mark.parametrize("form", [GROUP, GROUP.tolist(), GROUP.astype(np.int16)])
    def test_alone(self, form):
        found = curve_fit(lambda group, p: p[group], form, self.Y, np.ones(3))
        np.testing.assert_allclose(found.x, [self.Y[k == GROUP].mean() for k in range(3)])
        assert found.plot() is not None

    def test_in_lists_of_python(self):
        names = ["a", "b", "c"]

        def model(group, p):
            return np.stack([p[names[k]] for k in group])

        found = curve_fit(model, GROUP, self.Y, {"a": 1.0, "b": 1.0, "c": 1.0})
        assert found["c"] == pytest.approx(self.Y[GROUP == 2].mean())

    def test_a_label_too_many(self):
        with pytest.raises(ArgumentError, match=r"reads p\[labels\] of .* 0 to 2, and p has 2 ent"):
            curve_fit(lambda group, p: p[group], GROUP, self.Y, np.ones(2))

    def test_errors_of_other_kinds_are_those_with_floats(self):
        def model(n, a):
            return a * n**-2 + len(a)

        with pytest.raises(TypeError, match="len"):
            curve_fit(model, N, 1.0 / N, [1.0])

    def test_labels_among_floats(self):
        both = np.stack([TIME, GROUP])
        with pytest.raises(ArgumentError, match=r"give a tuple, \(t, group\), or a dict"):
            curve_fit(grouped, both, self.Y, {"slope": 1.0, "offset": np.zeros(3)})


X = np.linspace(1.0, 3.0, 7)


def line(x, a, b):
    return a * x + b


@pytest.mark.parametrize("form", [list, tuple])
def test_columns_of_a_table_are_one_array(form):
    table = pd.DataFrame({"t": X, "u": X**2, "y": 2.0 * X + 3.0 * X**2})
    seen = []

    def plane(places, a, b):
        seen.append(places)
        return places.T @ np.stack([a, b])

    for second in (table["u"], table["u"].to_numpy()):
        found = curve_fit(plane, form([table["t"], second]), table["y"])
        np.testing.assert_allclose(found.x, [2.0, 3.0])
        assert all(type(places) is np.ndarray for places in seen)
        np.testing.assert_allclose(found.predict([table["t"], second]), table["y"])


def test_what_can_be_read_again_is_a_list():
    points = dict(zip(X.tolist(), (2.0 * X + 1.0).tolist(), strict=True))
    sets = {"one": 2.0 * X + 1.0, "two": 3.0 * X + 1.0}
    for xdata in (points.keys(), deque(points), array("d", points)):
        found = curve_fit(line, xdata, points.values())
        np.testing.assert_allclose(found.x, [2.0, 1.0])
    found = curve_fit(lambda x, a, b, c: [a * x + c, b * x + c], X, sets.values())
    np.testing.assert_allclose(found.x, [2.0, 3.0, 1.0])


def test_a_set_has_no_order():
    with pytest.raises(ArgumentError, match="xdata is a set, which has no order"):
        curve_fit(line, set(X.tolist()), X)


@pytest.mark.parametrize("kind", ["column", "table"])
def test_refits_at_equal_places_with_labels_record_nothing(kind):
    table = pd.DataFrame({"t": np.arange(1, 6), "site": list("abcab")}, index=[3, 1, 4, 0, 2])
    recorded = []

    def decay(d, a, b):
        recorded.append(1)
        return a * np.exp(-b * (d if kind == "column" else d["t"]).to_numpy())

    jitted = linad.jit(decay)
    y = 2 * np.exp(-0.3 * table["t"].to_numpy())
    counts = []
    for _ in range(3):
        x = table["t"] if kind == "column" else table.copy()
        fit = curve_fit(jitted, x, y, [1.0, 0.5])
        np.testing.assert_allclose(fit.x, [2, 0.3], rtol=1e-6)
        counts.append(len(recorded))
    assert counts[0] == counts[2]


def test_predictions_have_labels_where_their_places_do():
    t = pd.Series(np.linspace(1.0, 5.0, 7), index=list("abcdefg"), name="t")

    def line(t, a, b):
        return a * t + b

    found = curve_fit(line, t, 2 * t + 1)
    for places in ([1, 2, 3], (1, 2, 3), np.array([1.0, 2.0, 3.0])):
        predicted = found.predict(places)
        assert type(predicted) is type(found.prediction_errors(places)) is np.ndarray
        np.testing.assert_allclose(predicted, [3.0, 5.0, 7.0])
    pd.testing.assert_series_equal(found.predict(), 2 * t + 1, check_names=False)
    pd.testing.assert_series_equal(found.predict(t[2:4]), 2 * t[2:4] + 1, check_names=False)
    sets = curve_fit(lambda x, a, b: [line(x[0], a, b), b * x[1]], [t, t], [2 * t + 1, 1 * t])
    first, second = sets.predict([[1, 2], [1, 2, 3]])
    assert type(first) is type(second) is np.ndarray
    np.testing.assert_allclose(second, [1.0, 2.0, 3.0])
