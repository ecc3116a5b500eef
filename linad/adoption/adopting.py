"""`linad.adopt`: code of others, or one's own, computes with forms that trace."""

import importlib.util
import sys
import types
from typing import Any

from linad.adoption.dispatchers import is_dispatcher
from linad.adoption.exchanges import LOCK
from linad.adoption.forms import refresh
from linad.adoption.sweep import Changes, adopt_function
from linad.adoption.vectorized import is_vectorized
from linad.adoption.watcher import Watcher
from linad.arrays.traces import running_trace
from linad.core.adopted import ENDED, ENDED_NAMES
from linad.core.callers import ENGINES
from linad.core.interrupts import uninterrupted
from linad.core.renaming import check_version
from linad.core.showing import shown
from linad.errors import ArgumentError

_WATCHER = Watcher()


class Adoption:
    """What `adopt` did: a context manager that undoes it at its end.

    Methods
    -------
    undo()
        Give every function, default and table back what it had. Adoptions that overlap each
        count: code is itself again when the last of them is undone.
    """

    def __init__(self, names: list[str], functions: list[Any]) -> None:
        self.names, self.functions = names, functions
        self.automatic = not names and not functions
        self._changes: list[Changes] = []
        self._undone = False
        with uninterrupted(), LOCK:
            refresh()
            _WATCHER.hold()
            _WATCHER.automatic += self.automatic
            for name in names:
                _WATCHER.adopt(name)
            for f in functions:
                changes = adopt_function(f)
                self._changes.append(changes)
                _WATCHER.alone.append((f, changes))
                _WATCHER.know(f, changes)
        trace = running_trace()
        if trace is not None and trace.watcher is None:
            _WATCHER.enter(trace)

    def undo(self) -> None:
        """Undo it; doing so twice has no further effect."""
        with uninterrupted(), LOCK:
            if self._undone:
                return
            self._undone = True
            for name in self.names:
                _WATCHER.leave_package(name)
            for changes in self._changes:
                _WATCHER.forget_alone(changes)
            _WATCHER.automatic -= self.automatic
            _WATCHER.let_go()
            ENDED_NAMES.update(self.names)
            ENDED.update([f.__code__ for f in self.functions if hasattr(f, "__code__")])

    def __enter__(self) -> "Adoption":
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()

    def __repr__(self) -> str:
        what = "automatic" if self.automatic else ", ".join(self.names) or "functions"
        return f"<adoption of {what}{', undone' if self._undone else ''}>"


def adopt(*targets: Any) -> Adoption:
    """Let code that was written for NumPy alone trace: an installed package, a module, a function.

    While a derivative is taken, calls that adopted code makes to NumPy, SciPy and `math`, and to
    ``float``, ``int``, ``isinstance`` and ``type``, go to forms that take traced values. All other
    code is left alone, NumPy's and SciPy's own included, and plain values give what they gave.

    Parameters
    ----------
    *targets : str, module, function or class
        A package (``"galpy"``) with all its modules, those imported later included; a module
        (``__name__`` is your own); a function; a class. Without any, linad adopts by itself the
        installed packages in which a traced value is met, runs the function again, and warns
        once per package with `linad.errors.AdoptionWarning`.

    Returns
    -------
    Adoption
        Lasting, until its ``undo()``; or used in a ``with`` statement, until its end.

    Raises
    ------
    ArgumentError
        If a target is none of those, cannot be found, or is NumPy, SciPy or linad.
    UnsupportedError
        On a version of Python whose bytecode linad does not know.

    Notes
    -----
    Functions keep their identity: their code objects are exchanged. Where that is not enough,
    as in ``y[0] = s`` with a plain array ``y``, the module is compiled anew from its source and
    the differentiated function is run a second time; your own modules and single functions are
    compiled anew at once, and run once. An array that more than one name refers to is never
    replaced; writing a traced value into it raises as it does elsewhere.

    Outside of a derivative adopted code runs as before. The first sweep over a package takes about
    0.1 s.

    Examples
    --------
    >>> import math, linad
    >>> def f(x):
    ...     return math.sin(float(x)) * x
    >>> with linad.adopt(f):
    ...     slope = linad.grad(f)(0.5)
    >>> round(float(slope), 6)
    0.918217
    """
    check_version()
    names: list[str] = []
    functions: list[Any] = []
    for target in targets:
        if isinstance(target, str):
            names.append(_checked(target))
        elif isinstance(target, types.ModuleType):
            names.append(_checked(target.__name__))
        else:
            functions += _functions_of(target)
    return Adoption(names, functions)


def _checked(name: str) -> str:
    root = name.partition(".")[0]
    if root in ENGINES or root in ("builtins", "math", "cmath", "statistics"):
        raise ArgumentError(
            f"adopt: {name!r} is what adopted code is given forms of, and is never adopted; name "
            f"the package that calls it, as linad.adopt('galpy'), or __name__ for your own module"
        )
    if name not in sys.modules and _is_unknown(name):
        raise ArgumentError(
            f"adopt: there is no module {name!r} to import; give the name that it is imported by, "
            f"as linad.adopt('skimage') for scikit-image"
        )
    return name


def _is_unknown(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is None
    except (ModuleNotFoundError, ValueError):
        return True


def _functions_of(target: Any) -> list[Any]:
    f = getattr(target, "__func__", target)
    if isinstance(f, types.FunctionType) or is_dispatcher(f):
        return [f]
    if is_vectorized(f):
        return [f.pyfunc, f] if isinstance(f.pyfunc, types.FunctionType) else [f]
    if isinstance(f, type):
        members = [getattr(m, "__func__", getattr(m, "fget", m)) for m in vars(f).values()]
        return [m for m in members if isinstance(m, types.FunctionType)]
    inner = getattr(f, "__wrapped__", None)
    if isinstance(inner, types.FunctionType):
        return [inner]
    raise ArgumentError(
        f"adopt: expected the name of a package, a module, a Python function or a class, got "
        f"{shown(target)}; compiled code is not traced, wrap it with @linad.primitive"
    )
