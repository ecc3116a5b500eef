"""Smaller programs with the same results.

One pass down a tape, rule by rule of the table below, and one up that drops what nobody
needs. A rule looks at one equation and at how its operands were made, and names what can take
its place: an operand, or new equations. Rules keep results to rounding, NaN and infinity
included; the sign of a zero may change (``x + 0``).

Equations that repeat an earlier one (common subexpressions) and those whose operands are all
known (constants) go as well.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from linad.garbage import collection_paused
from linad.primitive import Primitive
from linad.regions import Window
from linad.shapes import Shape, size_of
from linad.tape import Equation, Source, Tape, Var, needed
from linad.transforms.windows import Windows

Rule = Callable[["Simplifier", Equation], Any]
"""Returns an operand that stands for the result, or None to keep the equation."""

RULES: dict[str, list[Rule]] = {}

FOLDED_BYTES = 2**20
"""Constants up to this size are computed once, in advance."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rewrite of the primitives of these names."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES.setdefault(name, []).append(function)
        return function

    return register


def simplify(tape: Tape) -> Tape:
    """Return a tape with the same results and fewer equations.

    Parameters
    ----------
    tape : Tape

    Returns
    -------
    Tape
        With the same inputs and outputs.

    Notes
    -----
    Linear in the number of equations. The rewrites are in this module, each with its
    identity.
    """
    with collection_paused():
        return Simplifier(tape).result()


