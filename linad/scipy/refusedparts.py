"""Parts of a result of SciPy's that move with traced values, and of which no form is traced.

A search tells more than where it has ended: factors of its last matrix, an approximation that it
has built on its way. Plain numbers in their place would have a derivative of zero in silence, so
each becomes an object that raises as soon as it is read.
"""

from typing import Any

from linad.arrays.python_operators import Arithmetic
from linad.errors import UnsupportedError


class RefusedPart:
    """Stands for one part of a result, and raises when it is used.

    Parameters
    ----------
    function : str
        Whose result it is of.
    part : str
        What the result calls it.
    instead : str
        What to do.
    """

    def __init__(self, function: str, part: str, instead: str) -> None:
        self._text = f"{function}: {part} of the result is not traced by linad; {instead}"

    def __repr__(self) -> str:
        return f"<{self._text}>"

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(self._text)

    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._refuse()


USES = {
    *(set(vars(Arithmetic)) - {"__module__", "__doc__", "__slots__", "__hash__"}),
    *("__array__", "__array_ufunc__", "__array_function__"),
    *("__getitem__", "__setitem__", "__contains__", "__iter__", "__len__", "__call__"),
    *("__bool__", "__int__", "__float__", "__complex__", "__index__"),
}
"""What reads a number or an array, and is refused."""

for name in USES:
    setattr(RefusedPart, name, RefusedPart._refuse)


def refuse_parts(result: Any, function: str, parts: dict[str, str]) -> None:
    """Let those parts of a result, a dictionary, that it has and that are not None, refuse."""
    for part, instead in parts.items():
        if result.get(part) is not None:
            result[part] = RefusedPart(function, part, instead)
