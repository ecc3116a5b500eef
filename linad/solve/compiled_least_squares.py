"""Least-squares solvers in programs: which of them there are, and with which options."""

from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.core.array_type import Array
from linad.solve.compiled_fits import CompiledFit
from linad.solve.compiled_gauss_newton import GaussSteps
from linad.solve.compiled_levenberg_marquardt import DampedSteps
from linad.solve.compiled_newton import Loop, options_of
from linad.solve.damped import MANY
from linad.solve.least_squares import PATIENCE, gauss_newton, levenberg_marquardt
from linad.sweeps.assurances import assured
from linad.transforms.spaces import joined

FIT = frozenset({"ftol", "xtol", "gtol", "maxiter"})
METHODS: tuple[tuple[Any, Any, frozenset[str]], ...] = (
    (levenberg_marquardt, DampedSteps, frozenset({"damping"})),
    (gauss_newton, GaussSteps, frozenset()),
)
"""Solvers, their steps in programs, and the options of these."""


def least_squares_loop(
    r: Callable[..., Any], solver: Any, options: dict[str, Any], loss: Any, bounded: bool
) -> Callable[[Any], Loop | None] | None:
    """What a solver with these options is in a program, if that is known; see
    `linad.solve.implicit.ImplicitEquation`.

    Parameters
    ----------
    r : callable
    solver, options
        The options without bounds and loss.
    loss : Loss or None
    bounded : bool
        Whether the first two parameters are lower and upper bounds.
    """
    for one, steps, own in METHODS:
        chosen = options_of(solver, one, FIT | own, options)
        if chosen is not None:
            method = steps(**{name: chosen.pop(name) for name in own})
            damped = one is levenberg_marquardt
            if not damped and (bounded or loss is not None):
                return None
            fit = _Fit(r, method, chosen, loss, bounded, damped)
            return fit.loop
    return None


class _Fit:
    """A least-squares problem, and how it is solved."""

    def __init__(
        self,
        r: Callable[..., Any],
        method: Any,
        options: dict[str, Any],
        loss: Any,
        bounded: bool,
        damped: bool,
    ) -> None:
        self.r, self.method, self.loss, self.bounded = r, method, loss, bounded
        self.tolerances = options["ftol"], options["xtol"], options["gtol"]
        self.maxiter = min(options["maxiter"], PATIENCE) if damped else options["maxiter"]
        self.exact = damped and options["ftol"] is None and options["xtol"] is None

    def loop(self, equation: Any) -> Loop | None:
        if equation.kind_of_system("auto") != "dense" or equation.x0.dtype.kind != "f":
            return None
        y = self._residuals(equation, *equation.example)
        if y.dtype != equation.x0.dtype or not 0 < y.size * equation.example[0].size <= MANY:
            return None

        def search(x0: Array, theta: Array) -> Any:
            limits = None
            if self.bounded:
                sides = equation.theta.container(theta)[:2]
                limits = tuple([joined(tree.flatten(side)[0], (), x0.dtype) for side in sides])
            fit = CompiledFit(
                lambda x: self._residuals(equation, x, theta),
                equation.eps,
                self.method,
                self.tolerances,
                self.maxiter,
                self.exact,
                self.loss,
                limits,
            )
            return assured(*fit.run(x0))

        return search

    def _residuals(self, equation: Any, x: Array, theta: Array) -> Any:
        given = equation.theta.container(theta)
        if self.bounded:
            given = given[2:]
        leaves = tree.flatten(self.r(equation.x0.container(x), *given))[0]
        return joined(leaves, (), np.result_type(*leaves, x.dtype))
