"""Every function of NumPy and SciPy is in one of three classes, and none is silently wrong.

The rows come from the libraries; so do the calls' expected values. Beyond the classes, each
differentiable call is checked by the dot test, in double and in single precision.
"""

import re

import numpy as np
import pytest

from survey import table as coverage
from survey.numpy_calls import DIRECTION, MATRIX, quiet
from survey.table import CONSTANT, DIFFERENTIABLE, RAISES, UNCLASSIFIED

pytestmark = pytest.mark.rest

SECTIONS = (
    *("numpy", "numpy.linalg", "numpy.fft", "Other modules of NumPy", "Ufuncs of NumPy"),
    *("Methods of ufuncs", "numpy.ndarray", "Ufuncs of scipy.special"),
    *("linad.numpy.polynomial", "linad.scipy"),
)


REFUSED = {f"scipy.sparse.linalg.{name}" for name in ("inv", "onenormest", "qmr")}
"""Forms in `linad.scipy` that say what to call instead."""


@pytest.fixture(scope="module")
def entries():
    return coverage.entries()


@pytest.fixture(scope="module")
def table(entries):
    return {title: {e.name: e.row() for e in section} for title, section in entries.items()}


def count(section, *kinds):
    return sum(row.kind in kinds for row in section.values())


@pytest.mark.rest
def test_the_sections(table):
    assert tuple(table) == SECTIONS


@pytest.mark.parametrize("title", SECTIONS)
def test_nothing_is_unclassified(title, table):
    assert [row for row in table[title].values() if row.kind == UNCLASSIFIED] == []


@pytest.mark.full
def test_what_runs_scipys_own_code_has_derivatives():
    """Their derivatives are compared in tests/scipy/test_twins.py."""
    [rows] = [[e.row() for e in section] for section in coverage.twin_entries().values()]
    assert [row for row in rows if row.kind in (RAISES, UNCLASSIFIED)] == []


@pytest.mark.parametrize("title", SECTIONS)
def test_what_raises_names_a_remedy(title, table):
    words = ("use ", "pass ", "call ", "compute it", "iterate", "index instead", "keep ", "take ")
    words += ("stop_gradient", "is that of the value", "leave it out", "return the value")
    rows = [row for row in table[title].values() if row.kind == RAISES]
    assert [row for row in rows if not any(w in row.note for w in words)] == []


def test_targets(table):
    done = (DIFFERENTIABLE, CONSTANT)
    assert count(table["numpy"], *done) >= 220
    assert count(table["numpy.linalg"], *done) == len(table["numpy.linalg"]) == 31
    assert count(table["numpy.fft"], *done) == len(table["numpy.fft"]) == 16
    for title in ("linad.scipy", "linad.numpy.polynomial"):
        assert {name for name, row in table[title].items() if row.kind not in done} <= REFUSED


def test_what_raises_takes_no_numbers(table):
    """Text, dates and files; a function of numbers has a traced form."""
    raising = {n for n, row in table["numpy"].items() if row.kind == RAISES}
    files = {"save", "savetxt", "savez", "savez_compressed"}
    dates = {"busday_count", "busday_offset", "is_busday", "datetime_as_string"}
    assert raising == {f"numpy.{n}" for n in files | dates}
    ufuncs = coverage.numpy_ufuncs()
    raising = {n for n, row in table["Ufuncs of NumPy"].items() if row.kind == RAISES}
    assert all(hasattr(np.strings, n) and not ufuncs[n].types for n in raising)


def test_some_rows(table):
    rows = {n: row for section in table.values() for n, row in section.items()}
    for name in ("numpy.where", "numpy.linalg.solve", "sin", "add.at", "__setitem__", "flat"):
        assert rows[name].kind == DIFFERENTIABLE
    for name in ("numpy.argmax", "numpy.zeros_like", "floor", "less", "strides", "__bool__"):
        assert rows[name].kind == CONSTANT
    for name in ("numpy.save", "isalpha", "tolist", "data", "btdtria", "numpy.char.equal"):
        assert rows[name].kind == RAISES
    assert rows["jv"].note == "not in argument 0"


# What the classes rest on.


def detached(f, a):
    """Loses the derivative."""
    return np.sum(getattr(a, "concrete", a))


def boxed(f, a):
    """Hides traced values in an object array."""
    box = np.empty((), object)
    box[()] = a
    return box


def other(f, a):
    """Differs when it is traced."""
    return 2 * a if type(a) is np.ndarray else a


def broken(f, a):
    """Raises an error of its own."""
    return a.shape[7]


