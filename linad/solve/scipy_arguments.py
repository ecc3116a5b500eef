"""Keyword arguments for SciPy's solvers: for each the form of derivative that it takes.

SciPy's solvers differ in what they accept: products with an operator, a sparse matrix, a dense
one. `scipy_args` knows which, and picks the best:

    operator    where only products are asked for, and nothing needs to be formed
    csr         where a matrix is factorised, and sparse ones are taken
    dense       where nothing else is

`scipy.optimize.least_squares` takes all three, and does best with a matrix and unknowns scaled by
its columns: a dense one while it is small, a sparse one where the pattern is thin. Its iteration
with an operator knows no scales, and comes nowhere on badly scaled fits; it is for what fits
neither.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linad.api.derivatives import linearize
from linad.api.gradients import grad, hessian_operator, value_and_grad
from linad.api.sparse_derivatives import sparse_hessian, sparse_jacobian
from linad.core.array_type import Array
from linad.core.options import FUNCTION, TEXT, Kind, choice
from linad.core.shapes import name_of
from linad.core.showing import shown
from linad.errors import OptionError
from linad.jit.jitted import operation_by_operation
from linad.linalg.linear_systems import DENSE, SMALL
from linad.linalg.structure import is_thin
from linad.solve.damped import MOST
from linad.solve.exact_krylov import exact_newton_krylov

Function = Callable[..., Any]
FORMS = ("operator", "csr", "dense")
POINT = Kind(
    "an array of finite numbers",
    lambda value: (
        np.size(value) > 0
        and np.asarray(value).dtype.kind in "biufc"
        and bool(np.isfinite(value).all())
    ),
).optional


@dataclass(frozen=True)
class Sink:
    """What one SciPy solver takes.

    Attributes
    ----------
    forms : tuple of str
        Forms it accepts, the best first; () where it takes no such derivative.
    make : callable
        ``make(f, form) -> keywords``.
    decides : bool
        Whether ``make`` takes form "auto", and the first point decides.
    """

    forms: tuple[str, ...]
    make: Callable[[Function, str], dict[str, Any]]
    decides: bool = False


def scipy_args(
    f: Function, solver: Any, method: str | None = None, form: str = "auto", x0: Any = None
) -> Any:
    """Return the keyword arguments with which a SciPy solver gets exact derivatives of ``f``.

    Parameters
    ----------
    f : callable
        What the solver takes as its function, in plain NumPy, with its further arguments:
        ``f(x, *args)``; ``f(t, y, *args)`` for `solve_ivp`; ``f(xdata, *params)`` for
        `curve_fit`.
    solver : str or callable
        "minimize", "least_squares", "root", "fsolve", "solve_ivp", "newton_krylov",
        "NonlinearConstraint", "constraint" (a dict of SLSQP's), "curve_fit", or SciPy's
        function itself.
    method : str, optional
        The solver's method; SciPy's default if None.
    form : str
        "operator", "csr" or "dense" to insist; "auto" for the best that the solver accepts.
    x0 : array, optional
        For "minimize", "least_squares" and "root": the start, handed on. `least_squares` can be
        given an operator where no matrix fits only if the start is known here.

    Returns
    -------
    dict
        ``fun`` (or ``f``, ``F``, ``func``), ``jac`` or ``fprime``, ``hess``, and ``method`` if one
        was given; for `least_squares` with a matrix ``x_scale="jac"``, without which it is lost on
        badly scaled problems. Pass the rest yourself: ``minimize(x0=x0, **scipy_args(f,
        "minimize"))``.

    Raises
    ------
    OptionError
        For a solver or method that is not known, or a form that it does not take.

    Notes
    -----
    Each call of a derivative linearizes ``f`` once. Sparse matrices come from the pattern that
    linad finds; pattern and colouring are used again at new points.

    Examples
    --------
    >>> import numpy as np, linad
    >>> from scipy.optimize import minimize
    >>> f = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    >>> found = minimize(x0=np.zeros(3), **linad.scipy_args(f, minimize, method="trust-ncg"))
    >>> found.x.round(4)
    array([1., 1., 1.])
    """
    FUNCTION.check("scipy_args", "f", f)
    TEXT.optional.check("scipy_args", "method", method)
    choice("auto", *FORMS).check("scipy_args", "form", form)
    POINT.check("scipy_args", "x0", x0)
    name = solver if isinstance(solver, str) else name_of(solver)
    methods = SINKS.get(name)
    if methods is None:
        raise OptionError(
            f"scipy_args: solver must be one of {', '.join(SINKS)}, got {shown(solver)}"
        )
    key = method
    found = {k if k is None else k.lower(): sink for k, sink in methods.items()}
    sink = found.get(key if key is None else key.lower())
    if sink is None:
        known = ", ".join(k for k in methods if k is not None) or "None"
        raise OptionError(f"scipy_args: method of {name} must be one of {known}, got {method!r}")
    if form != "auto" and form not in sink.forms:
        takes = f"it takes {' or '.join(sink.forms)}" if sink.forms else "it takes no derivative"
        raise OptionError(
            f"scipy_args: {name}{'' if method is None else f' with method={method!r}'} does not "
            f"take form={form!r}; {takes}"
        )
    best = form
    if form == "auto" and not sink.decides:
        best = (sink.forms or ("",))[0]
    elif form == "auto" and x0 is not None:
        best = _fitting_form(f, _floats(x0))
    keywords = sink.make(f, best)
    if x0 is not None:
        keywords["x0"] = x0
    if method is not None:
        keywords["method"] = method
    return keywords


# Derivatives in each form.


def _matrix(J: Any, form: str) -> Any:
    return J if form == "operator" else J.todense()


def _jacobian(f: Function, form: str, position: int = 0) -> Function:
    """The Jacobian in the argument at a position, as a function of all arguments."""

    def jac(*args: Any) -> Any:
        given = list(args)
        if form == "csr":
            given[position] = _floats(args[position])
            return sparse_jacobian(f, *given, argnums=position)

        def of_one(x: Array) -> Any:
            given[position] = x
            return f(*given)

        return _matrix(linearize(of_one, _floats(args[position]))[1], form)

    return jac


def _fitting_form(f: Function, x: Array, args: tuple[Any, ...] = ()) -> str:
    """Which form of the Jacobian of residuals is the best at a point."""
    n = np.size(x)
    if n <= SMALL:
        return "dense"
    J = linearize(lambda x: operation_by_operation(f)(x, *args), x)[1]
    if is_thin(J):
        return "csr"
    return "dense" if n <= DENSE and J.shape[0] * n <= MOST else "operator"


def _fitting_jacobian(f: Function) -> Function:
    """The Jacobian of residuals as a matrix, of the form that its first point asks for."""
    found: dict[int, Function] = {}

    def jac(x: Array, *args: Any) -> Any:
        n = np.size(x)
        if n not in found:
            form = _fitting_form(f, _floats(x), args)
            if form == "operator":
                raise OptionError(
                    f"scipy_args: the Jacobian in {n} unknowns is too large for a dense matrix "
                    f"and not sparse; call scipy_args(f, 'least_squares', form='operator')"
                )
            found[n] = _jacobian(f, form)
        return found[n](x, *args)

    return jac


def _hessian(f: Function, form: str) -> Function:
    def hess(x: Array, *args: Any) -> Any:
        x = _floats(x)
        if form == "csr":
            return sparse_hessian(f, x, *args)
        return _matrix(hessian_operator(f, x, *args), form)

    return hess


def _floats(x: Array) -> Any:
    x = np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


# Keywords, solver by solver.


def _value_only(f: Function, form: str) -> dict[str, Any]:
    return {"fun": f}


def _value_and_gradient(f: Function, form: str) -> dict[str, Any]:
    both = value_and_grad(f)

    def fun(x: Array, *args: Any) -> Any:
        value, gradient = both(_floats(x), *args)
        # SciPy's C and Fortran take doubles.
        return float(value), np.asarray(gradient, float)

    return {"fun": fun, "jac": True}


def _with_hessian(f: Function, form: str) -> dict[str, Any]:
    return {**_with_gradient(f, form), "hess": _hessian(f, form)}


def _with_gradient(f: Function, form: str) -> dict[str, Any]:
    gradient = grad(f)

    def jac(x: Array, *args: Any) -> Any:
        return np.asarray(gradient(_floats(x), *args), float)

    return {"fun": f, "jac": jac}


def _fun_and_jacobian(f: Function, form: str) -> dict[str, Any]:
    return {"fun": f, "jac": _jacobian(f, form)}


def _residuals(f: Function, form: str) -> dict[str, Any]:
    if form == "operator":
        return {"fun": f, "jac": _jacobian(f, form)}
    jac = _fitting_jacobian(f) if form == "auto" else _jacobian(f, form)
    return {"fun": f, "jac": jac, "x_scale": "jac"}


def _fsolve(f: Function, form: str) -> dict[str, Any]:
    return {"func": f, "fprime": _jacobian(f, form)}


def _curve_fit(f: Function, form: str) -> dict[str, Any]:
    def jac(xdata: Array, *params: Any) -> Any:
        return _matrix(linearize(lambda p: f(xdata, *p), np.array(params, float))[1], form)

    return {"f": f, "jac": jac}


def _solve_ivp(f: Function, form: str) -> dict[str, Any]:
    return {"fun": f, "jac": _jacobian(f, form, position=1)}


def _nonlinear_constraint(f: Function, form: str) -> dict[str, Any]:
    def hess(x: Array, v: Array) -> Any:
        def weighted(x: Array) -> Any:
            return np.sum(f(x) * v)

        return hessian_operator(weighted, _floats(x))

    return {"fun": f, "jac": _jacobian(f, form), "hess": hess}


_PRODUCTS = Sink(("operator", "dense"), _with_hessian)
_FACTORISED = Sink(("dense",), _with_hessian)
_FIRST_ORDER = Sink((), _value_and_gradient)
_NO_DERIVATIVES = Sink((), _value_only)
_DENSE = Sink(("dense",), _fun_and_jacobian)
_RESIDUALS = Sink(("dense", "csr", "operator"), _residuals, decides=True)
_STIFF = Sink(("csr", "dense"), _solve_ivp)
_EXPLICIT = Sink((), _value_only)

SINKS: dict[str, dict[str | None, Sink]] = {
    "minimize": {
        None: _FIRST_ORDER,
        "BFGS": _FIRST_ORDER,
        "CG": _FIRST_ORDER,
        "L-BFGS-B": _FIRST_ORDER,
        "TNC": _FIRST_ORDER,
        "SLSQP": _FIRST_ORDER,
        "Newton-CG": _PRODUCTS,
        "trust-ncg": _PRODUCTS,
        "trust-krylov": _PRODUCTS,
        "trust-constr": Sink(("operator", "csr", "dense"), _with_hessian),
        "dogleg": _FACTORISED,
        "trust-exact": _FACTORISED,
        "Nelder-Mead": _NO_DERIVATIVES,
        "Powell": _NO_DERIVATIVES,
        "COBYLA": _NO_DERIVATIVES,
        "COBYQA": _NO_DERIVATIVES,
    },
    "least_squares": {
        None: _RESIDUALS,
        "trf": _RESIDUALS,
        "dogbox": _RESIDUALS,
        "lm": Sink(("dense",), _residuals),
    },
    "root": {
        None: _DENSE,
        "hybr": _DENSE,
        "lm": _DENSE,
        "krylov": Sink(("operator",), lambda f, form: exact_newton_krylov(f, "root")),
    },
    "fsolve": {None: Sink(("dense",), _fsolve)},
    "newton_krylov": {
        None: Sink(("operator",), lambda f, form: exact_newton_krylov(f, "newton_krylov")),
    },
    "solve_ivp": {
        None: _EXPLICIT,
        "Radau": _STIFF,
        "BDF": _STIFF,
        "LSODA": Sink(("dense",), _solve_ivp),
        "RK45": _EXPLICIT,
        "RK23": _EXPLICIT,
        "DOP853": _EXPLICIT,
    },
    "NonlinearConstraint": {None: Sink(("csr", "dense"), _nonlinear_constraint)},
    "constraint": {None: _DENSE},
    "curve_fit": {
        None: Sink(("dense",), _curve_fit),
        "lm": Sink(("dense",), _curve_fit),
        "trf": Sink(("dense",), _curve_fit),
        "dogbox": Sink(("dense",), _curve_fit),
    },
}
"""The solvers, their methods, and what each takes. NonlinearConstraint's Hessian is always an
operator."""
