"""Sorting, partitioning, unique entries; searches, whose results are constant."""

import numpy as np
import pytest

import linad
from linad.errors import UnsupportedError
from linad.testing.rule_checks import Case

rng = np.random.default_rng(1)
SCALAR = np.array([0.7])
VECTOR = rng.standard_normal(6)
MATRIX = rng.standard_normal((3, 4))
EMPTY = np.zeros((0, 3))
REPEATED = np.array([3.0, 1.0, 3.0, 2.0, 1.0])
COMPLEX = {"complex_": True}

CASES = [
    Case(np.sort, SCALAR),
    Case(np.sort, VECTOR, check=COMPLEX),
    Case(np.sort, MATRIX),
    Case(np.sort, MATRIX, axis=0, kind="stable"),
    Case(np.sort, MATRIX, axis=None),
    Case(np.sort, EMPTY),
    Case(np.sort, VECTOR, stable=True),
    Case(np.sort_complex, VECTOR + 1j),
    Case(np.partition, MATRIX, kth=1),
    Case(np.partition, MATRIX, kth=(0, 2), axis=0),
    Case(np.partition, MATRIX, kth=5, axis=None),
    Case(np.unique, VECTOR),
    Case(np.unique, MATRIX, return_index=True, return_inverse=True, return_counts=True),
    Case(np.unique, np.array([[1.0, 2.0], [0.5, 3.0], [1.0, 2.0]])[:2], axis=0),
    Case(np.unique_values, VECTOR),
    Case(np.union1d, VECTOR, MATRIX),
    Case(np.setdiff1d, VECTOR, MATRIX[0], check={"wrt": [0]}),
    Case(np.setxor1d, VECTOR, MATRIX),
]

CONSTANT = [
    (np.all, {}),
    (np.any, {"axis": 0, "keepdims": True}),
    (np.argmax, {"axis": 1}),
    (np.argmin, {}),
    (np.argpartition, {"kth": 2}),
    (np.argsort, {"axis": 0, "kind": "stable"}),
    (np.nanargmax, {}),
    (np.nanargmin, {"axis": 0}),
    (np.isin, {"test_elements": MATRIX[0]}),
    (np.digitize, {"bins": np.array([-1.0, 0.0, 1.0])}),
    (np.logical_or.reduce, {"axis": 1}),
    (np.logical_and.accumulate, {}),
    (np.logical_xor.reduce, {}),
]
if hasattr(np, "in1d"):  # until NumPy 2.3
    deprecated = pytest.mark.filterwarnings("ignore:`in1d` is deprecated")
    CONSTANT.append(pytest.param(np.in1d, {"ar2": MATRIX[0]}, marks=deprecated))  # noqa: NPY201


