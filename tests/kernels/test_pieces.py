"""Loops in pieces: every turn once, in order; what a piece reads from before it."""

import pytest

from linad.kernels.expression_source import text
from linad.kernels.expressions import Expr, add, get, mul, num, sub, var
from linad.kernels.pieces import PIECES, exposed, in_pieces, is_by_pieces, is_sum
from linad.kernels.statements import Check, For, If, Let, Put, Swap, WhileLoop

X, TURN, T = var("x"), var("i"), var("t")
WHETHER = Expr("<", (X, num(0.0)))


def loop(body, step=1, prange=True):
    return For("i", var("first"), var("last"), num(step), body, prange=prange)


@pytest.mark.parametrize("first, last", [(0, 100), (3, 20), (-5, 4), (7, 7)])
def test_every_turn_is_in_one_piece(first, last):
    ranges = []
    made = in_pieces(loop([]), lambda begin, end: ranges.append((begin, end)) or [], var)
    assert made.pieces
    turns = []
    for piece in range(PIECES):
        scope = {"first": first, "last": last, "piece": piece}
        for s in made.body:
            scope[s.name] = eval(text(s.value), {"min": min}, scope)
        turns += range(scope["begin"], scope["end"])
    assert turns == list(range(first, last))
    assert ranges == [(var("begin"), var("end"))]


def test_which_loops_can_be_cut():
    assert is_by_pieces(loop([Put("a", (TURN,), X)]))
    assert not is_by_pieces(loop([Put("a", (TURN,), X)], prange=False))
    assert not is_by_pieces(loop([], step=2))
    assert not is_by_pieces(loop([Check(WHETHER, "no")]))
    assert not is_by_pieces(loop([If(WHETHER, [Swap(("a", "b"), ("b", "a"))], [])]))
    assert not is_by_pieces(Let("x", X))


def test_what_is_read_from_before():
    assert exposed([Let("t", X), Let("u", T)]) == {"x"}
    assert exposed([If(WHETHER, [Let("t", num(1.0))], []), Let("u", T)]) == {"x", "t"}
    both = If(WHETHER, [Let("t", num(1.0))], [Let("t", num(2.0))])
    assert exposed([both, Let("u", T)]) == {"x"}
    assert exposed([WhileLoop(WHETHER, [Let("t", X)]), Let("u", T)]) == {"x", "t"}
    assert exposed([Put("a", (TURN,), get("b", TURN))], {"i"}) == {"b"}


def test_sums():
    adds = Let("t", add(T, X))
    assert is_sum("t", [adds, Let("t", sub(T, get("a", TURN)))])
    assert not is_sum("t", [adds, Let("u", T)])
    assert not is_sum("t", [Let("t", add(T, mul(T, X)))])
    assert not is_sum("t", [Let("t", mul(T, X))])
    assert not is_sum("t", [Put("t", (TURN,), X)])
