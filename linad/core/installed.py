"""Which files belong to Python or to installed packages, and which to the user."""

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from typing import Any

_STANDARD = tuple(
    {f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib")}
    | {f"{Path(os.__file__).parent}{os.sep}"}
)
_FOLDERS = ("site-packages", "dist-packages")
"""What folders of installed packages are called; the second by Debian and its kin."""


def is_standard(file: str) -> bool:
    """Whether a file belongs to Python itself."""
    return file.startswith(("<frozen ", *_STANDARD)) and not _folder_around(file)


@lru_cache(4096)
def is_installed(file: str) -> bool:
    """Whether a file belongs to Python or to an installed package, and not to the user."""
    return is_standard(file) or bool(_folder_around(file))


def package_of_file(file: str) -> str:
    """The installed package that a file belongs to; "" for others."""
    return _first_part(file[len(folder) :]) if (folder := _folder_around(file)) else ""


def line_of(file: str, line: int) -> str:
    """A line of an installed file, as messages name it."""
    return f"{file[len(_folder_around(file)) :].replace(chr(92), '/')}, line {line}"


def _first_part(path: str) -> str:
    return path.replace(os.sep, "/").partition("/")[0].removesuffix(".py")


@lru_cache(4096)
def _folder_around(file: str) -> str:
    """The folder of installed packages that a file is in, with its separator; "" if in none."""
    path = file.replace(os.sep, "/")
    for name in _FOLDERS:
        before, mark, _ = path.rpartition(f"/{name}/")
        if mark:
            return file[: len(before + mark)]
    for entry in sys.path:
        folder = f"{entry}{os.sep}"
        if entry and file.startswith(folder) and _first_part(file[len(folder) :]) in _put(entry):
            return folder
    return ""


@lru_cache(256)
def _put(folder: str) -> frozenset[str]:
    """What an installer has put into a folder: ``pip install --target`` asks for any."""
    found = [r.read_text(encoding="utf-8") for r in Path(folder).glob("*.dist-info/RECORD")]
    return frozenset(
        {_first_part(line.partition(",")[0]) for record in found for line in record.splitlines()}
    )


def file_of(module: Any) -> str:
    """The file of a module, if it has one; no ``__getattr__`` of the module's is asked."""
    return getattr(module, "__dict__", {}).get("__file__") or ""
