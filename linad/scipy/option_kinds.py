"""What the options of SciPy's functions may be, for calls with traced arguments.

SciPy checks its options where it computes, in its own code; a traced form does not run that, and
might take for a flag, or leave unread, what SciPy refuses.
"""

import functools
import inspect
import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from linad.core.options import (
    COUNT,
    FLAG,
    FORMAT,
    POSITIVE,
    POSITIVE_COUNT,
    TOLERANCE,
    Kind,
    choice,
    is_integer,
    is_number,
)
from linad.core.primitive import Traced


def _numbers_that(holds: Callable[[Any], Any], words: str) -> Kind:
    """Numbers, or arrays of them, of which all hold; traced ones are not looked at."""

    def fits(value: Any) -> bool:
        if isinstance(value, Traced):
            return True
        if is_number(value) or isinstance(value, (np.ndarray, list, tuple)):
            array = np.asarray(value)
            return array.dtype.kind in "biuf" and array.size > 0 and bool(np.all(holds(array)))
        return False

    return Kind(words, fits)


NUMERIC = Kind("a number", lambda v: isinstance(v, (Traced, numbers.Number)))
NOTHING = Kind("None", lambda value: value is None)
INTEGER = Kind("an integer", is_integer)
TUPLE = Kind("a tuple", lambda value: isinstance(value, tuple))
SEVERAL = Kind("a tuple or a list", lambda value: isinstance(value, (tuple, list)))
AXES = Kind(
    "an integer, or a tuple of integers",
    lambda v: is_integer(v) or (isinstance(v, (tuple, list)) and all(map(is_integer, v))),
)
TOLERANCES = _numbers_that(lambda v: v >= 0, "a number >= 0, or an array of them").optional
ABOVE_ZERO = Kind("a number > 0", lambda v: isinstance(v, Traced) or POSITIVE.fits(v))
DERIVATIVES = _numbers_that(
    lambda v: (v >= 0) & (v == np.floor(v)), "an integer >= 0, or a list of them"
)
ENTRIES = Kind("an array of one axis", lambda v: np.ndim(v) == 1)
WINDOW = Kind(
    "a name, a tuple or an array of one axis",
    lambda v: isinstance(v, (str, tuple)) or (np.ndim(v) == 1 and np.size(v) > 0),
)
OVERLAP = Kind("an integer >= 0", lambda v: is_number(v) and v >= 0 and v == int(v)).optional
LENGTH = Kind("an integer >= 1", lambda v: is_number(v) and v >= 1 and v == int(v)).optional
EXTRAPOLATION = Kind(
    "0, 1, 2, 3 or 'extrapolate', 'zeros', 'raise', 'const'",
    lambda v: (
        (is_integer(v) and v in range(4))
        or (isinstance(v, str) and v.lower() in ("extrapolate", "zeros", "raise", "const"))
    ),
)

BY_NAME = {
    **dict.fromkeys(("lower", "unit_diagonal", "full_matrices", "compute_uv"), FLAG),
    **dict.fromkeys(("check_finite", "overwrite_a", "overwrite_b", "overwrite_x"), FLAG),
    **dict.fromkeys(("overwrite_ab", "overwrite_a_band", "grid_mode", "repetition"), FLAG),
    **dict.fromkeys(("full_output", "retall", "increasing"), FLAG),
    "cval": NUMERIC,
    "detrend": Kind(
        "a name, a function or False", lambda v: isinstance(v, str) or callable(v) or v is False
    ),
    "driver": choice("ev", "evd", "evr", "evx", "gv", "gvd", "gvx").optional,
    "ext": EXTRAPOLATION,
    "extend": choice("zero", "complex"),
    "extra_arguments": TUPLE,
    "extra_keywords": Kind("a dict", lambda v: isinstance(v, dict)),
    "format": FORMAT.optional,
    "fs": ABOVE_ZERO,
    "lapack_driver": choice("gelsd", "gelsy", "gelss", "gesdd", "gesvd").optional,
    "lwork": INTEGER.optional,
    "minimizer_kwargs": Kind("a dict", lambda v: isinstance(v, dict)).optional,
    "noverlap": OVERLAP,
    "nperseg": LENGTH,
    "orthogonalize": FLAG.optional,
    "plan": NOTHING,
    "return_eigenvectors": FLAG,
    "trans": Kind("0, 1, 2, 'N', 'T' or 'C'", lambda v: str(v) in ("0", "1", "2", "N", "T", "C")),
    "window": WINDOW,
    "workers": Kind("an integer other than 0", lambda v: is_integer(v) and v != 0).optional,
}
"""By the names of the options."""

