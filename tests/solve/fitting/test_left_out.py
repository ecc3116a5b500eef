"""Points that are NaN, by `nan_policy`: as fits without them."""

import numpy as np
import pytest
import scipy.optimize
from solve.problems import unfinished

from linad.errors import ArgumentError, OptionError
from linad.solve import curve_fit

T = np.linspace(0.0, 3.0, 20)
Y = 2.0 * np.exp(-1.1 * T) + 0.05 * np.cos(9 * T)
BAD = np.isin(np.arange(20), [3, 11])
HOLED = np.where(BAD, np.nan, Y)
SIGMA = np.linspace(0.1, 0.3, 20)
KEPT = T[~BAD], Y[~BAD]


def decay(t, a, rate):
    return a * np.exp(-rate * t)


def both(x, a, rate):
    return a * np.exp(-rate * x[0]) + 0.1 * x[1]


def same(found, alone):
    np.testing.assert_allclose(found.x, alone.x, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, alone.covariance, rtol=1e-6)
    assert found.observations == alone.observations
    assert np.isfinite(found.chi_square)


@pytest.mark.parametrize(
    "x, y, sigma",
    [
        (T, HOLED, None),
        (np.where(BAD, np.nan, T), Y, None),
        (np.where(np.arange(20) == 3, np.nan, T), np.where(np.arange(20) == 11, np.nan, Y), None),
        (T, HOLED, SIGMA),
        (T, Y, np.where(BAD, np.nan, SIGMA)),
        (T, HOLED, np.diag(SIGMA**2)),
    ],
)
def test_points_that_are_nan_are_left_out(x, y, sigma):
    alone = None if sigma is None else SIGMA[~BAD]
    same(
        curve_fit(decay, x, y, sigma=sigma, nan_policy="omit"), curve_fit(decay, *KEPT, sigma=alone)
    )


@pytest.mark.parametrize("rows", [np.stack, list, lambda rows: np.stack(rows, axis=1)])
def test_in_rows_of_places(rows):
    """Also where all places are one array: points along its last axis, or along its first."""
    model = both
    if np.ndim(rows([T, T])) == 2 and np.shape(rows([T, T])) == (20, 2):

        def model(x, a, rate):
            return both(x.T, a, rate)

    found = curve_fit(model, rows([T, np.where(BAD, np.nan, T**2)]), Y, [1, 1], nan_policy="omit")
    alone = curve_fit(both, np.stack([KEPT[0], KEPT[0] ** 2]), KEPT[1], [1, 1])
    same(found, alone)
    assert np.isfinite(found.prediction_errors()).all()


def test_of_several_data_sets():
    def model(t, p):
        return [decay(t, *p), 2 * decay(t, *p)]

    found = curve_fit(model, T, [HOLED, 2 * Y], np.ones(2), nan_policy="omit")
    alone = curve_fit(
        lambda t, p: [decay(t[~BAD], *p), 2 * decay(t, *p)], T, [Y[~BAD], 2 * Y], np.ones(2)
    )
    same(found, alone)


def test_as_scipy_has_it():
    theirs = scipy.optimize.curve_fit(decay, T, HOLED, nan_policy="omit")
    ours = curve_fit(decay, T, HOLED, nan_policy="omit")
    np.testing.assert_allclose(ours.x, theirs[0], rtol=1e-5)
    np.testing.assert_allclose(ours.covariance, theirs[1], rtol=1e-4)


@unfinished
def test_raise_and_propagate():
    for options in ({}, {"nan_policy": "raise"}, {"nan_policy": "raise", "check_finite": False}):
        with pytest.raises(ArgumentError, match="nan_policy='omit' leaves out"):
            curve_fit(decay, T, HOLED, **options)
    found = curve_fit(decay, T, HOLED, nan_policy="propagate")
    assert not found.success
    assert "NaN" in found.message
    with pytest.raises(ArgumentError, match="ydata is infinite or NaN in 2 of 20") as told:
        curve_fit(decay, T, np.where(BAD, np.inf, Y), nan_policy="omit")
    assert "nan_policy" not in str(told.value)
    with pytest.raises(OptionError, match="nan_policy must be"):
        curve_fit(decay, T, Y, nan_policy="drop")
    with pytest.raises(ArgumentError, match="all of ydata"):
        curve_fit(decay, T, Y * np.nan, nan_policy="omit")


@pytest.mark.parametrize("holed", ["t", "y", "unread", "whole"])
def test_rows_of_tables(holed):
    """A row counts where all its numbers are there; texts are not looked at."""
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"t": T, "y": Y, "unread": T, "whole": np.arange(20), "text": "a"})
    if holed == "whole":
        table["whole"] = table["whole"].astype("Int64").mask(BAD)
    else:
        table.loc[BAD, holed] = np.nan
    table.loc[0, "text"] = None
    before = table.copy()

    def model(df, a, rate):
        return decay(df["t"].to_numpy(), a, rate)

    found = curve_fit(model, table, table["y"], nan_policy="omit")
    same(found, curve_fit(decay, *KEPT))
    pd.testing.assert_frame_equal(table, before)

    def twice(df, a, rate):
        return {"y": model(df, a, rate), "z": model(df, a, rate)}

    pair = curve_fit(twice, table, {"y": table["y"], "z": table["y"]}, nan_policy="omit")
    np.testing.assert_allclose(pair.x, found.x, rtol=1e-6)
    assert pair.observations == 36


def test_what_a_table_lacks_is_told_by_columns():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"t": T, "other": np.where(BAD, np.nan, T)})

    def model(df, a, rate):
        return decay(df["t"].to_numpy(), a, rate)

    with pytest.raises(ArgumentError, match=r"in 'other'; nan_policy='omit' leaves out rows"):
        curve_fit(model, table, Y)
    table["other"] = np.where(BAD, np.inf, T)
    with pytest.raises(ArgumentError, match=r"in 'other'; give a table without these rows"):
        curve_fit(model, table, Y, nan_policy="omit")


@pytest.mark.parametrize("kind", [list, tuple, lambda x: np.array(x, object)])
def test_none_is_no_number(kind):
    holed = kind([None, *Y[1:].tolist()])
    with pytest.raises(ArgumentError, match=r"ydata holds None in 1 of 20 places.*np\.nan"):
        curve_fit(decay, T, holed)
    with pytest.raises(ArgumentError, match=r"xdata holds None in 1 of 20.*array\(xdata, float"):
        curve_fit(decay, holed, Y)
    with pytest.raises(ArgumentError, match=r"ydata\['a'\] holds None in 1"):
        curve_fit(decay, T, {"a": holed, "b": Y})
    same(
        curve_fit(decay, T, np.array(holed, float), nan_policy="omit"),
        curve_fit(decay, T[1:], Y[1:]),
    )


@pytest.mark.parametrize("kind", ["float64", "Float64", "Int64"])
def test_a_table_with_texts_is_refused_where_a_number_is_missing(kind):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"text": "a", "t": pd.Series([0, 1, None, 3], dtype=kind)})

    def model(table, a, k):
        return a * np.exp(-k * table["t"].to_numpy(float, na_value=np.nan))

    y = 2 * np.exp(-0.3 * np.arange(4))
    with pytest.raises(ArgumentError, match="1 of 8 places, .* 2, 1; they are in 't'"):
        curve_fit(model, table, y, [1.0, 0.0])
    found = curve_fit(model, table, y, [1.0, 0.0], nan_policy="omit")
    np.testing.assert_allclose(found.x, [2.0, 0.3], rtol=1e-6)
