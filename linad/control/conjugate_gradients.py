"""Conjugate gradients as a loop of a program on a device.

    A x = b,  A symmetric and positive definite          p_0 = r_0 = b
    a = |r|^2 / p.Ap    x := x + a p    r := r - a A p    p := r + |r_new|^2 / |r|^2 p

On the host `linad.solve_linear` lets SciPy iterate. On a device that would be two copies of a
vector an iteration; this loop asks for one answer, whether it goes on. At the end the residual is
computed anew, and where it is not what was asked for the program stops, and SciPy says why.

Source: M. R. Hestenes, E. Stiefel, "Methods of conjugate gradients for solving linear systems",
Journal of Research of the National Bureau of Standards 49, 1952.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linad.control.body_trace import BodyTrace
from linad.control.control_primitive import uncompiled
from linad.control.deciding import while_loop
from linad.core.array_type import Array
from linad.core.tape import Equation, Tape, needed, tape_of
from linad.linalg.linear_systems import iterate
from linad.sweeps.assurances import assured, on_examples
from linad.sweeps.expansions import ON_GRIDS
from linad.transforms.record import node_of


class Approximation(NamedTuple):
    """An approximate solution, and the direction in which it goes on."""

    x: Any
    rest: Any  # b - A x
    direction: Any
    size: Any  # |b - A x|^2
    products: Any


def conjugate_gradients(product: Callable[[Any], Any], b: Array, rtol: float, most: int) -> Any:
    """Solve A x = b from zero, to a relative residual, or until a number of products is reached.

    Parameters
    ----------
    product : callable
        v -> A v.
    b : Tracer (n,)
    rtol : float
    most : int
    """
    wanted = rtol * rtol * np.sum(b * b)

    def goes_on(s: Approximation) -> Any:
        return (s.size > wanted) & (s.products < most)

    def step(s: Approximation) -> Approximation:
        image = product(s.direction)
        a = s.size / np.sum(s.direction * image)
        rest = s.rest - a * image
        size = np.sum(rest * rest)
        direction = rest + size / s.size * s.direction
        return Approximation(s.x + a * s.direction, rest, direction, size, s.products + 1)

    return while_loop(goes_on, step, Approximation(np.zeros_like(b), b, b, np.sum(b * b), 0)).x


def _program(eqn: Equation) -> Tape | None:
    """The iteration of an equation as a program; None for other methods, and for many vectors."""
    b, out = eqn.inputs[0], eqn.outputs[0]
    options, recipe, adjoint = (eqn.params[k] for k in ("options", "recipe", "adjoint"))
    real = b.dtype == out.dtype and b.dtype.kind == "f"
    if options.method != "cg" or options.M is not None or not real or len(b.shape) != 1:
        return None
    target = max(10 * options.rtol, 1e3 * float(np.finfo(b.dtype).eps))

    def solved(b: Array, *arrays: Any) -> Any:
        op = recipe(arrays).flat

        def product(v: Array) -> Any:
            return op._apply_rows(v, adjoint)

        x = conjugate_gradients(product, b, options.rtol, options.maxiter)
        rest = b - product(x)
        return assured(x, np.sum(rest * rest) <= target * target * np.sum(b * b))

    recorder = BodyTrace()
    ins = [recorder.input(np.ones(np.shape(v), v.dtype)) for v in eqn.inputs]
    quiet = np.errstate(all="ignore")
    with quiet, uncompiled(unrepeated=True), on_examples(), recorder:
        output = node_of(recorder, solved(*ins))
    inputs = [t._node for t in ins]
    return tape_of("conjugate gradients", inputs, needed(recorder.equations, [output]), [output])


ON_GRIDS[iterate] = _program
