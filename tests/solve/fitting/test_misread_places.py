"""What xdata is that a model cannot compute with: dates, texts, tables, labels of an index."""

import contextlib
from decimal import Decimal

import numpy as np
import pytest

import linad
from linad.errors import ArgumentError, OutputError, ShapeError, TracerError, TreeError
from linad.solve import curve_fit

T = np.linspace(0.0, 4.0, 30)
Y = 2.0 * T + 1.0
DATES = np.datetime64("2026-01-01") + np.arange(30)


def line(t, a, b):
    return a * t + b


@pytest.mark.parametrize(
    "xdata, words",
    [
        (DATES, r"it holds dates; .*\(xdata - xdata\[0\]\) / np.timedelta64\(1, 'D'\)"),
        (DATES - DATES[0], r"it holds times; .*days: xdata / np.timedelta64"),
        ([f"{t:.3f}" for t in T], r"texts; np.asarray\(xdata, float\) reads the numbers"),
        ([str(date) for date in DATES], r"np.asarray\(xdata, 'M8\[s\]'\) reads the dates"),
        (["a", "b", "c"] * 10, r"np.unique\(xdata, return_inverse=True\)\[1\]"),
    ],
)
def test_no_numbers(xdata, words):
    with pytest.raises(ArgumentError, match=f"line cannot compute with xdata: .*{words}"):
        curve_fit(line, xdata, Y)


def test_decisions_on_all_of_it():
    def broken(t, a, b):
        return a * t if t < 2 else b

    words = r"given all of it in one call, of shape \(30,\), .* np.where\(x < 2, first, second\)"
    with pytest.raises(ArgumentError, match=f"broken cannot compute with xdata: .*{words}"):
        curve_fit(broken, T, Y)
    with pytest.raises(ValueError, match="^The truth value"):  # of something else
        curve_fit(lambda t, a: a if np.ones(2) else t, 1.0, np.ones(3), [1.0])


def test_parameters_before_xdata():
    with pytest.raises(ShapeError, match=r"returned \(2,\); .* called with xdata first"):
        curve_fit(lambda p, t: p[0] * t + p[1], T, Y, [1.0, 1.0])


def test_parts_of_a_dict():
    with pytest.raises(ArgumentError, match="its 'name' holds texts"):
        curve_fit(lambda x, a: a * x["name"], {"t": T, "name": ["a", "b", "c"] * 10}, Y)
    found = curve_fit(lambda x, a: a * x["t"], {"t": T, "name": ["a", "b", "c"] * 10}, 2 * T)
    assert found.x == pytest.approx([2.0])


class TestPandas:
    def test_tables(self):
        pd = pytest.importorskip("pandas")
        one = pd.DataFrame({"t": T})
        with pytest.raises(OutputError, match=r"read the column, X\['t'\]"):
            curve_fit(line, one, Y)
        assert curve_fit(lambda X, a, b: line(X["t"], a, b), one, Y).x == pytest.approx([2, 1])
        two = pd.DataFrame({"t": T, "s": T**2, "n": ["a", "b", "c"] * 10})
        with pytest.raises(ArgumentError, match="table without a column 0; columns are read as X"):
            curve_fit(lambda X, a, b: line(X[0], a, b), two, Y)
        with pytest.raises(ArgumentError, match="column 'n' holds texts; labels become integers"):
            curve_fit(lambda X, a, b: line(X["n"], a, b), two, Y)

    def test_a_column_with_labels(self):
        pd = pytest.importorskip("pandas")
        column = pd.Series(T, index=np.arange(100, 130))
        assert curve_fit(line, column, Y).x == pytest.approx([2, 1])
        with pytest.raises(ArgumentError, match=r"0 is none of them; x.iloc\[0\] is the first"):
            curve_fit(lambda x, a, b: line(x - x[0], a, b), column, Y)
        alone = pytest.warns(UserWarning, match="all labels are in one of two Series alone")
        with alone, pytest.raises(ShapeError, match="pandas matches the rows"):
            curve_fit(lambda x, a, b: a * x + b * pd.Series(T), column, Y)
        dates = pd.Series(DATES)
        with pytest.raises(ArgumentError, match=r"\(xdata - xdata.iloc\[0\]\)"):
            curve_fit(line, dates, Y)


def test_pairs_are_columns():
    pairs = [[t, t**2] for t in T]
    with pytest.raises(ShapeError, match=r"\(30, 2\): a column is X\[:, 0\]"):
        curve_fit(lambda X, a, b: a * X[0] + b * X[1], pairs, Y)


