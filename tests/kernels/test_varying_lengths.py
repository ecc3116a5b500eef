"""Lengths that vary while a loop runs, and what they never exceed."""

from linad.kernels.expressions import Expr, add, call, num, sub, var
from linad.kernels.varying_lengths import Lengths

N, TURN = Expr("dim", ("x", 0)), var("i")
WHETHER = Expr("<", (TURN, N))


def lengths(**definitions):
    return Lengths({"i"}, {"i"}, definitions)


def test_what_varies():
    known = lengths(m=[N], k=[add(TURN, num(1))], t=[N, num(2)])
    assert not known.vary(N)
    assert not known.vary(var("m"))
    assert known.vary(TURN)
    assert known.vary(var("k"))
    assert known.vary(var("t"))
    assert known.vary(Expr("get", ("counts", (TURN,))))


def test_what_is_never_exceeded():
    known = lengths(k=[call("min", TURN, N)])
    assert known.most(sub(N, TURN)) == N
    assert known.most(call("min", TURN, N)) == N
    assert known.most(var("k")) == N
    assert known.most(add(sub(N, TURN), num(2))) == add(N, num(2))
    assert known.most(call("max", num(0), sub(N, TURN))) == N
    assert known.most(Expr("if", (WHETHER, sub(N, TURN), num(3)))) == call("max", N, num(3))
    assert known.most(TURN) is None


def test_a_scalar_that_is_assigned_again():
    known = lengths(k=[call("min", TURN, N)])
    assert known.most(var("k")) == N
    assert not known.broken()
    known.definitions["k"].append(num(9))
    assert known.broken()
    assert known.most(var("k")) is None
