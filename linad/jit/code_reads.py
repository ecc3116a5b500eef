"""What a function's code reads from outside, told from its instructions.

Names that are loaded count; a name that only keeps count or takes notes does not:

    calls += 1          seen.append(x)          count["f"] += 1          self.calls += 1

What is read there goes nowhere but back.
"""

import dis
import functools
import importlib.util
import sys
import types
from typing import Any, NamedTuple

from linad.core.adopted import as_written

GLOBAL = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
CELL = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
NOTES = {"append", "extend", "add", "update", "appendleft", "write", "info", "debug", "warning"}
WHOLE = {"getattr", "vars", "__dict__", "hasattr", "asdict", "astuple", "replace", "dir", "eval"}
"""Names of what reads attributes that the code does not name."""

IMPORTERS = {"__import__", "import_module"}
"""Functions that import the module that a text names."""

ANY_MODULE = "*"

CATCHES = "try"
"""Stands among names that are read, where no attribute can have it, for code that goes on where
one of them is missing."""

TEXTS = {"globals", "locals", "eval", "exec", "compile"}
"""Functions that read the variables that a text names."""

SKIPPED = {"CACHE", "EXTENDED_ARG", "KW_NAMES", "RESUME", "NOP"}


class LoadedName(NamedTuple):
    """A variable, and the attributes that are loaded of it: ``os.environ.get``.

    Attributes
    ----------
    root : str
        The variable; of what is imported inside the function, the module, as the import names it:
        dots in front are of the function's own package, see `module_named`.
    attributes : tuple of str
    imported : bool
        Whether the root is a module that the function imports itself.
    bare : bool
        Whether the last is called without arguments, or with None.
    """

    root: str
    attributes: tuple[str, ...]
    imported: bool
    bare: bool


class Reads(NamedTuple):
    """Names that a function's code loads, its inner functions' included.

    Attributes
    ----------
    names : tuple of str
        Globals.
    cells : frozenset of str
        Variables of functions around it.
    attributes : frozenset of str
        Of whatever; strings among the constants, too.
    whole : bool
        Whether it may read attributes that it does not name.
    chains : tuple of LoadedName
    imports : frozenset of str
        Modules that it imports itself, named as for `LoadedName`; `ANY_MODULE` where it computes
        the name.
    catches : bool
        Whether it may go on where an attribute is missing: with a handler for exceptions, as of
        ``try`` and ``with``, or a pattern that names attributes.
    """

    names: tuple[str, ...]
    cells: frozenset[str]
    attributes: frozenset[str]
    whole: bool
    chains: tuple[LoadedName, ...]
    imports: frozenset[str]
    catches: bool


@functools.lru_cache(4096)
def reads_of(code: types.CodeType) -> Reads:
    """What the instructions of a function read, as they were before it was adopted."""
    code = as_written(code)
    names: dict[str, None] = {}
    cells: set[str] = set()
    attributes: set[str] = set()
    imports: set[str] = set()
    steps = _one_by_one(instructions(code))
    modules = _modules(steps)
    chains = dict.fromkeys(_chains(steps, modules))
    catches = bool(code.co_exceptiontable) or any([s.opname == "MATCH_CLASS" for s in steps])
    for k, step in enumerate(steps):
        if step.opname in GLOBAL | CELL | ATTRIBUTE and not _is_note(steps, k):
            if step.opname in GLOBAL:
                names[step.argval] = None
            elif step.opname in CELL:
                cells.add(step.argval)
            else:
                attributes.add(step.argval)
        elif step.opname in ("IMPORT_FROM", "LOAD_SUPER_ATTR", "DELETE_ATTR"):
            attributes.add(step.argval)
        elif step.opname in ("DELETE_GLOBAL", "DELETE_NAME"):
            names[step.argval] = None
        elif step.opname == "DELETE_DEREF":
            cells.add(step.argval)
        elif step.opname == "IMPORT_NAME":
            imports.add(_imported(steps, k))
        if _loads_importer(step):
            name, _ = _named_in_call(steps, k)
            imports |= {name, name.partition(".")[0]}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = reads_of(constant)
            names |= dict.fromkeys(inner.names)
            cells |= inner.cells
            attributes |= inner.attributes
            imports |= inner.imports
            catches |= inner.catches
            held = {name: modules[name] for name in modules.keys() & set(code.co_cellvars)}
            chains |= dict.fromkeys([_in_modules(chain, held) for chain in inner.chains])
        else:
            parts = constant if isinstance(constant, (tuple, frozenset)) else (constant,)
            attributes |= {c for c in parts if isinstance(c, str) and c.isidentifier()}
    if not TEXTS.isdisjoint(names):
        names |= dict.fromkeys(_named_in_texts(code))
    whole = not WHOLE.isdisjoint(names) or not WHOLE.isdisjoint(attributes)
    read = frozenset(cells), frozenset(attributes), whole, tuple(chains)
    return Reads(tuple(names), *read, frozenset(imports), catches)


