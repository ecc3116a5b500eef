"""Series and DataFrames around traced values, in adopted code."""

import numpy as np
import pytest

import linad
from linad.errors import LinadError

pd = pytest.importorskip("pandas")

X = np.array([0.31, 0.72, 0.15, 0.94, 0.55, 0.43])

SOURCE = """
import numpy as np
import pandas as pd
import scipy.integrate, scipy.interpolate, scipy.ndimage, scipy.optimize, scipy.signal, scipy.stats

DAYS = pd.date_range("2020-01-01", periods=6)
PLAIN = pd.Series(np.arange(6.0), index=DAYS)
CACHE = {}


def s(x):
    return pd.Series(x, index=DAYS)


def d(x):
    return pd.DataFrame(x.reshape(3, 2), columns=["a", "b"])


def arithmetic(x):
    return ((s(x) + 1) * 2 / s(x) - s(x) ** 2 - x[0] * abs(s(x))).to_numpy() * (1 - s(x)).values


def numbers(x):
    y = s(x)
    found = [y.mean(), y.std(), y.var(ddof=0), y.skew(), y.kurt(), y.median(), y.prod(), y.max()]
    return np.array([*found, y.quantile(0.3), y.sem(), y.sum(min_count=2)])


def returns(x):
    y = s(x).pct_change().dropna()
    growth = y.add(1).cumprod()
    least = (growth / growth.cummax()).min() - 1
    return np.array([growth.iloc[-1], least, np.sqrt(252) * y.mean()])


def chosen(x):
    y = s(x)
    last = y.loc["2020-01-02":].sum() * y[y < 0.5].sum()
    return last * y.sort_values().to_numpy() * y.shift(2).fillna(0.5).to_numpy()


def of_numpy(x):
    y = s(x)
    parts = np.cov(y, y**2).ravel(), np.where(y > 0.5, y, 0.0), np.array([np.std(y), np.mean(y)])
    return np.concatenate([*parts, np.exp(y).to_numpy()])


def beside_plain(x):
    both = pd.concat([s(x), s(x)])
    return (PLAIN * s(x)).to_numpy() + (s(x) * PLAIN).iloc[1:].sum() + both.sum()


def missing(x):
    y = s(x).where(s(x) > 0.2)
    found = [y.sum(), y.std(), y.cumsum().iloc[-1], (1 / y).dropna().sum()]
    return np.array([*found, pd.isna(y).sum(), pd.isna(x[0])])


def applied(x):
    whole = s(x).groupby([0] * 6).sum()[0]
    large = s(x).apply(lambda v: v > 0.5) & (PLAIN.to_numpy() < 4)
    return s(x).apply(lambda v: v * v).to_numpy() + sum(v for v in s(x)[large]) + whole


def rows(x):
    table = d(x).assign(name=["u", "v", "w"])
    each = table.apply(lambda row: row["a"] * row.b if row["name"] != "v" else row.b, axis=1)
    both = d(x).apply(lambda row, k: row**k, axis=1, args=(2,))["b"]
    raw = d(x).apply(lambda row: row[0] / row[1], axis="columns", raw=True)
    return (each * both - raw).to_numpy()


def columns(x):
    y = d(x)
    y["c"] = y["a"] * y["b"]
    y = y.assign(e=[1.0, 2.0, 3.0])
    scaled = ((y - y.mean()) / y.std())[["a", "c"]]
    return np.concatenate([scaled.to_numpy().ravel(), y.sum(axis=1)])


def matrices(x):
    y = d(x)
    found = [y.cov().to_numpy(), y.corr().values, y.T.dot(y).to_numpy(), (y.cov() * x[:2]).values]
    return np.concatenate([part.ravel() for part in found])


def made(x):
    y = pd.DataFrame({"a": x[:3], "b": [1.0, x[3], 2.0], "c": x[4]})
    rows = pd.DataFrame([{"u": x[4], "v": 1.0}, {"u": 2.0, "v": x[5]}])
    named = pd.Series({"p": x[0], "q": 2.0})
    return np.concatenate([y.iloc[1].to_numpy(), rows.prod(axis=1), named])


def told(x):
    y = pd.DataFrame({"value": [x[0] * x[1]], "of": ["two"]})
    return y["value"].iloc[0]


def kept(x):
    key = int(pd.util.hash_pandas_object(s(x)).sum())
    if key not in CACHE:
        CACHE[key] = s(x) * s(x)
    return CACHE[key].to_numpy()


def windows(x):
    y = s(x).pct_change()
    found = [y.rolling(2).mean(), y.rolling(3, min_periods=1).std(), y.expanding().max()]
    found += [y.rolling(3).quantile(0.3), y.expanding(2).kurt(), d(x).rolling(2).sum()["b"]]
    return np.concatenate([part.fillna(0.0).to_numpy() for part in found])


def by_type(x):
    return x * (2.0 if type(s(x)) is pd.Series and type(d(x)) is pd.DataFrame else 3.0)


def centred(x):
    found = [s(x).rolling(3, center=True).mean(), s(x).rolling(4, 1, center=True).sum()]
    return np.concatenate([part.fillna(0.0).to_numpy() for part in found])


def weighted(x):
    found = [s(x).ewm(span=3).mean(), s(x).ewm(alpha=0.3, adjust=False).mean()]
    found += [s(x).ewm(com=1.5).std(), d(x).ewm(halflife=2, adjust=False).var()["b"]]
    found += [s(x).ewm(span=3, min_periods=3).var(bias=True)]
    return np.concatenate([part.fillna(0.0).to_numpy() for part in found])


def weighted_and_missing(x):
    gaps = s(np.where([0, 0, 1, 0, 1, 0], np.nan, x))
    found = [s(x).pct_change().ewm(span=3).mean(), gaps.ewm(alpha=0.3, min_periods=2).mean()]
    for adjust in (True, False):
        for ignore in (True, False):
            windows = gaps.ewm(alpha=0.3, adjust=adjust, ignore_na=ignore)
            found += [windows.mean(), windows.var(), windows.std()]
    return np.concatenate([part.fillna(0.0).to_numpy() for part in found])


def given_to_scipy(x):
    y, t = s(x), np.arange(6.0)
    line = scipy.stats.linregress(t, y)[0] + scipy.interpolate.CubicSpline(t, y)(2.3)
    line = line + scipy.integrate.simpson(y, x=t) + scipy.interpolate.interp1d(t, y)(1.2)
    line = line + scipy.stats.gaussian_kde(y)(0.4)
    return scipy.stats.zscore(y) * line + scipy.signal.detrend(y) + np.array([y, 2 * y])[1]


def plain_ones(x):
    y, table = PLAIN + 1, pd.DataFrame(np.arange(6.0).reshape(3, 2) + 1, columns=["a", "b"])
    found = [(x[0] * y).to_numpy(), (y / x[1]).iloc[1:], (x**y).to_numpy(), (x - y).abs()]
    found += [(x[2] * table)["b"], (table + x[3]).mean(), np.fmin(d(x), 0.5)["a"]]
    weights = pd.Series(x[:2], index=["a", "b"])
    found += [x[0] * table.dot(weights), np.array([weights.dot(table.cov().dot(weights))])]
    return np.concatenate([np.array(list(part)) for part in found])


def before_plain_ones(x):
    y = PLAIN / 6 + 0.1
    found = [x + y, x - y, x * y, x / y, x // y, x % y, x**y]
    found += [(x < y) * x, (x <= y) * x, (x > y) * x, (x >= y) * x]
    return np.concatenate([part.loc[DAYS].to_numpy() for part in found])


def masked_to_scipy(x):
    return scipy.ndimage.median_filter(np.ma.masked_array(x, [0, 0, 1, 0, 0, 0]), 3)


def divided_where(x):
    total = s(x).rolling(2, min_periods=1).sum()
    ratio = np.divide(abs(x - np.roll(x, 1)), total, out=np.zeros_like(x), where=total != x[0])
    return ratio.values * np.trace(d(x).cov())


def within(x):
    y = s(x)
    gaps = s(np.where([0, 0, 1, 0, 0, 0], np.nan, x))
    found = [y.clip(upper=x[2]), y.clip(x[1], x[3]), y.clip(x[3], x[1]), (PLAIN * 0.3).clip(x[2])]
    found += [y.clip(lower=np.nan, upper=1.0), y.clip(y * 0 + x[2]), np.clip(y, None, x[3])]
    found += [gaps.clip(x[1]).fillna(0.0), d(x).clip(x[2], 1.0)["b"], y.clip(upper=list(2 * x))]
    return np.concatenate([part.to_numpy() for part in found])


def asked_by_text(x):
    table, half = pd.DataFrame({"t": PLAIN.to_numpy()}), 2.0
    chosen = table.query("t > @half").index
    return x[0] * table.eval("t * @half").to_numpy() + s(x).reset_index(drop=True)[chosen].sum()


def products_of_plain_ones(x):
    table = PLAIN.to_frame().assign(b=PLAIN**2) + 1
    found = [table @ x[:2], table.T @ (table @ x[:2])]
    found.append([PLAIN @ x, PLAIN @ table.to_numpy() @ x[:2]])
    return np.concatenate([np.array(list(part)) for part in found])


def updated_plain_columns(x):
    table, several = PLAIN.to_frame("a").assign(b=1.0), {"s": PLAIN + 1}
    table["a"] += x[0]
    table["a"] **= x[1]
    table.loc[:, "b"] *= x[2]
    table.iloc[1] -= x[3]
    several["s"] /= x[4]
    return np.concatenate([table["a"].to_numpy(), table["b"].to_numpy(), several["s"].to_numpy()])


def two_columns(x):
    y, other = s(x), (PLAIN**2).iloc[::-1]
    found = [y.cov(other), y.corr(other), other.corr(y * x[0]), y.cov(other.iloc[:4], ddof=0)]
    return np.array([*found, y.corr(y**2)])


def chosen_complex_ones(x):
    return np.abs((PLAIN + 0.5).where(PLAIN > 2, PLAIN * 1j * x[0] + x[1]).to_numpy())


def by_a_window(x):
    return s(x).rolling(3, win_type="hann").mean()


def ranks(x):
    return d(x).corr("spearman")
"""