@pytest.mark.parametrize(
    "sets, words",
    [
        ([Y, Y], r"a list of 2 data sets, of shapes \(30,\), \(30,\); return a list of as many"),
        ([Y, Y], r"one data set, ydata=np.concatenate\(ydata\)"),
        ({"u": Y, "v": Y}, r"return a dict of as many, {'u': ..., 'v': ...}, or.*ydata.values"),
    ],
)
def test_one_array_for_several_data_sets(sets, words):
    with pytest.raises(TreeError, match=words):
        curve_fit(lambda t, a, b: np.concatenate([a * t, b * t]), T, sets)


def test_only_integrators_are_named():
    def short(t, a):
        return a * t[:20]

    with pytest.raises(ShapeError) as raised:
        curve_fit(short, T, Y)
    assert "integrator" not in str(raised.value)
    assert "solve_ivp" not in str(raised.value)

    def exploding(t, a):
        solution = linad.scipy.integrate.solve_ivp(lambda t, y: a * y**2, (0, 4), [1.0], t_eval=t)
        return solution.y[0]

    with pytest.raises(ShapeError, match="its solve_ivp may have failed, which ends early"):
        curve_fit(exploding, T, Y)


@pytest.mark.parametrize("second", [T, T[:10]])
def test_places_of_several_data_sets(second):
    with pytest.raises(ArgumentError, match=r"list of 2 arrays, of shapes \(30,\), .*for part in"):
        curve_fit(line, [T, second], [line(T, 2, 1), line(second, 2, 1)])
    found = curve_fit(
        lambda x, a, b: [line(part, a, b) for part in x],
        [T, second],
        [line(T, 2, 1), line(second, 2, 1)],
    )
    np.testing.assert_allclose(found.x, [2.0, 1.0])


def test_errors_of_the_model_itself_stay():
    def refusing(t, a, b):
        raise ValueError("no such sequence")

    with pytest.raises(ValueError, match="^no such sequence$"):
        curve_fit(refusing, T, Y)


def test_plain_arrays_that_are_written_into_are_no_matter_of_xdata():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"t": T, "dose": ["low", "high"] * 15})

    def masked(df, a, b):
        y, low = np.zeros(len(df)), (df["dose"] == "low").to_numpy()
        y[low] = a * df["t"].to_numpy()[low] + b
        return y

    def filled(t, a, b):
        y = np.zeros(len(t))
        y[:] = a * t + b
        return y

    for model, xdata, p0 in [(masked, table, [1.0, 1.0]), (filled, table["t"], None)]:
        with pytest.raises(TracerError, match="plain NumPy array.*linad"):
            curve_fit(model, xdata, Y, p0)


def test_what_pandas_asks_of_a_number_is_no_use_by_the_model():
    pd = pytest.importorskip("pandas")

    def failing(t, a, b):
        y = a * t + b
        raise RuntimeError(f"of {len(y)}")

    with pytest.raises(RuntimeError, match="of 30"):
        curve_fit(failing, pd.Series(T), Y)
    with pytest.raises(ArgumentError, match=r"takes p for an array or a container, p\[0\]"):
        curve_fit(lambda t, p: p[0] * t + p[1], pd.Series(T), Y)


def test_rows_of_a_table_one_by_one():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"t": T, "dose": ["low", "high"] * 15})
    for model in (
        lambda df, a, b: df.apply(lambda row: a * row["t"] + b, axis=1),
        lambda df, a, b: df["t"].map(lambda t: a * t + b),
        lambda df, a, b: df["t"].apply(lambda t: a * t + b if t > 1 else b + a * t),
    ):
        np.testing.assert_allclose(curve_fit(model, table, Y).x, [2.0, 1.0])
    with pytest.raises(OutputError, match="Series of dtype object, of which one entry is None"):
        curve_fit(lambda df, a: df["t"].map(lambda t: a * t if t > 1 else None), table, Y)


def test_a_new_column_of_a_table():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"t": T})

    def assigned(df, a, b):
        return df.assign(m=a * df["t"] + b)["m"]

    def written(df, a, b):
        df = df.copy()
        df["m"] = a * df["t"]
        df["b"] = b
        return df["m"] + df["b"]

    for model in (assigned, written):
        np.testing.assert_allclose(curve_fit(model, table, Y).x, [2.0, 1.0])


