"""Whether an operation raises: in a model, whether what it makes is not finite.

A ``try`` decides upon it, and so does a program whose result does not need the operation: Python
raises before it comes to the result. A matrix that is singular, or not positive definite, makes
NaN or inf in a model; what an operation demands of finite numbers is asked of these; and a loop
raises if its decisions do not hold. So the answer is yes, too, where NaN or inf are legitimate
results: the model then says that it does not hold, where Python goes on.
"""

from typing import Any

import numpy as np

from linad.control.control_primitive import ControlPrimitive
from linad.core.shapes import Shape
from linad.core.tape import Equation, Var
from linad.export.onnx_complex import Pair, part_of
from linad.export.onnx_values import TRUTH, NoForm, Value
from linad.export.onnx_writer import COMPLEX_FORMS, Writer, form

SHOWN = ("regular", "positive definite")
"""Demands on matrices that show in the results."""


@form("raises")
def raises(writer: Writer, eqn: Equation) -> str:
    primitive, params = eqn.params["primitive"], eqn.params["params"]
    loop = isinstance(primitive, ControlPrimitive)
    before = len(writer.holds)
    if primitive.partial == "finite":
        x = eqn.inputs[0]
        values = _parts(writer.names[x], x) if isinstance(x, Var) else []
    elif loop or primitive.partial in SHOWN:
        kinds = primitive.results if loop else _kinds(eqn)
        made = [Var(-1 - k, *kind) for k, kind in enumerate(kinds)]
        tried = Equation(primitive, eqn.inputs, params, tuple(made), eqn.source)
        writer.equations([tried])
        values = [part for v in made for part in _parts(writer.names[v], v)]
    else:
        raise NoForm(f"whether {primitive.name} raises does not show in its results")
    held = [(name, (), TRUTH) for name in writer.holds[before:]]
    del writer.holds[before:]
    return writer.record(_failed, [*values, *held])[0]


COMPLEX_FORMS["raises"] = raises


def _failed(*values: Any) -> Any:
    """Whether a number is not finite, or a boolean is false."""
    found = np.array(True)
    for x in values:
        found = found & np.all(np.isfinite(x) if x.dtype.kind == "f" else x)
    return ~found


def _parts(name: Any, v: Var) -> list[Value]:
    """What may be infinite of a value."""
    if v.dtype.kind not in "fc":
        return []
    names = list(name) if isinstance(name, Pair) else [name]
    return [(n, v.shape, part_of(v.dtype)) for n in names]


def _kinds(eqn: Equation) -> list[tuple[Shape, Any]]:
    """Shape and dtype of each result of the operation, which are those of any numbers."""
    examples = [_example(a) if isinstance(a, Var) else a for a in eqn.inputs]
    y = eqn.params["primitive"](*examples, **eqn.params["params"])
    return [(part.shape, part.dtype) for part in (y if isinstance(y, tuple) else (y,))]


def _example(v: Var) -> Any:
    """Numbers that make positive definite matrices, and regular ones if they are its diagonals."""
    i, j = np.indices(v.shape[-2:]) if len(v.shape) > 1 else (0, 1)
    n = max(v.shape, default=1)
    return np.broadcast_to(1 / (1 + i + j) + n * np.equal(i, j), v.shape).astype(v.dtype)
