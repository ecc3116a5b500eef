"""Frames of rows with labels, and functions of the classes of pandas, around traced values."""

import numpy as np
import pytest

import linad
from linad.errors import UnsupportedError

pd = pytest.importorskip("pandas")

X = np.array([0.3, 0.5, 0.7, 0.9])

SOURCE = """
import numpy as np
import pandas as pd


def all_labels(x):
    return pd.DataFrame([{"a": x[0], "b": x[1]}, {"a": x[2], "c": x[3]}])

def some_columns(x):
    return pd.DataFrame([{"a": x[0], "b": x[1]}, {"b": x[2], "a": x[3]}], columns=["b", "a"])

def one_column(x):
    return pd.DataFrame([{"a": x[0], "b": x[1]}, {"b": x[2], "a": x[3]}], columns=["b"])

def with_texts(x):
    rows = [{"name": f"row {k}", "value": x[k]} for k in range(4)]
    return pd.DataFrame(rows).set_index("name")

def of_series(x):
    rows = [pd.Series(x[:2], index=["p", "q"], name="u"), pd.Series(x[2:], index=["q", "p"])]
    return pd.DataFrame(rows)

def nested(x):
    return pd.DataFrame({"a": {"u": x[0], "v": x[1]}, "b": {"v": x[2], "u": x[3]}})

def from_dict(x):
    return pd.DataFrame.from_dict({"a": x[:2], "b": x[2:]})

def from_rows(x):
    return pd.DataFrame.from_dict({"a": [x[0], x[1]], "b": [x[2], x[3]]}, orient="index").T

def from_nested(x):
    rows = {"r": {"p": x[0], "q": x[1]}, "s": {"q": x[2], "p": x[3]}}
    return pd.DataFrame.from_dict(rows, orient="index")

def missing(x):
    return pd.Series({"a": x[0], "b": x[1]}, index=["b", "z"]).to_frame()

def by_class(x):
    return pd.Series.diff(pd.Series(x)).to_frame() * pd.Series.mean(pd.Series(x))
"""

NAMES = [line[4:].partition("(")[0] for line in SOURCE.splitlines() if line.startswith("def ")]


@pytest.mark.parametrize("name", NAMES)
def test_frames_are_those_of_pandas(installed, name):
    package = installed(SOURCE)
    f = getattr(package, name)
    plain, labels = f(X), []

    def numbers(x):
        y = f(x)
        labels.append((list(y.index), list(y.columns)))
        return y.to_numpy()

    def values(x):
        return f(x).to_numpy(float)

    slopes = [(values(X + h) - values(X - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    with linad.adopt(package.__name__):
        y, _ = linad.linearize(numbers, X)
        slope = linad.jacobian(numbers)(X)
    assert labels[-1] == (list(plain.index), list(plain.columns))
    np.testing.assert_allclose(y, plain.to_numpy(float))
    np.testing.assert_allclose(slope, np.nan_to_num(np.stack(slopes, -1)), atol=1e-8)


def test_rows_with_a_label_twice(installed):
    package = installed(
        "import pandas as pd\ndef f(x):\n"
        "    return pd.DataFrame([pd.Series(x, index=list('aabc'))]).to_numpy()"
    )
    with linad.adopt(package.__name__), pytest.raises(UnsupportedError, match="stands twice"):
        linad.jacobian(package.f)(X)