NAMES = [line[4:].partition("(")[0] for line in SOURCE.splitlines() if line.startswith("def ")]
RAISE = ["by_a_window", "ranks"]


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("s", "d", *RAISE)])
def test_labelled_values(name, installed):
    package, h = installed(SOURCE), 1e-6
    f = getattr(package, name)
    value = np.asarray(f(X))
    near = [np.asarray(f(X + h * e)) - np.asarray(f(X - h * e)) for e in np.eye(6)]
    expected = np.stack(near, axis=-1) / (2 * h)
    with linad.adopt(package.__name__):
        y, J = linad.linearize(f, X)
    np.testing.assert_allclose(y, value, rtol=1e-12)
    found = np.reshape(J @ np.eye(6), expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    back = np.reshape(J.H @ np.eye(value.size), (6, *value.shape))
    np.testing.assert_allclose(np.moveaxis(back, 0, -1), found, rtol=1e-10, atol=1e-12)


def test_a_fit_to_a_series(installed):
    package = installed("""
import pandas as pd
import scipy.optimize


def fitted(y):
    line = lambda t, a, b: a * t + b
    return scipy.optimize.curve_fit(line, pd.Series([0.0, 1, 2, 3, 4, 5]), pd.Series(y))[0]
""")
    with linad.adopt(package.__name__):
        J = linad.jacobian(package.fitted)(X)
    np.testing.assert_allclose(J, np.linalg.pinv(np.vander(np.arange(6.0), 2)), atol=1e-7)


@pytest.mark.rest
def test_jitted(installed):
    package = installed(SOURCE)
    with linad.adopt(package.__name__):
        for f in (package.returns, package.matrices, package.columns):
            jitted = linad.jit(f)
            jitted(X)
            slopes = linad.jacobian(jitted)(1.01 * X), linad.jacobian(f)(1.01 * X)
            np.testing.assert_allclose(*slopes, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", RAISE)
def test_what_raises(name, installed):
    package = installed(SOURCE)
    with linad.adopt(package.__name__), pytest.raises(LinadError):
        linad.jacobian(getattr(package, name))(X)


def test_plain_values_are_pandass(installed):
    package = installed(SOURCE)
    with linad.adopt(package.__name__):
        assert type(package.s(X)) is package.pd.Series
        assert type(package.d(X)) is package.pd.DataFrame


def test_without_adoption_the_error_names_it(installed):
    package = installed(SOURCE)
    with pytest.raises(LinadError, match=r"pandas.* linad.adopt\(name\) of the package"):
        linad.jacobian(package.numbers)(X)


@pytest.mark.parametrize("in_place", ["__iadd__", "__imul__", "__itruediv__", "__ipow__"])
def test_in_place_arithmetic_without_adoption_names_it(in_place):
    import pandas as pd

    for plain in (pd.Series([1.0, 2.0]), pd.DataFrame({"a": [1.0, 2.0]})):
        with pytest.raises(LinadError, match=r"pandas.* linad.adopt\(name\) of the package"):
            linad.derivative(lambda x, plain=plain: getattr(plain, in_place)(x).sum())(2.0)


def test_series_of_pandas_own_class_that_hold_traced_arrays():
    import pandas as pd

    from linad.adoption.labelled_arrays import TracedArray

    def product(x):
        return (x[0] * pd.Series(TracedArray(x))).to_numpy()

    expected = np.diag(np.full(X.size, X[0]))
    expected[:, 0] += X
    np.testing.assert_allclose(linad.jacobian(product)(X), expected)


COMPLEX = {
    "times": lambda z, b: np.abs(1 + z * b),
    "reflected": lambda z, b: np.abs(b / z - z),
    "power": lambda z, b: np.abs(np.exp(b * z) ** b),
    "ufunc": lambda z, b: np.abs(np.multiply(z, b).cumsum()),
    "reduced": lambda z, b: np.abs((z * b).mean() * (z * b).sum()),
    "chosen": lambda z, b: np.abs((b - z)[np.array([True, False, True])]),
    "number": lambda z, b: np.abs(b * z + 1j),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_a_series_of_complex_numbers(name):
    import pandas as pd

    f, values = COMPLEX[name], np.array([1.0 + 2.0j, -0.5j, 3.0])
    series, table = pd.Series(values, index=[4, 5, 6]), pd.DataFrame({"z": values})
    slope = linad.derivative(lambda b: np.sum(f(values, b)))(0.7)
    for z in (series, table["z"]):
        for taken in (linad.derivative, lambda g: linad.jit(linad.derivative(g))):
            np.testing.assert_allclose(taken(lambda b, z=z: np.sum(f(z, b)))(0.7), slope)


def test_gaps_are_filled_by_numpy():
    import pandas as pd

    from linad.adoption.labelled_arrays import TracedArray

    def f(x, fill):
        s = pd.Series(TracedArray(np.array([1.0, np.nan, 3.0]) * x))
        if not fill:
            return np.sum(s.interpolate().to_numpy())
        place, known = np.arange(3.0), np.array([True, False, True])
        return np.sum(np.interp(place, place[known], s.array.array[known]))

    with pytest.raises(LinadError, match=r"np.interp\(x, x\[known\], y\[known\]\)"):
        linad.derivative(lambda x: f(x, False))(2.0)
    assert linad.derivative(lambda x: f(x, True))(2.0) == pytest.approx(6.0)


CHOOSING = {
    "where": lambda x, q: np.where(q > 1, x, 0.0),
    "where of numbers": lambda x, q: np.where(q, x, q),
    "where of traced": lambda x, q: np.where(q * x[0] > 1, q * x[1], q),
    "select": lambda x, q: np.select([q > 1], [x * q], q),
    "select of series": lambda x, q: np.select([q * x[0] > 1], [q * x[1]], q),
    "choose": lambda x, q: np.choose(q > 1, [x, 2 * x]),
    "maximum": lambda x, q: np.maximum(q * x[0], 1.5),
    "clip": lambda x, q: np.clip(x, q, q + 1),
    "sum where": lambda x, q: np.sum(x, where=np.asarray(q > 1)),
}


@pytest.mark.parametrize("f", CHOOSING.values(), ids=CHOOSING)
def test_columns_choose_entries_as_arrays_do_under_every_trace(f):
    column, x = pd.Series([0.5, 2.0, 3.0]), np.array([0.7, 1.4, 2.6])

    def total(x):
        return np.sum(f(x, column) ** 2)

    def of_array(x):
        return np.sum(f(x, column.values) ** 2)

    fast, expected = linad.jit(total), linad.hessian(of_array)(x)
    for function in (total, fast):
        np.testing.assert_allclose(linad.grad(function)(x), linad.grad(of_array)(x))
        np.testing.assert_allclose(linad.hessian(function)(x), expected)
        operator = linad.hessian_operator(function, x)
        np.testing.assert_allclose(operator.todense(), expected, atol=1e-12)
    np.testing.assert_allclose(fast(x), total(x))


def germinated(p, days, warmth, seen):
    heat = np.maximum((warmth - p["base"]) * p["rate"], 1e-9)

    def share(t):
        return np.where(t > 0, 0.9 / (1 + (t * heat) ** -2.0), 0)

    return np.where(seen, np.log(share(days) - share(days - 1)), np.log(1 - share(days))).sum()


@pytest.mark.rest
def test_a_jitted_likelihood_of_columns_has_the_hessian_of_arrays():
    days, warmth = pd.Series([3, 8, 5, 12, 7]), pd.Series([20, 10, 15, 8, 12])
    columns = days, warmth, days < 12
    arrays, p = [c.to_numpy() for c in columns], {"base": 1.0, "rate": 0.01}
    J = linad.hessian_operator(linad.jit(lambda p: germinated(p, *columns)), p)
    expected = linad.hessian_operator(lambda p: germinated(p, *arrays), p)
    np.testing.assert_allclose(J.todense(), expected.todense(), rtol=1e-9)


def test_a_ufunc_of_two_tables_says_to_give_their_numbers():
    table = pd.DataFrame({"x": [1.0, 2.0], "z": [1.0, 4.0]})
    words = r'numpy.minimum\(\), of tables of pandas, .*; give it their columns, as x\["name"\], or'
    for minimum in (np.minimum, linad.numpy.minimum):
        with pytest.raises(LinadError, match=words) as refused:
            linad.grad(lambda a, f=minimum: f(a * table, a + table).sum().sum())(3.0)
        assert "linad.adopt" not in str(refused.value)

    def of_numbers(a):
        return np.minimum((a * table).to_numpy(), (a + table).to_numpy()).sum()

    assert linad.grad(of_numbers)(3.0) == 1.0 + 1.0 + 1.0 + 1.0
