"""Peaks of scipy.signal, traced: where they are is decided, how high and how wide moves.

SciPy's Python code runs; what its compiled loops find, indices, is found for the plain values, and
the numbers follow from the indices:

    prominence      x_p - max(x_l, x_r), of a peak and its bases
    width           between the places where x crosses  x_p - h prominence,  interpolated linearly
"""

from typing import Any

import numpy as np
import scipy.signal
from scipy.signal import _peak_finding_utils

from linad.rules.shaping import still
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import stands_for


def _maxima(x: Any) -> Any:
    return _peak_finding_utils._local_maxima_1d(still(x))


def _far_apart(peaks: Any, priority: Any, distance: Any) -> Any:
    return _peak_finding_utils._select_by_peak_distance(peaks, still(priority), distance)


def _prominences(x: Any, peaks: Any, wlen: Any) -> Any:
    _, left, right = _peak_finding_utils._peak_prominences(still(x), peaks, wlen)
    return x[peaks] - np.maximum(x[left], x[right]), left, right


def _crossing(x: Any, height: Any, place: Any, outwards: int) -> Any:
    """Where x crosses a height between two samples; ``place`` is plain, and tells which."""
    i = (np.floor(place) if outwards < 0 else np.ceil(place)).astype(np.intp)
    between = still(x)[i] < still(height)
    step = np.where(between, x[i - outwards * between] - x[i], 1.0)
    return i - outwards * np.where(between, (height - x[i]) / step, 0.0)


def _widths(x: Any, peaks: Any, rel_height: Any, prominences: Any, left: Any, right: Any) -> Any:
    plain = (still(x), peaks, still(rel_height), still(prominences), left, right)
    _, _, starts, ends = _peak_finding_utils._peak_widths(*plain)
    height = x[peaks] - prominences * rel_height
    starts, ends = _crossing(x, height, starts, -1), _crossing(x, height, ends, 1)
    return ends - starts, height, starts, ends


for _name, _found in {
    "_local_maxima_1d": _maxima,
    "_select_by_peak_distance": _far_apart,
    "_peak_prominences": _prominences,
    "_peak_widths": _widths,
}.items():
    stands_for(getattr(_peak_finding_utils, _name), _found)

find_peaks = form_by_twin(scipy.signal.find_peaks)
peak_prominences = form_by_twin(scipy.signal.peak_prominences)
peak_widths = form_by_twin(scipy.signal.peak_widths)
