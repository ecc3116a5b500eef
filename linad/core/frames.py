"""What is read off Python itself: where the user's own code is, by which call it asks, and names.

A place is looked up when an error is made, never before: it costs a walk up the stack.
"""

import contextlib
import dis
import inspect
import itertools
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from linad.core.codes import codes_in
from linad.core.installed import is_standard

PACKAGES = {
    *("linad", "numpy", "scipy", "pandas", "numba", "llvmlite", "optree", "xarray"),
    "matplotlib",
}
"""Packages whose lines are not the user's."""

_NAMES = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_CONSTANTS = ("LOAD_CONST", "LOAD_SMALL_INT")
_RESULTS = ("CALL", "BINARY_SUBSCR", "BINARY_OP")
_WRITERS = ("_linad_write", "_linad_update")  # which adopted code calls where y[i] = v stood
_CELL = re.compile(r"[/\\]ipykernel_\d+[/\\]\d+\.py$|^<ipython-input-")


@dataclass
class Asked:
    """What the user's line was doing when linad was asked.

    Attributes
    ----------
    kind : str
        "call", "index", "write", "text" (``"%f" % x``), "join" (``np.r_[x, 1.0]``) or "" where it
        cannot be told.
    name : str
        As messages call the function: ``"math.sin"``, ``"rng.normal"``; "" for no function.
    function : object
        What is called, None where it cannot be told.
    owner : object
        What it is an attribute of, None for none.
    """

    kind: str
    name: str = ""
    function: Any = None
    owner: Any = None


def library_of(frame: FrameType) -> str:
    """The package of NumPy's kind that a frame runs in; "" for code that uses them."""
    name = frame.f_globals.get("__name__") or ""
    package = name.partition(".")[0]
    if package in PACKAGES:
        return str(package)
    file = frame.f_code.co_filename
    return "library" if is_standard(file) or file.startswith("<__array_function__") else ""


def frames_above(frame: Any) -> Iterator[Any]:
    """A frame and those that called it, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def using_frame() -> Any:
    """The innermost running frame of code that uses such packages, None if there is none.

    It may be an installed package's; `linad.core.callers.user_frame` looks further up.
    """
    return next((f for f in frames_above(sys._getframe(1)) if not library_of(f)), None)


def shown_file(file: str) -> str:
    """What messages call a file: "cell" for a cell of a notebook, whose file is but a number."""
    return "cell" if _CELL.search(file) else file


def place() -> str:
    """The user's file and line that are running here, as ``file:line``; "" if there are none."""
    frame = using_frame()
    return "" if frame is None else place_of(frame)


def place_of(frame: FrameType) -> str:
    """The file and line that a frame runs, as ``file:line``."""
    return f"{shown_file(frame.f_code.co_filename)}:{frame.f_lineno}"


def asked() -> Asked:
    """What the user's line that is running here is doing."""
    frame = using_frame()
    if frame is None or frame.f_lasti < 0:
        return Asked("")
    given = _given(frame)
    if given is not None:
        return Asked("call", _name_of(given))
    what = _doing(frame)
    inner = _entered(frame)
    if what.kind == "call" and inner is not None and _is_own(what.name):
        return Asked("call", _name_of(inner))  # linad called what it was given: np.vectorize(f)
    if what.kind == "call" and inner is not None and _is_pythons(what.function):
        return Asked("call", _name_of(inner) or what.name)  # so did Python: list(map(f, xs))
    if what.kind == "call" and inner is not None and what.function is None:
        return _method_of(inner, what) or (what if what.name else Asked("call", _name_of(inner)))
    if what.kind == "call":
        return what
    return what if inner is None else _joined_by(inner)


def _joined_by(inner: FrameType) -> Asked:
    """What looks like an index, and is NumPy's way to join: ``np.r_[x, 1.0]``."""
    kind = type(inner.f_locals.get("self")).__name__
    return Asked("join", _JOINING[kind]) if kind in _JOINING else Asked("")


