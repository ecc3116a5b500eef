"""`onnx`: a program, or its derivative, as an ONNX model."""

import functools
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.core.shapes import check_function
from linad.core.tape import type_of
from linad.errors import ExportError, GuardError
from linad.export.onnx_program import HOLDS, ModelProgram, ModelValue
from linad.jit.jitted import Jitted, jit
from linad.jit.signature import Signature, in_single_precision

TOLERANCES = {"double": 1e-12, "single": 1e-5}
"""How far an output may be off, relative to its largest entry or to 1."""


class Exported:
    """A function as an ONNX model; see `linad.onnx`.

    Attributes
    ----------
    model : onnx.ModelProto
    inputs, outputs : dict
        Shape and dtype of each, by name, in the order of the model.
    """

    def __init__(
        self,
        model: Any,
        inputs: dict[str, ModelValue],
        outputs: dict[str, ModelValue],
        program: ModelProgram,
    ) -> None:
        self.model, self.inputs, self.outputs = model, inputs, outputs
        self._function, self._picked = program.function, program.picked
        self._args, self._kwargs = program.args, program.kwargs
        single = in_single_precision(program.tape.equations)
        self._tolerance = TOLERANCES["single" if single else "double"]

    def save(self, path: Any) -> None:
        """Write the model to a file."""
        Path(path).write_bytes(self.model.SerializeToString())

    def feed(self, /, *args: Any, **kwargs: Any) -> dict[str, np.ndarray]:
        """The inputs of the model, by name, for arguments of the function."""
        arguments = Signature(*self._function.static.flatten(args, kwargs))
        if len(arguments.arrays) != len(self.inputs):
            raise ExportError(
                f"onnx: expected {len(self.inputs)} arrays among the arguments "
                f"({', '.join(self.inputs)}), got {len(arguments.arrays)}"
            )
        pairs = zip(self.inputs.items(), arguments.arrays, strict=True)
        return {name: np.asarray(a, value.dtype) for (name, value), a in pairs}

    def check(self, /, *args: Any, **kwargs: Any) -> float:
        """Compare the model, run by ONNX's reference evaluator, with the function.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the function; those it was exported with if there are none.

        Returns
        -------
        float
            The largest error of an output, relative to its largest entry or to 1.

        Raises
        ------
        GuardError
            If the function takes a different path than the one recorded.
        ExportError
            If an output is off by more than 1e-12, or 1e-5 where the program computes in
            single precision.
        """
        from onnx.reference import ReferenceEvaluator

        if not args and not kwargs:
            args, kwargs = self._args, self._kwargs
        feed = self.feed(*args, **kwargs)
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(self.model).run(None, feed)
        return self.compare(found, *args, **kwargs)

    def compare(self, found: Any, *args: Any, **kwargs: Any) -> float:
        """Compare outputs that some runtime computed with the function; see `check`."""
        if HOLDS in self.outputs and not bool(found[-1]):
            raise GuardError(
                "onnx: the model took another path when it was recorded: decisions_hold is "
                "False; export the function at such arguments for a model of this path"
            )
        expected = _results(self._function, args, kwargs)
        worst = 0.0
        kept = [expected[k] for k in self._picked]
        for name, a, b in zip(self.outputs, found, kept, strict=False):
            error = discrepancy(a, b)
            limit = self._tolerance if np.asarray(b).dtype.kind == "f" else 0.0
            if not error <= limit:
                raise ExportError(
                    f"onnx: output {name} of the model differs from the function by {error:.1e}, "
                    f"expected at most {limit:.0e}"
                )
            worst = max(worst, error)
        return worst

    def __repr__(self) -> str:
        nodes, functions = len(self.model.graph.node), len(self.model.functions)
        given = ", ".join([f"{n}: {type_of(v)}" for n, v in self.inputs.items()])
        made = ", ".join([f"{n}: {type_of(v)}" for n, v in self.outputs.items()])
        return f"<onnx model ({given}) -> ({made}): {nodes} nodes, {functions} functions>"


