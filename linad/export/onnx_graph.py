"""Models of programs: one for fixed shapes, and one for an axis of any length.

A program is recorded for arrays of given shapes. Where an axis is to have any length the
function is recorded at three lengths, and the three graphs are laid over each other: nodes must
be the same, and a constant that differs must be one of the kinds below, at all three lengths.

    integers, each a n + b       a shape: of what Reshape and Expand make
    the same along the axis      c, c (n - k) or c / (n - k), expanded to a shape a n + b, ...
    start, start + step, ...     Range

So what the function does to the length is found out, and where it does something else the
export is refused.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from linad.control.kept_values import nothing_kept
from linad.core import tree
from linad.core.array_type import Array
from linad.core.tape import Var
from linad.errors import ExportError, LinadError
from linad.export import (
    onnx_bessel as _bessel,
    onnx_complex as _complex,
    onnx_compositions as _compositions,
    onnx_control as _control,
    onnx_exponentials as _exponentials,
    onnx_incomplete as _incomplete,
    onnx_integrals as _integrals,
    onnx_matrices as _matrices,
    onnx_matrix_functions as _matrix_functions,
    onnx_nodes as _nodes,
    onnx_positions as _positions,
    onnx_raising as _raising,
    onnx_reductions as _reductions,
    onnx_searching as _searching,
    onnx_selections as _selections,
    onnx_special as _special,
    onnx_spectral as _spectral,
    onnx_trigonometry as _trigonometry,
)
from linad.export.onnx_program import HOLDS, ModelProgram, ModelValue
from linad.export.onnx_values import NoForm, tensor_type
from linad.export.onnx_writer import DOMAIN, IR_VERSION, OPSET, Writer

FORM_MODULES = (
    *(_nodes, _selections, _positions, _searching, _matrices, _complex, _control, _raising),
    *(
        _exponentials,
        _trigonometry,
        _compositions,
        _reductions,
        _special,
        _bessel,
        _incomplete,
        _integrals,
        _matrix_functions,
        _spectral,
    ),
)
"""They register how primitives are written."""

LENGTHS = (11, 14, 18)
"""At which an axis of any length is recorded."""

Shapes = tuple[dict[str, ModelValue], dict[str, ModelValue]]


def graph_of(program: ModelProgram) -> tuple[Any, Shapes]:
    """The model of a program, and its inputs and outputs."""
    writer, shapes = _written(program, shared=True)
    constants = [numpy_helper.from_array(v, n) for n, v in writer.constants.items()]
    return _model(program.name, writer, writer.nodes, constants, shapes), shapes


def _written(program: ModelProgram, shared: bool) -> tuple[Writer, Shapes]:
    tape = program.tape
    writer = Writer(shared)
    writer.reserve([*program.inputs, *program.outputs, HOLDS])
    for v, name in zip(tape.inputs, program.inputs, strict=True):
        try:
            tensor_type(v.dtype)
        except NoForm as problem:
            raise ExportError(f"onnx: argument {name} is {v.type}: {problem}") from None
    _check_signs(program)
    writer.names.update(zip(tape.inputs, program.inputs, strict=True))
    writer.equations(tape.equations)
    inputs = {
        name: ModelValue(v.shape, np.dtype(v.dtype))
        for name, v in zip(program.inputs, tape.inputs, strict=True)
    }
    outputs = {}
    writer.place = ""
    for name, a in zip(program.outputs, program.results, strict=True):
        try:
            found = writer.read(a)
        except NoForm as problem:
            raise ExportError(f"onnx: the result {name}: {problem}") from None
        writer.nodes.append(helper.make_node("Identity", [found], [name]))
        shape, dtype = (a.shape, a.dtype) if isinstance(a, Var) else (np.shape(a), a.dtype)
        outputs[name] = ModelValue(shape, np.dtype(dtype))
    if writer.holds:
        held = writer.all_hold(writer.holds)
        writer.nodes.append(helper.make_node("Identity", [held], [HOLDS]))
        outputs[HOLDS] = ModelValue((), np.dtype(bool))
    return writer, (inputs, outputs)


def _check_signs(program: ModelProgram) -> None:
    with np.errstate(all="ignore"):
        eqn = _spectral.sign_dependent(program.tape, program.arrays)
    if eqn is not None:
        place = f" at {eqn.source}" if eqn.source is not None else ""
        raise ExportError(
            f"onnx: {eqn.primitive.name}{place}: the results depend on the signs of its vectors, "
            f"which LAPACK chooses; use the vectors in products in which signs cancel, such as "
            f"(V * w) @ V.T, or fix the signs, as by V * np.sign(V[0])"
        )


def _model(name: str, writer: Writer, nodes: Any, constants: Any, shapes: Shapes) -> Any:
    inputs, outputs = [
        [helper.make_tensor_value_info(n, tensor_type(v.dtype), v.shape) for n, v in part.items()]
        for part in shapes
    ]
    graph = helper.make_graph(nodes, name, inputs, outputs, constants)
    imports = [helper.make_opsetid("", OPSET)]
    functions = list(writer.functions.values())
    if functions:
        imports.append(helper.make_opsetid(DOMAIN, 1))
    model = helper.make_model(
        graph, opset_imports=imports, functions=functions, producer_name="linad"
    )
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model, full_check=True)
    return model


# Axes of any length.


def symbolic_graph_of(
    program: ModelProgram, axes: Mapping[str, Mapping[int, str]]
) -> tuple[Any, Shapes]:
    """The model of a program in which some axes have any length."""
    symbol = _symbol(program, axes)
    taken = {n for a in program.arrays for n in np.shape(a)}
    lengths = [n + 20 * (not taken.isdisjoint(LENGTHS)) for n in LENGTHS]
    with nothing_kept():
        programs = [_resized(program, axes, n, symbol) for n in lengths]
    written = [_written(p, shared=False) for p in programs]
    return _Overlay(program, axes, symbol, lengths, written).model()


def _symbol(program: ModelProgram, axes: Mapping[str, Mapping[int, str]]) -> str:
    symbols = {name for named in axes.values() for name in named.values()}
    if len(symbols) != 1:
        raise ExportError(
            f"onnx: expected one name for the axes of any length, got {sorted(symbols)}"
        )
    ndims = {n: np.ndim(a) for n, a in zip(program.inputs, program.arrays, strict=True)}
    for name, named in axes.items():
        if name not in ndims:
            raise ExportError(f"onnx: axes: {name!r} is not one of {program.inputs}")
        for axis in named:
            if not 0 <= axis < ndims[name]:
                raise ExportError(
                    f"onnx: axes: expected an axis of {name} in [0, {ndims[name]}), got {axis}"
                )
    return symbols.pop()


def _resized(
    program: ModelProgram, axes: Mapping[str, Mapping[int, str]], n: int, symbol: str
) -> ModelProgram:
    """The program for arrays with n entries along the axes, repeated in turn."""
    arrays = []
    for name, a in zip(program.inputs, program.arrays, strict=True):
        for axis in axes.get(name, ()):
            a = np.take(a, np.arange(n) % a.shape[axis], axis)
        arrays.append(a)
    leaves, structure = tree.flatten((program.args, program.kwargs))
    positions = program.positions
    for k, a in zip(positions, arrays, strict=True):
        leaves[k] = a
    args, kwargs = tree.unflatten(structure, leaves)
    try:
        return ModelProgram(program.function, args, kwargs)
    except (LinadError, ValueError, IndexError, TypeError) as problem:
        raise ExportError(
            f"onnx: {program.name} does not run with {n} entries along {symbol!r}: {problem}"
        ) from problem


class _Overlay:
    """Graphs of one program at three lengths, laid over each other."""

    def __init__(
        self,
        program: ModelProgram,
        axes: Mapping[str, Mapping[int, str]],
        symbol: str,
        lengths: Sequence[int],
        written: Sequence[tuple[Writer, Shapes]],
    ) -> None:
        self.program, self.axes, self.symbol, self.lengths = program, axes, symbol, lengths
        self.writers = [w for w, _ in written]
        self.shapes = [s for _, s in written]
        self.head: list[Any] = []
        self.constants: list[Any] = []
        self.count = 0
        self.length = ""

    def model(self) -> tuple[Any, Shapes]:
        first = self.writers[0]
        texts = [[n.SerializeToString() for n in w.nodes] for w in self.writers]
        if not texts[0] == texts[1] == texts[2]:
            self._refuse("its steps", self._first_difference(texts))
        functions = [
            {k: f.SerializeToString() for k, f in w.functions.items()} for w in self.writers
        ]
        if not functions[0] == functions[1] == functions[2]:
            self._refuse("a factorization or solution of matrices", "")
        targets = _targets_of_reshapes(first.nodes)
        for name in first.constants:
            self._constant(name, [w.constants[name] for w in self.writers], name in targets)
        inputs, outputs = [
            {n: self._value([s[part][n] for s in self.shapes]) for n in self.shapes[0][part]}
            for part in (0, 1)
        ]
        shapes = inputs, outputs
        nodes = [*self.head, *first.nodes]
        return _model(self.program.name, first, nodes, self.constants, shapes), shapes

    def _first_difference(self, texts: list[list[bytes]]) -> str:
        for k, (a, b, c) in enumerate(zip(*texts, strict=False)):
            if not a == b == c:
                return str(self.writers[0].nodes[k].doc_string)
        return ""

    def _refuse(self, what: str, place: str) -> None:
        at = f" at {place}" if place else ""
        raise ExportError(
            f"onnx: {self.symbol!r} cannot have any length: {what}{at} depends on it in a way that "
            f"a model cannot follow; export {self.program.name} without axes, for one length"
        )

    def _value(self, values: list[ModelValue]) -> ModelValue:
        shape: list[int | str] = []
        for sizes in zip(*[v.shape for v in values], strict=True):
            line = self._line([int(s) for s in sizes])
            if line is None:
                self._refuse("the shape of a result", "")
            elif line == (0, sizes[0]):
                shape.append(int(sizes[0]))
            elif line == (1, 0):
                shape.append(self.symbol)
            else:
                a, b = line
                shape.append(f"{a}*{self.symbol}{'+' if b >= 0 else ''}{b}")
        return ModelValue(tuple(shape), values[0].dtype)

    # Numbers that depend on the length.

    def _line(self, values: Sequence[int]) -> tuple[int, int] | None:
        """(a, b) where the values are a n + b."""
        n = self.lengths
        a = Fraction(values[1] - values[0], n[1] - n[0])
        b = values[0] - a * n[0]
        if a.denominator != 1 or b.denominator != 1 or a * n[2] + b != values[2]:
            return None
        return int(a), int(b)

    def _constant(self, name: str, values: list[np.ndarray], reshapes: bool) -> None:
        first = values[0]
        if all([v.shape == first.shape and v.tobytes() == first.tobytes() for v in values]):
            self.constants.append(numpy_helper.from_array(first, name))
            return
        if (
            (first.dtype == np.int64 and first.ndim <= 1 and self._shape(name, values, reshapes))
            or self._repeated(name, values)
            or self._range(name, values)
        ):
            return
        self._refuse("a table of entries", self._reader(name))

    def _reader(self, name: str) -> str:
        for node in self.writers[0].nodes:
            if name in node.input:
                return str(node.doc_string)
        return ""

    def _node(self, op: str, inputs: list[str], output: str = "", **attributes: Any) -> str:
        self.count += 1
        name = output or f"any_{self.count}"
        self.head.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def _given(self, value: Any, dtype: Any) -> str:
        self.count += 1
        name = f"any_{self.count}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def _length_as_value(self) -> str:
        """The length, an int64 list of one."""
        if not self.length:
            name, named = next((k, v) for k, v in self.axes.items() if v)
            axis = next(iter(named))
            shape = self._node("Shape", [name], start=axis, end=axis + 1)
            self.length = shape
        return self.length

    def _linear(self, a: int, b: int) -> str:
        """a n + b, a list of one."""
        if not a:
            return self._given([b], np.int64)
        found = self._length_as_value()
        if a != 1:
            found = self._node("Mul", [found, self._given([a], np.int64)])
        return self._node("Add", [found, self._given([b], np.int64)]) if b else found

    def _shape(self, name: str, values: list[np.ndarray], reshapes: bool) -> bool:
        if any([v.shape != values[0].shape for v in values]):
            return False
        columns = zip(*[v.reshape(-1).tolist() for v in values], strict=True)
        lines = [self._line(c) for c in columns]
        if any([line is None for line in lines]):
            return False
        found = [line for line in lines if line is not None]
        moving = [k for k, (a, _) in enumerate(found) if a]
        if reshapes and len(moving) == 1:
            target = [-1 if a else b for a, b in found]
            self.constants.append(numpy_helper.from_array(np.array(target, np.int64), name))
            return True
        parts = [self._linear(a, b) for a, b in found]
        if not values[0].ndim:
            empty = self._given(np.zeros(0), np.int64)
            self._node("Reshape", [parts[0], empty], name)
        else:
            self._node("Concat", parts, name, axis=0)
        return True

    def _repeated(self, name: str, values: list[np.ndarray]) -> bool:
        """What is the same all along the axes that have any length."""
        if len({v.ndim for v in values}) != 1 or not all([v.size for v in values]):
            return False
        sizes = zip(*[v.shape for v in values], strict=True)
        lines = [self._line([int(n) for n in ns]) for ns in sizes]
        if any([line is None for line in lines]):
            return False
        first: Any = tuple([slice(0, 1 if line and line[0] else None) for line in lines])
        heads = [v[first] for v in values]
        if any(
            [
                not np.array_equal(np.broadcast_to(h, v.shape), v)
                for h, v in zip(heads, values, strict=True)
            ]
        ):
            return False
        number = self._number(heads, values[0].dtype)
        if number is None:
            return False
        if not values[0].ndim:
            self._node("Identity", [number], name)
            return True
        shape = self._node("Concat", [self._linear(*line) for line in lines if line], axis=0)
        self._node("Expand", [number, shape], name)
        return True

    def _number(self, values: list[Any], dtype: Any) -> str | None:
        """Numbers that are the same, or c (n - k), or c / (n - k), for k = 0, 1, 2."""
        if all([np.array_equal(values[0], v) for v in values]):
            return self._given(values[0], dtype)
        if dtype.kind != "f":
            return None
        eps = 4 * float(np.finfo(dtype).eps)
        for less in (0, 1, 2):
            sizes = [n - less for n in self.lengths]
            for op, scaled in (
                ("Div", [v.astype(float) * n for v, n in zip(values, sizes, strict=True)]),
                ("Mul", [v.astype(float) / n for v, n in zip(values, sizes, strict=True)]),
            ):
                spread = np.max(scaled, axis=0) - np.min(scaled, axis=0)
                if np.all(spread <= eps * np.abs(scaled[0])):
                    return self._scaled(op, scaled[0], less, dtype)
        return None

    def _scaled(self, op: str, c: Array, less: int, dtype: np.dtype[Any]) -> str:
        """c (n - less), or c / (n - less)."""
        eps = 4 * float(np.finfo(dtype).eps)
        near = np.array([float(Fraction(x).limit_denominator(10**6)) for x in c.ravel().tolist()])
        near = near.reshape(c.shape)
        c = np.where(np.abs(near - c) <= eps * np.abs(c), near, c)
        empty = self._given(np.zeros(0), np.int64)
        n = self._node("Reshape", [self._linear(1, -less), empty])
        n = self._node("Cast", [n], to=helper.np_dtype_to_tensor_dtype(dtype))
        return self._node(op, [self._given(c, dtype), n])

    def _range(self, name: str, values: list[np.ndarray]) -> bool:
        if values[0].dtype != np.int64 or any([v.ndim != 1 or v.size < 2 for v in values]):
            return False
        line = self._line([v.size for v in values])
        step = int(values[0][1] - values[0][0])
        start = self._line([int(v[0]) for v in values])
        if line is None or start is None:
            return False
        if any([not np.array_equal(v, v[0] + step * np.arange(v.size)) for v in values]):
            return False
        empty = self._given(np.zeros(0), np.int64)
        count = self._node("Reshape", [self._linear(*line), empty])
        one, zero = self._given(1, np.int64), self._given(0, np.int64)
        numbers = self._node("Range", [zero, count, one])
        numbers = self._node("Mul", [numbers, self._given(step, np.int64)])
        self._node("Add", [numbers, self._linear(*start)], name)
        return True


def _targets_of_reshapes(nodes: Any) -> set[str]:
    """Constants that are nothing but shapes that Reshape makes."""
    found: set[str] = set()
    others: set[str] = set()
    for node in nodes:
        for k, name in enumerate(node.input):
            (found if node.op_type == "Reshape" and k == 1 else others).add(name)
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                others |= {n for inner in attribute.g.node for n in inner.input}
    return found - others