def _named_in_texts(code: types.CodeType) -> list[str]:
    """The variables that texts among the constants name, as Python or as they are."""
    found: list[str] = []
    for text in [c for c in code.co_consts if isinstance(c, str)]:
        try:
            found += reads_of(compile(text, "<text>", "exec")).names
        except (SyntaxError, ValueError):  # it is not Python
            continue
    return found


def module_named(name: str, f: types.FunctionType) -> Any:
    """The module that an import in a function names, where it has been imported; else None."""
    package = f.__globals__.get("__package__")
    if name.startswith("."):
        if not package:
            return None
        name = importlib.util.resolve_name(name, package)
    return sys.modules.get(name)


def _loads_importer(step: dis.Instruction) -> bool:
    return step.argval in IMPORTERS and step.opname in GLOBAL | CELL | ATTRIBUTE


def _named_in_call(steps: list[dis.Instruction], k: int) -> tuple[str, int]:
    """The module that a call names whose function is loaded at ``k``, and where the call ends.

    `ANY_MODULE` where its one argument is not a text as it stands.
    """
    parts = [j for j in range(k + 1, len(steps)) if steps[j].opname not in ("PUSH_NULL", "PRECALL")]
    if len(parts) > 1 and steps[parts[0]].opname == "LOAD_CONST":
        name, call = steps[parts[0]].argval, steps[parts[1]]
        if isinstance(name, str) and name[:1] != "." and call.opname == "CALL" and call.arg == 1:
            return name, parts[1]
    return ANY_MODULE, k


def _imported(steps: list[dis.Instruction], k: int) -> str:
    """The module of the import at ``k``, with a dot for each level of a relative one."""
    return "." * steps[k - 2].argval + steps[k].argval


Modules = dict[str, tuple[str, tuple[str, ...]]]


def _modules(steps: list[dis.Instruction]) -> Modules:
    """What is imported here, by its names here: a module, and what is taken of it."""
    modules: Modules = {}
    module, partly = "", False
    taken: tuple[str, ...] = ()
    for k, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            module = _imported(steps, k)
            partly = bool(steps[k - 1].argval)  # ``from module import name``
        elif step.opname == "IMPORT_FROM":
            # ``import a.b as c`` goes through a to b, and c is the module as it is named.
            taken = (step.argval,) if partly else ()
        elif step.opname.startswith("STORE_"):
            if steps[k - 1].opname == "IMPORT_NAME":
                modules[step.argval] = module.partition(".")[0], ()
            elif steps[k - 1].opname == "IMPORT_FROM":
                modules[step.argval] = module, taken
    for k, name in _called(steps).items():
        end = _end_of_attributes(steps, k)
        if end < len(steps) and steps[end].opname.startswith("STORE_"):
            modules[steps[end].argval] = name, tuple([s.argval for s in steps[k + 1 : end]])
    return modules


def _end_of_attributes(steps: list[dis.Instruction], k: int) -> int:
    """The first instruction behind ``k`` that does not load an attribute of what is there."""
    end = k + 1
    while end < len(steps) and steps[end].opname in ATTRIBUTE:
        end += 1
    return end


def _called(steps: list[dis.Instruction]) -> dict[int, str]:
    """Modules that ``__import__`` and ``import_module`` give, by the place of the call."""
    found = {}
    for k in [k for k, step in enumerate(steps) if _loads_importer(step)]:
        name, end = _named_in_call(steps, k)
        if name != ANY_MODULE:
            found[end] = name.partition(".")[0] if steps[k].argval == "__import__" else name
    return found


