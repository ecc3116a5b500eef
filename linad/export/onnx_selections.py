"""Selections: primitives that move entries, and add entries up.

Which entry goes where is known when the model is written: the primitive runs on the numbers of
the entries. A block of entries at equal distances is a ``Slice``, a choice along one axis a
``Gather`` along it, anything else a table of numbers of the flat array. What is written or
added somewhere is scattered into the flat array.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core.array_type import Array
from linad.core.regions import Part, Region
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var
from linad.export.onnx_values import NoForm
from linad.export.onnx_writer import FORMS, Writer, form
from linad.operators.relation_shapes import numbered
from linad.rules.decompositions import HermitianReading


def take(writer: Writer, name: str, shape: Shape, numbers: Array) -> str:
    """The entries of these numbers."""
    numbers = np.asarray(numbers, np.int64)
    if not numbers.size:
        raise NoForm("arrays without entries")
    if numbers.size == size_of(shape) and np.array_equal(numbers.ravel(), np.arange(numbers.size)):
        return writer.reshape(name, shape, numbers.shape)
    block = _block(numbers, shape)
    if block is not None:
        return writer.reshape(_slice(writer, name, *block), block[-1], numbers.shape)
    along = _along_one_axis(numbers, shape)
    if along is not None:
        axis, places = along
        found: str = writer.node("Gather", [name, writer.constant(places)], axis=axis)
        return found
    flat = writer.reshape(name, shape, (size_of(shape),))
    found = writer.node("Gather", [flat, writer.constant(numbers.ravel())], axis=0)
    return writer.reshape(found, (numbers.size,), numbers.shape)


def _block(numbers: np.ndarray, shape: Shape) -> Any:
    """Starts, stops, steps and lengths of the slices that read these numbers, in order."""
    first = np.array(np.unravel_index(numbers.flat[0], shape))
    last = np.array(np.unravel_index(numbers.flat[-1], shape))
    places = np.unravel_index(numbers.ravel(), shape)
    lengths = [len(np.unique(p)) for p in places]
    if size_of(lengths) != numbers.size:
        return None
    starts, stops, steps = [], [], []
    for a, b, n in zip(first.tolist(), last.tolist(), lengths, strict=True):
        step = (b - a) // (n - 1) if n > 1 else 1
        if step == 0:
            return None
        starts.append(a)
        steps.append(step)
        stops.append(b + (1 if step > 0 else -1))
    index = tuple(
        [slice(a, b if b >= 0 else None, c) for a, b, c in zip(starts, stops, steps, strict=True)]
    )
    read = numbered(shape)[index]
    if not np.array_equal(read.ravel(), numbers.ravel()):
        return None
    return starts, stops, steps, shape, read.shape


def _slice(
    writer: Writer, name: str, starts: Any, stops: Any, steps: Any, shape: Shape, read: Shape
) -> str:
    axes = [k for k, n in enumerate(shape) if steps[k] != 1 or read[k] != n]
    # Before the first entry of an axis there is no number; far below zero it is cut off.
    ends = [stops[k] if stops[k] >= 0 else -shape[k] - 1 for k in axes]
    names = [name, writer.numbers([starts[k] for k in axes]), writer.numbers(ends)]
    names += [writer.numbers(axes), writer.numbers([steps[k] for k in axes])]
    made: str = writer.node("Slice", names)
    return made


def _along_one_axis(numbers: np.ndarray, shape: Shape) -> Any:
    """The axis and the places along it, where all other axes are read as they are."""
    if numbers.ndim != len(shape):
        return None
    axes = [k for k, (a, b) in enumerate(zip(numbers.shape, shape, strict=True)) if a != b]
    if len(axes) > 1:
        return None
    for axis in axes or range(len(shape)):
        lane = numbers[tuple([slice(None) if k == axis else 0 for k in range(len(shape))])]
        places = np.unravel_index(lane, shape)[axis]
        if np.array_equal(np.take(numbered(shape), places, axis), numbers):
            return axis, places
    return None


def put(
    writer: Writer, base: str, shape: Shape, numbers: Array, values: str, old: Shape, add: bool
) -> str:
    """An array with values written, or added, at entries of these numbers."""
    numbers = np.asarray(numbers, np.int64)
    values = writer.expand(values, old, numbers.shape)
    if not numbers.size:
        return base
    if not add and numbers.size == size_of(shape):
        # All entries: what is written is taken in the order of the entries.
        order = np.argsort(numbers.ravel()).reshape(shape)
        return take(writer, values, numbers.shape, order)
    flat = writer.reshape(base, shape, (size_of(shape),))
    values = writer.reshape(values, numbers.shape, (numbers.size,))
    keywords: dict[str, Any] = {"reduction": "add"} if add else {}
    places = writer.constant(numbers.ravel())
    made = writer.node("ScatterElements", [flat, places, values], axis=0, **keywords)
    return writer.reshape(made, (size_of(shape),), shape)


def zeros(writer: Writer, v: Var) -> str:
    return writer.constant(np.zeros(v.shape, v.dtype))


# What is read.


def _read(writer: Writer, eqn: Equation) -> Any:
    """A primitive that runs on the numbers of the entries as on the entries."""
    (x,), (y,) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return zeros(writer, y)
    numbers = eqn.primitive.impl(numbered(x.shape), **eqn.params)
    return take(writer, writer.read(x), x.shape, numbers)


READS = ("diagonal", "getitem", "main_diagonal", "roll", "windows")

FORMS.update(dict.fromkeys(READS, _read))


def _plain(region: Region) -> Region:
    if isinstance(region, Part):
        raise NoForm("ONNX has no complex numbers to take parts of")
    return region


@form("read_region", "view_region")
def read_region(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return zeros(writer, y)
    numbers = _plain(eqn.params["region"]).take(numbered(x.shape))
    return take(writer, writer.read(x), x.shape, numbers)


@form("pad")
def pad(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    if not size_of(x.shape):
        return writer.constant(eqn.primitive.impl(np.zeros(x.shape, x.dtype), **eqn.params))
    return _placed(writer, eqn, x, y, eqn.primitive.impl)


@form("fit")
def fit(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    return _placed(writer, eqn, x, y, eqn.primitive.impl)


def _placed(writer: Writer, eqn: Equation, x: Any, y: Var, impl: Callable[..., Any]) -> str:
    """Entries of x among constants: found by numbers that the constants do not have."""
    background = impl(np.zeros(x.shape, y.dtype), **eqn.params)
    marks = impl(numbered(x.shape) + 1.0, **eqn.params) - background
    kept = np.flatnonzero(marks.ravel() > 0.5)
    if not kept.size:
        return writer.constant(background, y.dtype)
    numbers = np.rint(marks.ravel()[kept]).astype(np.int64) - 1
    values = take(writer, writer.read(x), x.shape, numbers)
    base = writer.constant(background, y.dtype)
    return put(writer, base, y.shape, kept, values, kept.shape, add=False)


# What is written.


@form("add_at")
def add_at(writer: Writer, eqn: Equation) -> Any:
    (values,), (y,) = eqn.inputs, eqn.outputs
    numbers = numbered(y.shape)[eqn.params["index"].seeded]
    name = writer.read(values, y.dtype)
    add = len(np.unique(numbers)) != np.size(numbers)
    return put(writer, zeros(writer, y), y.shape, numbers, name, np.shape(values), add)


@form("overlap_add")
def overlap_add(writer: Writer, eqn: Equation) -> Any:
    from numpy.lib.stride_tricks import sliding_window_view

    (x,), (y,) = eqn.inputs, eqn.outputs
    window, axes = eqn.params["window"], eqn.params["axes"]
    numbers = sliding_window_view(numbered(y.shape), window, axes)
    return put(writer, zeros(writer, y), y.shape, numbers, writer.read(x), x.shape, add=True)


@form("segment_sum")
def segment_sum(writer: Writer, eqn: Equation) -> Any:
    (x,), (y,) = eqn.inputs, eqn.outputs
    axis, starts = eqn.params["axis"], np.asarray(eqn.params["starts"])
    segment = np.searchsorted(starts, np.arange(x.shape[axis]), side="right") - 1
    kept = np.flatnonzero(segment >= 0)
    name = take(writer, writer.read(x), x.shape, np.take(numbered(x.shape), kept, axis))
    numbers = np.take(numbered(y.shape), segment[kept], axis)
    return put(writer, zeros(writer, y), y.shape, numbers, name, numbers.shape, add=True)


@form("write_region")
def write_region(writer: Writer, eqn: Equation) -> Any:
    (x, value), (y,) = eqn.inputs, eqn.outputs
    numbers = _plain(eqn.params["region"]).take(numbered(y.shape))
    name = writer.read(value, y.dtype)
    return put(writer, writer.read(x, y.dtype), y.shape, numbers, name, np.shape(value), add=False)


@form("insert_region")
def insert_region(writer: Writer, eqn: Equation) -> Any:
    (value,), (y,) = eqn.inputs, eqn.outputs
    numbers = _plain(eqn.params["region"]).take(numbered(y.shape))
    name = writer.read(value, y.dtype)
    return put(writer, zeros(writer, y), y.shape, numbers, name, np.shape(value), add=False)


@form("hermitian")
def hermitian(writer: Writer, eqn: Equation) -> Any:
    (a,), (y,) = eqn.inputs, eqn.outputs
    if not size_of(y.shape):
        return zeros(writer, y)
    read = HermitianReading(a.shape, y.dtype, eqn.params["lower"]).relation().source
    return take(writer, writer.read(a, y.dtype), a.shape, read.reshape(a.shape))


@form("sparse_product")
def sparse_product(writer: Writer, eqn: Equation) -> Any:
    (data, x), (y,) = eqn.inputs, eqn.outputs
    pattern = eqn.params["pattern"]
    read = np.take(numbered(x.shape), pattern.cols, -1)
    if not read.size:
        return zeros(writer, y)
    entries = take(writer, writer.read(x, y.dtype), x.shape, read)
    terms = writer.node("Mul", [writer.read(data, y.dtype), entries])
    numbers = np.take(numbered(y.shape), pattern.rows, -1)
    return put(writer, zeros(writer, y), y.shape, numbers, terms, read.shape, add=True)
