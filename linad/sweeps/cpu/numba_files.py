"""Functions that Numba keeps on disk, under names by content.

Numba runs whatever machine code is beside a source. So what it has written is written down, and
compared before Numba is let at it.
"""

import hashlib
import os
import tempfile
from pathlib import Path

from linad.core.private_folders import is_own_file

MACHINE_CODE = "__pycache__"
"""The folder, beside a source, in which Numba keeps what it has compiled."""


def write_source(path: Path, source: str) -> None:
    """Put a source file in place at once, whatever other processes do."""
    if path.exists() and path.read_bytes() == source.encode():
        return
    with tempfile.NamedTemporaryFile("wb", dir=path.parent, suffix=".tmp", delete=False) as f:
        f.write(source.encode())
    # Numba tells files apart by their time; the content is in the name already.
    os.utime(f.name, (1_000_000_000, 1_000_000_000))
    Path(f.name).replace(path)


def machine_code_of(path: Path) -> list[Path]:
    """The files that Numba keeps beside the source of a kernel."""
    beside = path.parent / MACHINE_CODE
    return sorted(beside.glob(f"{path.stem}.*.nb?")) if beside.is_dir() else []


def seal(path: Path) -> None:
    """Write down what the machine code of a kernel is, so that damage to it is noticed."""
    lines = [f"{_digest(file)} {file.name}\n" for file in machine_code_of(path)]
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False) as f:
        f.writelines([f"{len(lines)}\n", *lines])
    Path(f.name).replace(path.with_suffix(".sum"))


def is_sealed(path: Path) -> bool:
    """Whether the machine code of a kernel is what was written. Damaged files are removed.

    Numba would run whatever is there.
    """
    try:
        seal = path.with_suffix(".sum")
        count, *lines = seal.read_text(encoding="utf-8").splitlines()
        found = [line.split(" ", 1) for line in lines]
        files = [path.parent / MACHINE_CODE / name for _, name in found]
        same = all([_digest(f) == digest for f, (digest, _) in zip(files, found, strict=True)])
        if same and len(found) == int(count) > 0 and all(map(is_own_file, [seal, *files])):
            os.utime(seal)  # what was used last is removed last
            return True
    except (OSError, ValueError):
        pass
    for file in machine_code_of(path):
        file.unlink(missing_ok=True)
    return False


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