@pytest.mark.parametrize("case", CASES, ids=[f"{k}-{c!r}" for k, c in enumerate(CASES)])
def test_values_are_numpys(case):
    plain = case.function(*case.args, **case.params)
    y = linad.linearize(lambda *a: case.function(*a, **case.params), *case.args)[0]
    for part, expected in zip(*[v if type(v) is tuple else (v,) for v in (y, plain)], strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("function, keywords", CONSTANT)
def test_constant_results_leave_the_trace(function, keywords):
    found = []

    def f(x):
        found.append(function(x, **keywords))
        return np.sum(x)

    linad.grad(f)(MATRIX)
    expected = function(MATRIX, **keywords)
    assert type(found[0]) is type(expected)
    np.testing.assert_array_equal(found[0], expected)


OF_A_MASK = {
    "all": lambda x, w: np.all(x, where=w),
    "all along": lambda x, w: np.all(x, axis=1, keepdims=True, where=w[0]),
    "any": lambda x, w: (x > 0).any(axis=0, where=w),
    "of a list": lambda x, w: np.any([0.0, 1.0, 0.0], where=w[0]),
    "and": lambda x, w: np.logical_and.reduce(x, where=w),
    "or": lambda x, w: np.logical_or.reduce(x, axis=None, where=w, initial=False),
    "xor": lambda x, w: np.logical_xor.reduce(x, 1, None, None, False, False, w),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", OF_A_MASK)
def test_a_traced_mask_of_what_counts(name):
    x = np.array([[0.0, 1.0, -2.0], [np.nan, 0.0, 0.0]])

    def f(x):
        return OF_A_MASK[name](x, x < 0.5)

    jitted = linad.jit(f)
    for point in (x, x, x, 1.0 - x):
        found, expected = jitted(point), f(point)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(found, expected)


def test_a_traced_mask_is_of_truth_values_and_as_large():
    x = np.array([[0.0, 1.0, -2.0], [3.0, 0.0, 0.0]])
    with pytest.raises(TypeError, match="where must be an array of booleans"):
        linad.jit(lambda x: np.all(x, where=x))(x)
    with pytest.raises(ValueError, match="dimensions|broadcast"):
        linad.jit(lambda x: np.all(np.ones(3), where=x > 0))(x)


def test_searches_take_traced_values_on_either_side():
    found = []

    def f(edges, x):
        found.append(np.searchsorted(edges, x))
        found.append(np.searchsorted(np.sort(VECTOR), x, side="right"))
        found.append(np.digitize(VECTOR, edges))
        found.append(np.isin(edges, x))
        found.append(np.lexsort((x, x)))
        found.append(np.argsort(a=x))
        return np.sum(x)

    edges, x = np.array([-1.0, 0.0, 1.0]), VECTOR[:4]
    linad.grad(f, argnums=(0, 1))(edges, x)
    expected = [
        np.searchsorted(edges, x),
        np.searchsorted(np.sort(VECTOR), x, side="right"),
        np.digitize(VECTOR, edges),
        np.isin(edges, x),
        np.lexsort((x, x)),
        np.argsort(x),
    ]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_methods_of_the_array():
    def f(x):
        assert x.any()
        assert not x.all()
        assert x.argmax() == VECTOR.argmax()
        return x[x.argsort()[0]] + x[x.argmin()]

    x = np.append(VECTOR, 0.0)
    np.testing.assert_array_equal(linad.grad(f)(x), 2.0 * (np.arange(7) == x.argmin()))


def test_sorting_permutes_the_derivative():
    np.testing.assert_array_equal(linad.jacobian(np.sort)(VECTOR), np.eye(6)[np.argsort(VECTOR)])


def test_unique_belongs_to_the_first():
    found = linad.jacobian(np.unique)(REPEATED)
    np.testing.assert_array_equal(found, np.eye(5)[[1, 3, 0]])
    rows = np.array([[1.0, 2.0], [0.5, 3.0], [1.0, 2.0]])
    found = linad.grad(lambda x: np.sum(np.unique(x, axis=0)))(rows)
    np.testing.assert_array_equal(found, [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("function", [np.unique_all, np.unique_counts, np.unique_inverse])
def test_unique_tuples(function):
    expected = function(REPEATED)
    kept = []

    def f(x):
        kept.append(function(x))
        return kept[0].values

    y = linad.linearize(f, REPEATED)[0]
    np.testing.assert_array_equal(y, expected.values)
    assert type(kept[0]) is type(expected)
    for name in expected._fields[1:]:
        np.testing.assert_array_equal(getattr(kept[0], name), getattr(expected, name))


def test_fields_are_refused():
    with pytest.raises(UnsupportedError, match="order"):
        linad.jacobian(lambda x: np.sort(x, order="a"))(VECTOR)


def test_wrong_axis():
    with pytest.raises(np.exceptions.AxisError):
        linad.jacobian(lambda x: np.sort(x, axis=1))(VECTOR)


def test_sets_with_common_entries():
    other = np.array([2.0, 7.0, 3.0])
    found = linad.jacobian(lambda x: np.intersect1d(x, other))(REPEATED)
    np.testing.assert_array_equal(found, np.eye(5)[[3, 0]])
    found = linad.jacobian(lambda x: np.setdiff1d(x, other))(REPEATED)
    np.testing.assert_array_equal(found, np.eye(5)[[1]])
    y, J = linad.linearize(lambda x: np.setxor1d(x, other), REPEATED)
    np.testing.assert_array_equal(y, [1.0, 7.0])
    np.testing.assert_array_equal(J.todense(), [[0.0, 1.0, 0.0, 0.0, 0.0], np.zeros(5)])
    found = linad.jacobian(lambda x: np.union1d(x, other))(REPEATED)
    np.testing.assert_array_equal(found, np.vstack([np.eye(5)[[1, 3, 0]], np.zeros(5)]))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_unique_values_come_in_numpys_order(dtype):
    x = np.array([3.0, 0.5, 3.0, -1.0, 2.5, 0.5, np.nan, 7.0, np.nan, 0.25])
    x = x.astype(dtype) * (1 if dtype != "c16" else 1 - 2j)
    y, J = linad.linearize(np.unique_values, x)
    np.testing.assert_array_equal(y, np.unique_values(x))
    assert J.shape == (y.size, x.size)
    first = [np.flatnonzero(x == v)[0] for v in y[~np.isnan(y)]]
    found = J.todense()[~np.isnan(y)]
    np.testing.assert_array_equal(found, np.eye(x.size)[first])