def test_rows_in_another_order_than_the_data():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"t": T, "y": Y, "dose": ["low", "high"] * 15})

    def grouped(df, a, b):
        return pd.concat([a * group["t"] + b for _, group in df.groupby("dose")])

    def both(df, a, b):
        return [a * df["t"] + b, grouped(df, a, b)]

    words = "another order, .*at place 0 is 1, where the data have 0; .*sort_index"
    for model, ydata in [
        (grouped, table["y"]),
        (grouped, Y),
        (both, [table["y"], table["y"]]),
    ]:
        with pytest.raises(OutputError, match=words):
            curve_fit(model, table, ydata, [1.0, 1.0])

    for model in (
        lambda df, a, b: grouped(df, a, b).sort_index(),
        lambda df, a, b: grouped(df, a, b).loc[df.index],
        lambda df, a, b: (a * df["t"] + b).set_axis(list(range(100, 130))),  # others, as they come
    ):
        np.testing.assert_allclose(curve_fit(model, table, table["y"], [1.0, 1.0]).x, [2.0, 1.0])


def test_axes_of_an_image():
    def hill(places, height, width):
        x, y = places.values() if isinstance(places, dict) else places
        return height * np.exp(-(x**2 + y**2) / width)

    x, y = np.linspace(-1, 1, 12), np.linspace(-1, 1, 9)
    for axes, order, words in [
        ((x, y), "ij", r"lengths 12, 9, of a grid .* np.meshgrid\(\*xdata, indexing='ij'\)"),
        ((x, y), "xy", r"np.meshgrid\(\*xdata, indexing='xy'\)"),
        ({"x": x, "y": y}, "ij", r"dict\(zip\(xdata, np.meshgrid\(\*xdata.values\(\), .*'ij'\)"),
        ((x, x), "ij", r"of lengths 12, 12, of a grid"),  # which broadcast
    ]:
        given = tuple(axes.values()) if isinstance(axes, dict) else axes
        grid = np.meshgrid(*given, indexing=order)
        image = hill(grid, 2.0, 0.5)
        with pytest.raises((ArgumentError, ShapeError), match=words):
            curve_fit(hill, axes, image)
        np.testing.assert_allclose(curve_fit(hill, grid, image).x, [2.0, 0.5])


def test_a_column_of_data():
    with pytest.raises(ShapeError, match=r"shape \(30, 1\) of ydata.*give the.*np.ravel\(ydata\)"):
        curve_fit(line, T, Y[:, None])


@pytest.mark.parametrize(
    "ydata, words",
    [
        ([str(y) for y in Y], r"texts; np.asarray\(ydata, float\) makes numbers"),
        ([Decimal(y) for y in Y], r"object; np.asarray\(ydata, float\) makes numbers"),
        (
            [f"{y:.3f}".replace(".", ",") for y in Y],
            r"text.replace\(',', '.'\)\) for text in ydata",
        ),
        ([*map(str, Y[1:]), "n/a"], "'n/a' in it is not a number"),
        ((y for y in Y), r"it is a generator, which gives them once: list\(ydata\)"),
    ],
)
def test_data_that_are_no_numbers(ydata, words):
    with pytest.raises(ArgumentError, match=f"ydata must hold numbers, got .*{words}"):
        curve_fit(line, T, ydata)


def test_a_series_that_is_written_into():
    pd = pytest.importorskip("pandas")

    def masked(t, a, b):
        y = pd.Series(0.0, index=t.index)
        y[t > 1] = a * t + b
        return y

    with pytest.raises(TracerError, match=r"linad.adopt\(.*the Series of pandas"):
        curve_fit(masked, pd.Series(T), Y)


@pytest.mark.parametrize("what", ["xdata", "sigma", "weights"])
def test_labels_in_another_order_are_refused(what):
    pd = pytest.importorskip("pandas")
    x, y, s = (pd.Series(v) for v in (np.linspace(0, 1, 6), np.arange(6.0), np.full(6, 0.1)))
    given = {"sigma": s, "xdata": x} if what == "xdata" else {what: s, "xdata": x.to_numpy()}

    def model(x, a):
        return a * np.asarray(x)

    assert linad.solve.curve_fit(model, ydata=y, p0=[1.0], **given).success
    given[what] = given[what].iloc[::-1]
    words = f"{what} has the rows of ydata in another order: at place 0 is 5, where ydata has 0"
    with pytest.raises(ArgumentError, match=words) as refused:
        linad.solve.curve_fit(model, ydata=y, p0=[1.0], **given)
    assert f"give {what}.loc[ydata.index]" in str(refused.value)
    given[what] = given[what].loc[y.index]
    assert linad.solve.curve_fit(model, ydata=y, p0=[1.0], **given).success
    given[what] = given[what].set_axis(range(100, 106))  # labels that match nothing
    assert linad.solve.curve_fit(model, ydata=y, p0=[1.0], **given).success


