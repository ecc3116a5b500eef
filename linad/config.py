"""Settings, held in context variables so that threads and tasks do not disturb each other.

Each setting starts from an environment variable ``LINAD_<NAME>``; ``with linad.config(...)``
changes it for a block.
"""

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any

from linad.errors import ArgumentError, OptionError


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
    vector_math : bool
        Whether compiled loops use the vector functions of the C library, with errors of up to
        4 units in the last place. Default True.
    fast_math : bool
        Whether kernels may reorder arithmetic and ignore NaN and infinity. Default False.
    threads : int
        How many threads share the work of a large compiled loop. Default 1.
    variants : int
        How many paths through its Python decisions a jitted function keeps. Default 8.
    """

    densify_limit: int = 2**27
    block_bytes: int = 2**26
    snapshot_bytes: int = 2**20
    cache: bool = True
    vector_math: bool = True
    fast_math: bool = False
    threads: int = 1
    variants: int = 8

    def __post_init__(self) -> None:
        for field in fields(self):
            value, least = getattr(self, field.name), LEAST.get(field.name, 0)
            if not isinstance(value, (int, float)) or value < least:
                raise OptionError(
                    f"config: {field.name} must be a number of at least {least}, got {value!r}"
                )


LEAST = {"threads": 1, "variants": 1}


def _from_environment() -> Settings:
    given: dict[str, Any] = {}
    for field in fields(Settings):
        name = f"LINAD_{field.name.upper()}"
        text = os.environ.get(name)
        if text is not None:
            try:
                given[field.name] = int(text)
            except ValueError:
                raise ValueError(f"{name}={text!r}: an integer is needed") from None
    return Settings(**given)


_default = _from_environment()
_settings: ContextVar[Settings] = ContextVar("linad_settings")


changed: list[bool] = []
"""Not empty once somebody has changed a setting in this process."""

current = functools.partial(_settings.get, _default)
"""As `settings`, in one call of C."""


@functools.cache
def compiler_is_off() -> bool:
    """Whether Numba has been told to compile nothing, in its own environment variable."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def settings() -> Settings:
    """Return the settings in force here."""
    return _settings.get(_default)


@contextmanager
def config(**changes: Any) -> Iterator[Settings]:
    """Change settings for a ``with`` block.

    Parameters
    ----------
    **changes : int or bool
        ``densify_limit``, most entries of a dense array that NumPy or SciPy may make of an
        operator; ``block_bytes``, what `todense` pushes through in one sweep;
        ``snapshot_bytes``, up to which plain arrays are copied; and of compiled programs
        ``cache``, ``vector_math``, ``fast_math``, ``threads`` and ``variants``, see `Settings`.

    Raises
    ------
    TypeError
        For a name that is no setting.
    OptionError
        For a value that a setting cannot have.

    Examples
    --------
    >>> import linad
    >>> with linad.config(densify_limit=10_000):
    ...     pass
    """
    known = {field.name for field in fields(Settings)}
    if unknown := sorted(changes.keys() - known):
        raise ArgumentError(f"config: unknown setting {unknown[0]!r}; known are {sorted(known)}")
    changed[:] = [True]
    token = _settings.set(replace(settings(), **changes))
    try:
        yield settings()
    finally:
        _settings.reset(token)
