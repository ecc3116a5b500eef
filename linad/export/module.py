"""A module that is being written: its imports, constants and helpers, and how values look in it."""

import base64
import functools
import importlib
import math
import types
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.regions import Part, Region
from linad.core.shapes import Shape, size_of
from linad.errors import ExportError
from linad.export.embedding import Embedder

PLAIN = 24
"""Entries up to which a constant array is written out number by number."""

LIBRARIES = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "numpy.lib.stride_tricks",
    "scipy.special",
    "scipy.linalg",
    "scipy.fft",
    "scipy.signal",
)
"""Where the functions of NumPy and SciPy are looked for, with the names users know."""

STANDARD = {"itertools", "functools", "operator", "math"}

CONSTANT = '''
def _constant(dtype, shape, text):
    """An array from its bytes, compressed and written in base 64."""
    data = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(data, dtype).reshape(shape)
'''


class Module:
    """What a generated module holds beside its functions.

    Attributes
    ----------
    imports : set of str
        Names of modules.
    helpers : dict
        Source of each helper function, by name.
    constants : list of str
        Lines that define arrays.
    """

    def __init__(self) -> None:
        self.imports: set[str] = {"numpy"}
        self.helpers: dict[str, str] = {}
        self.constants: list[str] = []
        self.embedder = Embedder(self)
        self._known: dict[Any, str] = {}

    # Values.

    def text(self, value: Any) -> str:
        """An expression for a value.

        Raises
        ------
        ExportError
            If there is none.
        """
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return f"{self._scalar_type(value.dtype)}({_number(value.item())})"
        if isinstance(value, (bool, type(None), str, int, type(Ellipsis))):
            return "..." if value is ... else repr(value)
        if isinstance(value, (float, complex)):
            return _number(value)
        if isinstance(value, slice):
            parts = [self.text(p) for p in (value.start, value.stop, value.step)]
            return f"slice({', '.join(parts)})"
        if isinstance(value, tuple):
            parts = [self.text(v) for v in value]
            if hasattr(value, "_fields"):
                return f"{self._named(type(value))}({', '.join(parts)})"
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if isinstance(value, list):
            return "[" + ", ".join([self.text(v) for v in value]) + "]"
        if isinstance(value, dict):
            pairs = [f"{self.text(k)}: {self.text(v)}" for k, v in value.items()]
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, np.dtype):
            return self._scalar_type(value)
        if isinstance(value, type) and issubclass(value, np.generic):
            return f"np.{value.__name__}"
        if isinstance(value, types.ModuleType) or callable(value):
            return self.function(value)
        raise ExportError(f"a {type(value).__name__} has no text form")

    def _named(self, kind: Any) -> str:
        """The name of a class of named tuples, which is defined anew."""
        self.imports.add("collections")
        name, fields = kind.__name__, " ".join(kind._fields)
        return self.helper(name, f'{name} = collections.namedtuple("{name}", "{fields}")')

    @staticmethod
    def _scalar_type(dtype: np.dtype[Any]) -> str:
        if dtype.kind not in "biufc" or not dtype.isnative:
            raise ExportError(f"dtype {dtype} has no text form")
        return f"np.{dtype.type.__name__}" if dtype.kind != "b" else "np.bool_"

    def _array(self, array: np.ndarray) -> str:
        kind = self._scalar_type(array.dtype)
        if array.ndim == 0:
            return f"np.asarray({_number(array.item())}, {kind})"
        if size_of(array.shape) and not any(array.strides):
            return f"np.full({array.shape!r}, {_number(array.flat[0].item())}, {kind})"
        key = array.dtype.str, array.shape, array.tobytes()
        name = self._known.get(key)
        if name is None:
            name = self._known[key] = f"C{len(self._known)}"
            if array.size <= PLAIN:
                numbers = _nested(array.tolist())
                line = f"{name} = np.array({numbers}, {kind}).reshape({array.shape!r})"
            else:
                self.imports |= {"base64", "zlib"}
                self.helpers.setdefault("_constant", CONSTANT.strip())
                packed = base64.b64encode(zlib.compress(array.tobytes(), 9)).decode()
                line = f'{name} = _constant({kind}, {array.shape!r}, "{packed}")'
            self.constants.append(line)
        return name

    def index(self, index: tuple[Any, ...]) -> str:
        """What stands between the square brackets."""
        parts = []
        for entry in index:
            if isinstance(entry, slice):
                start, stop, step = [
                    "" if p is None else str(p) for p in (entry.start, entry.stop, entry.step)
                ]
                parts.append(f"{start}:{stop}" + (f":{step}" if step else ""))
            else:
                parts.append(self.text(entry))
        return ", ".join(parts) or "()"

    def region(self, region: Region, shape: Shape) -> str:
        """The index that reads a region of an array: slices where these do, or entry numbers."""
        if isinstance(region, Part):
            return self.region(region.inner, shape)
        if region.ndim != len(shape):
            raise ExportError("views behind leading axes have no text form")
        numbers = region.numbers(shape)
        found = _as_slices(numbers, shape)
        if found is not None:
            return f"[{self.index(found)}]"
        places = np.unravel_index(numbers, shape) if len(shape) > 1 else (numbers,)
        return "[" + ", ".join([self.text(np.asarray(p)) for p in places]) + "]"

    # Functions.

    def function(self, function: Any) -> str:
        """The name of a function of NumPy or SciPy, or of a helper that is like one of linad's."""
        if isinstance(function, types.ModuleType):
            self.imports.add(function.__name__)
            return "np" if function.__name__ == "numpy" else function.__name__
        known = self._known.get(("function", id(function)))
        if known is None:
            known = _public_name(function) or self.embedder.helper(function)
            self._known["function", id(function)] = known
        if "." in known and not known.startswith("np."):
            home, _, name = known.rpartition(".")
            if home.startswith("numpy"):
                return f"np{home.removeprefix('numpy')}.{name}"
            self.imports.add(home)
        return known

    def known_as(self, function: Callable[..., Any], name: str) -> None:
        """Remember the name of a function before it is written."""
        self._known["function", id(function)] = name

    def helper(self, name: str, source: str) -> str:
        """Add a helper function; return its name."""
        self.helpers.setdefault(name, source.strip())
        return name

    def head(self) -> str:
        """Imports, constants and helpers."""
        lines = []
        for name in sorted(self.imports):
            lines.append("import numpy as np" if name == "numpy" else f"import {name}")
        lines += ["", "nan, inf = np.nan, np.inf"]
        text = "\n".join(lines)
        for source in self.helpers.values():
            text += f"\n\n\n{source}"
        return text + "\n" + ("\n\n" + "\n".join(self.constants) + "\n" if self.constants else "")


