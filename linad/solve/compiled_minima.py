"""Minimisers in programs: which of them there are, and with which options."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from linad.core import tree
from linad.solve.compiled_descent import CompiledDescent
from linad.solve.compiled_lbfgs import Lbfgs
from linad.solve.compiled_newton import Loop, options_of
from linad.solve.compiled_newton_cg import LineSteps
from linad.solve.compiled_trust_region import RegionSteps
from linad.solve.lbfgs import lbfgs
from linad.solve.newton_cg import newton_cg
from linad.solve.trust_region import trust_region
from linad.sweeps.assurances import assured

DESCENT = frozenset({"gtol", "xtol", "maxiter", "check_minimum"})
METHODS: tuple[tuple[Any, Any, frozenset[str]], ...] = (
    (trust_region, RegionSteps, frozenset({"initial_trust_radius", "max_trust_radius"})),
    (newton_cg, LineSteps, frozenset()),
)
"""Solvers, their steps in programs, and the options of these."""

LBFGS = frozenset({"ftol", "gtol", "maxcor", "maxiter", "maxfun", "maxls"})


def minimum_loop(
    f: Callable[..., Any], solver: Any, options: dict[str, Any]
) -> Callable[[Any], Loop | None] | None:
    """What a minimiser with these options is in a program, if that is known; see
    `linad.solve.implicit.ImplicitEquation`."""
    for one, steps, own in METHODS:
        chosen = options_of(solver, one, DESCENT | own, options)
        if chosen is not None:
            method = steps(**{name: chosen.pop(name) for name in own})
            return functools.partial(_descent_loop, f, method, chosen)
    chosen = options_of(solver, lbfgs, LBFGS, options)
    if chosen is None:
        return None
    return functools.partial(_lbfgs_loop, f, chosen)


def _descent_loop(f: Any, method: Any, options: dict[str, Any], equation: Any) -> Loop | None:
    if equation.kind_of_system("auto") != "dense" or equation.x0.dtype.kind != "f":
        return None

    def search(x0: Any, theta: Any) -> Any:
        descent = CompiledDescent(
            lambda x: _value(f, equation, x, theta),
            lambda x: equation.residual(x, theta),
            equation.eps,
            method,
            **options,
        )
        return assured(*descent.run(x0))

    return search


def _lbfgs_loop(f: Any, options: dict[str, Any], equation: Any) -> Loop | None:
    if equation.x0.dtype.kind != "f":
        return None

    def search(x0: Any, theta: Any) -> Any:
        def value_and_gradient(x: Any) -> tuple[Any, Any]:
            x = x.astype(x0.dtype)
            g = equation.residual(x, theta)
            return _value(f, equation, x, theta).astype(float), g.astype(float)

        x, sound = Lbfgs(value_and_gradient, **options).run(x0.astype(float))
        return assured(x.astype(x0.dtype), sound)

    return search


def _value(f: Callable[..., Any], equation: Any, x: Any, theta: Any) -> Any:
    """The value of what is minimised, for x and θ as vectors."""
    y = f(equation.x0.container(x), *equation.theta.container(theta))
    return np.reshape(tree.flatten(y)[0][0], ())
