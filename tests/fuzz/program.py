"""A program as text: a function, what stands around it, its arguments, what changes on the way."""

import itertools
import linecache
import sys
import types
from dataclasses import dataclass, replace

import numpy as np

LAYOUTS = ["C", "C", "F", "strided", "reversed", "read-only", "offset"]

_numbers = itertools.count()


def values(seed, shape, dtype="f8", layout="C"):
    """Random values between -2 and 2, or integers from -3 to 3, in some layout."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        x = rng.uniform(-2, 2, shape) + 1j * rng.uniform(-2, 2, shape)
    elif dtype.kind == "f":
        x = rng.uniform(-2, 2, shape)
    elif dtype.kind == "b":
        x = rng.integers(0, 2, shape)
    else:
        x = rng.integers(-3, 4, shape)
    return laid(np.asarray(x, dtype), layout)


def laid(x, layout):
    """The same entries, otherwise in memory."""
    if layout == "F":
        return np.asarray(x, order="F")
    if layout == "strided":
        wide = np.full([2 * n for n in x.shape], 7, x.dtype)
        found = wide[(..., *[slice(None, None, 2)] * x.ndim)]
        found[...] = x
        return found
    if layout == "reversed":
        turned = (..., *[slice(None, None, -1)] * x.ndim)
        return np.array(x[turned])[turned]
    if layout == "offset":
        wide = np.zeros(x.size + 3, x.dtype)
        found = wide[2 : 2 + x.size].reshape(x.shape)
        found[...] = x
        return found
    if layout == "read-only":
        x.flags.writeable = False
    return x


@dataclass(frozen=True)
class Program:
    """A function of some arguments.

    Parameters
    ----------
    around : tuple of str
        Statements of the module: globals, helpers, objects.
    body : tuple of str
        Statements of the function ``f``, in order.
    result : str
        What it returns.
    names : tuple of str
        Its parameters.
    points : tuple of tuple of str
        For each call an expression for each argument.
    changes : tuple of str
        Statements that are run between the calls, before call 1, 2, ...
    seed : int
        Of what the checks choose.
    """

    around: tuple
    body: tuple
    result: str
    names: tuple
    points: tuple
    changes: tuple
    seed: int = 0

    def source(self):
        lines = ["import numpy as np", "from fuzz.program import values", "", *self.around, ""]
        lines += [f"def f({', '.join(self.names)}):"]
        for statement in (*self.body, f"return {self.result}"):
            lines += ["    " + line for line in statement.split("\n")]
        return "\n".join(lines) + "\n"

    def module(self):
        """A module of its own, whose source tracebacks and linad can read."""
        module = types.ModuleType(f"fuzzed_{next(_numbers)}")
        name, source = f"/fuzzed/{module.__name__}.py", self.source()
        linecache.cache[name] = len(source), None, source.splitlines(True), name
        sys.modules[module.__name__] = module
        module.__file__ = name
        exec(compile(source, name, "exec"), module.__dict__)
        return module

    def forget(self, module):
        linecache.cache.pop(module.__file__, None)
        sys.modules.pop(module.__name__, None)

    def script(self):
        """A script that checks this program, for ``python`` with ``tests`` on the path."""
        text = "# " + "\n# ".join(self.source().splitlines())
        return (
            f"from fuzz.checks import check\nfrom fuzz.program import Program\n\n{text}\n\n"
            f"check(Program(\n    around={self.around!r},\n    body=(\n"
            + "".join(f"        {s!r},\n" for s in self.body)
            + f"    ),\n    result={self.result!r},\n    names={self.names!r},\n    points=(\n"
            + "".join(f"        {p!r},\n" for p in self.points)
            + f"    ),\n    changes={self.changes!r},\n    seed={self.seed},\n))\n"
        )

    def without(self, k):
        return replace(self, body=self.body[:k] + self.body[k + 1 :])
