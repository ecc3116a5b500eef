"""Take rows out of linad's tables, one at a time: the tests must notice each.

    python tests/mutations.py                    30 rows, drawn at random
    python tests/mutations.py --seed 7 --count 5
    python tests/mutations.py MULTIPLES[Kronecker] Kronecker.pullback

A row is an entry of a module's table (a dictionary or set in capitals that functions look into), a
rule of a primitive, or what an operator class says of itself in place of its base class. The test
file of its module, and those that name what the row is about, are tried first, then all tests.
Prints the rows that survive, and ends with status 1 if there are any.

As a plugin of pytest (``-p mutations``), it takes out the row named by ``LINAD_MUTATION``.
"""

import argparse
import ast
import functools
import importlib
import os
import pkgutil
import random
import re
import subprocess
import sys
import time
from pathlib import Path

from needing_libraries import ELSEWHERE

TESTS = Path(__file__).resolve().parent
LEFT_OUT = ("demo", "cli", "__main__", "checks")
"""Modules without facts, and those that run when they are imported."""

ON_A_GPU = "linad.sweeps.cuda."
"""What is tested where its packages are (``tox -e cuda``), or a GPU."""

IN_KERNELS = (
    *("native", "vector_math", "number_pairs", "complex_numbers", "special_functions"),
    *("kernel_cache", "kernel_arrays", "kernel_functions"),
)
"""Modules whose tables are names that kernels call: without one a kernel does not compile."""

COPIED = ("PORTABLE",)
"""Tables that others begin with, copied when they are imported: a row is theirs as well."""


def modules():
    """All modules of linad, imported."""
    import linad
    import linad.rules

    found = [linad]
    for package in (linad, linad.rules):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not info.name.endswith(LEFT_OUT) and info.name not in ELSEWHERE:
                found.append(importlib.import_module(info.name))
    return list({module.__name__: module for module in found}.values())


def nodes_in_body(function):
    """Yield what runs when a function is called: its decorators and defaults ran at import."""
    body = function.body if isinstance(function.body, list) else [function.body]
    for statement in body:
        yield from ast.walk(statement)


def read_in_functions(module):
    """The ids of what functions of a module look up by name, and the attributes that they read.

    What is read when a module is imported has no rows left to take, a function that the module
    calls then, or a decorator, included.
    """
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    repeated = [node for loop in tree.body if isinstance(loop, ast.For) for node in loop.body]
    calls = [node.value for node in [*tree.body, *repeated] if isinstance(node, ast.Expr)]
    at_import = {
        call.func.id for call in calls if isinstance(getattr(call, "func", None), ast.Name)
    }
    functions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        and getattr(node, "name", None) not in at_import
    ]
    ids, attributes = set(), set()
    for function in functions:
        for node in nodes_in_body(function):
            if isinstance(node, ast.Name):
                ids.add(id(vars(module).get(node.id)))
            elif isinstance(node, ast.Attribute):
                attributes.add(node.attr)
    return ids, attributes


