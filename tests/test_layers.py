"""The house stands on its floors: a module imports only from floors below its own.

The floors are those of ARCHITECTURE.md. On one floor modules may import each other, but never
in a cycle. Imports inside functions count as well; those under ``if TYPE_CHECKING`` do not.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# The longest prefix of a module's name decides; a package stands for all within it.
FLOORS = {
    0: "kept errors shapes layouts reading standins tree vectors config garbage",
    1: "primitive tape dispatch ufuncs",
    2: "tracer tracing arithmetic methods memory buffers regions outputs flat",
    3: "operators",
    4: "rules",
    5: "transforms",
    6: "sweeps cuda",
    7: "answers systems derivatives gradients sparse_derivatives calls custom overwriting "
    "static draws outside direct interpreted signature variants jit inspection control kernel",
    8: "solve export agreement testing numpy scipy coverage specimens",
    9: "cli __main__ demo terminal checks loading",
}
FLOOR_OF = {f"linad.{name}": floor for floor, names in FLOORS.items() for name in names.split()}


def floor_of(module):
    if module == "linad":
        return 9
    return FLOOR_OF.get(".".join(module.split(".")[:2]))


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
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def import_nodes(node):
    """Yield the import statements under a node, except those for type checkers only."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node
    elif isinstance(node, ast.If) and is_type_checking(node.test):
        for child in node.orelse:
            yield from import_nodes(child)
    else:
        for child in ast.iter_child_nodes(node):
            yield from import_nodes(child)


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
    """Longest prefix of a dotted name that is a module: ``linad.tree.flatten`` -> linad.tree."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def find_imports(module, modules):
    """Map each module of linad that this one imports to the line where it does."""
    path = modules[module]
    found = {}
    for node in import_nodes(ast.parse(path.read_text(encoding="utf-8"), str(path))):
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
            {"linad/tape.py": "import linad.tracer", "linad/tracer.py": ""},
            f"{Path('linad/tape.py')}:1: floor 1 (linad.tape) imports floor 2 (linad.tracer)",
            id="climbs",
        ),
        pytest.param(
            {
                "linad/tape.py": "def f():\n    from linad.operators.base import Chain",
                "linad/operators/base.py": "",
            },
            f"{Path('linad/tape.py')}:2: "
            "floor 1 (linad.tape) imports floor 3 (linad.operators.base)",
            id="climbs-in-a-function",
        ),
        pytest.param(
            {"linad/__init__.py": "", "linad/tree.py": "from linad import grad"},
            f"{Path('linad/tree.py')}:1: floor 0 (linad.tree) imports floor 9 (linad)",
            id="imports-the-roof",
        ),
        pytest.param(
            {"linad/transforms/simplify.py": "from ..jit import jit", "linad/jit.py": ""},
            f"{Path('linad/transforms/simplify.py')}:1: "
            "floor 5 (linad.transforms.simplify) imports floor 7 (linad.jit)",
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
            "linad/__init__.py": "from linad.derivatives import grad\nimport linad.rules",
            "linad/derivatives.py": "import numpy as np\nfrom linad.transforms.linearize import a",
            "linad/transforms/linearize.py": "import linad.transforms.simplify",
            "linad/transforms/simplify.py": "import linad.tape",
            "linad/tape.py": (
                "from typing import TYPE_CHECKING\n"
                "if TYPE_CHECKING:\n    from linad.tracer import Tracer\n"
            ),
            "linad/tracer.py": "from linad.tape import Tape",
            "rules/__init__.py": "from linad.rules import fft",
            "rules/fft.py": "from linad.operators import base",
            "linad/operators/__init__.py": "",
            "linad/operators/base.py": "from linad.shapes import size_of",
            "linad/shapes.py": "import numpy",
        },
    )
    assert find_problems(tmp_path) == []
