"""The last door: what a failure of linad's own code becomes before it reaches the user.

A program that cannot be simplified, planned or compiled is run by NumPy, and a warning asks for
a report. Where linad fails otherwise, `linad.errors.InternalError` says that it is linad's fault.
What the user's function raises, and NumPy on his behalf, passes as it is.
"""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from linad.core.callers import defining_package, innermost, warn_user
from linad.core.frames import called_at
from linad.core.installed import line_of
from linad.core.primitive import Traced
from linad.core.tape import Tape
from linad.errors import InternalError, LinadError

log = logging.getLogger("linad")

SUSPECT = (AssertionError, KeyError, AttributeError, NameError)
"""What a NumPy function does not raise for bad arguments, and a fault of linad's may."""

REPORT = "this is a fault of linad's; please report it, with the program"


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """An error, and what it was raised from or while, and so on: a chain may lead back to an error
    that was raised once more."""
    met: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in met:
        yield found
        met.add(id(found))
        found = found.__cause__ or found.__context__


def is_own_fault(error: BaseException) -> bool:
    """Whether linad's own code, and not code that it calls, raised one of `SUSPECT` by mistake."""
    # Errors of two kinds are meant: a number without a length is a TypeError as well.
    if isinstance(error, (LinadError, TypeError)) or not isinstance(error, SUSPECT):
        return False
    last = innermost(error)
    if last is None:
        return False
    frame = last.tb_frame
    # An attribute that a traced array, a module, or an object that is watched does not have, or
    # does not let anybody set, is the user's mistake.
    return (
        frame.f_globals.get("__name__", "").startswith("linad.")
        and frame.f_code.co_name not in ("__getattr__", "__getattribute__", "__setattr__")
        and not isinstance(getattr(error, "obj", None), Traced)
    )


_NO_TRACER = (
    *("'Tracer'", "got Tracer", "not Tracer", "(Tracer", "linad.arrays.tracer.Tracer"),
    "'BytesOfTraced'",
)
_NO_TYPE = (
    *("No matching signature", "Iterator operand is flagged", "1-dim C contiguous array"),
    *("object supporting the buffer API required", "__array__ method not producing an array"),
    "for 'numpy.ndarray' objects doesn't apply to a",
    "Supplied output array must be contiguous",
)
"""What C and Cython say of an argument, by its type or without a word of it."""


_COMPILED = (".pyx", ".pxd", "<stringsource>")
"""How the files end that the frames of Cython name."""


HANDS_ON: set[str] = set()
"""Modules of linad's that call compiled code in the place of adopted code."""


def is_from_compiled(error: BaseException) -> bool:
    """Whether it may be what compiled code says that was given a traced value."""
    words, told = (*_NO_TRACER, *_NO_TYPE), str(error)
    if type(error) not in (TypeError, ValueError) or not any(w in told for w in words):
        return False
    operands = told.rpartition(": ")[2] if told.startswith("unsupported operand") else ""
    return not any(f"'{kind}'" in operands for kind in _NO_NUMBERS)


_NO_NUMBERS = ("str", "bytes", "NoneType", "dict", "set", "function", "method", "type", "module")
"""Types of Python's that no operator takes beside a number, traced or not."""


def handed_to_compiled(error: BaseException, traced: type) -> str:
    """What to say of an error by which compiled code refused a traced value; "" for others."""
    from_numba = defining_package(type(error)) == "numba" and "pyobject" in str(error)
    if not from_numba and not is_from_compiled(error):
        return ""
    last = place = error.__traceback__
    while place is not None:
        module = place.tb_frame.f_globals.get("__name__", "")
        file = place.tb_frame.f_code.co_filename
        is_theirs = file.endswith(_COMPILED) or module.partition(".")[0] in ("numba", "llvmlite")
        if not is_theirs and module not in HANDS_ON:
            last = place
        place = place.tb_next
    if last is None:
        return ""
    if from_numba:
        return _handed_to_numba(last)
    if last.tb_frame.f_globals.get("__name__", "").startswith("linad."):
        return ""
    given = any(isinstance(value, traced) for value in last.tb_frame.f_locals.values())
    if not given and not any(w in str(error) for w in _NO_TRACER):
        return ""
    if "unhashable" in str(error):
        return _place(last) + _NO_KEY
    told = str(error).partition("\n")[0]
    wrap = _WRAP
    if last.tb_frame.f_globals.get("__name__") == "statistics":
        wrap = f"linad.adopt(__name__), for the module that calls it, lets it trace; or {wrap}"
    if told.startswith("Iterator operand"):
        wrap = "use linad.numpy.nditer, which traces; or linad.adopt(__name__), for this module"
    if told.startswith("Supplied output"):
        wrap = "write out[...] = draw(out.shape), with the method for draw, and leave out= away"
    name = called_at(last)
    given_to = f"{name}, compiled code" if name else "compiled code"
    return (
        f"{_place(last)}a traced value is handed to {given_to}, which takes plain ones ({told}); "
        f"{wrap}"
    )


_WRAP = (
    "wrap the function that you call with @linad.primitive and give its Jacobian, or pass "
    "linad.stop_gradient of the value"
)


_NO_KEY = (
    "a traced value is unhashable, and made a key of a dictionary, a set or a cache: what is found "
    "by it would be found by the value alone, without its derivative; leave out functools.cache, "
    "or call what it holds, f.__wrapped__ (linad.adopt(__name__) does that by itself); take "
    "float(linad.stop_gradient(s)) for a key where what is kept does not depend on it"
)


def _handed_to_numba(last: TracebackType) -> str:
    """Of a function that Numba compiled, called at ``last``."""
    after = last.tb_next
    dispatcher = None if after is None else after.tb_frame.f_locals.get("self")
    name = getattr(getattr(dispatcher, "py_func", None), "__name__", "")
    function = name if name.isidentifier() else "function"
    called = name or "a function"
    return (
        f"{_place(last)}a traced value is handed to {called}, which Numba compiled for plain "
        f"ones; linad.kernel({function}) has a derivative, and takes its place; or, of a "
        f"package, linad.adopt runs the Python; or {_WRAP}"
    )


def _place(last: TracebackType) -> str:
    """The line, of code that is not linad's."""
    code = last.tb_frame.f_code
    if last.tb_frame.f_globals.get("__name__", "").startswith("linad."):
        return ""
    return f"{line_of(code.co_filename, last.tb_lineno)}, in {code.co_name}: "


def internal_error(error: BaseException, name: str) -> InternalError:
    """What a fault of linad's is told as; ``name`` is the user's function, or what was done."""
    return InternalError(f"{name}: {_error_at(error)}; {REPORT}")


def warn_uncompiled(name: str, error: BaseException) -> None:
    """Say that a program runs in NumPy, because linad failed to compile it."""
    log.debug("linad could not compile %s", name, exc_info=error)
    warn_user(
        f"linad.jit: {name} could not be compiled ({_error_at(error)}), and NumPy runs it; "
        f"{REPORT}",
        RuntimeWarning,
    )


def rewritten(tape: Tape, rewrite: Callable[[Tape], Tape]) -> Tape:
    """A tape in another form, or as it is, with a warning, where linad fails to give it that."""
    try:
        return rewrite(tape)
    except (LinadError, MemoryError):
        raise
    except Exception as failure:
        warn_uncompiled(tape.name, failure)
        return tape


def _error_at(error: BaseException) -> str:
    """The error in a few words, and where it was raised."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    last = innermost(error)
    if last is None:
        return text
    return f"{text} at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}"
