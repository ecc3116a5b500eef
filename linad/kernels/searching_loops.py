"""Whether a kernel has a loop that searches by comparisons, as a bisection by hand.

In such a loop a variable is assigned in a branch, or by an ``a if c else b``: another variable of
the loop, or a combination of two or more of them with fixed coefficients, and nothing else. So it
is in the bodies of `linad.control.searching_bodies`; and as there it is a suspicion.
"""

from linad.kernels.expressions import Expr
from linad.kernels.statements import (
    For,
    If,
    Let,
    Put,
    Statement,
    WhileLoop,
    bodies,
    walk,
    written,
)


def searches(body: list[Statement]) -> bool:
    """Whether some loop among statements does."""
    return any([_is_search(s.body) for s in walk(body) if isinstance(s, (For, WhileLoop))])


def _is_search(body: list[Statement]) -> bool:
    """Whether the turns of a loop choose between combinations of its own variables."""
    own = {name for s in walk(body) for name in written(s)}
    always = {s.name: s.value for s in body if isinstance(s, Let)}
    for value in _chosen(body, within=False):
        found = _combined(value, always, set())
        if found is not None and len(found) > 1 and found <= own:
            return True
    return False


def _chosen(body: list[Statement], within: bool) -> list[Expr]:
    """What is assigned as a decision has it; loops within have been looked at by themselves."""
    found = []
    for s in body:
        if isinstance(s, (Let, Put)) and (within or s.value.op == "if"):
            found.append(s.value)
        elif isinstance(s, If):
            for inner in bodies(s):
                found += _chosen(inner, within=True)
    return found


def _combined(e: Expr, values: dict[str, Expr], open_: set[str]) -> set[str] | None:
    """The variables, and arrays of entries, that an expression is a combination of with fixed
    coefficients; None if it is no such combination.

    ``values`` are those of variables that each turn assigns, ``open_`` which are being followed.
    """
    if e.op == "var":
        name = e.parts[0]
        if name in values and name not in open_:
            return _combined(values[name], values, open_ | {name})
        return {name}
    if e.op == "get":
        return {e.parts[0]}
    if e.op == "neg":
        return _combined(e.parts[0], values, open_)
    if e.op == "*":
        a, b = e.parts
        if a.op == "num":
            return _combined(b, values, open_)
        return _combined(a, values, open_) if b.op == "num" else None
    if e.op == "/":
        return _combined(e.parts[0], values, open_) if e.parts[1].op == "num" else None
    if e.op in ("+", "-", "if"):
        parts = [_combined(part, values, open_) for part in e.parts[-2:]]
        if None in parts:
            return None
        return set().union(*[part for part in parts if part is not None])
    return None
