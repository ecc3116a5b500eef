"""What a transform returns: a function that can be pickled, as what it was made of."""

import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from linad.core.folding import fold
from linad.core.shapes import name_of


class Transformed:
    """A function made of the user's function: its gradient, say.

    Parameters
    ----------
    run : callable
        What it does when it is called.
    make : callable
        A function of a module, and ``args``, of which the first is the user's function, that
        make it again in another process.
    """

    def __init__(self, run: Callable[..., Any], make: Callable[..., Any], *args: Any) -> None:
        functools.update_wrapper(self, args[0], updated=())
        self._run, self._made = run, (make, args)
        self.__doc__ = _documentation(make, args)

    @property
    def function(self) -> Any:
        """The user's function."""
        return self._made[1][0]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._run(*args, **kwargs)  # LINAD_TRACEBACK=full shows what ran inside
        except Exception as error:
            __tracebackhide__ = fold(error)
            raise

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __reduce__(self) -> Any:
        return named(self) or self._made

    def __repr__(self) -> str:
        make, args = self._made
        return f"<{make.__name__.strip('_')} of {name_of(args[0])}>"


def _documentation(make: Callable[..., Any], args: tuple[Any, ...]) -> str:
    """What ``help`` says of it: what it computes, and then the words of the user's function."""
    f, name = args[0], name_of(args[0])
    kind = make.__name__.strip("_").replace("_", " ").capitalize()
    where = f" in argnums={args[1]!r}" if len(args) > 1 else ""
    words = f"{kind} of {name}{where}, a function of the arguments of {name}."
    own = getattr(f, "__doc__", None)
    return f"{words}\n\n    {own}" if own else words  # indented as the rest of it, mostly


def named(function: Any) -> str:
    """The name by which a module has a function, as one that was decorated; "" without one."""
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    name: str = getattr(function, "__qualname__", "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is function else ""
