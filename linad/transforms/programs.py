"""The forward and the reverse program of a function, as two tapes."""

from collections.abc import Callable
from typing import Any

from linad.core import tree
from linad.core.adopted import repeated
from linad.core.array_type import Array
from linad.core.primitive import Primitive
from linad.core.shapes import name_of
from linad.core.tape import Source, Tape, Var, needed
from linad.core.zero_seeds import zero_seeds
from linad.errors import ExportError
from linad.operators.base import JacobianOperator
from linad.operators.wrappers import SameMatrix
from linad.transforms.linearize import LinearTrace, linearize_leaves
from linad.transforms.record import RecordTrace, naming, recorded_inputs, recorded_outputs
from linad.transforms.user_lines import user_line


class SourcedTrace(LinearTrace):
    """A linear trace whose operators know the user's line they came from."""

    def __init__(self, recorder: RecordTrace) -> None:
        super().__init__()
        self.recorder = recorder

    def apply(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        first = len(self.steps)
        result = super().apply(primitive, args, params)
        source = user_line()
        for k in range(first, len(self.steps)):
            out, links = self.steps[k]
            sourced = [(node, Sourced(J, source, self.recorder)) for node, J in links]
            self.steps[k] = (out, sourced)
        return result


class Sourced(SameMatrix):
    """An operator; what its pullback records names a line."""

    def __init__(self, op: JacobianOperator, source: Source | None, recorder: RecordTrace) -> None:
        self.source, self.recorder = source, recorder
        super().__init__(op, op.out_shape, op.in_shape)

    def pullback(self, cotangent: Array) -> Array:
        with naming(self.source, [self.recorder]):
            return self.op.pullback(cotangent)


@repeated
def trace_vjp(f: Callable[..., Any], *args: Any) -> tuple[Tape, Tape]:
    """Return the forward and the reverse program of ``f`` at a point.

    Parameters
    ----------
    f : callable
    *args
        Where to run it; all arguments are differentiated.

    Returns
    -------
    forward : Tape
        ``(*args) -> (y, residuals)``; the residuals are the values the reverse program
        needs, a list.
    reverse : Tape
        ``(residuals, cotangent) -> cotangents of the arguments``, a tuple.

    Raises
    ------
    ExportError
        If the function catches floating-point errors, or leaves another error state behind.

    Notes
    -----
    Both are flat lists of primitives; neither contains a closure. An equation of the reverse
    program names the line whose operator it applies.
    """
    recorder = RecordTrace()
    leaves, in_tree = tree.flatten(args)
    tracers = recorded_inputs(recorder, leaves, in_tree)
    inputs = [t._node for t in tracers]
    with recorder:
        results, J = linearize_leaves(
            lambda xs: f(*tree.unflatten(in_tree, xs)), tracers, in_tree, SourcedTrace(recorder)
        )
        recorder.operands.check()
        if recorder.errors.finish():
            raise ExportError(
                f"{name_of(f)} raises or catches floating-point errors of NumPy, which programs do "
                f"not raise; use np.where in the place of np.errstate(...='raise')"
            )
        cut = len(recorder.equations)
        recorder.line = lambda: None  # sums of cotangents come from no line in particular
        seeds = [recorder.input(slot.zeros()) for slot in J.out_slots]
        with zero_seeds():
            pulled = J.pull_leaves(seeds)
        _, cotangents, back_tree = recorded_outputs(tree.unflatten(in_tree, pulled), recorder)
    reverse = needed(recorder.equations[cut:], cotangents)
    defined = {v for eqn in reverse for v in eqn.outputs} | {t._node for t in seeds}
    used = [a for eqn in reverse for a in eqn.inputs] + cotangents
    residuals = list(dict.fromkeys(a for a in used if isinstance(a, Var) and a not in defined))
    _, nodes, out_tree = recorded_outputs(tree.unflatten(J.out_tree, results), recorder)
    forward = recorder.program([*nodes, *residuals], cut)
    pair = tree.flatten((tree.unflatten(out_tree, nodes), residuals))[1]
    taken = tree.flatten(([0.0] * len(residuals), tree.unflatten(J.out_tree, seeds)))[1]
    return (
        Tape(name_of(f), inputs, forward, [*nodes, *residuals], in_tree, pair),
        Tape(
            f"pullback of {name_of(f)}",
            [*residuals, *[t._node for t in seeds]],
            reverse,
            cotangents,
            taken,
            back_tree,
        ),
    )
