"""Which installed packages a run meets with traced values: those the automatic mode adopts."""

import opcode
import sys
import types
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from linad.adoption.dispatchers import is_dispatcher, python_of
from linad.core.callers import AWARE, defining_package, innermost, package_of
from linad.core.failures import is_from_compiled
from linad.core.installed import is_installed, line_of
from linad.errors import LinadError

NEVER = AWARE | {"matplotlib", "cupy", "jax", "torch", "llvmlite", "pytest", "IPython"}
"""Packages that treat arrays of other kinds themselves, or that nothing is computed in."""


def adoptable(frame: FrameType) -> str:
    """The installed package whose code a frame runs; "" for code that is never adopted so."""
    return _if_adoptable(package_of(frame), frame.f_code.co_filename)


def _if_adoptable(package: str, file: str) -> str:
    if package in NEVER or package in sys.stdlib_module_names or package == "__main__":
        return ""
    return package if is_installed(file) else ""


class Touches:
    """Notes which installed packages compute with the values of a trace.

    Code may test the type of a value and go another way in silence: it is met by what it computes,
    before anything is refused.

    Attributes
    ----------
    met : dict
        The packages, and a line of each.
    """

    def __init__(self, trace: Any, started: FrameType, known: Callable[[str], bool]) -> None:
        self.met: dict[str, str] = {}
        self._started = started
        self._known = known
        self._trace = trace
        self._apply = trace.apply
        self._seen: set[int] = set()
        trace.apply = self.apply

    def apply(self, primitive: Any, args: tuple[Any, ...], params: Any) -> Any:
        """Run a primitive, as the trace does."""
        self._note(sys._getframe(1))
        return self._apply(primitive, args, params)

    def _note(self, frame: Any) -> None:
        while frame is not None and frame is not self._started:
            code = frame.f_code
            if id(code) not in self._seen:
                self._seen.add(id(code))
                package = adoptable(frame)
                if package and package not in self.met and not self._known(package):
                    self.met[package] = line_of(code.co_filename, frame.f_lineno)
            frame = frame.f_back

    def end(self) -> None:
        """The trace has ended."""
        self._trace.__dict__.pop("apply", None)
        del self._apply, self._trace, self._started


def refusals(trace: Any, error: Any) -> Iterator[types.TracebackType]:
    """The frames that a run's refusals passed through, each with its line and instruction."""
    errors = [mark.error for mark in trace.marks]
    ours = isinstance(error, LinadError) or isinstance(
        getattr(error, "__cause__", None), LinadError
    )
    # Code in C tells types apart: "descriptor '__mul__' requires a 'float' object but received ..."
    ours = ours or is_from_compiled(error) or defining_package(type(error)) == "numba"
    # SciPy was given what it does not know: a sparse array with traced entries, say.
    ours = ours or (type(error) is TypeError and _is_raised_by_scipy(error))
    if ours or (errors and error is not None):
        errors.append(error)
    for e in errors:
        traceback = e.__traceback__
        while traceback is not None:
            yield traceback
            traceback = traceback.tb_next


def _is_raised_by_scipy(error: Any) -> bool:
    return any([package_of(place.tb_frame) == "scipy" for place in raisers(error)])


_ARITHMETIC = (opcode.opmap["BINARY_OP"], opcode.opmap["COMPARE_OP"])


def is_in_arithmetic(place: types.TracebackType) -> bool:
    """Whether a refusal came from an operator between two values, which stands in this frame."""
    return place.tb_frame.f_code.co_code[place.tb_lasti] in _ARITHMETIC


def raisers(error: Any) -> Iterator[types.TracebackType]:
    """The innermost frame of an error: a package may refuse a value by its type."""
    place = innermost(error)
    if place is not None and isinstance(error, Exception):
        yield place


def packages_on(places: list[types.TracebackType]) -> Iterator[tuple[str, str]]:
    """The installed packages on the way to refusals, with their lines.

    Of a package's function that Numba compiled, a call shows code of Numba's alone.
    """
    for place in places:
        package = adoptable(place.tb_frame)
        if package:
            yield package, line_of(place.tb_frame.f_code.co_filename, place.tb_lineno)
        called = place.tb_frame.f_locals.get("self") if _is_in_numba(place) else None
        if is_dispatcher(called):
            python = python_of(called)
            code, package = python.__code__, defining_package(python)
            if _if_adoptable(package, code.co_filename):
                yield package, line_of(code.co_filename, code.co_firstlineno)


def _is_in_numba(place: types.TracebackType) -> bool:
    return package_of(place.tb_frame) == "numba"