_JOINING = {"RClass": "numpy.r_", "CClass": "numpy.c_"}


def _is_own(name: str) -> bool:
    """Whether a function is linad's, and none that stands in for NumPy's or SciPy's."""
    return name.startswith("linad.") and not name.startswith(("linad.numpy.", "linad.scipy."))


def _is_pythons(function: Any) -> bool:
    """Whether a function or class is a built-in one."""
    return getattr(function, "__module__", None) == "builtins"


def called_function() -> str:
    """The function of compiled code, called outside linad, that sets an item; "" for none."""
    above = frames_above(sys._getframe(1))
    frame = next((f.f_back for f in above if f.f_code.co_name == "__setitem__"), None)
    if frame is None or library_of(frame) == "linad":
        return ""
    name = dis.opname[frame.f_code.co_code[frame.f_lasti]] if frame.f_lasti >= 0 else ""
    return (_doing(frame).name or "compiled code") if name.startswith("CALL") else ""


def _given(user: FrameType) -> Any:
    """The frame of a package's function that is differentiated itself, as `scipy.optimize.rosen`;
    None if one of the user's is. Another package may have called its derivative.
    """
    last = None
    for frame in _within(user):
        code, space = frame.f_code, frame.f_globals
        if code.co_name == "run" and space.get("__name__") == "linad.core.adopted":
            return last
        if library_of(frame) != "linad":
            last = frame
    return None


def _entered(user: FrameType) -> Any:
    """The frame of a package that the user's line went into; None for a function of C."""
    return next((f for f in reversed(list(_within(user))) if library_of(f) != "linad"), None)


def _within(user: FrameType) -> Iterator[Any]:
    """The frames that the user's line went into, the innermost first."""
    return itertools.takewhile(lambda frame: frame is not user, frames_above(sys._getframe(1)))


def _method_of(inner: FrameType, what: Asked) -> Asked | None:
    """What was called of an object that a call made, as in ``norm(0, 1).pdf(x)``."""
    owner, name = inner.f_locals.get("self"), inner.f_code.co_name
    kind = public_name(type(owner))
    return Asked("call", f"{kind}.{name}", None, owner) if kind and name == what.name else None


def _name_of(inner: FrameType) -> str:
    owner, name = inner.f_locals.get("self"), inner.f_code.co_name
    kind = "" if owner is None else public_name(type(owner))
    if name in ("__call__", "__init__") and kind:
        return kind
    if public := public_name(inner.f_globals.get(name)):
        return public
    return f"{kind}.{name}" if kind else _wrapped_by(inner)


def _wrapped_by(inner: FrameType) -> str:
    """The function that a wrapper's frame stands for: one that it closes over, and that is public
    with the wrapper around it; "" for none."""
    for name in inner.f_code.co_freevars:
        held: Any = inner.f_locals.get(name)
        public = public_name(held) if isinstance(held, types.FunctionType) else ""
        module, _, plain = public.rpartition(".")
        outer = getattr(sys.modules.get(module), plain, None)
        if outer is not None and inspect.unwrap(outer) is inspect.unwrap(held):
            return public
    return ""


def called_at(traceback: types.TracebackType) -> str:
    """The function that the line of a traceback calls, as messages call it; "" for none."""
    return _doing(traceback.tb_frame, traceback.tb_lasti).name


def _doing(frame: FrameType, place: int | None = None) -> Asked:
    """What the instruction that a frame has come to does, or another one of it."""
    place = frame.f_lasti if place is None else place
    now = [i for i in dis.get_instructions(frame.f_code) if i.offset <= place]
    if not now or now[-1].positions is None or now[-1].positions.col_offset is None:
        return Asked("")
    last = now[-1]
    if last.opname.startswith(("CALL", "PRECALL")):
        return _called(frame, now)
    if last.opname.startswith(("STORE_SUBSCR", "STORE_SLICE")):
        return Asked("write")
    if last.opname.startswith(("BINARY_SUBSCR", "BINARY_SLICE", "BUILD_SLICE")):
        return Asked("index")
    if last.opname.startswith("BINARY_OP"):
        return Asked({"%": "text", "[]": "index"}.get(last.argrepr, ""))
    return Asked("")