@functools.cache
def assigned_in(module):
    """The names that a module gives values to, in place of importing them."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    targets = [t for node in tree.body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    return {t.id for t in targets if isinstance(t, ast.Name)} & vars(module).keys()


def word_of(key):
    """What a key is about, as a word to look for."""
    if isinstance(key, tuple):
        return " ".join(map(word_of, key))
    return str(getattr(key, "__name__", key))


def tables(found):
    """Dictionaries and sets of things that are not plain numbers and words, by their names."""
    looked_up, attributes = (
        set().union(*sets) for sets in zip(*map(read_in_functions, found), strict=True)
    )
    out = {m for m in found if m.__name__.endswith(IN_KERNELS) or m.__name__.startswith(ON_A_GPU)}
    seen = {id(vars(module)[name]) for module in out for name in assigned_in(module)}
    named = [
        (name in assigned_in(module), module.__name__, name, table)
        for module in found
        for name, table in vars(module).items()
        if re.fullmatch(r"_?[A-Z][A-Z_]+", name) and isinstance(table, dict | set) and table
        if name not in COPIED
    ]
    for _, module, name, table in sorted(named, key=lambda row: not row[0]):  # where it is, first
        if id(table) in seen or (id(table) not in looked_up and name not in attributes):
            continue
        seen.add(id(table))
        values = table.values() if isinstance(table, dict) else table
        if not all(isinstance(v, str | int | float | None) for v in values):
            yield module, name, table


def rows():
    """What can be taken out, by the name of the row, table by table: what it is about, the module
    that says it, and the function that takes it out, with its arguments."""
    found = modules()
    from linad.core.primitive import Primitive
    from linad.operators.base import JacobianOperator

    everything = {}
    for module, name, table in tables(found):
        name = f"{module.rpartition('.')[2]}.{name}" if name in everything else name
        take = table.pop if isinstance(table, dict) else table.remove
        everything[name] = {
            f"{name}[{word_of(key)}]": (word_of(key), module, take, (key,))
            for key in list(table)
            if not (isinstance(key, int) and key >= 1 << 32)  # an address, another in each process
        }
    rules = everything["Primitive"] = {}
    for name, primitive in Primitive.registry.items():
        for k in primitive.rules:
            module = primitive.rules[k].__module__
            rules[f"Primitive[{name}, {k}]"] = name, module, wrong_rule, (primitive, k)
    facts = everything["class"] = {}
    for kind in subclasses(JacobianOperator):
        for name, value in vars(kind).items():
            if is_said_again(kind, name, value):
                about = kind.__name__, kind.__module__
                facts[f"{kind.__name__}.{name}"] = *about, delattr, (kind, name)
    return {table: entries for table, entries in everything.items() if entries}


def wrong_rule(primitive, k):
    """Make the derivative in argument ``k`` twice what it is."""
    right = primitive.rules[k]
    primitive.rules[k] = lambda *args, **params: 2 * right(*args, **params)


def subclasses(kind):
    """All classes below one, that linad defines."""
    for below in kind.__subclasses__():
        if below.__module__.startswith("linad"):
            yield below
        yield from subclasses(below)


def is_said_again(kind, name, value):
    """Whether a class says something in other words than a base class of linad's."""
    if name.startswith("__") or not (callable(value) or hasattr(value, "__get__")):
        return False
    above = [base for base in kind.__mro__[1:] if base.__module__.startswith("linad")]
    said = [vars(base)[name] for base in above if name in vars(base)]
    return any(not is_slot(s) for s in said) and said[0] is not value


def is_slot(value):
    return type(value).__name__ == "member_descriptor"


def row(name):
    for entries in rows().values():
        if name in entries:
            return entries[name]
    raise SystemExit(f"there is no row {name}")


def pytest_configure(config):
    if "LINAD_MUTATION" in os.environ:
        *_, take, arguments = row(os.environ["LINAD_MUTATION"])
        take(*arguments)


def files_about(words, module):
    """The test file of a module, and those that name each of some words, most mentions first."""
    own = f"test_{module.rpartition('.')[2]}.py"
    counted = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        mentions = [len(re.findall(rf"\b{re.escape(word)}\b", text)) for word in words]
        if path.name == own or all(mentions):
            counted[path] = path.name == own, sum(mentions)
    return sorted(counted, key=counted.get, reverse=True)[:8]


def noticed(name, files):
    """Whether a test fails without a row; the first that does. A few files take one process."""
    environment = {**os.environ, "LINAD_MUTATION": name, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-m", "pytest", "-p", "mutations", "-x", "-q", "--tb=no"]
    command += ["-m", "not full"]
    command += ["--no-header", *(["-n", "0"] if files != [TESTS] else []), *map(str, files)]
    run = subprocess.run(
        command, cwd=TESTS.parent, env=environment, capture_output=True, text=True, check=False
    )
    if run.returncode == 0:
        return None
    first = re.search(r"^(FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    return first[2] if first else run.stdout.strip().splitlines()[-1:] or run.stderr[-300:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="rows; by default some are drawn")
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print the names of all rows")
    parser.add_argument("--about", action="store_true", help="only the files that name the row")
    options = parser.parse_args()
    everything = rows()
    if options.list:
        print(*(name for entries in everything.values() for name in entries), sep="\n")
        return 0
    rng = random.Random(options.seed)
    names = options.names or [
        rng.choice(sorted(everything[rng.choice(sorted(everything))])) for _ in range(options.count)
    ]
    survivors = []
    for name in names:
        started = time.perf_counter()
        words, module, *_ = row(name)
        about = files_about(words.split(), module)
        stages = ([about] if about else []) + ([] if options.about else [[TESTS]])
        found = next((n for n in (noticed(name, stage) for stage in stages) if n), None)
        survivors += [] if found else [name]
        seconds = time.perf_counter() - started
        print(f"{name:50} {found or 'SURVIVES'}  ({seconds:.0f} s)", flush=True)
    print(f"{len(names) - len(survivors)} of {len(names)} noticed", *survivors, sep="\n  ")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