def discrepancy(found: Array, expected: Array) -> float:
    """The largest difference, relative to the largest finite entry or 1; inf where NaN differ."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape:
        return float("inf")
    if not expected.size:
        return 0.0
    same = found == expected
    if expected.dtype.kind == "f":
        same = same | (np.isnan(found) & np.isnan(expected))
    left, right = found[~same].astype(float), expected[~same].astype(float)
    if not left.size:
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)].astype(float))
    gap = float(np.max(np.abs(left - right)) / max(1.0, finite.max(initial=0.0)))
    return gap if gap == gap else float("inf")


def _results(function: Jitted, args: tuple[Any, ...], kwargs: Any) -> list[Any]:
    """The leaves of the result of the function, and what it writes into its arguments."""
    leaves, structure = tree.flatten((args, kwargs))
    own = [np.array(x) if isinstance(x, np.ndarray) else x for x in leaves]
    given, named = tree.unflatten(structure, own)
    with np.errstate(all="ignore"):
        result = function.function(*given, **named)
    return [*tree.flatten(result)[0], *own]


def onnx(
    f: Callable[..., Any], axes: Mapping[str, Mapping[int, str]] | None = None
) -> Callable[..., Exported]:
    """Write a function of arrays as an ONNX model.

    Parameters
    ----------
    f : callable
        Of arrays, or containers of arrays, in NumPy; plain, jitted, or a derivative:
        ``linad.grad(f)``, ``linad.value_and_grad(f)``, a function that calls ``linad.jvp``,
        ``vjp`` or ``hvp``.
    axes : mapping, optional
        Axes of any length, one name for all of them: ``{"X": {0: "batch"}, "y": {0: "batch"}}``.

    Returns
    -------
    callable
        It takes the arguments of ``f`` and returns an `Exported`, with ``model``, ``inputs``,
        ``outputs``, ``save(path)``, ``check(*args)`` and ``feed(*args)``.

    Raises
    ------
    ExportError
        If an operation has no form in ONNX; the message names it and its line.
    ImportError
        If onnx is not installed: ``pip install linad[onnx]``.

    Notes
    -----
    The model holds for arguments of these shapes and dtypes, in opset 21. Inputs are named
    after parameters, and the way inside containers: ``weights_W``. Outputs are ``value`` and
    ``grad_<input>`` of a derivative, ``y`` or the keys of a result otherwise. Where Python decided
    on a value, the output ``decisions_hold`` says whether it would decide so again. Arrays that
    the function writes into are outputs ``<input>_written``.

    Examples
    --------
    >>> import numpy as np, linad
    >>> loss = lambda w, x: np.sum(np.tanh(x @ w) ** 2)
    >>> exported = linad.onnx(linad.value_and_grad(loss))(np.ones(3), np.ones((4, 3)))
    >>> exported
    <onnx model (w: float64[3], x: float64[4,3]) -> (value: float64[], grad_w: float64[3]): ...>
    >>> exported.check(np.zeros(3), np.ones((4, 3))) < 1e-12
    True
    """
    check_function("onnx", f)
    _require_onnx()
    jitted = f if isinstance(f, Jitted) else jit(f)

    @functools.wraps(f, updated=())
    def exported(*args: Any, **kwargs: Any) -> Exported:
        from linad.export.onnx_graph import graph_of, symbolic_graph_of

        program = ModelProgram(jitted, args, kwargs)
        if axes:
            model, shapes = symbolic_graph_of(program, axes)
        else:
            model, shapes = graph_of(program)
        inputs, outputs = shapes
        return Exported(model, inputs, outputs, program)

    return exported


def _require_onnx() -> None:
    if importlib.util.find_spec("onnx") is None:
        raise ImportError("linad.onnx needs the onnx package: pip install 'linad[onnx]'")