def enters_with(frame: FrameType) -> bool:
    """Whether what the call that a frame is making returns is entered by ``with`` right away."""
    code, k = frame.f_code.co_code, frame.f_lasti + 2
    while k < len(code) and code[k] in _PASSED:
        k += 2
    return k < len(code) and code[k] in _ENTERS


_PASSED = {dis.opmap[name] for name in ("CACHE", "COPY", "EXTENDED_ARG") if name in dis.opmap}
_ENTERS = {dis.opmap[name] for name in ("BEFORE_WITH", "LOAD_SPECIAL") if name in dis.opmap}


def _called(frame: FrameType, now: list[Any]) -> Asked:
    """The function of the call that the last instruction makes: what was loaded where the call
    begins in the source, a name and its attributes."""
    start = now[-1].positions[0], now[-1].positions[2]
    now = [one for i in now for one in _one_by_one(i)]
    written: list[str] = []
    found = owner = None
    for k, i in enumerate(now[:-1]):
        if i.positions is None or (i.positions[0], i.positions[2]) != start:
            continue
        if i.opname.startswith(_NAMES):
            if str(i.argval).startswith(_WRITERS):
                return Asked("write")
            written = [str(i.argval)]
            found, owner = _named(frame, str(i.argval)), None
        elif i.opname.startswith(_ATTRIBUTES) and i.positions != now[-1].positions:
            written.append(str(i.argval))
            found, owner = _attribute(found, str(i.argval)), found
        elif i.opname.startswith(_RESULTS) and i.positions != now[-1].positions:
            # The function is a result, an entry of a table perhaps: else its last name is known.
            written, found, owner = [], _looked_up(frame, found, now[:k], i), None
    if not written:
        return Asked("call", public_name(found), found)
    of = _name_of_object(owner)
    name = f"{of}.{written[-1]}" if of else public_name(found)
    return Asked("call", name or ".".join(written), found, owner)


def _one_by_one(i: Any) -> tuple[Any, ...]:
    """An instruction, or the two that Python 3.13 makes one of: the second stands elsewhere in the
    source, and it is not said where."""
    if not i.opname.startswith("LOAD_FAST") or type(i.argval) is not tuple:
        return (i,)
    first, second = i.argval
    return i._replace(argval=first), i._replace(argval=second, positions=None)


def _looked_up(frame: FrameType, found: Any, before: list[Any], made_by: Any) -> Any:
    """What ``found[key]`` is, of a dict, a list or a tuple, or ``getattr(x, "name")``, where that
    can be told without running anything; else None."""
    before = [i for i in before if i.opname not in ("PRECALL", "CACHE")]
    last = before.pop()
    if not last.opname.startswith((*_CONSTANTS, *_NAMES)):
        return None  # a key that is computed
    key = last.argval if last.opname.startswith(_CONSTANTS) else _named(frame, str(last.argval))
    if not made_by.opname.startswith("CALL"):
        held = dict(enumerate(found)) if type(found) in (list, tuple) else found
        return held.get(key) if type(held) is dict and type(key) in (str, int) else None
    if found is not getattr or type(key) is not str:
        return None
    owner = None
    for i in before:
        if i.opname.startswith(_ATTRIBUTES):
            owner = _attribute(owner, str(i.argval))
        elif i.opname.startswith(_NAMES):
            owner = _named(frame, str(i.argval))
    return _attribute(owner, key)


def _named(frame: FrameType, name: str) -> Any:
    for space in (frame.f_locals, frame.f_globals, frame.f_builtins):
        if name in space:
            return space[name]
    return None


