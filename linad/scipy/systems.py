"""Linear systems of scipy.signal, traced: responses, poles and zeros, state space.

H(z) = b(1/z) / a(1/z)        x' = A x + B u,  y = C x + D u
"""

import functools
from typing import Any

import numpy as np
import scipy.signal

from linad.core.array_type import Array
from linad.errors import ShapeError, UnsupportedError
from linad.rules.creation import asarray
from linad.rules.shaping import astype, concrete, still
from linad.scipy.mirror import bound_form, holds_traced, inexact, traced_form
from linad.scipy.twins import function_twin


def _vector(name: str, what: str, c: Any) -> Any:
    c = np.atleast_1d(inexact(c))
    c = c[0] if c.ndim == 2 and c.shape[0] == 1 else c  # as ss2tf gives the numerator
    if c.ndim != 1 or not c.shape[0]:
        raise ShapeError(f"{name}: {what} must be a non-empty 1d array, got shape {c.shape}")
    return c


# Responses.


def _frequencies(
    dtype: np.dtype[Any], worN: Any, whole: bool, fs: Any, include_nyquist: bool
) -> Any:
    """SciPy's own, which a filter that does nothing has as well; those that are asked for stay."""
    if holds_traced(worN):
        return np.atleast_1d(inexact(worN))
    one, rate = np.ones(1, dtype), still(fs)
    w = scipy.signal.freqz(one, one, worN, whole, None, concrete(rate), include_nyquist)[0]
    return w * (fs / rate) if holds_traced(fs) and (worN is None or np.ndim(worN) == 0) else w


@bound_form(scipy.signal.freqz)
def freqz(b: Array, a: Array, worN: Any, whole: bool, fs: Any, include_nyquist: bool) -> Any:
    given = asarray(a).dtype  # integers make the frequencies double
    b = _vector("freqz", "b", b)
    a = np.ones(1, b.dtype) if isinstance(a, int) and a == 1 else _vector("freqz", "a", a)
    dtype = np.result_type(b.dtype, a.dtype)
    w = _frequencies(np.result_type(dtype, given), worN, whole, fs, include_nyquist)
    late = np.exp(-1j * astype(2 * np.pi * w / fs, np.finfo(dtype).dtype))
    return w, np.polyval(b[::-1], late) / np.polyval(a[::-1], late)


# Representations.


@bound_form(scipy.signal.lp2hp)
def lp2hp(b: Any, a: Any, wo: Any) -> Any:
    """H(wo/s), as H(1/s) at s/wo: for wo = 1 SciPy does not multiply by its powers."""
    turned = function_twin(scipy.signal.lp2hp)
    if not holds_traced(wo):
        return turned(b, a, wo)
    b, a = turned(b, a)
    both = function_twin(scipy.signal.lp2lp)(b, a, wo)
    return tuple([astype(c, b.dtype, copy=False) for c in both])


def _with_zeros(original: Any, end: int) -> Any:
    """The form of a function of b / a that keeps the derivatives in zeros at an end of b.

    SciPy drops them, and does not see that they move. Its results are linear in b but for that, and
    the second depends on a alone: so a 1 is added to b there before, and taken away after.
    """

    @traced_form(original)
    def form(b: Array, a: Any, *args: Any, **kwargs: Any) -> Any:
        twin = function_twin(original)
        b = np.atleast_1d(asarray(b))
        if not holds_traced(b) or not b.size or np.any(still(b)[..., end]):
            return twin(b, a, *args, **kwargs)
        one = np.zeros_like(still(b))
        one[..., end] = 1
        found, of_a, *more = twin(b + one, a, *args, **kwargs)
        less, _, *still_less = twin(one, a, *args, **kwargs)
        return found - less, of_a, *[x - y for x, y in zip(more, still_less, strict=True)]

    return form


def _polynomials(system: Any, w: Any, count: int) -> Any:
    """b and a of a system that is given by them, where a zero or pole of it lies at infinity: SciPy
    leaves it out. None for any other system."""
    if not isinstance(system, tuple) or len(system) != count or w is None:
        return None
    b, a = (np.atleast_1d(asarray(c)) for c in system[:2])
    if not holds_traced((b, a)) or b.ndim != 1 or a.ndim != 1 or not b.size or not a.size:
        return None
    return None if still(b)[0] and still(a)[0] else (b, a)


