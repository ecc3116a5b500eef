"""Which functions of NumPy and SciPy linad differentiates: a table made by trying them.

The names come from the libraries themselves, so nothing they gain is overlooked. Each function
is called with a traced argument and without (`survey.numpy_calls` holds the calls), and what
comes back decides its class:

differentiable   the result moves with the argument, and its derivative says so
constant         no derivative by nature: the result stays where it is while the argument moves
raises           one of linad's errors, which names what to do instead

There is no other class. A function whose result moves and has no derivative, or differs from
what it is without linad, or is an object array, is in ``unclassified``; a test keeps that
empty. ``python tests/survey/table.py`` prints the table in Markdown.
"""

import contextlib
import functools
import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linad import scipy as mirrors
from linad.api.derivatives import linearize
from linad.core.primitive import Traced
from linad.errors import LinadError
from linad.numpy import polynomial
from survey import (
    numpy_calls as specimens,
    polynomial_calls as specimens_of_polynomials,
    scipy_calls as specimens_of_scipy,
)
from survey.numpy_calls import DIRECTION, MATRIX, Call, quiet

specimens.CALLS.update(specimens_of_scipy.CALLS)
specimens.CALLS.update(specimens_of_polynomials.CALLS)

DIFFERENTIABLE, CONSTANT, RAISES = "differentiable", "constant", "raises"
UNCLASSIFIED = "unclassified"


class Row(NamedTuple):
    """A function and its class; the note says what to do instead, or where it is limited."""

    name: str
    kind: str
    note: str = ""


# One call.


def leaves(result: Any) -> Iterator[Any]:
    """The arrays and numbers in a result, in order."""
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from leaves(part)
    elif isinstance(result, dict):
        for part in result.values():
            yield from leaves(part)
    else:
        yield result


