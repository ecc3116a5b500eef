"""The names of a module that stands in for one of NumPy's or SciPy's, and has all that it has."""

import importlib
from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

Names = tuple[Callable[[str], Any], Callable[[], list[str]]]


def mirrored_names(
    original: ModuleType,
    forms: Callable[[str], Any] = lambda name: None,
    *,
    package: str = "",
    rooms: Collection[str] = (),
    more: Collection[str] = (),
) -> Names:
    """``__getattr__`` and ``__dir__`` of a module that stands in for another.

    Parameters
    ----------
    original : module
        What has the names that the module does not define.
    forms : callable, optional
        ``forms(name)``: what stands for one of them, made when it is first asked for; None for
        none.
    package : str
        The module's own name, where it has ``rooms``.
    rooms : collection of str
        Modules inside it, imported when they are first asked for.
    more : collection of str
        Public names that the original has not.
    """

    def __getattr__(name: str) -> Any:
        if name in rooms:
            return importlib.import_module(f"{package}.{name}")
        ours = forms(name)
        return getattr(original, name) if ours is None else ours

    def __dir__() -> list[str]:
        return sorted({*public_names(original), *more})

    return __getattr__, __dir__


def public_names(module: ModuleType) -> list[str]:
    """What ``dir`` and completion show of a module."""
    return sorted([name for name in dir(module) if not name.startswith("_")])
