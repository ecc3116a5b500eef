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
from linad.core.tape import Equation, Var
from linad.export.onnx_complex import Pair
from linad.export.onnx_values import TRUTH, NoForm, Value
from linad.export.onnx_writer import COMPLEX_FORMS, Writer, form
from linad.operators.facts import real_dtype
from linad.sweeps.raising import tried

SHOWN = ("regular", "positive definite")
"""Demands on matrices that show in the results."""


@form("raises")
def raises(writer: Writer, eqn: Equation) -> str:
    primitive = eqn.params["primitive"]
    before = len(writer.holds)
    if primitive.partial == "finite":
        x = eqn.inputs[0]
        values = _parts(writer.names[x], x) if isinstance(x, Var) else []
    elif isinstance(primitive, ControlPrimitive) or primitive.partial in SHOWN:
        operation = tried(eqn)
        writer.equations([operation])
        values = [part for v in operation.outputs for part in _parts(writer.names[v], v)]
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
    return [(n, v.shape, real_dtype(v.dtype)) for n in names]
