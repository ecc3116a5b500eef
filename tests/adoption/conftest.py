"""Stand-ins for installed packages, made in a folder that is named as that of installed ones."""

import importlib
import itertools
import sys
from pathlib import Path

import pytest

SOURCE = (Path(__file__).parent / "stand_in.py").read_text(encoding="utf-8")
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def all_adopt(adopting):
    """All tests here adopt code."""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A function that installs source as a package, and imports it."""
    home = tmp_path / "site-packages"
    home.mkdir()
    monkeypatch.syspath_prepend(home)
    names = []

    def install(source=SOURCE, **modules):
        name = f"standin{next(_numbers)}"
        folder = home / name
        folder.mkdir()
        (folder / "__init__.py").write_text(source, encoding="utf-8")
        for module, text in modules.items():
            (folder / f"{module}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        names.append(name)
        return importlib.import_module(name)

    yield install
    for name in [m for m in sys.modules if m.partition(".")[0] in names]:
        del sys.modules[name]
