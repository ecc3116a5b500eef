"""Which names may stand for copies: no entry of their arrays is written, by any name."""

# ruff: noqa: B007  functions that are read, not run
import ast

import numba
import numpy as np
import pytest

from linad.kernels.aliases import handed_over, replaced_names
from linad.kernels.function_source import FunctionSource


@numba.njit
def writes(a):
    a[0] = 1.0


def replaced(x, n):
    u = x
    for i in range(n):
        u = np.sin(u)
    return u


def replaced_in_a_branch(x, n):
    u = x
    if n > 2:
        u = x * 2.0
    return u


def not_in_a_loop(x, n):
    u = x * 2.0
    return u


def written(x, n):
    u = x * 2.0
    for i in range(n):
        u = np.sin(u)
        u[0] = 1.0
    return u


def added_to(x, n):
    u = x * 2.0
    for i in range(n):
        u = np.sin(u)
        u += 1.0
    return u


def written_by_another_name(x, n):
    u = x
    for i in range(n):
        u = x
        x[i] = u[i] * 2.0
    return u


def written_by_a_window(x, n):
    u = x * 2.0
    for i in range(n):
        u = u[1:]
        v = u[2:]
        v[0] = 3.0
    return u


def written_by_a_choice(x, n):
    u = x * 2.0
    for i in range(n):
        w = u if n > 2 else x
        u = np.sin(w)
        w[0] = 1.0
    return u


def written_by_a_row(x, n):
    u = x * 2.0
    for i in range(n):
        u = np.sin(u)
        for row in u:
            row[0] = 1.0
    return u


def written_by_a_function(x, n):
    u = x * 2.0
    for i in range(n):
        u = np.sin(u)
        writes(u)
    return u


def written_by_a_method(x, n):
    u = x * 2.0
    for i in range(n):
        u = np.sin(u)
        u.fill(1.0)
    return u


def read_by_functions(x, n):
    u = x * 2.0
    for i in range(n):
        u = np.sin(u) + u.sum() + np.dot(u, x)
    return u


def handed_to_another(x, n):
    u = x * 2.0
    for i in range(n):
        new = u * 2.0
        new[0] = 1.0
        u = new
    return u


def taken_apart(x, n):
    u, _v = x * 2.0, x
    for i in range(n):
        u, _k = np.sin(u), i
    return u


def written_after_a_tuple(x, n):
    u, v = x * 2.0, x * 3.0
    for i in range(n):
        u, v = v, u
        v[0] = 1.0
    return u


def written_in_a_tuple(x, n):
    u = x * 2.0
    for i in range(n):
        u = np.sin(u)
        u[0], _k = 1.0, 2
    return u


@pytest.mark.whole
@pytest.mark.parametrize(
    "f, names",
    [
        (replaced, {"u"}),
        (replaced_in_a_branch, {"u"}),
        (not_in_a_loop, set()),
        (written, set()),
        (added_to, set()),
        (written_by_another_name, set()),
        (written_by_a_window, set()),
        (written_by_a_choice, set()),
        (written_by_a_row, set()),
        (written_by_a_function, set()),
        (written_by_a_method, set()),
        (read_by_functions, {"u"}),
        (handed_to_another, {"u"}),
        (taken_apart, {"u"}),
        (written_after_a_tuple, set()),
        (written_in_a_tuple, set()),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_names_of_arrays_that_may_be_copied(f, names):
    found = replaced_names(FunctionSource(f))
    assert found & {"u"} == names


def read_after_it(x, n):
    u = x
    for i in range(n):
        new = np.sin(u)
        u = new
        x[0] = new[0]
    return u


def of_a_parameter(x, n):
    u = x
    for i in range(n):
        u = x
    return u


def by_an_operator(x, n):
    u = x
    while u[0] < n:
        new = u * 2.0
        u = new
    return u


@pytest.mark.parametrize(
    "f, count",
    [(handed_to_another, 1), (by_an_operator, 1), (read_after_it, 0), (of_a_parameter, 0)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_statements_that_hand_an_array_over(f, count):
    source = FunctionSource(f)
    found = handed_over(source)
    assert len(found) == count
    statements = [s for s in ast.walk(source.tree) if id(s) in found]
    assert [ast.unparse(s) for s in statements] == ["u = new"] * count
