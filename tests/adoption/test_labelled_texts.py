"""Series around traced values as texts; texts and dates beside traced numbers."""

import numpy as np
import pandas as pd
import pytest

import linad
from linad.core.showing import shown

SERIES = pd.Series([1.0, 2.0, 4.0], index=["u", "v", "w"], name="s")
FRAME = pd.DataFrame({"a": SERIES, "b": 2 * SERIES})


@pytest.mark.parametrize("data", [SERIES, FRAME])
def test_the_text_is_that_of_the_numbers(data):
    texts = {}

    def f(a):
        y = a * data
        texts["repr"], texts["text"], texts["line"] = repr(y), y.to_string(), shown({"y": y})
        texts["html"], texts["format"] = y._repr_html_() or "", f"{y}"
        return y.to_numpy().sum()

    plain = 0.5 * data
    html = plain._repr_html_() if data is FRAME else ""
    for derived in (linad.grad(f), linad.grad(linad.grad(f)), linad.jit(f)):
        texts.clear()
        derived(0.5)
        assert texts["repr"] == texts["format"] == repr(plain)
        assert texts["text"] == plain.to_string()
        assert texts["line"] == shown({"y": plain})
        assert texts["html"] == html


@pytest.mark.parametrize(
    "column, words",
    [
        (pd.Series(["3", "4"], name="t"), r"of the Series 't' of texts, as '3': s.astype\(float\)"),
        (pd.Series(["3", "4"], dtype=object), "of a Series of texts, as '3'"),
        (pd.Series(pd.date_range("2020-01-01", periods=2)), r"\(s - s.iloc\[0\]\) / np.timedelta"),
        (pd.Series(pd.to_timedelta([1, 2], "D")), r": s / np.timedelta64\(1, 'D'\) is in days"),
    ],
)
def test_what_is_no_number_is_told(column, words):
    for f in (lambda a: a * column, lambda a: column * a, lambda a: np.multiply(a, column)):
        with pytest.raises(TypeError, match=words):
            linad.grad(lambda a, f=f: f(a).sum())(2.0)


def test_numbers_as_objects_are_numbers():
    column = pd.Series([3.0, 4], dtype=object)
    with pytest.raises(TypeError, match="unsupported operand|handed to compiled"):
        linad.grad(lambda a: (a * column).sum())(2.0)
