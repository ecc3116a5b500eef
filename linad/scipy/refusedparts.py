"""Parts of a result of SciPy's that move with traced values, and of which no form is traced.

A search tells more than where it has ended: factors of its last matrix, an approximation that it
has built on its way. Plain numbers in their place would have a derivative of zero in silence, so
each becomes an object that raises as soon as it is read.
"""

from typing import Any

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

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(self._text)

    __array__ = __array_ufunc__ = __array_function__ = _refuse
    __getitem__ = __iter__ = __len__ = __call__ = __float__ = __bool__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __pow__ = _refuse
    __matmul__ = __rmatmul__ = __truediv__ = __rtruediv__ = __lt__ = __gt__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._refuse()


def refuse_parts(result: Any, function: str, parts: dict[str, str]) -> None:
    """Let those parts of a result, a dictionary, that it has and that are not None, refuse."""
    for part, instead in parts.items():
        if result.get(part) is not None:
            result[part] = RefusedPart(function, part, instead)