def _in_modules(chain: LoadedName, modules: Modules) -> LoadedName:
    """A chain of an inner function that begins with what is imported around it."""
    if chain.imported or chain.root not in modules:
        return chain
    root, before = modules[chain.root]
    return LoadedName(root, (*before, *chain.attributes), True, chain.bare)


def _chains(steps: list[dis.Instruction], modules: Modules) -> list[LoadedName]:
    """The variables that instructions load, each with the attributes loaded of it."""
    found = []
    called = _called(steps)
    for k, step in enumerate(steps):
        local = step.opname.startswith("LOAD_FAST") and step.argval in modules
        if step.opname in GLOBAL | CELL or local or k in called:
            end = _end_of_attributes(steps, k)
            attributes = tuple([s.argval for s in steps[k + 1 : end]])
            bare = _is_bare_call(steps[end : end + 6])
            if k in called:
                found.append(LoadedName(called[k], attributes, True, bare))
            else:
                found.append(_in_modules(LoadedName(step.argval, attributes, False, bare), modules))
    return found


def _is_bare_call(following: list[dis.Instruction]) -> bool:
    """Whether what has just been loaded is called without arguments, or with None."""
    steps = [s for s in following if s.opname not in ("PUSH_NULL", "PRECALL")]
    if steps and steps[0].opname == "LOAD_CONST" and steps[0].argval is None:
        return len(steps) > 1 and steps[1].opname == "CALL" and steps[1].arg == 1
    return bool(steps) and steps[0].opname == "CALL" and steps[0].arg == 0


def instructions(code: types.CodeType) -> list[dis.Instruction]:
    """The instructions that do something."""
    return [i for i in dis.get_instructions(code) if i.opname not in SKIPPED]


def _one_by_one(steps: list[dis.Instruction]) -> list[dis.Instruction]:
    """Instructions that do two things at once, as Python 3.13 has them, as two."""
    found = []
    for step in steps:
        kinds = [kind for kind in step.opname.split("_FAST") if kind]
        if type(step.argval) is not tuple or len(kinds) != 2:
            found.append(step)
            continue
        for kind, name in zip(kinds, step.argval, strict=True):
            opname = f"{kind.strip('_')}_FAST"
            found.append(step._replace(opname=opname, opcode=dis.opmap[opname], arg=0, argval=name))
    return found


def _is_note(steps: list[dis.Instruction], k: int) -> bool:
    """Whether what instruction ``k`` loads is only changed: counted up, or noted down in."""
    return _is_counter(steps, k) or _is_notebook(steps, k)


def _is_counter(steps: list[dis.Instruction], k: int) -> bool:
    load = steps[k]
    following = [s.opname for s in steps[k + 1 : k + 10]]
    before = steps[k - 1].opname if k else ""
    if load.opname in ATTRIBUTE:
        # self.n += 1: the object is copied, and stored into.
        if before != "COPY" or following[1:2] != ["BINARY_OP"] or not _adds(steps[k + 2]):
            return False
        return following[2:4] == ["SWAP", "STORE_ATTR"] and steps[k + 4].argval == load.argval
    if following[1:2] == ["BINARY_OP"] and _adds(steps[k + 2]) and following[0] == "LOAD_CONST":
        store = steps[k + 3]
        return store.opname.startswith("STORE_") and store.argval == load.argval
    item = ["COPY", "COPY", "BINARY_SUBSCR"]
    if following[1:4] != item or len(following) < 9 or following[5] != "BINARY_OP":
        return False
    return _adds(steps[k + 6]) and following[6:9] == ["SWAP", "SWAP", "STORE_SUBSCR"]


def _adds(step: dis.Instruction) -> bool:
    return step.argrepr in ("+=", "-=")


def _is_notebook(steps: list[dis.Instruction], k: int) -> bool:
    """``name.append(...)`` of which nobody takes the result."""
    if k + 1 >= len(steps) or steps[k + 1].opname not in ATTRIBUTE:
        return False
    if steps[k + 1].argval not in NOTES:
        return False
    depth = 1
    for here, after in zip(steps[k + 1 :], steps[k + 2 :], strict=False):
        if here.opcode in dis.hasjrel or here.opcode in dis.hasjabs:
            return False
        depth += dis.stack_effect(here.opcode, here.arg, jump=False)
        if depth == 1 and here.opname.startswith("CALL"):
            return after.opname == "POP_TOP"
        if depth < 1:
            return False
    return False