class Simplifier:
    """The state of one pass: what stands for each variable, and the equations so far."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.equations: list[Equation] = []
        self.stands: dict[Var, Any] = {}
        self.made_by: dict[Var, Equation] = {}
        self.known: dict[Any, Equation] = {}
        self.count = 1 + max(
            [v.index for v in tape.inputs]
            + [v.index for eqn in tape.equations for v in eqn.outputs],
            default=0,
        )
        self.source: Source | None = None
        self.slices: dict[Any, Any] = {}
        self.windows = Windows(self)

    def result(self) -> Tape:
        tape = self.tape
        for eqn in tape.equations:
            self._take(eqn)
        outputs = [self._settled(a) for a in tape.outputs]
        equations = needed(self.equations, outputs)
        return Tape(tape.name, tape.inputs, equations, outputs, tape.in_tree, tape.out_tree)

    def operand(self, a: Any) -> Any:
        """What stands for a variable now."""
        while isinstance(a, Var) and a in self.stands:
            a = self.stands[a]
        return a

    def _settled(self, a: Any) -> Any:
        """The same, emitted if it was pending."""
        a = self.operand(a)
        if isinstance(a, Var) and a in self.windows.pending:
            self.windows.settle(a)
            a = self.operand(a)
        return a

    def maker(self, a: Any) -> Equation | None:
        """The equation that makes an operand."""
        return self.made_by.get(a) if isinstance(a, Var) else None

    def _take(self, eqn: Equation) -> None:
        inputs = tuple([self.operand(a) for a in eqn.inputs])
        self.source = eqn.source
        inner = getattr(eqn.primitive, "tape", None)
        if inner is not None:
            self._inline(inner, inputs, eqn.outputs)
            return
        if self.windows.take(_with_inputs(eqn, inputs)):
            return
        self.emit_equation(eqn)

    def emit_equation(self, eqn: Equation) -> Any:
        """Add an equation of the tape, with what stands for its operands."""
        return self._add(_with_inputs(eqn, tuple([self._settled(a) for a in eqn.inputs])))

    def _inline(self, inner: Tape, inputs: tuple[Any, ...], outputs: tuple[Var, ...]) -> None:
        """Take the equations of a compiled program in the place of its call."""
        own: dict[Var, Any] = dict(zip(inner.inputs, inputs, strict=True))
        for eqn in inner.equations:
            made = []
            for v in eqn.outputs:
                own[v] = Var(self.count, v.shape, v.dtype)
                self.count += 1
                made.append(own[v])
            given = tuple([own[a] if isinstance(a, Var) else a for a in eqn.inputs])
            self._take(Equation(eqn.primitive, given, eqn.params, tuple(made), eqn.source))
        for v, a in zip(outputs, inner.outputs, strict=True):
            self.stands[v] = self.operand(own[a] if isinstance(a, Var) else a)

    def _add(self, eqn: Equation) -> Any:
        """Add an equation, or find what stands for its result."""
        found = self._replacement(eqn)
        if found is not None:
            self.stands[eqn.outputs[0]] = found
            return found
        key = _key(eqn)
        if key is not None:
            same = self.known.setdefault(key, eqn)
            if same is not eqn:
                self.stands.update(zip(eqn.outputs, same.outputs, strict=True))
                return same.outputs[0] if same.outputs else None
        self.equations.append(eqn)
        for v in eqn.outputs:
            self.made_by[v] = eqn
        return eqn.outputs[0] if eqn.outputs else None

    def _replacement(self, eqn: Equation) -> Any:
        if len(eqn.outputs) != 1:
            return None
        folded = _fold(eqn)
        if folded is not None:
            return folded
        for rewrite in RULES.get(eqn.primitive.name, ()):
            found = rewrite(self, eqn)
            if found is not None:
                return found
        return None

    def emit(
        self, name: str, inputs: Sequence[Any], shape: Shape, dtype: Any, /, **params: Any
    ) -> Any:
        """Add an equation of a rewrite; return its result."""
        var = Var(self.count, shape, np.dtype(dtype))
        self.count += 1
        return self._add(
            Equation(Primitive.registry[name], tuple(inputs), params, (var,), self.source)
        )

    def emit_like(self, name: str, inputs: Sequence[Any], eqn: Equation, /, **params: Any) -> Any:
        out = eqn.outputs[0]
        return self.emit(name, inputs, out.shape, out.dtype, **params)


def _with_inputs(eqn: Equation, inputs: tuple[Any, ...]) -> Equation:
    if all(a is b for a, b in zip(inputs, eqn.inputs, strict=True)):
        return eqn
    return Equation(eqn.primitive, inputs, eqn.params, eqn.outputs, eqn.source)


# Repetition and constants.


def _key(eqn: Equation) -> Any:
    """Equations of equal keys have equal results; None where that cannot be said."""
    if eqn.primitive.registry.get(eqn.primitive.name) is not eqn.primitive:
        return None
    if eqn.primitive.name == "empty_like":
        return None  # memory to write into, each its own
    key = (eqn.primitive, tuple([_value_key(a) for a in eqn.inputs]), _params_key(eqn.params))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _value_key(a: Any) -> Any:
    if isinstance(a, Var):
        return a
    if isinstance(a, np.ndarray):
        if a.nbytes > 256:
            return "array", id(a)
        return "array", a.shape, a.dtype, a.tobytes()
    return type(a), repr(a)


def _params_key(params: dict[str, Any]) -> Any:
    return tuple([(k, _param_key(v)) for k, v in params.items()])


def _param_key(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _value_key(value)
    if isinstance(value, slice):
        return "slice", value.start, value.stop, value.step
    if isinstance(value, tuple):
        return tuple([_param_key(v) for v in value])
    if isinstance(value, dict):
        return tuple([(k, _param_key(v)) for k, v in value.items()])
    return type(value), value


def _fold(eqn: Equation) -> Any:
    """The result of an equation whose operands are known."""
    out, name = eqn.outputs[0], eqn.primitive.name
    if name == "zeros_like":
        return np.broadcast_to(np.zeros((), out.dtype), out.shape)
    if name in ("ones_like", "_ones_like"):
        return np.broadcast_to(np.ones((), out.dtype), out.shape)
    if any(isinstance(a, Var) for a in eqn.inputs) or not eqn.inputs or name == "empty_like":
        return None
    if size_of(out.shape) * out.dtype.itemsize > FOLDED_BYTES and not eqn.primitive.view:
        return None
    with np.errstate(all="ignore"):
        value = eqn.primitive.impl(*eqn.inputs, **eqn.params)
    return value if np.shape(value) == out.shape else None


def number_of(a: Any) -> Any:
    """The number that all entries of a known array are, or None."""
    if isinstance(a, Var):
        return None
    if type(a) in (int, float, bool, complex):
        return a
    array = np.asarray(a)
    if not array.size or array.dtype.kind not in "biufc":
        return None
    if array.ndim and not any(array.strides):
        return array[(0,) * array.ndim]
    flat = array.reshape(-1)
    first = flat[0]
    if array.size > 1 and (flat[-1] != first or not (flat == first).all()):
        return None
    return first


def _fits(a: Any, eqn: Equation) -> bool:
    """Whether an operand can stand for the result."""
    out = eqn.outputs[0]
    return isinstance(a, Var) and a.shape == out.shape and a.dtype == out.dtype


# copy(x) = x, and so on: identities on values.


@rule("copy", "positive", "astype", "astype_exact", "spread", "broadcast_to", "reshape")
def same_array(s: Simplifier, eqn: Equation) -> Any:
    x = eqn.inputs[0]
    return x if _fits(x, eqn) else None


@rule("conjugate", "real")
def real_already(s: Simplifier, eqn: Equation) -> Any:
    x = eqn.inputs[0]
    return x if _fits(x, eqn) and x.dtype.kind == "f" else None


@rule("transpose")
def transpose_of_transpose(s: Simplifier, eqn: Equation) -> Any:
    x, axes = eqn.inputs[0], eqn.params["axes"]
    if axes == tuple(range(len(axes))):
        return x
    maker = s.maker(x)
    if maker is not None and maker.primitive.name == "transpose":
        first = maker.params["axes"]
        both = tuple([first[k] for k in axes])
        return s.emit_like("transpose", maker.inputs, eqn, axes=both)
    return None


@rule("reshape")
def reshape_of_reshape(s: Simplifier, eqn: Equation) -> Any:
    maker = s.maker(eqn.inputs[0])
    if maker is not None and maker.primitive.name == "reshape":
        return s.emit_like("reshape", maker.inputs, eqn, shape=eqn.outputs[0].shape)
    return None


# x * 1 = x,  x * -1 = -x,  x + 0 = x,  x - 0 = x,  x / 1 = x.


@rule("multiply", "add", "subtract", "divide")
def neutral(s: Simplifier, eqn: Equation) -> Any:
    a, b = eqn.inputs
    name = eqn.primitive.name
    neutral_number = 1 if name in ("multiply", "divide") else 0
    left, right = number_of(a), number_of(b)
    if right is not None and right == neutral_number and _fits(a, eqn):
        return a
    if name in ("multiply", "add") and left is not None and left == neutral_number:
        return b if _fits(b, eqn) else None
    if name == "multiply":
        for number, other in ((left, b), (right, a)):
            if number is not None and number == -1 and _fits(other, eqn):
                return s.emit_like("negative", [other], eqn)
    return None


@rule("multiply", "add", "subtract", "divide", "maximum", "minimum")
def uniform(s: Simplifier, eqn: Equation) -> Any:
    """An array of equal entries is a number."""
    for k, other in ((0, 1), (1, 0)):
        a, b = eqn.inputs[k], eqn.inputs[other]
        if isinstance(a, np.ndarray) and a.ndim and _fits(b, eqn):
            number = number_of(a)
            if number is not None:
                inputs = [b, b]
                inputs[k] = np.asarray(number)
                return s.emit_like(eqn.primitive.name, inputs, eqn)
    return None


@rule("negative")
def twice_negative(s: Simplifier, eqn: Equation) -> Any:
    """-(-x) = x."""
    maker = s.maker(eqn.inputs[0])
    return maker.inputs[0] if maker is not None and maker.primitive.name == "negative" else None


@rule("add", "subtract")
def plus_negative(s: Simplifier, eqn: Equation) -> Any:
    """a + (-b) = a - b,  a - (-b) = a + b."""
    a, b = eqn.inputs
    maker = s.maker(b)
    if maker is None or maker.primitive.name != "negative" or b.dtype.kind not in "fc":
        return None  # the negative of an unsigned integer is another number
    other = {"add": "subtract", "subtract": "add"}[eqn.primitive.name]
    return s.emit_like(other, [a, maker.inputs[0]], eqn)


@rule("power")
def small_power(s: Simplifier, eqn: Equation) -> Any:
    """x^1 = x, x^2 = x x, x^3 = x x x, x^4 = (x x)^2, x^-1 = 1 / x."""
    x, exponent = eqn.inputs
    number = number_of(exponent)
    if number is None or not _fits(x, eqn) or x.dtype.kind not in "fc":
        return None
    if number == 1:
        return x
    if number in (2, 3, 4):
        square = s.emit_like("multiply", [x, x], eqn)
        if number == 2:
            return square
        return s.emit_like("multiply", [square, x if number == 3 else square], eqn)
    if number == -1:
        return s.emit_like("reciprocal", [x], eqn)
    return None


@rule("where")
def one_choice(s: Simplifier, eqn: Equation) -> Any:
    """where(c, a, a) = a; where(True, a, b) = a."""
    condition, a, b = eqn.inputs
    number = number_of(condition)
    if number is not None:
        chosen = a if number else b
        return chosen if _fits(chosen, eqn) else None
    return a if a is b and _fits(a, eqn) else None


# Sums.


@rule("sum", "max", "min", "prod", "mean")
def no_axes(s: Simplifier, eqn: Equation) -> Any:
    """The sum over axes of length one is a reshape."""
    x, axes = eqn.inputs[0], eqn.params["axes"]
    if all(x.shape[k] == 1 for k in axes) and x.dtype == eqn.outputs[0].dtype:
        return s.emit_like("reshape", [x], eqn, shape=eqn.outputs[0].shape)
    return None


@rule("mean")
def mean_is_sum(s: Simplifier, eqn: Equation) -> Any:
    """mean(x) = sum(x) / n."""
    x, axes = eqn.inputs[0], eqn.params["axes"]
    n = size_of([x.shape[k] for k in axes])
    if not n or x.dtype.itemsize == 2 or x.dtype.kind not in "fc":
        return None
    total = s.emit_like("sum", [x], eqn, axes=axes)
    return s.emit_like("divide", [total, float(n)], eqn)


@rule("sum")
def sum_of_broadcast(s: Simplifier, eqn: Equation) -> Any:
    """The sum of n copies is n times one."""
    maker = s.maker(eqn.inputs[0])
    if maker is None or maker.primitive.name not in ("broadcast_to", "spread"):
        return None
    x, wide = maker.inputs[0], maker.outputs[0].shape
    axes = eqn.params["axes"]
    if not isinstance(x, Var):
        return None
    lead = len(wide) - len(x.shape)
    if any(k >= lead and x.shape[k - lead] != 1 for k in axes):
        return None
    copies = size_of([wide[k] for k in axes])
    left = [k - lead for k in range(len(wide)) if k >= lead and k not in axes]
    kept = tuple([x.shape[k] for k in left])
    if kept != eqn.outputs[0].shape:
        return None
    flat = s.emit("reshape", [x], kept, x.dtype, shape=kept)
    return s.emit_like("multiply", [flat, float(copies)], eqn)


# Products.


@rule("dot")
def dot_is_sum(s: Simplifier, eqn: Equation) -> Any:
    """a · b = sum(a * b): one loop, with whatever made a and b."""
    a, b = eqn.inputs
    if eqn.outputs[0].dtype.kind not in "fc" or not (isinstance(a, Var) or isinstance(b, Var)):
        return None
    if len(a.shape) != 1 or len(b.shape) != 1:
        return None
    product = s.emit("multiply", [a, b], a.shape, eqn.outputs[0].dtype)
    return s.emit_like("sum", [product], eqn, axes=(0,))


@rule("matmul")
def outer_product(s: Simplifier, eqn: Equation) -> Any:
    """A column times a row is an elementwise product."""
    a, b = eqn.inputs
    out = eqn.outputs[0]
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != 1 or out.dtype.kind not in "fc":
        return None
    return s.emit_like("multiply", [a, b], eqn)


@rule("kron")
def kron_is_product(s: Simplifier, eqn: Equation) -> Any:
    """(A ⊗ B)[i k, j l] = A[i, j] B[k, l]: a product of broadcast arrays, reshaped."""
    a, b = eqn.inputs
    if eqn.outputs[0].dtype.kind not in "fc":
        return None
    wide = [n for pair in zip(a.shape, b.shape, strict=True) for n in pair]
    left = tuple([n for m in a.shape for n in (m, 1)])
    right = tuple([n for m in b.shape for n in (1, m)])
    a = s.emit("reshape", [a], left, a.dtype, shape=left)
    b = s.emit("reshape", [b], right, b.dtype, shape=right)
    product = s.emit("multiply", [a, b], tuple(wide), eqn.outputs[0].dtype)
    return s.emit_like("reshape", [product], eqn, shape=eqn.outputs[0].shape)


# Writes.


@rule("read_region", "view_region")
def read_of_write(s: Simplifier, eqn: Equation) -> Any:
    """What was just written there."""
    maker = s.maker(eqn.inputs[0])
    if maker is None or maker.primitive.name != "write_region":
        return None
    written, value = maker.params["region"], maker.inputs[1]
    if not written.same(eqn.params["region"]):
        return None
    return value if _fits(value, eqn) else None


@rule("write_region")
def write_of_all(s: Simplifier, eqn: Equation) -> Any:
    """Where every entry is written, nothing is left of what was there."""
    value, out = eqn.inputs[1], eqn.outputs[0]
    strides = tuple([size_of(out.shape[k + 1 :]) for k in range(len(out.shape))])
    whole = Window(0, out.shape, strides, len(out.shape))
    return value if eqn.params["region"].same(whole) and _fits(value, eqn) else None
