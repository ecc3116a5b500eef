"""The house stands on its floors: a module imports only from floors below its own.

Floors are folders, in the order of the drawing in ARCHITECTURE.md. On one floor modules may
import each other, but never in a cycle. Imports inside functions count as well; those under
``if TYPE_CHECKING`` do not.
"""

import ast
import functools
import importlib.util
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def read_floors(text):
    """Map each room to its floor, from the drawing in ARCHITECTURE.md: ``" 3   operators/"``."""
    drawing = text.split("## Floors", 1)[1].split("```text\n", 1)[1].split("```", 1)[0]
    floors, floor = {}, None
    for line in drawing.splitlines():
        number, names = line[:2].strip(), line[2:48].split()
        floor = int(number) if number else floor
        floors |= {f"linad.{name.removesuffix('/').replace('/', '.')}": floor for name in names}
    return floors


FLOOR_OF = read_floors((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
ROOF = max(FLOOR_OF.values())


def floor_of(module):
    """The floor of the longest prefix of a module's name that is a room."""
    if module == "linad":
        return ROOF
    while module and module not in FLOOR_OF:
        module = module.rpartition(".")[0]
    return FLOOR_OF.get(module)


def find_modules(root):
    """Map the name of each module of linad to its file; rules/ is installed as linad.rules."""
    modules = {}
    for folder, package in [(root / "linad", "linad"), (root / "rules", "linad.rules")]:
        for path in sorted(folder.rglob("*.py")):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            if parts[-1] == "__init__":
                parts.pop()
            modules[".".join(parts)] = path
    return modules


def is_type_checking(test):
    """Whether a condition is ``TYPE_CHECKING``, or ``typing.TYPE_CHECKING``."""
    return "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))


def statements(node):
    """Yield the statements under a node, not those inside them; expressions hold none."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        yield from getattr(node, name, ())


def import_nodes(node):
    """Yield the import statements under a node, except those for type checkers only."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    elif isinstance(node, ast.If) and is_type_checking(node.test):
        for child in node.orelse:
            yield from import_nodes(child)
    else:
        for child in statements(node):
            yield from import_nodes(child)


@functools.cache
def imports_in(path, text):
    """The import statements of a file: all of them, and those that run when it is imported."""
    tree = ast.parse(text, str(path))
    return list(import_nodes(tree)), list(nodes_at_import(tree))


def imported_names(node, module, is_package):
    """Absolute dotted names that one import statement reads, most specific first."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        parents = module.split(".")
        kept = parents[: len(parents) - node.level + is_package]
        base = ".".join([*kept, base] if base else kept)
    return [f"{base}.{alias.name}" for alias in node.names]


def resolve(name, modules):
    """The module in a dotted name, the longest: ``linad.core.tree.flatten`` -> linad.core.tree."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def find_imports(module, modules):
    """Map each module of linad that this one imports to the line where it does."""
    path = modules[module]
    found = {}
    for node in imports_in(path, path.read_text(encoding="utf-8"))[0]:
        for name in imported_names(node, module, path.name == "__init__.py"):
            target = resolve(name, modules)
            if target and target != module:
                found.setdefault(target, node.lineno)
    return found


def find_problems(root):
    """Say, one line each, what in a source tree does not respect the floors."""
    modules = find_modules(root)
    problems = [
        f"{module}: stands on no floor; give it one here and in ARCHITECTURE.md"
        for module in modules
        if floor_of(module) is None
    ]
    same_floor = {}
    for module, path in modules.items():
        for target, line in find_imports(module, modules).items():
            here, there = floor_of(module), floor_of(target)
            if here is None or there is None:
                continue
            if there > here:
                climb = f"floor {here} ({module}) imports floor {there} ({target})"
                problems.append(f"{path.relative_to(root)}:{line}: {climb}")
            elif there == here:
                same_floor.setdefault(module, set()).add(target)
    try:
        TopologicalSorter(same_floor).prepare()
    except CycleError as error:
        problems.append("a cycle: " + " imports ".join(reversed(error.args[1])))
    return problems


COMPILERS = ("numba", "llvmlite")


def find_compilers(root):
    """Say where the compiler is imported on a floor that is for any target, or reached from one.

    Imports inside functions do not count below the sweeps: these wait until something compiles.
    """
    modules = find_modules(root)
    sweeps = FLOOR_OF["linad.sweeps"]
    portable = [m for m in modules if m.startswith("linad.sweeps") and floor_of(m) == sweeps]
    problems, waiting, seen = [], list(portable), set(portable)
    while waiting:
        module = waiting.pop()
        path = modules[module]
        everywhere, at_import = imports_in(path, path.read_text(encoding="utf-8"))
        for node in everywhere if module in portable else at_import:
            for name in imported_names(node, module, path.name == "__init__.py"):
                if name.partition(".")[0] in COMPILERS:
                    problems.append(f"{path.relative_to(root)}:{node.lineno}: {name}")
                found = resolve(name, modules)
                if found and found != "linad" and found not in seen:
                    seen.add(found)
                    waiting.append(found)
    return problems


def nodes_at_import(node):
    """Yield the import statements that run when a module is imported."""
    for child in statements(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif not isinstance(child, ast.FunctionDef) and not (
            isinstance(child, ast.If) and is_type_checking(child.test)
        ):
            yield from nodes_at_import(child)


def test_the_house_is_seen_at_a_glance():
    shown = [path.name for path in (ROOT / "linad").iterdir() if path.name != "__pycache__"]
    assert len(shown) <= 24


def test_plans_know_no_compiler():
    assert find_compilers(ROOT) == []


@pytest.mark.parametrize(
    "files, problem",
    [
        pytest.param(
            {"linad/sweeps/plan.py": "def f():\n    from numba import njit"},
            f"{Path('linad/sweeps/plan.py')}:2: numba.njit",
            id="in-a-function",
        ),
        pytest.param(
            {
                "linad/sweeps/plan.py": "from linad.core import tape",
                "linad/core/tape.py": "import llvmlite.binding",
            },
            f"{Path('linad/core/tape.py')}:1: llvmlite.binding",
            id="reached",
        ),
    ],
)
def test_a_compiler_is_named(tmp_path, files, problem):
    write_tree(tmp_path, files)
    assert find_compilers(tmp_path) == [problem]


def test_a_target_may_compile(tmp_path):
    write_tree(
        tmp_path,
        {
            "linad/sweeps/cpu/engine.py": "import numba",
            "linad/sweeps/plan.py": "from linad.core.machine_code import kept_on_disk",
            "linad/core/machine_code.py": "def f():\n    import numba",
        },
    )
    assert find_compilers(tmp_path) == []


def test_imports_go_down():
    assert find_modules(ROOT), f"no modules found under {ROOT}"
    assert find_problems(ROOT) == []


def write_tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    "files, problem",
    [
        pytest.param(
            {"linad/core/tape.py": "import linad.arrays.tracer", "linad/arrays/tracer.py": ""},
            f"{Path('linad/core/tape.py')}:1: "
            "floor 1 (linad.core.tape) imports floor 2 (linad.arrays.tracer)",
            id="climbs",
        ),
        pytest.param(
            {
                "linad/core/tape.py": "def f():\n    from linad.operators.base import Chain",
                "linad/operators/base.py": "",
            },
            f"{Path('linad/core/tape.py')}:2: "
            "floor 1 (linad.core.tape) imports floor 3 (linad.operators.base)",
            id="climbs-in-a-function",
        ),
        pytest.param(
            {"linad/__init__.py": "", "linad/core/tree.py": "from linad import grad"},
            f"{Path('linad/core/tree.py')}:1: floor 1 (linad.core.tree) imports floor 12 (linad)",
            id="imports-the-roof",
        ),
        pytest.param(
            {
                "linad/transforms/simplify.py": "from ..jit.jitted import jit",
                "linad/jit/jitted.py": "",
            },
            f"{Path('linad/transforms/simplify.py')}:1: "
            "floor 5 (linad.transforms.simplify) imports floor 9 (linad.jit.jitted)",
            id="climbs-by-a-relative-import",
        ),
        pytest.param(
            {"linad/operators/base.py": "import linad.rules.fft", "rules/fft.py": ""},
            f"{Path('linad/operators/base.py')}:1: "
            "floor 3 (linad.operators.base) imports floor 4 (linad.rules.fft)",
            id="engine-imports-a-rule",
        ),
        pytest.param(
            {
                "linad/sweeps/lower.py": "def f():\n    from linad.sweeps.cpu import engine",
                "linad/sweeps/cpu/engine.py": "",
            },
            f"{Path('linad/sweeps/lower.py')}:2: "
            "floor 7 (linad.sweeps.lower) imports floor 8 (linad.sweeps.cpu.engine)",
            id="a-plan-imports-a-target",
        ),
        pytest.param(
            {
                "linad/operators/base.py": "from linad.operators.algebra import a",
                "linad/operators/algebra.py": "from . import base",
            },
            "a cycle: ",
            id="cycle",
        ),
        pytest.param({"linad/attic.py": ""}, "linad.attic: stands on no floor", id="unknown"),
    ],
)
def test_a_breach_is_named(tmp_path, files, problem):
    write_tree(tmp_path, files)
    problems = find_problems(tmp_path)
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_what_is_allowed(tmp_path):
    write_tree(
        tmp_path,
        {
            "linad/__init__.py": "from linad.api.derivatives import grad\nimport linad.rules",
            "linad/api/derivatives.py": (
                "import numpy as np\nfrom linad.transforms.linearize import a"
            ),
            "linad/transforms/linearize.py": "import linad.transforms.simplify",
            "linad/transforms/simplify.py": "import linad.core.tape",
            "linad/core/tape.py": (
                "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from linad.arrays.tracer import Tracer\n"
            ),
            "linad/arrays/tracer.py": "from linad.core.tape import Tape",
            "rules/__init__.py": "from linad.rules import fft",
            "rules/fft.py": "from linad.operators import base",
            "linad/operators/__init__.py": "",
            "linad/operators/base.py": "from linad.core.shapes import size_of",
            "linad/core/shapes.py": "import numpy",
        },
    )
    assert find_problems(tmp_path) == []


def test_linad_is_not_found_within_itself():
    """In a checkout rules/ lies beside linad/; tools that walk over modules would go in circles."""
    assert importlib.import_module("linad.rules").__spec__ is not None
    assert importlib.util.find_spec("linad.linad") is None
