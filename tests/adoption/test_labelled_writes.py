"""Writes of traced values into plain Series and DataFrames of pandas, in adopted code."""

import numpy as np
import pytest

import linad

pd = pytest.importorskip("pandas")

X = np.array([0.5, 0.7, 1.1])

SOURCE = """
import numpy as np
import pandas as pd

LABELS = ["a", "b", "c"]
KEPT = pd.Series(1.0, index=LABELS, name="kept")

def table(**more):
    return pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": 0.0, **more})

def entry(x):
    s = pd.Series(0.0, index=LABELS)
    s["b"] = x[0] * 2
    s["c"] += x[1]
    return (s**2).sum()

def positions(x):
    s = pd.Series(1.0, index=LABELS)
    s.iloc[s.index.get_indexer_for(["b"])] = x[0]
    s.iat[2] = x[1]
    s.iloc[0] *= x[2]
    return (s**2).sum()

def labels(x):
    s = pd.Series(0.0, index=LABELS)
    s.loc["b"] = x[0]
    s.at["a"] = x[1]
    s.loc[["a", "c"]] = 3 * x[:2]
    return (s**2).sum()

def whole(x):
    s = pd.Series(1.0, index=LABELS)
    s["a"] = x[0]
    s += x
    return (s**2).sum()

def copied(x):
    s = KEPT.copy()
    other, same = s.copy(), s
    s["a"] = x[0]
    return (same**2 * other).sum()

def cells(x):
    f = table()
    for i in range(3):
        f.iloc[i, 0] = x[i] * 2
        f.at[i, "b"] = x[i] ** 2
    return (f["a"] * f["b"]).sum()

def columns(x):
    f = table()
    f["c"] = x
    f.loc[:, "b"] = x**2
    return (f["b"] * f["a"] * f["c"]).sum()

def masked(x):
    f = table(name=["u", "v", "w"], count=[1, 2, 3])
    f.loc[f["name"] != "v", "a"] = x[0]
    f.loc[f["a"] > 1.5, "b"] = f["a"] * x[1]
    return (f.groupby("name")["a"].sum() ** 2).sum() + f["b"].sum() * f["count"].sum()

def apart(x):
    f = table()
    column, numbers = f["a"], f["a"].to_numpy()
    f.loc[0, "a"] = x[0]
    return f["a"].sum() * column.sum() * numbers.sum()

HELD = pd.Series([1.0, 2.0, 3.0], index=LABELS)
TABLE = table()

def of_module(x):
    global HELD
    HELD["a"] = x[0]
    HELD["b"] = 2.0
    HELD["b"] *= x[1]
    HELD += x
    TABLE["b"] = x**2
    first = (HELD**3 * TABLE["b"].to_numpy()).sum()
    HELD -= x
    return first

def of_closure(x):
    s = pd.Series(1.0, index=LABELS)
    counts = {}
    def put(name, value):
        s[name] = value
        counts[name] = value
    put("a", x[0] ** 2)
    put("c", x[1])
    return (s**3).sum() * counts["a"]

def added(x):
    s = pd.Series(x * 2, index=LABELS)
    s.loc["z"] = 1.5  # an entry that was not there
    s["y"] = 0.5
    f = pd.DataFrame({"a": x, "b": x**2})
    f.loc[7] = [x[0], 2.0]
    return (s.sort_index().cumsum() ** 2).sum() + (f.loc[7] * f.loc[1]).sum()

def added_to_plain(x):
    s = pd.Series(1.0, index=LABELS)
    s.loc["z"] = x[0] ** 2
    return (s**3).sum()

FUNCTIONS = [of_module, of_closure, entry, positions, labels, whole, copied, cells, columns, masked]
FUNCTIONS += [apart, added, added_to_plain]

class Holder:
    def __init__(self):
        self.state = pd.Series(0.0, index=LABELS)

    def step(self, x):
        self.state["a"] = x[0]
        self.state.loc["b"] = x[1]
        return (self.state**3).sum()

def kept(x):
    s = KEPT
    s["b"] = x[1] ** 2
    return (KEPT**2).sum()

def returned(x):
    s = pd.Series(0.0, index=LABELS)
    s["b"] = x[1] ** 2
    return s

def integers(x):
    s = pd.Series([1, 2, 3])
    s.iloc[1] = x[1]
    return s.sum()
"""


@pytest.fixture
def package(installed):
    made = installed(SOURCE)
    with linad.adopt(made):
        yield made


def test_writes(package):
    for f in package.FUNCTIONS:
        plain = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(X.size)]
        y, gradient = linad.value_and_grad(f)(X)
        np.testing.assert_allclose(y, f(X), rtol=1e-14, err_msg=f.__name__)
        np.testing.assert_allclose(gradient, plain, rtol=1e-7, atol=1e-9, err_msg=f.__name__)


def test_writes_jitted(package):
    for f in (package.positions, package.masked):
        compiled = linad.jit(linad.grad(f))
        for x in (X, X + 0.05, X):
            np.testing.assert_allclose(compiled(x), linad.grad(f)(x), rtol=1e-13)


def test_second_derivatives(package):
    np.testing.assert_allclose(linad.hessian(package.entry)(X), np.diag([8.0, 2.0, 0.0]))


def test_what_was_there_before_is_plain_again(package):
    holder = package.Holder()
    np.testing.assert_allclose(linad.grad(holder.step)(X), 3 * X**2 * [1, 1, 0])
    np.testing.assert_allclose(linad.grad(package.kept)(X), [0, 4 * X[1] ** 3, 0])
    for s, numbers in ((holder.state, [X[0], X[1], 0]), (package.KEPT, [1, X[1] ** 2, 1])):
        assert type(s) is pd.Series
        assert s.dtype == np.float64
        np.testing.assert_array_equal(s.to_numpy(), numbers)
    assert package.KEPT.name == "kept"


def test_results_have_the_derivative(package):
    expected = np.zeros((3, 3))
    expected[1, 1] = 2 * X[1]
    np.testing.assert_allclose(linad.jacobian(package.returned)(X), expected)


def test_integers_take_no_floating_numbers(package):
    for f in (package.integers, linad.grad(package.integers)):
        with pytest.raises(TypeError, match="Invalid value"):
            f(X)