FUNCTIONS_ON_VECTORS = (
    *("braycurtis", "canberra", "chebyshev", "cityblock", "correlation", "cosine"),
    *("euclidean", "minkowski", "sqeuclidean"),
)

BY_FUNCTION: dict[tuple[str, str], Kind] = {
    **{(name, "n"): POSITIVE_COUNT.optional for name in ("dct", "dst", "idct", "idst")},
    **{(name, "n"): COUNT for name in ("splder", "splantider")},
    **{(name, "w"): ENTRIES.optional for name in FUNCTIONS_ON_VECTORS},
    **{(name, "out"): NOTHING for name in ("cdist", "pdist")},
    **{(name, "axis"): INTEGER for name in ("maximum_filter1d", "minimum_filter1d")},
    **{(name, key): TOLERANCE.optional for name in ("pinv", "pinvh") for key in ("atol", "rtol")},
    **{("odeint", key): TOLERANCES for key in ("atol", "rtol")},
    **{("bisplev", key): COUNT for key in ("dx", "dy")},
    **{
        (name, "fill_value"): NUMERIC
        for name in ("griddata", "LinearNDInterpolator", "NearestNDInterpolator")
    },
    **{(name, "fill_value"): NUMERIC.optional for name in ("interpn", "RegularGridInterpolator")},
    **{("eig", key): FLAG for key in ("left", "right")},
    **{(name, "lapack_driver"): choice("gesdd", "gesvd") for name in ("null_space", "svd")},
    **{
        (name, "lapack_driver"): choice("auto", "stemr", "stebz", "sterf", "stev")
        for name in ("eigh_tridiagonal", "eigvalsh_tridiagonal")
    },
    **{
        (name, "w"): ENTRIES.optional
        for name in ("make_lsq_spline", "LSQUnivariateSpline", "UnivariateSpline")
    },
    **{
        (name, "axes"): AXES.optional
        for name in (
            "gaussian_gradient_magnitude",
            "median_filter",
            "percentile_filter",
            "rank_filter",
        )
    },
    **{(name, "args"): SEVERAL for name in ("fixed_point", "newton", "solve_ivp")},
    ("LSQUnivariateSpline", "k"): POSITIVE_COUNT,
    ("RectBivariateSpline", "maxit"): POSITIVE_COUNT,
    ("barycentric_interpolate", "der"): DERIVATIVES.optional,
    ("gaussian_kde", "bw_method"): Kind(
        "a name, a number > 0 or a function",
        lambda v: isinstance(v, str) or callable(v) or ABOVE_ZERO.fits(v),
    ).optional,
    ("make_interp_spline", "t"): ENTRIES.optional,
    ("make_interp_spline", "bc_type"): Kind(
        "a name, or a pair of conditions",
        lambda v: isinstance(v, str) or (isinstance(v, (tuple, list)) and len(v) == 2),
    ).optional,
    ("RectBivariateSpline", "bbox"): Kind("four numbers or Nones", lambda v: np.shape(v) == (4,)),
    ("interp1d", "copy"): FLAG.optional,
    ("splrep", "s"): NUMERIC.optional,
    ("detrend", "bp"): _numbers_that(lambda v: v >= 0, "an integer >= 0, or several"),
    ("krogh_interpolate", "der"): DERIVATIVES.optional,
    ("minkowski", "p"): ABOVE_ZERO,
    ("solve_discrete_lyapunov", "method"): choice("direct", "bilinear").optional,
    ("resample", "window"): Kind(
        f"{WINDOW.words}, or a function", lambda v: callable(v) or WINDOW.fits(v)
    ),
    ("splev", "der"): COUNT,
    ("squareform", "force"): choice("no", "tomatrix", "tovector"),
}
"""By the names of a function and of its option, where the name alone does not tell."""


@functools.cache
def _that_may_be_none(function: Any) -> frozenset[str]:
    """The parameters whose default in SciPy is None."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # one in C that tells no signature
        return frozenset()
    return frozenset([name for name, p in parameters.items() if p.default is None])


def check_options_of(name: str, function: Any, given: Mapping[str, Any]) -> None:
    """As `check_options`, of a function of SciPy; what is at its default of None is left out."""
    if any([value is None for value in given.values()]):
        none = _that_may_be_none(function)
        given = {k: v for k, v in given.items() if v is not None or k not in none}
    check_options(name, function.__name__, given)


def check_options(name: str, function: str, given: Mapping[str, Any]) -> None:
    """Raise OptionError for options that cannot be.

    Parameters
    ----------
    name, function : str
        The function's full name, for the message, and its own.
    given : dict
        The options of a call.
    """
    for option, value in given.items():
        kind = BY_FUNCTION.get((function, option)) or BY_NAME.get(option)
        if kind is not None:
            kind.check(name, option, value)