def _is_number(leaf: Any) -> bool:
    """Whether a leaf could have a derivative: a float or complex number, or an array of them."""
    dtype = getattr(leaf, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "fc"
    return isinstance(leaf, (float, complex))


def _same(a: Any, b: Any) -> bool:
    """Whether two leaves agree but for rounding."""
    if not _is_number(b):
        return True
    if np.shape(a) != np.shape(b):
        return False
    eps = float(np.finfo(np.asarray(b).dtype).eps)
    return bool(np.allclose(a, b, rtol=100 * eps, atol=100 * eps, equal_nan=True))


def plain_call(call: Call, function: Any, point: Any = MATRIX) -> list[Any]:
    """The leaves of a call without linad."""
    with quiet():
        return list(leaves(call(function, point.copy())))


class Outcome(NamedTuple):
    """What a call with a traced argument gave.

    Attributes
    ----------
    values : list
        The leaves of the result, plain.
    traced : list of int
        Positions of those that were traced.
    J : TapeOperator
        The derivative of the traced ones; of the argument itself if there are none.
    """

    values: list[Any]
    traced: list[int]
    J: Any


def traced_call(call: Call, function: Any, point: Any = MATRIX) -> Outcome:
    """Call a function with a traced argument and linearize what comes back."""
    found: list[Any] = []

    def f(a: Any) -> Any:
        found[:] = leaves(call(function, a))
        return [leaf for leaf in found if isinstance(leaf, Traced)] or [a]

    with quiet():
        y, J = linearize(f, point)
    traced = [k for k, leaf in enumerate(found) if isinstance(leaf, Traced)]
    for k, value in zip(traced, y if traced else [], strict=True):
        found[k] = value
    return Outcome(found, traced, J)


def classify(name: str, call: Call, function: Any) -> Row:
    """Try one call and say what class it is in."""
    try:
        outcome = traced_call(call, function)
    except LinadError as error:
        return Row(name, RAISES, Exception.__str__(error))  # without the file and line
    except Exception as error:
        return Row(name, UNCLASSIFIED, f"{type(error).__name__}: {error}")
    if any(isinstance(v, np.ndarray) and v.dtype.hasobject for v in outcome.values):
        return Row(name, UNCLASSIFIED, "an object array")
    here = plain_call(call, function)
    near = plain_call(call, function, MATRIX + 1e-5 * DIRECTION)
    if len(outcome.values) != len(here) or not all(map(_same, outcome.values, here)):
        return Row(name, UNCLASSIFIED, "the traced result differs")
    with quiet():
        tangents = outcome.J.pushforward(DIRECTION) if outcome.traced else []
    moving = dict(zip(outcome.traced, tangents, strict=True))
    for k, (a, b) in enumerate(zip(here, near, strict=True)):
        if not _same(a, b) and not np.any(moving.get(k, 0)):
            return Row(name, UNCLASSIFIED, f"part {k} of the result moves without derivative")
    moves = any(bool(np.any(t)) for t in tangents)
    return Row(name, DIFFERENTIABLE if moves else CONSTANT)


# A function and its calls.


class Entry(NamedTuple):
    """A function with the calls to try it by.

    Attributes
    ----------
    name : str
    function : object
    calls : list of callable
        One; for a ufunc one for each argument that could be traced.
    arguments : list of int
        Which arguments those are, of several.
    """

    name: str
    function: Any
    calls: list[Call]
    arguments: list[int]

    def row(self) -> Row:
        """Try all calls. A function that has a derivative in one argument has a derivative."""
        rows = [classify(self.name, call, self.function) for call in self.calls]
        kinds = [row.kind for row in rows]
        kind = next(k for k in (UNCLASSIFIED, DIFFERENTIABLE, CONSTANT, RAISES) if k in kinds)
        note = rows[kinds.index(kind)].note
        refused = [str(i) for i, k in zip(self.arguments, kinds, strict=True) if k == RAISES]
        if refused and kind != RAISES:
            plural = "s" if len(refused) > 1 else ""
            note = f"not in argument{plural} {', '.join(refused)}"
        return Row(self.name, kind, note)


def function_entry(name: str, function: Any) -> Entry:
    """A function with the first call that works without linad; one that takes no numbers is
    tried with them all the same."""
    for call in specimens.trials(name):
        with contextlib.suppress(Exception):
            plain_call(call, function)
            return Entry(name, function, [call], [0])
    # Functions in C tell their signature since NumPy 2.4 only.
    call = specimens.CALLS.get(name) or specimens.filled(function)
    return Entry(name, function, [call], [0])


def ufunc_entry(name: str, ufunc: Any) -> Entry:
    """A ufunc with a call for each argument that takes floats."""
    arguments = specimens.ufunc_arguments(ufunc)
    if arguments is None:
        return Entry(name, ufunc, [specimens.without_floats(ufunc)], [0])
    active = [i for i, (_, x) in enumerate(arguments) if isinstance(x, float)]
    return Entry(name, ufunc, [specimens.ufunc_call(i, arguments) for i in active], active)


def method_entries(ufunc: Any) -> Iterator[Entry]:
    """The methods of a binary ufunc."""
    for method in ("reduce", "accumulate", "reduceat", "outer", "at"):
        call = specimens.ufunc_method(ufunc, method)
        if call is not None:
            yield Entry(f"{ufunc.__name__}.{method}", ufunc, [call], [0])


# Where the names come from.


def public_function(function: Any) -> tuple[str, Any]:
    """A function's full name, and what users find under it."""
    name = f"{function.__module__}.{function.__name__}"
    module = importlib.import_module(function.__module__)
    return name, getattr(module, function.__name__, function)


def numpy_functions() -> dict[str, Any]:
    """The functions that NumPy lets others implement, by full name."""
    from numpy.testing import overrides

    found = map(public_function, overrides.get_overridable_numpy_array_functions())
    return dict(sorted((n, f) for n, f in found if not f.__name__.startswith("_")))


def numpy_ufuncs() -> dict[str, Any]:
    """NumPy's ufuncs, without the unnamed ones behind numpy.strings."""
    from numpy.testing import overrides

    found = {u.__name__: u for u in overrides.get_overridable_numpy_ufuncs()}
    return {n: found[n] for n in sorted(found) if not n.startswith("_")}


def special_ufuncs() -> dict[str, Any]:
    """The ufuncs of scipy.special."""
    import scipy.special

    found = {n: getattr(scipy.special, n) for n in sorted(dir(scipy.special))}
    return {n: f for n, f in found.items() if isinstance(f, np.ufunc)}


BY_TYPE = ("scipy.linalg.blas", "scipy.linalg.lapack")
"""Modules whose names are a letter for the type and a routine: tests/scipy/linalg has these."""


def mirrored_functions(package: Any = mirrors) -> dict[str, Any]:
    """What a package of linad has traced forms of, by the name in NumPy or SciPy."""
    found = {}
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        original = module.name.removeprefix("linad.")
        if original in BY_TYPE:
            continue
        try:
            theirs = importlib.import_module(original)
        except ModuleNotFoundError:
            continue  # a module of linad's own, behind the others
        ours = importlib.import_module(module.name)
        for name in sorted(dir(ours)):
            mine, their = getattr(ours, name), getattr(theirs, name, None)
            if not name.startswith("_") and callable(their) and mine is not their:
                found[f"{original}.{name}"] = mine
    return found


def array_attributes() -> list[str]:
    """The public attributes and methods of ndarray, and its operators."""
    # NumPy 2.2 lists itemset, newbyteorder and ptp, which no array has.
    public = [n for n in dir(np.ndarray) if not n.startswith("_") and hasattr(MATRIX, n)]
    return [*public, *[n for n in dir(np.ndarray) if n in specimens.OPERATORS]]


@functools.cache
def entries() -> dict[str, list[Entry]]:
    """All functions with their calls, by section."""
    sections: dict[str, list[Entry]] = {
        "numpy": [],
        "numpy.linalg": [],
        "numpy.fft": [],
        "Other modules of NumPy": [],
    }
    for name, function in numpy_functions().items():
        module = name.rpartition(".")[0]
        title = module if module in sections else "Other modules of NumPy"
        sections[title].append(function_entry(name, function))
    ufuncs = numpy_ufuncs()
    return sections | {
        "Ufuncs of NumPy": [ufunc_entry(n, u) for n, u in ufuncs.items()],
        "Methods of ufuncs": [e for u in ufuncs.values() for e in method_entries(u)],
        "numpy.ndarray": [
            Entry(name, None, [specimens.attribute(name)], [0]) for name in array_attributes()
        ],
        "Ufuncs of scipy.special": [ufunc_entry(n, u) for n, u in special_ufuncs().items()],
        "linad.numpy.polynomial": [
            function_entry(n, f) for n, f in mirrored_functions(polynomial).items()
        ],
        "linad.scipy": [
            function_entry(n, f)
            for n, f in mirrored_functions().items()
            if not hasattr(f, "is_twin")
        ],
    }


def twin_entries() -> dict[str, list[Entry]]:
    """The functions of `linad.scipy` that run SciPy's own code, with their calls."""
    forms = mirrored_functions().items()
    return {
        "linad.scipy by SciPy's own code": [
            function_entry(n, f) for n, f in forms if hasattr(f, "is_twin")
        ]
    }


def table() -> dict[str, list[Row]]:
    """All rows, by section."""
    everything = entries() | twin_entries()
    return {title: [e.row() for e in found] for title, found in everything.items()}


# The page.


def markdown(rows: dict[str, list[Row]]) -> str:
    """The table as a Markdown page."""
    kinds = (DIFFERENTIABLE, CONSTANT, RAISES)
    lines = ["| | " + " | ".join(kinds) + " |", "|---|" + "---|" * len(kinds)]
    for title, section in rows.items():
        counts = [sum(row.kind == kind for row in section) for kind in kinds]
        lines.append(f"| {title} | " + " | ".join(map(str, counts)) + " |")
    for title, section in rows.items():
        lines += ["", f"## {title}", ""]
        for kind in kinds:
            chosen = [row for row in section if row.kind == kind]
            if not chosen:
                continue
            lines += [f"### {kind.capitalize()} ({len(chosen)})", ""]
            if kind == RAISES:
                lines += [f"- `{row.name}`: {_on_a_line(row)}" for row in chosen]
            else:
                noted = [f"`{r.name}` ({r.note})" if r.note else f"`{r.name}`" for r in chosen]
                lines.append(", ".join(noted))
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _on_a_line(row: Row) -> str:
    """The note without the function's name, with nothing in it that Markdown would read."""
    note = " ".join(row.note.split()).removeprefix(f"{row.name} is not traced by linad; ")
    note = note.removeprefix(f"{row.name}: ")
    return re.sub(r"[|<*_]", r"\\\g<0>", note)


if __name__ == "__main__":
    print(markdown(table()), end="")