@pytest.mark.parametrize(
    "call, words",
    [
        (detached, "moves without derivative"),
        (boxed, "an object array"),
        (other, "differs"),
        (broken, "IndexError"),
    ],
)
def test_what_is_wrong_is_found(call, words):
    row = coverage.classify("it", call, None)
    assert row.kind == UNCLASSIFIED
    assert re.search(words, row.note)


def inner(a, b):
    return sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b, strict=True))


def size(arrays):
    return float(sum(np.sum(np.abs(x)) for x in arrays))


STEP = 2.0**-20


def check(function, call, dtype, mirror=False):
    """What is wrong with both modes of a call; None if nothing is."""
    point, direction = MATRIX.astype(dtype), DIRECTION.astype(dtype)
    plain = coverage.plain_call(call, function, point)
    values, traced, J = coverage.traced_call(call, function, point)
    expected = [np.asarray(plain[k]).dtype for k in traced]
    with quiet():
        dy = J.pushforward(direction)
        w = [np.cos(1 + np.arange(t.size)).reshape(t.shape).astype(t.dtype) for t in dy]
        xbar = J.pullback(w)
    found = [values[k].dtype for k in traced]
    if mirror and dtype == np.float32:
        # SciPy computes some functions in double and answers so; a derivative stays in single.
        expected = [
            min(f, e, key=lambda t: t.itemsize) for f, e in zip(found, expected, strict=True)
        ]
    if found != expected:
        return f"values {found}, NumPy has {expected}"
    if [t.dtype for t in dy] != expected:
        return f"tangents {[t.dtype for t in dy]} of {expected}"
    if xbar.dtype != dtype:
        return f"cotangent {xbar.dtype}"
    if dtype == np.float64:
        ahead = coverage.plain_call(call, function, point + STEP * direction)
        behind = coverage.plain_call(call, function, point - STEP * direction)
        slopes = [(ahead[k] - behind[k]) / (2 * STEP) for k in traced]
        error = size([t - s for t, s in zip(dy, slopes, strict=True)])
        if error > 1e-6 * (size(dy) + size(slopes)):
            return f"tangents {dy}, differences {slopes}"
    scale = size(w) * size(dy) + size([xbar]) * size([direction])
    if abs(inner(w, dy) - inner([xbar], [direction])) > 20 * np.finfo(dtype).eps * scale:
        return f"<w, J v> = {inner(w, dy)}, <J.H w, v> = {inner([xbar], [direction])}"
    return None


# Found to a tolerance, which differences magnify: tests/scipy/test_implicit_solutions.py compares
# them, and tests/scipy/test_twins.py.
SEARCHED = {
    f"scipy.optimize.{name}"
    for name in (
        *("curve_fit", "fmin", "fmin_bfgs", "minimize", "minimize_scalar", "basinhopping", "brent"),
        *(
            "brute",
            "differential_evolution",
            "direct",
            "dual_annealing",
            "fmin_cg",
            "fmin_l_bfgs_b",
        ),
        *("fmin_ncg", "fmin_powell", "fmin_slsqp", "fmin_tnc", "fminbound", "golden", "shgo"),
    )
} | {"scipy.stats.boxcox_normmax", "scipy.stats.yeojohnson_normmax"}


@pytest.mark.parametrize("title", SECTIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "single"])
def test_both_modes_agree_and_keep_the_precision(title, dtype, entries, table):
    """Results have NumPy's type, tangents that, cotangents the input's; tangents agree with
    differences, and <w, J v> = <J^H w, v>.
    """
    problems = {}
    for entry in entries[title]:
        if table[title][entry.name].kind == DIFFERENTIABLE and entry.name not in SEARCHED:
            refused = table[title][entry.name].note
            for i, call in zip(entry.arguments, entry.calls, strict=True):
                if not refused or str(i) not in refused:
                    problems[entry.name, i] = check(
                        entry.function, call, dtype, title == "linad.scipy"
                    )
    assert {name: problem for name, problem in problems.items() if problem} == {}


# The page.


def test_the_page_is_the_table(table):
    rows = {title: list(section.values()) for title, section in table.items()}
    page = coverage.markdown(rows)
    for title, section in rows.items():
        assert f"## {title}\n" in page
        for row in section:
            assert f"`{row.name}`" in page
    done = [count(table["numpy"], k) for k in (DIFFERENTIABLE, CONSTANT, RAISES)]
    assert "| numpy | {} | {} | {} |".format(*done) in page
    assert " at 0x" not in page
    assert r"linad.adopt(\_\_name\_\_)" in page  # not in bold
