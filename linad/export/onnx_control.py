"""Loops and branches: ``Scan``, ``Loop`` and ``If``, with the recorded bodies in them.

    a loop of as many repetitions as were recorded      Scan, over its rows
    one whose number of repetitions is a value          Loop; rows that it does not make are zeros
    one that goes on as long as a test says so          Loop
    a choice                                            If, another one in it for a third branch

A body names the values around it that it reads. What it decides is carried: the decisions hold if
they did in every repetition. So is whether an index that moves lies within its array, which
raises in Python; in a model the first entry stands for it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from linad.control.bodies import Body
from linad.control.branches import Branch
from linad.control.repeat import Repeat
from linad.control.whiles import While
from linad.core.array_type import Array
from linad.core.moving_regions import numbers_at_zero
from linad.core.regions import Part, Region
from linad.core.shapes import Shape, size_of
from linad.core.tape import Equation, Var
from linad.export.onnx_complex import Pair
from linad.export.onnx_selections import zeros
from linad.export.onnx_subgraphs import Step
from linad.export.onnx_values import INTEGER, TRUTH, NoForm, Value
from linad.export.onnx_writer import CLASS_FORMS, Writer, form
from linad.operators.facts import real_dtype

Parts = list[Value]
"""A number or array, or the two parts of complex ones."""


def _parts(writer: Writer, a: Any, shape: Shape, dtype: np.dtype[Any]) -> Parts:
    """An operand, or the result of a body, of this shape and dtype."""
    dtype, old = np.dtype(dtype), a.shape if isinstance(a, Var) else np.shape(a)
    real = real_dtype(dtype)
    if not isinstance(a, Var):
        given = np.broadcast_to(np.asarray(a, dtype), shape)
        both = [given.real, given.imag] if dtype.kind == "c" else [given]
        return [(writer.constant(v), shape, real) for v in both]
    known = writer.names[a]
    names = list(known) if isinstance(known, Pair) else [known]
    names = [writer.cast(n, real_dtype(a.dtype), real) for n in names]
    if size_of(old) == size_of(shape):
        names = [writer.reshape(n, old, shape) for n in names]
    else:
        names = [writer.expand(n, old, shape) for n in names]
    if dtype.kind == "c" and len(names) == 1:
        names.append(writer.constant(np.zeros(shape, real)))
    return [(n, shape, real) for n in names]


def _flattened(values: Sequence[Parts]) -> list[Value]:
    return [part for parts in values for part in parts]


def _grouped(names: Sequence[str], like: Sequence[Parts]) -> list[Parts]:
    """Names as the parts of values like others."""
    rest = iter(names)
    return [[(next(rest), shape, dtype) for _, shape, dtype in parts] for parts in like]


def _name(parts: Parts) -> Any:
    names = [name for name, _, _ in parts]
    return Pair(*names) if len(names) == 2 else names[0]


def _run(writer: Writer, body: Body, given: Sequence[Parts], wanted: Sequence[Any]) -> list[Parts]:
    """One run of a body; its results, of the wanted shapes and dtypes."""
    tape = body.tape
    writer.names.update(zip(tape.inputs, map(_name, given), strict=True))
    writer.equations(tape.equations)
    return [_parts(writer, a, *kind) for a, kind in zip(tape.outputs, wanted, strict=True)]


def _operands(writer: Writer, given: Sequence[Any], kinds: Sequence[Any]) -> list[Parts]:
    return [_parts(writer, a, *kind) for a, kind in zip(given, kinds, strict=True)]


def _kinds(values: Sequence[Any]) -> list[tuple[Shape, Any]]:
    return [(v.shape, v.dtype) for v in values]


def _nameless(kinds: Sequence[tuple[Shape, Any]]) -> list[Parts]:
    """What values of these shapes and dtypes are like."""
    found: list[Parts] = []
    for shape, dtype in kinds:
        found.append([("", shape, real_dtype(dtype))] * (2 if np.dtype(dtype).kind == "c" else 1))
    return found


# As often as was recorded, or as an operand says.


def _repeat(writer: Writer, eqn: Equation) -> Any:
    owner: Any = eqn.primitive
    nc, nx = owner.body.carries, owner.body.rows
    given = _operands(writer, eqn.inputs, owner.shapes)
    count = given.pop(0)[0][0] if owner.counted else ""
    if not owner.n:
        none = [_parts(writer, np.zeros(s, d), s, d) for s, d in owner.results[nc:]]
        return tuple([_name(v) for v in (*given[:nc], *none)])
    write = _counted if owner.counted else _over_rows
    ends, rows = write(writer, owner, count, given[:nc], given[nc : nc + nx], given[nc + nx :])
    return tuple([_name(v) for v in (*ends, *rows)])


def _over_rows(
    writer: Writer, owner: Repeat, count: str, carry: Any, rows: Any, constants: Any
) -> tuple[list[Parts], list[Parts]]:
    numbers = [(writer.constant(np.arange(owner.n)), (owner.n,), INTEGER)]
    arrays = _flattened(rows) or numbers
    if owner.reverse:
        arrays = [(_flipped(writer, n, s[0]), s, d) for n, s, d in arrays]
    like = [[(n, s[1:], d) for n, s, d in parts] for parts in rows]

    def write(names: list[str], given: list[str]) -> Step:
        row = _grouped(given, like) if rows else []
        return _step(writer, owner, _grouped(names, carry), row, constants)

    ends, made = writer.scanned(_flattened(carry), arrays, write)
    if owner.reverse:
        made = [_flipped(writer, name, owner.n) for name in made]
    return _grouped(ends, carry), _grouped(made, _nameless(owner.results[len(carry) :]))


def _step(writer: Writer, owner: Repeat, carry: Any, row: Any, constants: Any) -> Step:
    body = owner.body
    wanted = [*_kinds(body.tape.inputs[: body.carries]), *_kinds(body.outputs[body.carries :])]
    found = _run(writer, body, [*carry, *row, *constants], wanted)
    return _flattened(found[: body.carries]), _flattened(found[body.carries :])


def _flipped(writer: Writer, name: str, n: int) -> str:
    """An array with its last row first."""
    ends = [writer.numbers([k]) for k in (-1, -n - 1, 0, -1)]
    made: str = writer.node("Slice", [name, *ends])
    return made


def _counted(
    writer: Writer, owner: Repeat, count: str, carry: Any, rows: Any, constants: Any
) -> tuple[list[Parts], list[Parts]]:
    like = _nameless(owner.results[len(carry) :])
    if any([not size_of(shape) for _, shape, _ in _flattened(like)]):
        raise NoForm("arrays without entries, as rows of a loop")
    one, yes = writer.constant(1, np.int64), writer.constant(np.array(True))

    def run() -> tuple[list[str], list[str]]:
        def write(k: str, going: str, names: list[str]) -> Step:
            if owner.reverse:
                k = writer.node("Sub", [writer.node("Sub", [count, one]), k])
            row = [
                [(writer.node("Gather", [n, k], axis=0), s[1:], d) for n, s, d in parts]
                for parts in rows
            ]
            new, made = _step(writer, owner, _grouped(names, carry), row, constants)
            # Rows lie flat in a loop: the reference evaluator stacks nothing else rightly.
            flat = [(writer.reshape(n, s, (size_of(s),)), (size_of(s),), d) for n, s, d in made]
            return going, new, flat

        return writer.repeated(count, yes, _flattened(carry), write)

    if not like:
        return _grouped(run()[0], carry), []

    def repeated() -> list[Value]:
        ends, made = run()
        whole = [
            _filled(writer, name, value, count, owner)
            for name, value in zip(made, _flattened(like), strict=True)
        ]
        return _flattened([*_grouped(ends, carry), *_grouped(whole, like)])

    def nothing() -> list[Value]:
        return [
            *_flattened(carry),
            *[(writer.constant(np.zeros(s, d)), s, d) for _, s, d in _flattened(like)],
        ]

    some = writer.node("Less", [writer.constant(0, np.int64), count])
    names = writer.choice(some, repeated, nothing)
    found = _grouped(names, [*carry, *like])
    return found[: len(carry)], found[len(carry) :]


def _filled(writer: Writer, rows: str, value: Value, count: str, owner: Repeat) -> str:
    """The rows of a loop in their order, and zeros for those that it did not make."""
    _, shape, dtype = value
    rows = writer.node("Reshape", [rows, writer.numbers([-1, *shape[1:]])])
    if owner.reverse:
        rows = _flipped(writer, rows, owner.n)
    rest = writer.node("Sub", [writer.numbers([owner.n]), count])
    whole = writer.node("Concat", [rest, writer.numbers(shape[1:])], axis=0)
    zero = writer.node("Expand", [writer.constant(0, dtype), whole])
    made: str = writer.node("Concat", [rows, zero], axis=0)
    return writer.reshape(made, (-1,), shape)


# As long as a test says so.


def _while(writer: Writer, eqn: Equation) -> Any:
    owner: Any = eqn.primitive
    nc = owner.body.carries
    given = _operands(writer, eqn.inputs, owner.shapes)
    carry, constants = given[:nc], given[nc:]
    kinds = owner.shapes[:nc]

    def test(values: Sequence[Parts]) -> str:
        ((found,),) = _run(writer, owner.test, [*values, *constants], [((), TRUTH)])
        return found[0]

    integers = {"count": 0, "rows": 0, "stride": 1, "following": 0}
    numbers: list[Parts] = [
        [(writer.constant(v, np.int64), (), INTEGER)] for v in integers.values()
    ]
    kept: list[Parts] = []
    if owner.kept:
        stored = [[((owner.kept, *s), d) for _, s, d in parts] for parts in carry]
        kept = [[(writer.constant(np.zeros(s, d)), s, d) for s, d in parts] for parts in stored]
    going = test(carry)
    start: list[Parts] = [[(going, (), TRUTH)], *numbers, *kept, *carry]

    def write(k: str, going: str, names: list[str]) -> Step:
        _, *rest = _grouped(names, start)
        state, values = rest[: 4 + len(kept)], rest[4 + len(kept) :]
        state = _kept(writer, owner, k, state, values)
        state[0] = [(writer.node("Add", [k, writer.constant(1, np.int64)]), (), INTEGER)]
        new = _run(writer, owner.body, [*values, *constants], kinds)
        more = test(new)
        return more, _flattened([[(more, (), TRUTH)], *state, *new]), []

    most = np.iinfo(np.int64).max if owner.limit is None else owner.limit
    ends, _ = writer.repeated(writer.constant(most, np.int64), going, _flattened(start), write)
    more, count, _, stride, _, *rest = _grouped(ends, start)
    if owner.limit is not None:
        writer.holds.append(writer.node("Not", [more[0][0]]))
    found = [*rest[len(kept) :], count, *([stride, *rest[: len(kept)]] if kept else [])]
    return tuple([_name(parts) for parts in found])


def _every(n: int, rows: Array) -> Any:
    """Every n-th row, before rows of zeros."""
    found = rows[::n]
    rest = np.zeros((len(rows) - len(found), *rows.shape[1:]), rows.dtype)
    return np.concatenate([found, rest])


def _kept(writer: Writer, owner: While, k: str, state: Any, values: Any) -> list[Parts]:
    """What is kept for the way back, before repetition k: see `linad.control.whiles`."""
    if not owner.kept:
        return list(state)
    (following,) = state[3]
    due = writer.node("Equal", [k, following[0]])

    def keep(
        k: Array, count: Array, rows: Array, stride: Array, following: Array, *arrays: Any
    ) -> Any:
        numbers = np.arange(owner.kept)
        stored, carries = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
        full, first = np.equal(rows, owner.kept), np.equal(stride, 1)
        fewer = np.where(full, np.where(first, owner.leap, 2), 1)
        rows, stride = (rows + fewer - 1) // fewer, stride * fewer
        now = np.equal(k, rows * stride)
        at = now & np.equal(numbers, rows)
        made = []
        for array, value in zip(stored, carries, strict=True):
            place = np.reshape(at, (-1, *[1] * np.ndim(value)))
            thinned = np.where(first, _every(owner.leap, array), _every(2, array))
            made.append(np.where(place, value, np.where(full, thinned, array)))
        rows = np.where(now, rows + 1, rows)
        return count, rows, stride, rows * stride, *made

    def then() -> list[Value]:
        flat = _flattened(state)
        made = writer.record(
            keep, [(k, (), INTEGER), *flat, *_flattened(values)], [(s, d) for _, s, d in flat]
        )
        return _flattened(_grouped(made, state))

    return _grouped(writer.choice(due, then, lambda: _flattened(state)), state)


# One of several.


def _branch(writer: Writer, eqn: Equation) -> Any:
    owner: Any = eqn.primitive
    index, *given = _operands(writer, eqn.inputs, owner.shapes)
    like = _nameless(owner.results)

    def written(k: int) -> list[Value]:
        if k == len(owner.parts) - 1:
            return _flattened(_run(writer, owner.parts[k], given, owner.results))
        here = writer.node("Equal", [_name(index), writer.constant(k, np.int64)])
        names = writer.choice(
            here,
            lambda: _flattened(_run(writer, owner.parts[k], given, owner.results)),
            lambda: written(k + 1),
        )
        return _flattened(_grouped(names, like))

    return tuple([_name(parts) for parts in _grouped([n for n, _, _ in written(0)], like)])


# Entries at a place that moves.


@form("first_entry")
def first_entry(writer: Writer, eqn: Equation) -> Any:
    (i,), params = eqn.inputs, eqn.params
    size, reach, width = params["size"], params["reach"], params["width"]

    def place(i: Array) -> Any:
        ahead = (i >= 0) & (i < size - reach)
        behind = (i >= -size) & (i < min(0, 1 - width))
        return np.where(ahead, i, np.where(behind, i + size, 0)), ahead | behind

    ((name, _, _),) = _parts(writer, i, (), INTEGER)
    found, inside = writer.record(place, [(name, (), INTEGER)], [((), INTEGER), ((), TRUTH)])
    writer.holds.append(inside)
    return found


def _moved(writer: Writer, region: Region, at: Any) -> tuple[str, Shape]:
    """The numbers of the entries of a region, in the array without seeds, in a row."""
    if isinstance(region, Part):
        raise NoForm("parts of complex numbers, at a place that moves")
    numbers = numbers_at_zero(region)
    ((name, _, _),) = _parts(writer, at, (), INTEGER)
    made = writer.node("Add", [writer.constant(numbers.reshape(-1), np.int64), name])
    return made, numbers.shape


def _lead(shape: Shape, ndim: int) -> tuple[Shape, tuple[int, int]]:
    """The axes of seeds, and the array as a matrix with a row for each of them."""
    lead = shape[: len(shape) - ndim]
    return lead, (size_of(lead), size_of(shape[len(lead) :]))


@form("read_moving")
def read_moving(writer: Writer, eqn: Equation) -> Any:
    (x, at), (y,), region = eqn.inputs, eqn.outputs, eqn.params["region"]
    places, inner = _moved(writer, region, at)
    shape = x.shape if isinstance(x, Var) else np.shape(x)
    lead, flat = _lead(shape, region.ndim)
    name = writer.reshape(writer.read(x), shape, flat)
    found = writer.node("Gather", [name, places], axis=1)
    return writer.reshape(found, (flat[0], size_of(inner)), y.shape)


def _put(writer: Writer, eqn: Equation, base: str, value: Any, at: Any, add: bool) -> str:
    (y,), region = eqn.outputs, eqn.params["region"]
    places, inner = _moved(writer, region, at)
    lead, flat = _lead(y.shape, region.ndim)
    count = flat[0], size_of(inner)
    old = value.shape if isinstance(value, Var) else np.shape(value)
    new = writer.expand(writer.read(value, y.dtype), old, (*lead, *inner))
    rows = writer.expand(places, count[1:], count)
    keywords: dict[str, Any] = {"reduction": "add"} if add else {}
    operands = [writer.reshape(base, y.shape, flat), rows]
    operands.append(writer.reshape(new, (*lead, *inner), count))
    made = writer.node("ScatterElements", operands, axis=1, **keywords)
    return writer.reshape(made, flat, y.shape)


@form("write_moving", "add_moving")
def write_moving(writer: Writer, eqn: Equation) -> Any:
    (x, value, at), (y,) = eqn.inputs, eqn.outputs
    base = writer.expand(writer.read(x, y.dtype), np.shape(x), y.shape)
    return _put(writer, eqn, base, value, at, eqn.primitive.name == "add_moving")


@form("insert_moving")
def insert_moving(writer: Writer, eqn: Equation) -> Any:
    value, at = eqn.inputs
    return _put(writer, eqn, zeros(writer, eqn.outputs[0]), value, at, False)


CLASS_FORMS.update({Repeat: _repeat, While: _while, Branch: _branch})
