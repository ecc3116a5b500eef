"""How a solver ends: status numbers, their words, and the result that carries them."""

import enum
import inspect
from collections.abc import Callable
from typing import Any

from linad.core.options import FLAG, FUNCTION

Callback = Callable[..., Any] | None

REPORTED = {"callback": FUNCTION.optional, "disp": FLAG}
"""The options of a `Monitor`, which all solvers have."""


class Status(enum.IntEnum):
    """Why a solver stopped. Only `CONVERGED` is a success."""

    CONVERGED = 0
    MAXITER = 1
    STAGNATED = 2
    SINGULAR = 3
    NOT_FINITE = 4
    INDEFINITE = 5
    LINEAR_SOLVER = 6
    UNBOUNDED = 7
    STOPPED = 99


WORDS = {
    Status.CONVERGED: "converged",
    Status.MAXITER: "the limit of iterations was reached",
    Status.STAGNATED: "no further progress",
    Status.SINGULAR: "the Jacobian is singular",
    Status.NOT_FINITE: "infinite or NaN",
    Status.INDEFINITE: "the Hessian is indefinite",
    Status.LINEAR_SOLVER: "a linear system could not be solved",
    Status.UNBOUNDED: "unbounded",
    Status.STOPPED: "stopped by the callback",
}


class Stop(Exception):
    """Ends the loop of a solver, with a status and what there is to say beside it."""

    def __init__(self, status: Status, detail: str = "") -> None:
        self.status, self.detail = status, detail
        super().__init__(f"{WORDS[status]}: {detail}" if detail else WORDS[status])

    def kept(self) -> "Stop":
        """The same without the frames that it came through, to be kept: what they hold, tapes
        above all, would live until the garbage collector finds the circle."""
        return Stop(self.status, self.detail)


class Monitor:
    """What a solver tells its user while it runs: ``disp`` lines and ``callback`` calls.

    Parameters
    ----------
    name : str
        The solver.
    callback : callable or None
        ``callback(intermediate_result)``, or ``callback(x)`` where its parameter has another
        name, as in SciPy. Raising StopIteration ends the solver.
    disp : bool
        Whether to print a line an iteration.
    columns : tuple of str
        Keys of the result that are printed, beside the iteration and ``nfev``.
    """

    def __init__(self, name: str, callback: Callback, disp: bool, columns: tuple[str, ...]) -> None:
        self.name, self.disp, self.columns = name, bool(disp), columns
        self.callback = callback
        self.by_name = callback is not None and _takes_result(callback)
        if self.disp:
            print(f"{name}: {'nit':>5} {'nfev':>6}" + "".join(f" {c:>11}" for c in columns))

    def report(self, fields: Callable[[], dict[str, Any]], **shown: float) -> None:
        """Tell of an iteration that has ended.

        Raises
        ------
        Stop
            When the callback raises StopIteration.
        """
        if not self.disp and self.callback is None:
            return
        found = fields()
        if self.disp:
            numbers = "".join(f" {shown[c]:>11.3e}" for c in self.columns)
            print(f"{'':{len(self.name) + 1}} {found['nit']:>5} {found['nfev']:>6}{numbers}")
        if self.callback is None:
            return
        try:
            if self.by_name:
                self.callback(intermediate_result=make_result(**{**shown, **found}))
            else:
                self.callback(found["x"])
        except StopIteration:
            raise Stop(Status.STOPPED) from None

    def finish(self, stop: Stop, found: dict[str, Any]) -> Any:
        """The result, with status and words; printed where ``disp`` is set."""
        message = f"{self.name}: {stop}"
        result = make_result(
            **found,
            success=stop.status is Status.CONVERGED,
            status=int(stop.status),
            message=message,
        )
        if self.disp:
            print(f"{message} ({found['nit']} iterations, {found['nfev']} evaluations)")
        return result


def _takes_result(callback: Callable[..., Any]) -> bool:
    try:
        return set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except ValueError:  # a builtin without a signature
        return False


def make_result(**found: Any) -> Any:
    """A `scipy.optimize.OptimizeResult`."""
    from scipy.optimize import OptimizeResult

    return OptimizeResult(**found)
