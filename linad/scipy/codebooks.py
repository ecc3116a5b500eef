"""Vector quantization and k-means of scipy.cluster, traced.

Which code is next to an observation is constant, until another one is. With N_k the observations of
cluster k, c_k = Σ_{i ∈ N_k} x_i / |N_k| where k-means has come to rest: SciPy's search says which
they are, and the derivative is that of the means.
"""

from typing import Any

import numpy as np
import scipy.cluster.vq

from linad.core.array_type import Array
from linad.errors import ConvergenceError, DegenerateError, ShapeError
from linad.scipy.implicit_solutions import plain, with_derivative
from linad.scipy.mirror import bound_form, check_finite as check, inexact, traced_form
from linad.scipy.plain_results import by_scipy


def _nearest(obs: Array, code_book: Array) -> Any:
    return scipy.cluster.vq.vq(obs, code_book, check_finite=False)[0]


def _distances(obs: Array, codes: Array) -> Any:
    """From each observation to its code."""
    apart = obs - codes
    return np.abs(apart) if apart.ndim == 1 else np.linalg.norm(apart, axis=1)


@bound_form(scipy.cluster.vq.vq)
def vq(obs: Array, code_book: Any, check_finite: bool) -> Any:
    obs, code_book = inexact(obs), inexact(code_book)
    check(check_finite, obs, code_book)
    if obs.ndim not in (1, 2) or code_book.ndim != obs.ndim or obs.shape[1:] != code_book.shape[1:]:
        raise ShapeError(
            f"vq: obs and code_book must have as many features, got {obs.shape} and "
            f"{code_book.shape}"
        )
    codes = by_scipy(_nearest, obs, code_book)
    return codes, _distances(obs, code_book[codes])


def _means(name: str, obs: Array, labels: Array, found: Array) -> Any:
    """The means of clusters, which are what was found."""
    count = found.shape[0]
    members = labels == np.arange(count)[:, None]
    sizes = members.sum(axis=1)
    if not np.all(sizes):
        raise DegenerateError(
            f"{name}: cluster {int(np.argmin(sizes))} has no observation, and stays where it was "
            f"begun; ask for fewer clusters, or begin with minit='points'"
        )
    means = (members / sizes[:, None]) @ obs
    away = np.max(np.abs(plain(means) - found), initial=0.0)
    if not away <= 1e-6 * np.max(np.abs(found), initial=0.0):
        raise ConvergenceError(
            f"{name}: a code is {away:.2g} away from the mean of its observations: the search has "
            f"not come to rest; pass a smaller thresh, or a larger iter",
            found,
        )
    return with_derivative(found, means)


# All other arguments are SciPy's: its signature does not tell of ``seed`` before 1.17.


@traced_form(scipy.cluster.vq.kmeans)
def kmeans(obs: Array, k_or_guess: Any, *args: Any, **options: Any) -> Any:
    obs = inexact(obs)
    book, distortion = scipy.cluster.vq.kmeans(plain(obs), plain(k_or_guess), *args, **options)
    labels = _nearest(plain(obs), book)
    means = _means("kmeans", obs, labels, book)
    reached = np.mean(_distances(obs, means[labels]))
    return means, with_derivative(distortion, reached)


@traced_form(scipy.cluster.vq.kmeans2)
def kmeans2(data: Array, k: Any, *args: Any, **options: Any) -> Any:
    data = inexact(data)
    book, labels = scipy.cluster.vq.kmeans2(plain(data), plain(k), *args, **options)
    return _means("kmeans2", data, labels, book), labels