@pytest.mark.parametrize(
    "error", [TypeError("mine"), IndexError("mine"), KeyError("mine"), ValueError("a list, mine")]
)
@pytest.mark.parametrize("xdata", [DATES, T, [T, T], {"t": T, "day": DATES}])
def test_an_error_that_a_model_raises_itself_stays_as_it_is(error, xdata):
    def model(x, a):
        raise error

    with pytest.raises(type(error)) as raised:
        curve_fit(model, xdata, Y, [1.0])
    assert raised.value is error


@pytest.mark.parametrize("kind", ["array", "dict", "tuple", "table", "column"])
def test_fewer_places_than_data(kind):
    t = T[:6]
    if kind in ("table", "column"):
        table = pytest.importorskip("pandas").DataFrame({"t": t, "u": t})
        xdata = table if kind == "table" else table["t"]
    else:
        xdata = {"array": t, "dict": {"t": t, "u": t}, "tuple": (t, t)}[kind]

    def model(x, a):
        return a * (x if kind in ("array", "column") else x[0] if kind == "tuple" else x["t"])

    with pytest.raises(ShapeError, match="give as many of the one as of the other"):
        curve_fit(model, xdata, Y, [1.0])


def test_an_index_beyond_a_list_has_nothing_to_do_with_places():
    t = np.arange(6.0)
    with pytest.raises(ArgumentError, match=r"reads p\['a'\]\[1\], and p\['a'\] is an array"):
        curve_fit(lambda t, p: p["a"][0] + p["a"][1] * t, t, t, {"a": [1.0]})
    with pytest.raises(IndexError, match="list index out of range"):
        curve_fit(lambda t, p: [1.0, 2.0][3] * t, t, t, {"a": [1.0]})


def test_columns_of_integers_that_are_written_to():
    pd = pytest.importorskip("pandas")

    def model(X, a, b):
        out = pd.Series(0, index=X.index)
        for i in X.index:
            out[i] = np.float64(1.5)
        return out * a + b

    table = pd.DataFrame({"t": T, "u": T})
    with pytest.raises(ArgumentError, match=r"column of integers.*pd.Series\(0.0, index=...\)"):
        curve_fit(model, table, Y, [1, 1])


@pytest.mark.rest
@pytest.mark.parametrize("form", [tuple, list])
def test_a_plain_array_that_a_model_fills_is_told_with_several_rows_of_places(form):
    def filling(X, a, c):
        b, t = X
        M = np.zeros(len(b))
        for i in range(len(b)):
            M[i] = a * b[i] / (t[i] + c)
        return M

    for places in (form([T, T + 1]), np.stack([T, T + 1])):
        with pytest.raises(TracerError, match=r"linad.numpy.zeros\(n\) instead of np.zeros"):
            curve_fit(filling, places, Y)
    with linad.adopt(__name__):
        found = curve_fit(filling, form([T, T + 1]), filling((T, T + 1), 2.0, 0.5), [1.0, 1.0])
    np.testing.assert_allclose(found.x, [2.0, 0.5])


@pytest.mark.parametrize("adopted", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        lambda x, a, b: np.minimum(a * x, b + 0.1 * x),
        lambda x, a, b: np.hypot(a * x, b + 0 * x),
        lambda x, a, b: linad.numpy.minimum(a * x, b + 0.1 * x),
    ],
    ids=["minimum", "hypot", "traced form"],
)
def test_a_table_of_one_column_in_a_function_of_two(model, adopted):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"c": T})
    with linad.adopt(__name__) if adopted else contextlib.nullcontext():
        with pytest.raises(ArgumentError, match=r"table of one column: give .* xdata\['c'\]"):
            curve_fit(model, table, Y)
        column = curve_fit(model, table["c"], model(T, 2.0, 1.5), [1.0, 1.0])
    np.testing.assert_allclose(np.abs(column.predict()), model(T, 2.0, 1.5), rtol=1e-6)


def test_a_name_in_an_array_of_columns():
    def by_name(X, a):
        return a * X["V_mV"]

    def by_names(X, a):
        return sum(a * X[name] for name in ("V_mV", "t_ms"))

    numbers = np.arange(12.0).reshape(6, 2)
    for model in (by_name, by_names):
        with pytest.raises(ArgumentError, match=r"\(6, 2\), which knows no names as 'V_mV'"):
            curve_fit(model, numbers, np.arange(6.0), [1.0])


def test_a_model_that_does_not_take_xdata_is_told_that_it_comes_first():
    def run(a):
        out = np.zeros(5)
        out[0] = a
        return out

    with pytest.raises(ArgumentError, match=r"called with xdata first, here of shape \(5,\), and"):
        curve_fit(lambda t, b: run(t), np.arange(5.0), np.ones(5), [1.0])
