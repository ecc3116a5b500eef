"""Most operations of a long loop go through steps written for them, and make no tracer anew."""

import numpy as np
import pytest
from recorded_loops import agrees

import linad
from linad.control import written_steps
from linad.control.template_following import ExpectingTrace

X = np.array([0.7, 0.3, 0.5])
W = np.linspace(-1.0, 1.0, 12).reshape(2, 6)
N = 120


def arithmetic(x, table, k):
    return np.sin(x) * 0.5 + x[1:][0] - 1.0 / (2.0 + x * x)


def with_parameters(x, table, k):
    return x * 0.5 + np.sum(x, axis=0) * 0.1 + np.max(x)


def numbers_that_move(x, table, k):
    return x * 0.9 + 0.01 * k + W[k % 2, :3]


def slices_of_what_is_outside(x, table, k):
    return x * 0.5 + table[1][1:][0] * 0.1 * table[2, :3]


def other_shapes(x, table, k):
    return x * 0.5 + np.sum(table.T[0]) * np.stack([x[0], x[1], x[2]]) + x[:, None][1]


def _loop(body):
    def f(x):
        table = np.outer(x, x)
        for k in range(N):
            x = body(x, table, k)
        return np.sum(x * x)

    return f


@pytest.fixture
def long_way(monkeypatch):
    """The operations that went the long way."""
    taken = []
    expected = ExpectingTrace._expected

    def counted(self, primitive, args, params):
        taken.append(primitive.name)
        return expected(self, primitive, args, params)

    monkeypatch.setattr(ExpectingTrace, "_expected", counted)
    return taken


@pytest.mark.parametrize(
    "body",
    [arithmetic, with_parameters, numbers_that_move, slices_of_what_is_outside, other_shapes],
)
def test_few_operations_go_the_long_way(body, long_way, by_numpy):
    linad.jit(linad.grad(_loop(body)))(X)
    assert len(long_way) < 10  # not once a repetition


@pytest.mark.parametrize("body", [arithmetic, slices_of_what_is_outside])
def test_tracers_are_used_again(body, monkeypatch, by_numpy):
    """Results that only the next steps hold, and views of arrays from outside."""
    made = []
    begin_anew = ExpectingTrace._begin_anew

    def counted(self):
        made.append(len(self.made))
        begin_anew(self)

    monkeypatch.setattr(ExpectingTrace, "_begin_anew", counted)
    linad.jit(linad.grad(_loop(body)))(X)
    assert made[-1] - made[-11] <= 30  # of 80


def test_nobody_else_holds_what_a_list_and_a_variable_do():
    kept = [object()]
    result = kept[0]
    assert written_steps.sys.getrefcount(result) == written_steps.ALONE
    other = result
    assert written_steps.sys.getrefcount(other) > written_steps.ALONE


@pytest.mark.parametrize("body", [with_parameters, slices_of_what_is_outside, other_shapes])
def test_same_values(body, by_numpy):
    agrees(_loop(body), X)