def _attribute(owner: Any, name: str) -> Any:
    """An attribute of a module or class, or of the class of an object; nothing of it is run."""
    if isinstance(owner, types.ModuleType):
        return getattr(owner, name, None)
    cls = owner if isinstance(owner, type) else type(owner)
    return None if owner is None else inspect.getattr_static(cls, name, None)


def public_name(function: Any) -> str:
    """``"scipy.optimize.brentq"`` for a function of an installed package; "" for any other."""
    if isinstance(function, types.MethodType):
        function = function.__func__
    if function is None or isinstance(function, types.MethodDescriptorType):
        return ""
    kind = type(function)
    if (kind.__module__, kind.__name__) == ("numpy", "vectorize"):
        return "numpy.vectorize"  # it has the name of the function in it
    if is_of_fortran(function):
        return _routine(function)
    module = getattr(function, "__module__", None)
    if module is None and type(function).__module__ == "numpy":  # a ufunc
        module = _home_of(function)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str) or "<" in name:
        return _name_of_object(function)
    root = module.partition(".")[0]
    if root == "builtins":
        return name
    if root not in PACKAGES and root not in sys.stdlib_module_names:
        return ""
    return f"{public_module(module, name)}.{name}".removeprefix("_")


def public_module(module: str, name: str) -> str:
    """Where users find what a private module defines: `scipy.optimize`, for that of its parts.

    Where that has no such name the part itself may be public under another: `scipy.stats.qmc` for
    what ``scipy.stats._qmc`` defines.
    """
    parts = module.split(".")
    private = next((k for k, part in enumerate(parts) if part.startswith("_")), len(parts))
    public = ".".join(parts[: max(private, 1)])
    if private < len(parts):
        inner = f"{public}.{parts[private].lstrip('_')}"
        if not hasattr(sys.modules.get(public), name) and hasattr(sys.modules.get(inner), name):
            return inner
    return public


def _home_of(ufunc: Any) -> str:
    """The module of NumPy or SciPy that a ufunc is public in."""
    homes, name = ("numpy", "scipy.special"), getattr(ufunc, "__name__", "")
    return next((m for m in homes if getattr(sys.modules.get(m), name, None) is ufunc), "numpy")


def is_of_fortran(function: Any) -> bool:
    """Whether a function is a routine that f2py compiled: it has a class without a module."""
    kind = type(function)
    return (kind.__module__, kind.__name__) == ("builtins", "fortran")


def _routine(function: Any) -> str:
    """The public name of a routine of BLAS or LAPACK; "" for others that f2py compiled."""
    name = function.__name__.removeprefix("function ")
    homes = ("scipy.linalg.lapack", "scipy.linalg.blas")
    return next((f"{m}.{name}" for m in homes if hasattr(sys.modules.get(m), name)), "")


def defining_module(thing: Any) -> str:
    """The module in which a class or function is defined; "" where it does not say.

    A class may have something else by that name: Cython's functions have a descriptor.
    """
    name = getattr(thing, "__module__", None)
    return name if isinstance(name, str) else ""


def _name_of_object(x: Any) -> str:
    """``"scipy.stats.norm"`` for an object that SciPy has by a name, though its class has
    another; "" for others."""
    parts = defining_module(type(x)).split(".")
    if parts[0] != "scipy":
        return ""
    public = ".".join(itertools.takewhile(lambda part: not part.startswith("_"), parts))
    names = [name for name, value in vars(sys.modules[public]).items() if value is x]
    return f"{public}.{names[0]}" if names else ""


def held_by(function: Any) -> list[Any]:
    """What the closure of a function holds, but for variables that have no value yet."""
    held = []
    for cell in getattr(function, "__closure__", None) or ():
        with contextlib.suppress(ValueError):
            held.append(cell.cell_contents)
    return held


def names_in(code: types.CodeType) -> Iterator[str]:
    """The names of globals and attributes in a function's code, and in that of those inside it."""
    for inner in codes_in(code):
        yield from inner.co_names
