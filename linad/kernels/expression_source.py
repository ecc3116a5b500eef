"""Expressions of kernels as source, and the kinds of their values."""

from linad.kernels.expressions import COMPARISONS, ArrayKind, Expr, Kind, is_integer, operands
from linad.kernels.scalar_functions import FUNCTIONS

_BINDING: dict[str, float] = {"if": 0, "or": 1, "and": 2, "not": 3}
_BINDING.update(dict.fromkeys(COMPARISONS, 4))
_BINDING.update({"|": 4.2, "^": 4.4, "&": 4.6, "<<": 4.8, ">>": 4.8})
_BINDING.update({"+": 5, "-": 5, "*": 6, "/": 6, "//": 6, "%": 6, "neg": 7, "**": 8})


def kind_of(e: Expr, kinds: dict[str, Kind]) -> str:
    """ "f", "i" or "b"; of scalars that nothing is known of yet "i"."""
    if e.op == "num":
        text = e.parts[0]
        return "b" if text in ("True", "False") else "i" if is_integer(e) else "f"
    if e.op == "var":
        kind = kinds.get(e.parts[0], "i")
        assert isinstance(kind, str)
        return kind
    if e.op == "get":
        kind = kinds[e.parts[0]]
        assert isinstance(kind, ArrayKind)
        return kind.scalar
    if e.op == "dim":
        return "i"
    if e.op in COMPARISONS or e.op in ("and", "or", "not"):
        return "b"
    if e.op == "/":
        return "f"
    if e.op == "call":
        found = FUNCTIONS[e.parts[0]].kind
        return found or joined([kind_of(x, kinds) for x in e.parts[1]])
    found = joined([kind_of(x, kinds) for x in operands(e)[1 if e.op == "if" else 0 :]])
    return "i" if found == "b" and e.op not in ("if", "&", "|", "^") else found


def joined(kinds: list[str]) -> str:
    """The kind that holds values of all of these."""
    return "f" if "f" in kinds else "i" if "i" in kinds else "b"


def text(e: Expr, outside: float = -1) -> str:
    """Source of an expression."""
    if e.op in ("num", "var"):
        found = str(e.parts[0])
        return f"({found})" if found.startswith("-") and outside >= 6 else found
    if e.op == "get":
        return f"{e.parts[0]}[{', '.join([text(i) for i in e.parts[1]])}]"
    if e.op == "dim":
        return f"{e.parts[0]}.shape[{e.parts[1]}]"
    if e.op == "call":
        given = [text(i) for i in e.parts[1]]
        source = FUNCTIONS[e.parts[0]].source
        if "{0}" in source:
            return source.format(*given)
        together = ", ".join(given)
        return source.format(together) if "{}" in source else f"{source}({together})"
    mine = _BINDING[e.op]
    if e.op == "neg":
        found = f"-{text(e.parts[0], mine)}"
    elif e.op == "not":
        found = f"not {text(e.parts[0], mine)}"
    elif e.op == "if":
        test, yes, no = [text(x, 1) for x in e.parts]
        found = f"{yes} if {test} else {no}"
    else:
        a, b = e.parts
        tight = e.op in COMPARISONS or e.op == "**"
        found = f"{text(a, mine + tight)} {e.op} {text(b, mine + (e.op != '**'))}"
    return f"({found})" if mine < outside else found
