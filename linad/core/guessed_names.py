"""Names that somebody guesses who knows other libraries, and what linad calls them."""

import difflib
import importlib
import sys
from collections.abc import Iterable, Mapping

import numpy as np

_MINIMA = (
    "linad.solve.newton_cg, trust_region and lbfgs minimise, and scipy.optimize.minimize takes "
    "jac=linad.grad(f)"
)
_FITS = "linad.solve.curve_fit fits a model to data, linad.solve.fit minimises squares of residuals"
_JACOBIANS = "linad.jacobian, which chooses the direction"
_RULES = "linad.primitive takes rules of your own"
_PLAIN = "write it with NumPy: arrays and functions are NumPy's own"

OF_SOLVERS: dict[str, str] = {
    **dict.fromkeys(("minimize", "minimise", "optimize", "optimise", "Minimizer"), _MINIMA),
    **dict.fromkeys(("bfgs", "fmin", "fmin_bfgs", "adam", "sgd", "gradient_descent"), _MINIMA),
    **dict.fromkeys(("fmin_l_bfgs_b", "minimize_scalar", "brent", "cg", "nelder_mead"), _MINIMA),
    **dict.fromkeys(("Model", "model", "Fit", "nlls", "regression", "global_fit"), _FITS),
    **dict.fromkeys(("leastsq", "lsq", "lmfit", "curve_fitting", "nonlinear_fit"), _FITS),
    **dict.fromkeys(
        ("Parameters", "Parameter"),
        "parameters are numbers, lists, dicts; bounds= and fixed= name them",
    ),
    **dict.fromkeys(
        ("lm", "trf", "dogbox", "marquardt"), "linad.solve.levenberg_marquardt, curve_fit and fit"
    ),
    **dict.fromkeys(
        ("odr", "orthogonal_distance_regression", "odr_fit"),
        "for errors in x as well give linad.solve.fit the true x as parameters too",
    ),
    **dict.fromkeys(
        ("bootstrap", "jackknife", "resample"),
        "call linad.solve.curve_fit in a loop over resampled data; its profile_intervals() are "
        "right where a model is not linear",
    ),
    **dict.fromkeys(
        ("mle", "max_likelihood", "likelihood", "nll", "mlefit", "GenericLikelihoodModel"),
        "linad.solve.maximum_likelihood takes the logarithm of the likelihood",
    ),
    **dict.fromkeys(
        ("mcmc", "emcee", "sample", "sampler"),
        "emcee and PyMC sample from a likelihood in NumPy; linad.value_and_grad has its gradient",
    ),
    **dict.fromkeys(
        ("conf_interval", "confidence_intervals", "profile", "profile_intervals", "ci"),
        "confidence_intervals() and profile_intervals() are methods of what "
        "linad.solve.curve_fit returns",
    ),
    **dict.fromkeys(
        ("plot", "report", "fit_report", "predict"),
        "plot(), report() and predict(x) are methods of what linad.solve.curve_fit returns",
    ),
    **dict.fromkeys(
        ("fsolve", "newton_raphson", "find_root", "nsolve"), "linad.solve.newton finds roots"
    ),
    "root_scalar": "linad.solve.newton finds roots, linad.scipy.optimize.brentq bracketed ones",
    "lstsq": "linad.scipy.linalg.lstsq, or linad.solve.fit for residuals with uncertainties",
    "gmres": "linad.scipy.sparse.linalg.gmres; linad.solve.linear is differentiated through",
}
"""Hints for what is looked for in `linad.solve`."""

