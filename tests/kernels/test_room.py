"""Room on stacks: for all turns of a loop at once, where each puts as much there."""

from linad.kernels.expressions import Expr, dim, num, var
from linad.kernels.room import pushes, with_room
from linad.kernels.statements import For, If, Let, PushValue, StackRoom, WhileLoop

N, X = dim("a", 0), var("x")
WHETHER = Expr("<", (X, num(0.0)))


def push(stack="s"):
    return PushValue(stack, X)


def loop(body, stop=N):
    return For("i", num(0), stop, num(1), body)


def rooms(body):
    return [(s.stack, s.count) for s in with_room(body) if isinstance(s, StackRoom)]


def test_a_stretch_of_statements():
    assert rooms([push(), push("t"), push()]) == [("s", num(2)), ("t", num(1))]
    assert rooms([Let("y", X)]) == []
    branch = If(WHETHER, [push(), push()], [push(), push("t")])
    assert pushes([branch]) == {"s": 2, "t": 1}
    assert rooms([branch]) == [("s", num(2)), ("t", num(1))]


def test_a_loop_gets_room_for_all_turns():
    assert rooms([loop([push(), push()])]) == [("s", Expr("*", (num(2), N)))]
    assert rooms([loop([loop([push()], dim("a", 1))])]) == [("s", Expr("*", (dim("a", 1), N)))]


def test_a_length_that_varies_is_known_turn_by_turn():
    inner = loop([push()], var("m"))
    outer = loop([Let("m", X), inner])
    made = with_room([outer])
    assert [type(s) for s in made] == [For]
    assert [type(s) for s in made[0].body] == [Let, StackRoom, For]


def test_what_is_computed_before():
    made = with_room([push(), Let("m", X), loop([push()], var("m"))])
    assert [type(s) for s in made] == [StackRoom, PushValue, Let, StackRoom, For]


def test_rare_branches_and_loops_without_a_count():
    rare = loop([loop([Let("y", X)]), If(WHETHER, [loop([push()])], [])])
    assert rooms([rare]) == []
    (made,) = with_room([WhileLoop(WHETHER, [push()])])
    assert [type(s) for s in made.body] == [StackRoom, PushValue]
