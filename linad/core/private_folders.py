"""Folders for compiled code: where they are, whether only the user can write there, how large.

Compiled code is read back from disk by Numba, which runs what it finds. So a folder is used
only where nobody else can put a file: it belongs to the user, nobody else may write to it, and
nobody else can put another one in its place. This is asked of every folder on the way to it,
symbolic links followed one by one; only in a folder with the sticky bit (``/tmp``) may others
write, since they cannot rename there what is not theirs.
"""

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

HOPS = 40
"""Symbolic links that are followed on the way to a folder, as Linux does."""

ROOT = 0
"""The administrator's user number; what he owns is trusted, for he can do everything anyway."""

ROOM_MADE = 0.75
"""How much of its limit a folder holds after the oldest files have been removed."""


def default_folder() -> Path | None:
    """Where compiled code is kept unless ``LINAD_CACHE_DIR`` says otherwise; None without a home.

    A process of a user without an entry in the password file, and without ``HOME``, has none.
    """
    try:
        if sys.platform == "win32":
            base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except (RuntimeError, KeyError):
        return None
    return base / "linad"


def chosen_folder() -> Path | None:
    """``LINAD_CACHE_DIR``, or else the default."""
    given = os.environ.get("LINAD_CACHE_DIR")
    return Path(given) if given else default_folder()


def private_folder(path: Path) -> Path:
    """Return a folder that only the user can write to, free of symbolic links; made if need be.

    Raises
    ------
    PermissionError
        If others could write there, or put another folder in its place.
    OSError
        If it cannot be made.
    """
    if not hasattr(os, "getuid"):
        path.mkdir(parents=True, exist_ok=True)
        return path
    path = path.absolute()
    parts = list(path.parts[:0:-1])  # what is still to be walked, the next one last
    at = Path(path.anchor)
    _check_parent(at, at.lstat())
    hops = 0
    while parts:
        part = parts.pop()
        if part == "..":
            at = at.parent
            continue
        step = at / part
        found = _made(step)
        if stat.S_ISLNK(found.st_mode):
            hops += 1
            if hops > HOPS:
                raise OSError(f"too many symbolic links on the way to {path}")
            if found.st_uid not in (os.getuid(), ROOT):
                raise PermissionError(f"the link {step} belongs to another user")
            target = step.readlink()
            if target.is_absolute():
                at = Path(target.anchor)
            parts += [p for p in reversed(target.parts) if p != target.anchor]
            continue
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(f"{step} is not a folder")
        if parts:
            _check_parent(step, found)
        at = step
    _check_own(at, at.lstat(), at)
    return at


def is_own_file(path: Path) -> bool:
    """Whether a file was written by the user: not by those who could once write beside it."""
    if not hasattr(os, "getuid"):
        return path.is_file()
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.getuid()


def check_contents(folder: Path) -> None:
    """Raise PermissionError if others may have written into a private folder's own folders.

    Numba makes these, with the modes that the user has chosen for all files; they do not matter
    where nobody else can enter.
    """
    if not hasattr(os, "getuid"):
        return
    closed = not folder.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    for parent, folders, files in os.walk(folder):
        for path in [Path(parent, name) for name in folders]:
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
                raise PermissionError(f"{path} was not made by this user")
            if not closed:
                _check_own(path, found, folder)
        for path in [Path(parent, name) for name in files]:
            if not is_own_file(path):
                raise PermissionError(f"{path} was not written by this user")


def _made(path: Path) -> os.stat_result:
    """What is at a path; a private folder where there was nothing."""
    with contextlib.suppress(FileNotFoundError):
        return path.lstat()
    with contextlib.suppress(FileExistsError):  # another process was faster
        path.mkdir(mode=0o700)
    return path.lstat()


def _check_own(path: Path, found: os.stat_result, named: Path) -> None:
    it = "it" if path == named else path.name
    if found.st_uid != os.getuid():
        raise PermissionError(f"{it} belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others can write to {it}")


def _check_parent(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in (os.getuid(), ROOT):
        raise PermissionError(f"{path}, on the way to it, belongs to another user")
    others = found.st_mode & stat.S_IWOTH
    group = found.st_mode & stat.S_IWGRP and not _alone_in(found.st_gid)
    if (others or group) and not found.st_mode & stat.S_ISVTX:
        raise PermissionError(f"others can write to {path}, on the way to it")


def _alone_in(group: int) -> bool:
    """Whether the user is the one member of a group, as many systems make one for each user."""
    try:
        import grp
        import pwd

        me, entry = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except (ImportError, KeyError):
        return False
    return me.pw_gid == group and entry.gr_name == me.pw_name and set(entry.gr_mem) <= {me.pw_name}


def remove_oldest(folder: Path, limit: int) -> int:
    """Remove the files that were not used for longest, if a folder holds more than ``limit``.

    Files that belong together, those whose names begin with the same word, go together.

    Returns
    -------
    int
        Bytes that are left.

    Notes
    -----
    Other processes may write, read and remove at the same time: a file that is gone is compiled
    again. One look at each file of the folder.
    """
    groups: dict[str, list[tuple[float, int, str]]] = {}
    total = 0
    for file in _files(folder):
        with contextlib.suppress(OSError):
            found = file.lstat()
            name = file.name.split(".", 1)[0]
            groups.setdefault(name, []).append((_age(file, found), found.st_size, str(file)))
            total += found.st_size
    if total <= limit:
        return total
    for group in sorted(groups.values(), key=lambda files: max(files)[0]):
        # What says that the others are whole goes first.
        for _, size, name in sorted(group, key=lambda file: not file[2].endswith(".sum")):
            with contextlib.suppress(OSError):
                Path(name).unlink()
            total -= size
        if total <= limit * ROOM_MADE:
            break
    return total


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, files in os.walk(folder):
        for name in files:
            yield Path(parent, name)


def _age(file: Path, found: os.stat_result) -> float:
    """When a file was written or last used; the time of a source is always the same."""
    return 0.0 if file.suffix == ".py" else found.st_mtime
