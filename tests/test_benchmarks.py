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


def cells(line):
    return [cell.strip() for cell in line.strip("| \n").split("|")]


def test_figures_in_readme_are_those_of_the_table():
    root = FOLDER.parent
    title, _, *rows = (root / "docs" / "performance" / "table.txt").read_text("utf-8").splitlines()
    names = cells(title)
    chosen = [names.index(name) for name in ("compiled", "/jax", "/autograd", "/casadi")]
    measured = [[cells(row)[i] for i in chosen] for row in rows if row.startswith("|")]
    lines = (root / "README.md").read_text("utf-8").splitlines()
    [start] = [i for i, line in enumerate(lines) if "divided by the time of JAX" in line]
    quoted = [cells(line) for line in lines[start + 2 : lines.index("", start)]]
    assert quoted
    for _, time, ratios in quoted:
        assert [time, *ratios.split(", ")] in measured
