"""Looking at what `linad.jit` compiles: `explain` and `log_compiles`."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from linad.core.options import choice, takes
from linad.core.settings import require_compiler
from linad.core.shapes import check_function, name_of
from linad.jit.jitted import Jitted, jit

log = logging.getLogger("linad")


@takes(target=choice("cpu", "cuda"))
def explain(f: Callable[..., Any], *, target: str = "cpu") -> Callable[..., Any]:
    """Describe the program that `linad.jit` makes of a function.

    Parameters
    ----------
    f : callable
        Plain or jitted.
    target : "cpu" or "cuda", optional
        What the program is for. With "cuda", the program is planned for a GPU with all its
        libraries and described; it is not compiled, and needs no GPU.

    Returns
    -------
    callable
        It takes the arguments of ``f``, which are not changed, and returns a
        `linad.sweeps.explain.Report`: ``print`` it, or read its attributes.

    Notes
    -----
    Compiles the program, if that has not happened yet. A report lists the steps of a call
    and the memory they touch, which of them run in NumPy and the lines they come from, and
    what decisions of Python are checked.

    Examples
    --------
    >>> import numpy as np, linad
    >>> report = linad.explain(linad.grad(lambda x: np.sum(np.sin(x) * x)))(np.ones(3))
    >>> report.kernels, len(report.fallbacks), report.arena_bytes
    (1, 0, 0)
    >>> report.steps[0].primitives
    ['sin', 'cos', 'multiply', 'add']
    """
    check_function("explain", f)
    jitted = f if isinstance(f, Jitted) else jit(f)

    def explained(*args: Any, **kwargs: Any) -> Any:
        require_compiler()
        if target == "cuda":
            from linad.jit.device_calls import planned

            return planned(jitted, args, kwargs)
        from linad.sweeps.explain import report_of

        return report_of(jitted.variant(*args, **kwargs).compiled, name_of(jitted.function))

    return explained


@contextmanager
def log_compiles() -> Iterator[None]:
    """Show, on standard error, a line for each function that is traced or compiled.

    Notes
    -----
    A context manager. The lines go to the logger ``linad`` at level INFO, which is quiet
    otherwise; a handler of one's own gets them as well. All threads are shown.

    Examples
    --------
    >>> import numpy as np, linad
    >>> g = linad.jit(np.sin)
    >>> with linad.log_compiles():
    ...     y = g(np.ones(3))                # traced
    ...     y = g(np.ones(3))                # compiled
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("linad: %(message)s"))
    level = log.level
    log.addHandler(handler)
    if not log.isEnabledFor(logging.INFO):
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
