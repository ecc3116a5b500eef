"""What the command line is given: a function in a file, and the point to run it at.

FILE.py:FUNCTION        FUNCTION may be dotted, as in Model.loss
POINT.npz               arrays named as the parameters, or arr_0, arr_1 ... in order
POINT.npy               the array that is the only argument
EXPR                    Python, with np, linad and the file's own names; a tuple is the arguments
"""

import importlib.util
import inspect
import re
import sys
import traceback
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import linad
from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import is_inexact
from linad.core.showing import shown
from linad.errors import RefusalError


class UsageError(Exception):
    """The command cannot be run as it was given; the text says why in one line."""


@dataclass
class Problem:
    """A function at a point.

    Attributes
    ----------
    function : callable
    place : str
        Its file and line.
    names, values : list
        The arguments, positional ones first.
    keywords : int
        How many arguments at the end are passed by keyword.
    """

    function: Callable[..., Any]
    place: str
    names: list[str]
    values: list[Any]
    keywords: int = 0

    @property
    def active(self) -> list[int]:
        """Which arguments are differentiated: those whose entries are all floating."""
        return [i for i, value in enumerate(self.values) if _is_floating(value)]

    @property
    def point(self) -> tuple[Any, ...]:
        """The arguments that are differentiated."""
        return tuple(self.values[i] for i in self.active)

    def copies(self) -> tuple[Any, ...]:
        """The point in arrays of its own, which the function may write into."""
        leaves, structure = tree.flatten(self.point)
        return tuple(tree.unflatten(structure, [np.array(x)[()] for x in leaves]))

    def __call__(self, *point: Any) -> Any:
        """Run the function at another point; what is not differentiated stays."""
        values = list(self.values)
        for i, value in zip(self.active, point, strict=True):
            values[i] = value
        first = len(values) - self.keywords
        return self.function(
            *values[:first], **dict(zip(self.names[first:], values[first:], strict=True))
        )

    @property
    def __name__(self) -> str:
        return getattr(self.function, "__name__", None) or type(self.function).__name__


def _is_floating(value: Array) -> bool:
    leaves = tree.flatten(value)[0]
    return bool(leaves) and all(is_inexact(np.asarray(leaf).dtype) for leaf in leaves)


def load_problem(where: str, at: str | None) -> Problem:
    """Return the function FILE.py:FUNCTION at a point, which has to be said.

    Raises
    ------
    UsageError
        If there is no such file, function or point, or nothing to differentiate in.
    """
    path, module, function = load_function(where)
    if at is None:
        raise UsageError(
            f'say at which point: --at "np.ones(3)", or a tuple of the arguments of '
            f"{getattr(function, '__name__', where)}{_signature_of(function)}"
        )
    if at.endswith((".npz", ".npy")):
        names, values, keywords = read_point(Path(at), function)
    else:
        names, values, keywords = evaluate_point(at, function, module)
    problem = Problem(function, place_of(function, path), names, values, keywords)
    if not problem.active:
        raise UsageError(
            "--at: no argument is an array of floats, and only those have derivatives; write "
            "2.0 instead of 2"
        )
    return problem


def load_function(where: str) -> tuple[Path, ModuleType, Callable[..., Any]]:
    """Return the file, its module and the function of FILE.py:FUNCTION; runs the file."""
    file, colon, name = where.rpartition(":")
    if not colon or not name or not file.endswith(".py"):
        raise UsageError(f"{where!r} is not of the form FILE.py:FUNCTION")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"the file {file} does not exist")
    module = import_file(path)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{file} has no function {name!r}; it has: {_functions_of(module)}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{where} must be a function, got {shown(found)}")
    return path, module, found


def _functions_of(module: ModuleType) -> str:
    names = [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__
    ]
    return ", ".join(names) or "none"


def import_file(path: Path) -> ModuleType:
    """Run a Python file as a module; it can import its neighbours, as a script can."""
    name = re.sub(r"\W", "_", path.stem)
    spec = importlib.util.spec_from_file_location(f"_linad_file_{name}", path.resolve())
    if spec is None or spec.loader is None:
        raise UsageError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise UsageError(f"{path} does not run: {describe(error)}") from error
    return module


