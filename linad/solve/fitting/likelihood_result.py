"""What `maximum_likelihood` has found: parameters, their covariance, and how it is told."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from linad.api.gradients import grad
from linad.solve.fitting.doubts import at_bounds
from linad.solve.fitting.known_parameters import KnownParameters
from linad.solve.fitting.names_elsewhere import OF_LIKELIHOODS
from linad.solve.fitting.parameters import Parameters
from linad.solve.fitting.reports import flat_here, not_read
from linad.solve.fitting.seen_directions import SeenDirections
from linad.solve.problems import quiet

FAR = 10.0
"""Standard errors, in ways that a search has gone, which its end may be without a doubt."""

FLAT = 100 * np.finfo(float).eps
"""Times their number, eigenvalues of a scaled Hessian that are none, relative to the largest."""

FAINT = float(np.sqrt(np.finfo(float).eps))
"""Eigenvalues, relative to the largest, that may be what is left of a gradient alone."""

MINUTE = 1e-8
"""What a product of probabilities of many data is below, and hardly the logarithm of one."""

LEFT = {1.5: (0.28, 0.4), 3.0: (0.0, 0.05), 6.0: (0.0, 1e-3)}
"""Widths d from its maximum, and between what shares of it a product of probabilities is there.

exp(-d²/2) is 0.32, 0.011 and 2e-8. Most logarithms of 1 + g, which end at 0 too, fall sooner.
"""

NO_LOGARITHM = (
    "it looks like the likelihood itself, a product of probabilities; return its logarithm, the "
    "sum of theirs"
)

AT_INFINITY = (
    "the likelihood has no maximum, but rises towards infinity (as where a model separates its "
    "data): parameters and errors mean nothing; give bounds, or a prior"
)

OR_NO_LOGARITHM = "; if it is the likelihood itself, return its logarithm"


def is_no_logarithm(value: float) -> bool:
    """Whether a number is more likely a likelihood than its logarithm."""
    return 0.0 < value < MINUTE


class LikelihoodResult(KnownParameters):
    """Parameters with their uncertainties; prints as a report.

    Attributes
    ----------
    x, errors : containers like p0
        The parameters, and their standard errors: 0 for a fixed parameter, infinite for one that
        the data leave open. ``x`` and ``covariance`` are what the result unpacks to.
    names : list of str
        Of the parameters, one a number.
    values, standard_errors : dict
        Their values by name, and the standard errors of these.
    covariance, correlation : ndarray (n, n)
        In the order of ``names``: the inverse of the Hessian of minus the logarithm.
    log_likelihood, aic : float
        The logarithm at its maximum, as ``f`` returns it, and Akaike's criterion of it.
    undetermined : list of dict
        Directions in which the parameters can move and the likelihood stays.
    free_parameters : int
    success, status, message, nit, nfev, njev
        As from `trust_region`; ``result`` is what it returned.
    """

    elsewhere = OF_LIKELIHOODS
    unchanged = "the likelihood stays"
    measure, factor = "the log-likelihood", -1.0

    def __init__(
        self,
        result: Any,
        parameters: Parameters,
        bounds: tuple[Any, Any],
        solve: Any,
        title: str,
    ) -> None:
        super().__init__(result, parameters, bounds, solve)
        self.title = title
        self._hessian: Callable[[Any, Any], Any] = solve.hessian
        self._cost_of_free: Callable[[Any, Any], Any] = solve.cost

    @property
    def log_likelihood(self) -> float:
        """The logarithm of the likelihood at its maximum."""
        return -self.cost

    @property
    def aic(self) -> float:
        """Akaike's information criterion."""
        return 2.0 * (self.free_parameters + self.cost)

    _variance = 1.0
    _scales = (1.0, 1.0)

    @cached_property
    def _curvature(self) -> Any:
        return self._hessian(self.vector, self.parameters.free)

    @cached_property
    def _directions(self) -> SeenDirections:
        """Those of a root of the Hessian, H = R^T R: R is to it what a Jacobian is to J^T J."""
        H = self._curvature
        if not np.isfinite(H).all():
            return SeenDirections(H)
        if self._runs_off:
            return SeenDirections(np.full(H.shape, np.nan))
        gone = self._levelled
        if gone.any():  # what is left of their curvature says nothing
            H = np.where(gone[:, None] | gone, 0.0, H)
        sizes = np.sqrt(np.abs(np.diagonal(H)))
        D = np.where(sizes > 0, sizes, 1.0)
        values, vectors = np.linalg.eigh(H / D / D[:, None])
        least = FLAT * len(H) * np.abs(values).max(initial=0.0)
        if (values < -least).any():  # no maximum: nothing is known
            return SeenDirections(np.full(H.shape, np.nan))
        faint = (values > least) & (values < FAINT * values.max(initial=0.0))
        if faint.any():
            bent = self._bent_after_a_step(D, values, vectors)
            values = np.where(faint & (bent < 0.1 * values), 0.0, values)
        roots = np.sqrt(np.where(values > least, values, 0.0))
        return SeenDirections(roots[:, None] * vectors.T * D)

    @cached_property
    def _levelled(self) -> Any:
        """The free parameters that have run towards infinity, where the likelihood levels off;
        none if all have, as it has no maximum then, or it is no logarithm."""
        way = (self.vector - self.parameters.start)[self.parameters.free]
        gone = np.array(list(map(self._rises_along, np.diag(way))), bool)
        lost = gone.any() and (gone.all() or self._may_be_no_logarithm or self._runs_off)
        return np.zeros(gone.shape, bool) if lost else gone

    @property
    def _may_be_no_logarithm(self) -> bool:
        return is_no_logarithm(self.log_likelihood) or self._falls_to_zero()

    @cached_property
    def _runs_off(self) -> bool:
        """Whether the likelihood rises for ever as all parameters go on their way together, and is
        bent ever less in each of them: one that levels off in some alone stays bent in others."""
        free, there = self.parameters.free, self.vector.copy()
        way = (self.vector - self.parameters.start)[free]
        if self._may_be_no_logarithm or not self._rises_along(way):
            return False
        there[free] += way / np.sqrt(way @ self._curvature @ way)
        left = np.abs(np.diagonal(self._hessian(there, free)))
        return bool((left <= 0.1 * np.abs(np.diagonal(self._curvature))).all())

    def _bent_after_a_step(self, D: Any, values: Any, vectors: Any) -> Any:
        """Curvatures along eigenvectors, nearer to the maximum by a step along those that are bent.

        Where parameters enter as a product, the Hessian is singular at the maximum, and beside it
        bent by what is left of the gradient; that goes with the gradient.
        """
        free, there = self.parameters.free, self.vector.copy()
        known = values > FAINT * values.max()
        with quiet():
            g = vectors.T @ (grad(self._cost_of_free(there, free))(there[free]) / D)
            there[free] -= vectors @ np.where(known, g / np.where(known, values, 1.0), 0.0) / D
            there = np.clip(there, *self.bounds)  # beyond which there is no curvature
            H = self._hessian(there, free) / D / D[:, None]
        return np.sum(vectors * (H @ vectors), axis=0)

    def _quantile(self, level: float) -> float:
        from scipy.stats import norm

        return float(norm.ppf(0.5 * (1.0 + level)))

    # How it is told.

    def _statistics(self) -> list[tuple[str, str]]:
        return [
            ("result", self.message.partition(": ")[2] or self.message),
            ("free parameters", str(self.free_parameters)),
            ("log-likelihood", f"{self.log_likelihood:.8g}"),
            ("Akaike criterion", f"{self.aic:.6g}"),
            ("steps", f"{self.nit}, evaluations {self.nfev}"),
        ]

    def _why_unknown(self) -> str:
        if is_no_logarithm(self.log_likelihood):
            return f"errors unknown: the logarithm is {self.log_likelihood:.3g}: {NO_LOGARITHM}"
        if at_bounds(self):
            return (
                "errors unknown: the likelihood is not bent as at a maximum; fix what is at a bound"
            )
        if self._runs_off:
            return f"errors unknown: {AT_INFINITY}{self._or_itself()}"
        return f"errors unknown: the likelihood has no maximum here{self._or_itself()}"

    def _or_itself(self) -> str:
        """What to add where it may be no logarithm, which is as often below 0."""
        if not self.log_likelihood > 0.0:
            return ""
        start, free = self.parameters.start, self.parameters.free
        with quiet():
            first = -float(self._cost_of_free(start, free)(start[free]))
        return "" if first < 0.0 else OR_NO_LOGARITHM

    def _doubt(self) -> str:
        """That it is no logarithm, or that the maximum lies at infinity, as that of a model which
        separates its data does."""
        largest = self.log_likelihood
        falls = self._falls_to_zero()
        if is_no_logarithm(largest) or (falls and largest <= 1.0):
            return f"the logarithm is {largest:.3g}: {NO_LOGARITHM}"
        if falls:  # as densities do; the logarithm of 1 + g as well
            return f"it falls from {largest:.3g} to 0, and not below{OR_NO_LOGARITHM}"
        way = (self.vector - self.parameters.start)[self.parameters.free]
        if not any(map(self._rises_along, (way, *np.diag(way)))):
            return ""
        return f"{AT_INFINITY}{self._or_itself()}"

    def _falls_to_zero(self) -> bool:
        """Whether it falls from its maximum as a product of probabilities does: to 0, not below.

        At d widths √(F/H) from a maximum F with the curvature H a likelihood is about
        F exp(-d²/2), and a logarithm F (1 - d²/2): below 0.
        """
        largest, free = self.log_likelihood, np.flatnonzero(self.parameters.free)
        bent = np.diagonal(self._curvature)
        if not largest > 0.0:
            return False
        for k, h in zip(free[bent > 0.0], bent[bent > 0.0], strict=True):
            for side in (1.0, -1.0):
                width = side * np.sqrt(largest / h)
                shares = ((self._moved(k, d * width) / largest, LEFT[d]) for d in LEFT)
                if all(least <= share <= most for share, (least, most) in shares):
                    return True
        return False

    def _moved(self, k: int, step: float) -> float:
        """The function beside its maximum in one parameter; NaN beyond a bound."""
        free, there = self.parameters.free, self.vector.copy()
        there[k] += step
        lower, upper = self.bounds
        if not lower[k] <= there[k] <= upper[k]:
            return np.nan
        with quiet():
            return -float(self._cost_of_free(there, free)(there[free]))

    def _rises_along(self, way: Any) -> bool:
        """Whether the likelihood is no lower where its curvature has one standard error end, far
        beyond the way that the search has gone: beside a maximum it is lower by 1/2."""
        bent = float(way @ self._curvature @ way)
        if not 0.0 < bent < FAR**-2:
            return False
        free, there = self.parameters.free, self.vector.copy()
        there[free] += way / np.sqrt(bent)
        lower, upper = self.bounds
        if (there < lower).any() or (there > upper).any():
            return False
        with quiet():
            fallen = float(self._cost_of_free(there, free)(there[free])) - self.cost
        return fallen < 0.05

    def _without_effect(self, name: str) -> str:
        if self._has_levelled(name):
            i = self.names.index(name)
            side = "-inf" if self.vector[i] < self.parameters.start[i] else "inf"
            return (
                f"the likelihood levels off on its way to {side}, at {self.log_likelihood:.6g}: it "
                f"has no error, but an interval, profile_intervals(names={name!r}); bounds=, or a "
                f"prior, keep it from there{self._or_itself()}"
            )
        why = not_read(self, name) or flat_here(self, name)
        return f"the likelihood does not depend on it{why}"

    def _has_levelled(self, name: str) -> bool:
        """Whether a parameter has run to where the likelihood levels off."""
        k = np.count_nonzero(self.parameters.free[: self.names.index(name)])
        return bool(self._levelled[k])
