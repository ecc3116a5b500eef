"""The benchmarks run seldom: what they import of linad has to be there all the same."""

import ast
import importlib.util
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "asv_bench"
FILES = sorted(FOLDER.rglob("*.py"))

pytestmark = pytest.mark.skipif(not FILES, reason="the benchmarks stand in the repository only")


def imported(file):
    """The names that a file imports from modules of linad, each with its module."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "linad":
            yield from [(node.module, alias.name) for alias in node.names]


def is_there(module, name):
    held = importlib.import_module(module)
    found = hasattr(held, name)
    return found or (hasattr(held, "__path__") and importlib.util.find_spec(f"{module}.{name}"))


def test_what_benchmarks_import_is_there():
    names = [(file.name, *name) for file in FILES for name in imported(file)]
    assert not [name for name in names if not is_there(*name[1:])]