OF_LINAD: dict[str, str] = {
    **dict.fromkeys(("gradient", "gradients", "nabla", "derive", "backward"), "linad.grad"),
    **dict.fromkeys(("hess", "hessians", "Hessian"), "linad.hessian"),
    **dict.fromkeys(("jac", "jacfwd", "jacrev", "jacobians", "jacobian_matrix"), _JACOBIANS),
    **dict.fromkeys(
        ("hessp", "hessian_vector_product", "make_hvp", "hvps"),
        "linad.hvp, and linad.hessian_operator for many products at one point",
    ),
    **dict.fromkeys(
        ("value_and_gradient", "grad_and_value", "func_and_grad", "fun_and_grad"),
        "linad.value_and_grad",
    ),
    **dict.fromkeys(("jacobian_sparse", "sparse_jac", "sparsejac"), "linad.sparse_jacobian"),
    **dict.fromkeys(("hessian_sparse", "sparse_hess"), "linad.sparse_hessian"),
    **dict.fromkeys(("make_vjp", "pullback", "adjoint"), "linad.vjp"),
    **dict.fromkeys(("make_jvp", "pushforward", "directional_derivative"), "linad.jvp"),
    **dict.fromkeys(
        ("elementwise_grad", "egrad", "diff", "deriv", "differentiate", "D"),
        "linad.derivative of a function of one number, linad.grad of one of an array",
    ),
    **dict.fromkeys(("stop_grad", "stop_gradients", "no_grad", "detach"), "linad.stop_gradient"),
    **dict.fromkeys(("custom_jvp", "custom_vjp", "custom_gradient", "defvjp", "defjvp"), _RULES),
    **dict.fromkeys(("compile", "njit", "njitted", "function"), "linad.jit compiles"),
    **dict.fromkeys(
        ("vmap", "pmap"),
        "NumPy's broadcasting has many points in one call, linad.map runs a function over rows",
    ),
    **dict.fromkeys(("lax",), "linad.cond, scan, while_loop and map; mostly a Python loop will do"),
    **dict.fromkeys(
        ("tree_map", "ravel_pytree", "flatten"), "linad.ravel makes a vector of a container"
    ),
    **dict.fromkeys(("check_grad", "check_grads", "gradcheck"), "linad.check_derivatives"),
    **dict.fromkeys(("make_jaxpr", "show", "jaxpr"), "print(linad.explain(f)(x))"),
    **dict.fromkeys(("Variable", "Tensor", "tensor", "variable", "np", "random"), _PLAIN),
    **dict.fromkeys(("version", "VERSION"), "linad.__version__"),
    "divergence": "the sum of linad.jacobian's diagonal, np.trace",
    "laplacian": "np.trace of linad.hessian",
}
"""Hints for what is looked for in `linad`."""

ROOMS = ("integrate", "optimize", "interpolate", "linalg", "special", "signal", "stats", "fft")
"""Of SciPy, where a function may be that was looked for elsewhere."""


def unknown(
    module: str, name: str, hints: Mapping[str, str], public: Iterable[str]
) -> AttributeError:
    """The error for a name that a module does not have, with what may have been meant.

    Parameters
    ----------
    module, name : str
        What was asked of, and for what.
    hints : mapping
        From names as others have them to sentences, or to a name of linad's.
    public : iterable of str
        Full names of linad's, of which one may be misspelt.
    """
    words = "" if name.startswith("_") else _meant(name, hints, public)
    error = AttributeError(f"module {module!r} has no attribute {name!r}{words and '; '}{words}")
    if not words:  # Python names what is spelt alike if it is told of what was asked
        error.name, error.obj = name, sys.modules[module]
    return error


def _meant(name: str, hints: Mapping[str, str], public: Iterable[str]) -> str:
    plain = _plain(name)
    known = {_plain(full.rpartition(".")[2]): full for full in public}
    said = known.get(plain) or {_plain(key): hint for key, hint in hints.items()}.get(plain)
    said = said or _of_scipy(name) or _of_numpy(name)
    if not said:
        near = difflib.get_close_matches(plain, known, 1, 0.8)
        said = known[near[0]] if near else ""
    return f"did you mean {said}?" if said and " " not in said else said


def _of_scipy(name: str) -> str:
    if name in (*ROOMS, "sparse", "ndimage", "spatial"):
        return f"linad.scipy.{name} is SciPy's, with functions that trace"
    for room in ROOMS:
        if name in importlib.import_module(f"scipy.{room}").__all__:
            return f"linad.scipy.{room} has SciPy's {name}"
    return ""


def _of_numpy(name: str) -> str:
    if not hasattr(np, name):
        return ""
    own = name in vars(importlib.import_module("linad.numpy"))
    also = f", or linad.numpy.{name} for traced numbers in lists" if own else ""
    return f"write np.{name}, NumPy's own{also}"


def _plain(name: str) -> str:
    """Without what is easily written in another way."""
    return name.lower().replace("_", "")
