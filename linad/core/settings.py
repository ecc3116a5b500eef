"""Settings, held in context variables so that threads and tasks do not disturb each other.

Each setting starts from an environment variable ``LINAD_<NAME>``; ``linad.config(...)`` changes it
for the process, and ``with linad.config(...)`` for a block.
"""

import difflib
import functools
import os
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass, fields, replace
from typing import Any

from linad.core.frames import enters_with
from linad.core.options import COUNT, FLAG, POSITIVE_COUNT, choice
from linad.errors import ArgumentError, FallbackError, OptionError


@dataclass(frozen=True)
class Settings:
    """All settings.

    Attributes
    ----------
    densify_limit : int
        Most entries a matrix may have when SciPy or NumPy asks an operator for a dense
        array without the user having written ``todense()``. Default 2**27 (1 GiB of
        doubles).
    block_bytes : int
        Bytes of seeds and results that a dense Jacobian pushes through in one batched
        sweep. Default 64 MiB.
    snapshot_bytes : int
        A plain array up to this size that a traced function uses is copied, so that it may be
        overwritten afterwards. A larger one is kept by reference: overwriting it while the
        function runs raises `linad.errors.OverwrittenError`; a write of few entries by code
        that is not the function's, nor named by it, may escape. Default 1 MiB.
    cache : bool
        Whether compiled kernels are kept on disk, in the folder ``LINAD_CACHE_DIR`` or the
        user's own cache folder. Default True.
    cache_bytes : int
        Most bytes of that folder; kernels that were not used for longest are removed when there
        are more. Default 2**28 (256 MiB).
    vector_math : bool
        Whether elementary functions of compiled loops vectorise, with errors of up to 4 units in
        the last place. Default True; otherwise the C library's scalar functions are called.
    fast_math : bool
        Whether kernels may reorder arithmetic and ignore NaN and infinity. Default False.
    threads : int
        How many threads share the work of a large compiled loop. Default 1.
    variants : int
        How many paths through its Python decisions a jitted function keeps. Default 8.
    disconnected : str
        What happens when a function is differentiated whose floating result depends on none of
        the arguments through operations that have a derivative: "raise"
        `linad.errors.OutputError`, "warn" (`linad.errors.DisconnectedWarning`) or "ignore".
        Default "warn". With "ignore" nobody looks for searches by comparisons either, whose
        derivatives else raise `linad.errors.SearchError`.
    compilers : int
        Most processes beside this one that compile where a program needs many new kernels, each
        on a core of its own. They need the folder of kernels (`cache`). Default 7.
    progress : bool
        Whether a line is printed on the standard error when recording a function or compiling a
        program takes more than two seconds, as does an integration or a fit in Python. Default
        True.
    check_loops : bool
        Whether all repetitions of a `linad.loop` run in Python, each compared with the one before
        it. Default False.
    device_fallback : bool
        Whether NumPy computes what a program on a GPU has no kernel for, on copies that go to the
        host and back. Default False: such a program raises `linad.errors.FallbackError`.
    """

    densify_limit: int = 2**27
    block_bytes: int = 2**26
    snapshot_bytes: int = 2**20
    cache: bool = True
    cache_bytes: int = 2**28
    vector_math: bool = True
    fast_math: bool = False
    threads: int = 1
    variants: int = 8
    compilers: int = 7
    progress: bool = True
    disconnected: str = "warn"
    check_loops: bool = False
    device_fallback: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            KINDS[field.name].check("config", field.name, getattr(self, field.name))


KINDS = {field.name: FLAG if field.type is bool else COUNT for field in fields(Settings)} | {
    "threads": POSITIVE_COUNT,
    "variants": POSITIVE_COUNT,
    "disconnected": choice("raise", "warn", "ignore"),
}
"""What each setting may be."""