@bound_form(scipy.signal.freqresp)
def freqresp(system: Any, w: Any, n: Any) -> Any:
    given = _polynomials(system, w, 2)
    if given is None:
        return function_twin(scipy.signal.freqresp)(system, w, n)
    w = np.atleast_1d(asarray(w))
    return w, np.polyval(given[0], 1j * w) / np.polyval(given[1], 1j * w)


@bound_form(scipy.signal.dfreqresp)
def dfreqresp(system: Any, w: Any, n: Any, whole: bool) -> Any:
    given = _polynomials(system, w, 3)
    if given is None or np.ndim(w) == 0:  # a number of frequencies
        return function_twin(scipy.signal.dfreqresp)(system, w, n, whole)
    w = asarray(w)
    z = np.exp(1j * w)
    return w, np.polyval(given[0], z) / np.polyval(given[1], z)


normalize = _with_zeros(scipy.signal.normalize, 0)
residue = _with_zeros(scipy.signal.residue, 0)
residuez = _with_zeros(scipy.signal.residuez, -1)


def _normalized(name: str, num: Array, den: Any, kept: bool = False) -> tuple[Any, Any]:
    """As `scipy.signal.normalize`: no zeros in front, and den_0 = 1.

    Those of a numerator that is no longer than the denominator may stay: they move.
    """
    num, den = _vector(name, "the numerator", num), _vector(name, "the denominator", den)
    leads = [np.flatnonzero(still(c)) for c in (num, den)]
    if not all(lead.size for lead in leads):
        raise UnsupportedError(f"{name}: the numerator or the denominator is zero")
    precision = np.result_type(num.dtype, den.dtype)
    den = astype(den[leads[1][0] :], precision, copy=False)
    longest = max(num.shape[0] - den.shape[0], 0)
    num = astype(num[min(leads[0][0], longest) if kept else leads[0][0] :], precision, copy=False)
    return num / den[0], den / den[0]


@traced_form(scipy.signal.tf2zpk)
def tf2zpk(b: Array, a: Any) -> Any:
    b, a = _normalized("tf2zpk", b, a)
    return np.roots(b), np.roots(a), b[0]


@traced_form(scipy.signal.tf2ss)
def tf2ss(num: Array, den: Any) -> Any:
    num, den = _normalized("tf2ss", num, den, kept=True)
    missing, n = den.shape[0] - num.shape[0], den.shape[0] - 1
    if missing < 0:
        raise ValueError("tf2ss: improper transfer function: num is longer than den")
    if n < 1:
        return np.zeros((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)), num[None]
    num = np.concatenate([np.zeros(missing, num.dtype), num])
    A = np.concatenate([-den[None, 1:], np.eye(n - 1, n)])
    return A, np.eye(n, 1), (num[1:] - num[0] * den[1:])[None], num[None, :1]


# From s to z.


def _through_bilinear(c: Array, order: int, fs: Any) -> Any:
    """Σ_q c_q (2 fs)^(q - n/2) (z - 1)^q (z + 1)^(n - q): the powers of s that c belongs to."""
    total: Any = np.zeros(order + 1)
    for q in range(min(c.shape[0], order + 1)):
        shape = np.poly(np.array([1.0] * q + [-1.0] * (order - q)))
        total = total + c[c.shape[0] - 1 - q] * (2 * fs) ** (q - order / 2) * shape
    return total


@functools.cache
def _drops_zeros() -> bool:
    """Whether the order is that of the polynomials; before SciPy 1.16 it is as they are given."""
    return len(scipy.signal.bilinear([0.0, 1.0], [0.0, 1.0])[1]) == 1


@bound_form(scipy.signal.bilinear)
def bilinear(b: Array, a: Array, fs: Any) -> Any:
    # SciPy's polynomials drop coefficients that are 0, and their derivatives with them.
    b, a = np.atleast_1d(inexact(b)), np.atleast_1d(inexact(a))
    for what, c in (("b", b), ("a", a)):
        if c.ndim != 1:
            raise ShapeError(f"bilinear: {what} must be a 1d array, got shape {c.shape}")
    looked_at = [np.trim_zeros(still(c), "f") if _drops_zeros() else c for c in (b, a)]
    order = max(c.shape[0] for c in looked_at) - 1
    normalize = function_twin(scipy.signal.normalize)
    return normalize(_through_bilinear(b, order, fs), _through_bilinear(a, order, fs))