def _number(value: Any) -> str:
    if isinstance(value, complex) and not (math.isfinite(value.real) and math.isfinite(value.imag)):
        return f"complex({value.real!r}, {value.imag!r})"
    if isinstance(value, complex) and math.copysign(1, value.real) < 0:
        return f"complex({value.real!r}, {value.imag!r})"  # repr reads -0.0 as 0.0
    return repr(value)


def _nested(values: Any) -> str:
    if isinstance(values, list):
        return "[" + ", ".join([_nested(v) for v in values]) + "]"
    return _number(values)


@functools.cache
def _public_names() -> dict[int, str]:
    """Names of the functions of NumPy and SciPy that users know, by identity."""
    found: dict[int, str] = {}
    for name in LIBRARIES:
        module = importlib.import_module(name)
        for key, value in vars(module).items():
            if callable(value) and not key.startswith("_"):
                found.setdefault(id(value), f"{name}.{key}")
    return found


def _public_name(function: Any) -> str | None:
    known = _public_names().get(id(function))
    home = str(getattr(function, "__module__", None))
    if known is None and home in STANDARD:
        known = f"{home}.{function.__name__}"
    return known


def _as_slices(numbers: np.ndarray, shape: Shape) -> tuple[Any, ...] | None:
    """The slices and integers that read these entries, if there are such."""
    if not numbers.size or not size_of(shape):
        return None
    all_numbers = np.arange(size_of(shape)).reshape(shape)
    first = np.unravel_index(int(numbers.reshape(-1)[0]), shape)
    last = np.unravel_index(int(numbers.reshape(-1)[-1]), shape)
    lengths = list(numbers.shape)
    found: list[Any] = []
    for k, (a, b) in enumerate(zip(map(int, first), map(int, last), strict=True)):
        n = lengths[0] if lengths else 0
        left = len(shape) - k
        if not lengths or (a == b and not (n == 1 and len(lengths) == left)):
            found.append(a)
            continue
        lengths.pop(0)
        step = (b - a) // (n - 1) if n > 1 else 1
        stop = b + (1 if step > 0 else -1)
        whole = step == 1 and a == 0 and stop == shape[k]
        if whole:
            found.append(slice(None))
        else:
            found.append(slice(a, stop if stop >= 0 else None, None if step == 1 else step or None))
    try:
        read = all_numbers[tuple(found)]
    except (IndexError, ValueError):
        return None
    return tuple(found) if np.array_equal(read, numbers) else None