def _from_environment() -> Settings:
    given: dict[str, Any] = {}
    for field in fields(Settings):
        name = f"LINAD_{field.name.upper()}"
        text = os.environ.get(name)
        if text is not None and field.type is str:
            given[field.name] = text
        elif text is not None:
            try:
                given[field.name] = int(text)
            except ValueError:
                raise OptionError(
                    f"the environment variable {name} must be an integer, got {text!r}"
                ) from None
    return Settings(**given)


_settings: ContextVar[Settings] = ContextVar("linad_settings")
_lock = threading.Lock()

changed: list[bool] = []
"""Not empty once somebody has changed a setting in this process."""

current = functools.partial(_settings.get, _from_environment())
"""As `settings`, in one call of C; it holds the settings of the process."""


@functools.cache
def compiler_is_off() -> bool:
    """Whether Numba has been told to compile nothing, in its own environment variable."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def require_compiler() -> None:
    """Refuse, where Numba has been told to compile nothing.

    Raises
    ------
    FallbackError
    """
    if compiler_is_off():
        raise FallbackError(
            "Numba's compiler is switched off by NUMBA_DISABLE_JIT: linad.jit lets NumPy run what "
            "it recorded, and there are no compiled programs to explain, to call or to load"
        )


def settings() -> Settings:
    """Return the settings in force here."""
    return current()


class config:
    """Change settings: for a ``with`` block, in this thread or task; or, as a call alone, for good.

    Without ``with`` the settings hold from there on in the whole process, except within blocks.

    Parameters
    ----------
    **changes : int, bool or str
        ``densify_limit``, most entries of a dense array that NumPy or SciPy may make of an
        operator; ``block_bytes``, the most that `todense` pushes through in one sweep;
        ``snapshot_bytes``, the size up to which plain arrays are copied; ``disconnected``, what
        happens when a result depends on no argument ("raise", "warn" or "ignore");
        ``check_loops``, whether every repetition of a `linad.loop` runs and is compared;
        ``device_fallback``, whether NumPy may have a part in programs on a GPU; and of compiled
        programs ``cache``, ``cache_bytes``, ``vector_math``, ``fast_math``, ``threads``,
        ``variants``, ``compilers`` and ``progress``, see `Settings`.

    Raises
    ------
    ArgumentError
        For a name that is not a setting.
    OptionError
        For a value that a setting cannot have.

    Examples
    --------
    >>> import linad
    >>> with linad.config(densify_limit=10_000):
    ...     pass
    """

    def __init__(self, **changes: Any) -> None:
        if unknown := sorted(changes.keys() - KINDS.keys()):
            near = difflib.get_close_matches(unknown[0], KINDS, 1)
            raise ArgumentError(
                f"config: unknown setting {unknown[0]!r}; {f'{near[0]}? ' if near else ''}"
                f"expected one of {', '.join(KINDS)}"
            )
        replace(settings(), **changes)  # raises for wrong values
        changed[:] = [True]
        self._changes = changes
        self._before: Settings | None = None
        self._tokens: list[Token[Settings]] = []
        if not enters_with(sys._getframe(1)):
            self._before = _set_default(changes)

    def __enter__(self) -> Settings:
        self._undo()
        self._tokens.append(_settings.set(replace(settings(), **self._changes)))
        return settings()

    def __exit__(self, *error: object) -> None:
        _settings.reset(self._tokens.pop())

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """``f`` with these settings in each of its calls; as a decorator."""
        self._undo()

        @functools.wraps(f)
        def configured(*args: Any, **kwargs: Any) -> Any:
            with config(**self._changes):
                return f(*args, **kwargs)

        return configured

    def _undo(self) -> None:
        """Take back what the call alone has set, since it is for a block after all."""
        if self._before is not None:
            _set_default({name: getattr(self._before, name) for name in self._changes})
            self._before = None


def _set_default(changes: dict[str, Any]) -> Settings:
    """Change the settings of the process; return what they were."""
    with _lock:
        before: Settings = current.args[0]
        # In place: others have imported it.
        state: Any = (_settings.get, (replace(before, **changes),), {}, {})
        current.__setstate__(state)  # type: ignore[attr-defined]  # its stubs do not know it
    return before