def describe(error: BaseException) -> str:
    """The type, text and innermost line of an exception, in one line."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    if isinstance(error, SyntaxError):
        return text
    frames = traceback.extract_tb(error.__traceback__)
    return f"{text} ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else text


def line_of(error: BaseException) -> str:
    """The user's innermost line on the way to an error, in brackets; "" where there is none, and
    where the message names it.
    """
    if isinstance(error, RefusalError) and error.place:
        return ""
    inside = Path(linad.__file__).parent
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if inside not in path.parents and not path.match("rules/*.py"):
            return f" ({path.name}:{frame.lineno})"
    return ""


def place_of(function: Callable[..., Any], path: Path) -> str:
    """Where a function is defined; the file alone where Python does not know."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None or Path(code.co_filename) != path.resolve():
        return str(path)
    return f"{path}:{code.co_firstlineno}"


def evaluate_point(
    text: str, function: Callable[..., Any], module: ModuleType
) -> tuple[list[str], list[Any], int]:
    """Return the arguments that a Python expression gives."""
    scope = {**vars(module), "np": np, "linad": linad}
    try:
        value = eval(text, scope)
    except Exception as error:
        raise UsageError(f"--at {text!r}: {type(error).__name__}: {error}") from error
    values = list(value) if type(value) is tuple else [value]
    return _bind(function, values, {}, f"--at {text!r}")


def read_point(path: Path, function: Callable[..., Any]) -> tuple[list[str], list[Any], int]:
    """Return the arguments that the arrays of an .npz file give, or the one of an .npy file."""
    if not path.is_file():
        raise UsageError(f"the file {path} does not exist")
    try:
        loaded = np.load(path)
        if isinstance(loaded, np.ndarray):
            return _bind(function, [loaded[()]], {}, str(path))
        with loaded as archive:
            arrays = {name: archive[name][()] for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        kind = path.suffix.removeprefix(".")
        raise UsageError(f"{path} is not an .{kind} file of plain arrays: {error}") from error
    if arrays and all(re.fullmatch(r"arr_\d+", name) for name in arrays):
        order = sorted(arrays, key=lambda name: int(name.removeprefix("arr_")))
        return _bind(function, [arrays[name] for name in order], {}, str(path))
    return _bind(function, [], arrays, str(path))


def _signature_of(function: Callable[..., Any]) -> str:
    try:
        return str(inspect.signature(function))
    except ValueError:  # a builtin without one
        return "(...)"


def _bind(
    function: Callable[..., Any], values: list[Any], named: dict[str, Any], source: str
) -> tuple[list[str], list[Any], int]:
    """Match values with the parameters of a function: their names, values, how many by keyword."""
    try:
        bound = inspect.signature(function).bind(*values, **named)
    except ValueError:  # a builtin without a signature
        return (
            [*(f"arg{i}" for i in range(len(values))), *named],
            [*values, *named.values()],
            len(named),
        )
    except TypeError as error:
        given = ", ".join(named) if named else f"{len(values)} argument(s)"
        whole = "; one array is np.array([...])" if len(values) > 1 else ""
        called = f"{getattr(function, '__name__', 'called')}{inspect.signature(function)}"
        raise UsageError(
            f"{source} gives {given}, but the function is {called}: {error}{whole}"
        ) from error
    names = _positional_names(bound)
    return [*names, *bound.kwargs], [*bound.args, *bound.kwargs.values()], len(bound.kwargs)


def _positional_names(bound: inspect.BoundArguments) -> list[str]:
    """A name for each of ``bound.args``; those of ``*args`` are numbered."""
    names: list[str] = []
    for name, parameter in bound.signature.parameters.items():
        if name not in bound.arguments or len(names) == len(bound.args):
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{name}[{i}]" for i in range(len(bound.arguments[name]))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(name)
    return names
