"""Derivatives of one expression: tangents of it, and cotangents of what it reads.

Values of parts that the derivatives need are given names once, in the order in which they are
computed; two parts that are equal have one name.
"""

import math
from collections.abc import Callable, Collection

import numpy as np

from linad.kernels.expression_source import kind_of
from linad.kernels.expressions import (
    NONE,
    Expr,
    Kind,
    add,
    binary,
    call,
    div,
    mul,
    names,
    negative,
    nodes,
    num,
    operands,
    rebuilt,
    renamed,
    sub,
    var,
)
from linad.kernels.scalar_functions import FUNCTIONS
from linad.kernels.statements import Let, Statement

TINY = num(float(np.finfo(float).tiny))

RESULT = var("=")
"""Stands for the result of a function in its slopes, until somebody asks for it."""


class Values:
    """Names for the values of expressions.

    Parameters
    ----------
    kinds : dict
        Of all scalars and arrays; new scalars are added.
    fresh : callable
        Makes a name.
    out : list of Statement
        Where the assignments go.
    """

    def __init__(
        self, kinds: dict[str, Kind], fresh: Callable[[str], str], out: list[Statement]
    ) -> None:
        self.kinds, self.fresh, self.out = kinds, fresh, out
        self.known: dict[Expr, Expr] = {}

    def flat(self, e: Expr) -> Expr:
        """The expression, with names for the parts that have one."""
        found = self.known.get(e)
        return found if found is not None else rebuilt(e, self.flat)

    def atom(self, e: Expr, name: str = "v") -> Expr:
        """A name, or a number, that has the value of an expression."""
        if e.op in ("num", "var"):
            return e
        found = self.known.get(e)
        if found is None:
            new = self.fresh(name)
            self.kinds[new] = kind_of(e, self.kinds)
            self.out.append(Let(new, self.flat(e)))
            found = self.known[e] = var(new)
        return found

    def index(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Indices that do not read arrays."""
        return tuple(
            [self.atom(i, "i") if any([n.op == "get" for n in nodes(i)]) else i for i in indices]
        )

    def forget(self, array: str) -> None:
        """Drop the values that were read from an array, which has been written."""
        self.known = {e: v for e, v in self.known.items() if array not in names(e)}


class Derivative:
    """The derivative of expressions.

    Parameters
    ----------
    values : Values
    varied : collection of str
        The scalars and arrays that depend on what one differentiates by.
    reused : bool
        Whether slopes multiply several cotangents, so that they are computed before these.
    """

    def __init__(self, values: Values, varied: Collection[str], reused: bool = False) -> None:
        self.values, self.varied, self.reused = values, varied, reused
        self._varies: dict[Expr, bool] = {}

    def varies(self, e: Expr) -> bool:
        """Whether a real-valued expression depends on anything that varies."""
        found = self._varies.get(e)
        if found is None:
            if e.op in ("var", "get"):
                found = e.parts[0] in self.varied
            else:
                flat = e.op == "//" or (e.op == "call" and not FUNCTIONS[e.parts[0]].slopes)
                real = not flat and kind_of(e, self.values.kinds) == "f"
                found = real and any([self.varies(x) for x in operands(e)])
            self._varies[e] = found
        return found

    def slopes(self, e: Expr) -> list[tuple[Expr, Expr]]:
        """The operands that vary, and the partial derivative with respect to each."""
        if e.op == "call":
            return self._slopes_of_call(e)
        if e.op == "**":
            return self._slopes_of_power(e)
        v = self.values
        found: list[tuple[Expr, Expr]] = []
        a, b = e.parts
        if e.op == "*":
            if self.varies(a):
                found.append((a, v.atom(b)))
            if self.varies(b):
                found.append((b, v.atom(a)))
        elif e.op == "/":
            if self.varies(a):
                found.append((a, div(num(1.0), v.atom(b))))
            if self.varies(b):
                found.append((b, negative(self.quotient(v.atom(e), v.atom(b)))))
        else:
            assert e.op == "%"
            if self.varies(a):
                found.append((a, num(1.0)))
            if self.varies(b):
                found.append((b, negative(Expr("//", (v.atom(a), v.atom(b))))))
        return found

    def _slopes_of_call(self, e: Expr) -> list[tuple[Expr, Expr]]:
        v = self.values
        found = []
        name, xs = e.parts
        for x, slope in zip(xs, FUNCTIONS[name].slopes, strict=True):
            if slope is not None and self.varies(x):
                s = slope(RESULT, *[v.atom(a) for a in xs])
                if RESULT.parts[0] in names(s):
                    s = renamed(s, {RESULT.parts[0]: v.atom(e)})
                found.append((x, s))
        return found

    def _slopes_of_power(self, e: Expr) -> list[tuple[Expr, Expr]]:
        """Of x**n: n x**(n - 1) and x**n log x, where the power is not level at infinity."""
        a, b = e.parts
        x, n, y = [self.values.atom(part) for part in (a, b, e)]
        found = []
        if self.varies(a):
            slope = self.slope_of_base(x, n)
            far = Expr("or", (call("isinf", x), call("isinf", n)))
            found.append((a, slope if n.op == "num" else _levelled(y, far, slope)))
        if self.varies(b):
            base = Expr("if", (Expr("==", (x, NONE)), num(1.0), x))
            gone = Expr("and", (Expr("==", (x, num(math.inf))), Expr("==", (y, NONE))))
            far = Expr("or", (call("isinf", n), gone))
            found.append((b, _levelled(y, far, mul(y, call("log", base)))))
        return found

    def slope_of_base(self, x: Expr, n: Expr) -> Expr:
        """n x**(n - 1), 0 where n is, and there 1 / x its own slope in n.

        Only at x = 0, where 0 * x**-1 is NaN, it is 0 with all its slopes.
        """
        if n in (num(2), num(2.0)):
            return mul(num(2.0), x)
        if n in (num(1), num(1.0)):
            return num(1.0)
        if n.op == "num":
            return mul(n, binary("**", x, sub(n, num(1)))) if n != num(0) else NONE
        at_zero = Expr("and", (Expr("==", (n, num(0))), Expr("<", (call("abs", x), TINY))))
        return Expr("if", (at_zero, NONE, mul(n, Expr("**", (x, sub(n, num(1)))))))

    def pull(
        self, e: Expr, w: Expr, sink: Callable[[Expr, Expr], None], out: list[Statement]
    ) -> None:
        """Hand the cotangents of the entries and scalars that an expression reads to ``sink``.

        Parameters
        ----------
        e : Expr
        w : Expr
            The cotangent of its value.
        sink : callable
            ``sink(leaf, cotangent)``.
        out : list of Statement
            Where names for cotangents are assigned that several leaves share.
        """
        if not self.varies(e):
            return
        if e.op in ("var", "get"):
            sink(e, w)
        elif e.op == "neg":
            self.pull(e.parts[0], negative(w), sink, out)
        elif e.op in "+-":
            a, b = e.parts
            if self.varies(a) and self.varies(b):
                w = self.shared(w, out)
            self.pull(a, w, sink, out)
            self.pull(b, w if e.op == "+" else negative(w), sink, out)
        elif e.op == "if":
            test, yes, no = e.parts
            w, c = self.shared(w, out), self.values.atom(test, "c")
            self.pull(yes, Expr("if", (c, w, NONE)), sink, out)
            self.pull(no, Expr("if", (c, NONE, w)), sink, out)
        else:
            slopes = self.slopes(e)
            if len(slopes) > 1:
                w = self.shared(w, out)
            if self.reused:
                slopes = [(x, self.computed(slope)) for x, slope in slopes]
            for x, slope in slopes:
                self.pull(x, _times(w, slope), sink, out)

    def quotient(self, a: Expr, b: Expr) -> Expr:
        """``a / b``; where slopes are reused, by the one reciprocal of ``b``."""
        return mul(a, self.values.atom(div(num(1.0), b))) if self.reused else div(a, b)

    def computed(self, slope: Expr) -> Expr:
        """A slope by name, so that it is computed once."""
        if slope.op == "neg":
            return negative(self.computed(slope.parts[0]))
        return self.values.atom(slope) if slope.op in ("/", "*", "call") else slope

    def shared(self, w: Expr, out: list[Statement]) -> Expr:
        """A name for a cotangent that is used twice."""
        if w.op in ("var", "num") or (w.op == "neg" and w.parts[0].op == "var"):
            return w
        new = self.values.fresh("w")
        self.values.kinds[new] = "f"
        out.append(Let(new, w))
        return var(new)

    def push(self, e: Expr, tangent: Callable[[Expr], Expr]) -> Expr:
        """The tangent of an expression; ``tangent`` gives those of scalars and entries."""
        if not self.varies(e):
            return NONE
        if e.op in ("var", "get"):
            return tangent(e)
        if e.op == "neg":
            return negative(self.push(e.parts[0], tangent))
        if e.op in "+-":
            a, b = [self.push(x, tangent) for x in e.parts]
            return add(a, b) if e.op == "+" else sub(a, b)
        if e.op == "if":
            test, yes, no = e.parts
            c = self.values.atom(test, "c")
            return Expr("if", (c, self.push(yes, tangent), self.push(no, tangent)))
        found = NONE
        for x, slope in self.slopes(e):
            found = add(found, _times(self.push(x, tangent), slope))
        return found


def _levelled(y: Expr, far: Expr, slope: Expr) -> Expr:
    """The slope of a power y; 0 where y is finite though an operand is not.

    It is a computed 0, which is NaN times a tangent that a pole has made infinite.
    """
    return Expr("if", (Expr("and", (call("isfinite", y), far)), Expr("-", (y, y)), slope))


def _times(w: Expr, slope: Expr) -> Expr:
    """``w * slope``; a branch of the slope that is zero stays zero, and a quotient one."""
    if slope.op == "if":
        test, yes, no = slope.parts
        return Expr("if", (test, _times(w, yes), _times(w, no)))
    if slope == NONE:
        return NONE
    if slope.op == "neg":
        return negative(_times(w, slope.parts[0]))
    if slope.op == "/" and slope.parts[0] == num(1.0):
        return div(w, slope.parts[1])
    return mul(w, slope)
