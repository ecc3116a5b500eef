"""Where a fitted model lies, and where further observations of it would.

    confidence band     f(x) ± t s_f
    prediction band     f(x) ± t sqrt(s_f² + s² σ²)

with s_f the standard error of the model at x, from those of the parameters, and s σ the standard
deviation of one observation there: s is what the fit estimates, 1 where sigma is absolute.

Source: N. R. Draper, H. Smith, "Applied regression analysis", 1998, sections 3.1 and 24.
"""

from typing import Any

import numpy as np

from linad.core import tree
from linad.core.options import is_number
from linad.errors import ArgumentError, OptionError, ShapeError
from linad.solve.fitting.given_data import as_arrays
from linad.solve.fitting.propagation import Propagated


def at_places(fit: Any, xdata: Any) -> Propagated:
    """The model at xdata in the form of the data, with its errors."""
    model, places, data = fit._of_model(), fit._places(xdata), fit.data

    def predicted(p: Any) -> Any:
        return tree.unflatten(data.structure, data.sets(model(places, p)))

    known: Propagated = fit._elsewhere.run(fit.title, places, lambda: Propagated.of(predicted, fit))
    return known


def observed_at(fit: Any, xdata: Any, sigma: Any) -> Propagated:
    """The same, with the errors that observations there have beside."""
    if fit.loss is not None:
        raise ArgumentError(
            "prediction_band: with a robust loss the data have outliers, of which no normal "
            "distribution tells; the confidence_band is that of the model"
        )
    known = at_places(fit, xdata)
    leaves, structure = tree.flatten(known.errors)
    noises = _given(fit, sigma) if sigma is not None else _of_data(fit, xdata is None)
    scale = np.sqrt(fit._variance)
    with np.errstate(invalid="ignore"):  # 0 times infinity is what an exact fit of none is
        made = [_hypot(e, scale * n) for e, n in zip(leaves, noises, strict=True)]
    known.errors = tree.unflatten(structure, made)
    return known


def _hypot(error: Any, noise: Any) -> Any:
    """sqrt(error² + noise²); of a complex number in each part."""
    if np.ndim(noise) and np.shape(noise) != np.shape(error):
        raise ShapeError(
            f"prediction_band: sigma has the shape {np.shape(noise)}, and the model "
            f"{np.shape(error)} there"
        )
    if np.iscomplexobj(error):
        return np.hypot(error.real, noise) + 1j * np.hypot(error.imag, noise)
    return np.hypot(error, noise)


def _given(fit: Any, sigma: Any) -> list[Any]:
    """Standard deviations for each data set, of what may be one number for all."""
    data = fit.data
    held = as_arrays(sigma, foreign=True, keep=not tree.is_leaf(data.structure))
    if is_number(held):
        noises = [held] * len(data.leaves)
    elif tree.is_leaf(data.structure):
        noises = [np.asarray(held, float)]
    else:
        noises = tree.flatten_like(
            data.as_container(held), data.structure, "prediction_band: sigma"
        )
    if not all(np.all(np.asarray(n) >= 0) for n in noises):
        raise OptionError("prediction_band: sigma must be standard deviations, not negative")
    return [np.asarray(n, float) for n in noises]


def _of_data(fit: Any, at_data: bool) -> list[Any]:
    """Those of the data: at these, or, where all are alike, anywhere."""
    data = fit.data
    if data.variances is not None:
        each = [np.sqrt(data.variances)]
    else:
        with np.errstate(divide="ignore"):
            each = [1.0 / np.asarray(w, float) for w in data.weights]
    if at_data:
        return [np.broadcast_to(n, y.shape) for n, y in zip(each, data.leaves, strict=True)]
    finite = [n[np.isfinite(n)] for n in each]
    if any(n.size and np.ptp(n) > 1e-12 * n.max() for n in finite):
        raise OptionError(
            "prediction_band: sigma of the data differs from point to point; give sigma=, the "
            "standard deviation of an observation at each of these x"
        )
    return [n.max(initial=0.0) for n in finite]
