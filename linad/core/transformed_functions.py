"""What a transform returns: a function that can be pickled, as what it was made of."""

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from linad.core.folding import fold
from linad.core.shapes import name_of

ASSIGNED = [name for name in functools.WRAPPER_ASSIGNMENTS if name != "__doc__"]


class Documentation:
    """What ``help`` says of a transform: what it computes, then the words of the function.

    Written when it is read, since a transform may be made for a single call.
    """

    def __get__(self, owner: Any, kind: Any = None) -> str | None:
        if owner is None:
            return None
        make, args = owner._made
        what, name = make.__name__.strip("_").replace("_", " ").capitalize(), name_of(args[0])
        where = f" in argnums={args[1]!r}" if len(args) > 1 else ""
        words = f"{what} of {name}{where}, a function of the arguments of {name}."
        own = inspect.getdoc(args[0])
        return f"{words}\n\n{own}" if own else words


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

    __doc__: Any = Documentation()

    def __init__(self, run: Callable[..., Any], make: Callable[..., Any], *args: Any) -> None:
        functools.update_wrapper(self, args[0], ASSIGNED, updated=())
        self._run, self._made = run, (make, args)

    @property
    def function(self) -> Any:
        """The user's function."""
        return self._made[1][0]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
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


def named(function: Any) -> str:
    """The name by which a module has a function, as one that was decorated; "" without one."""
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    name: str = getattr(function, "__qualname__", "")
    for part in name.split("."):
        found = getattr(found, part, None)
    return name if found is function else ""
