"""Cosine and sine transforms of types 1 to 3, by Fourier transforms of real numbers.

DCT-II of n numbers    with those of even number first, the others backwards behind them, V = rfft,
                       W_k = exp(-iπ k/2n) V_k:  y_k = 2 Re W_k,  y_(n-k) = -2 Im W_k
DCT-III                the same backwards: W_k = (x_k - i x_(n-k)) / 2, with x_n = 0
DCT-I, DST-I           of the even or odd continuation, of 2n - 2 or 2n + 2 numbers
DST-II, DST-III        DCT-II of (-1)^k x_k, backwards; DCT-III of x backwards, times (-1)^k

Source: J. Makhoul, "A fast cosine transform in one and two dimensions", IEEE Transactions on
Acoustics, Speech, and Signal Processing 28, 1980.
"""

from typing import Any

import numpy as np

from linad.sweeps.composed_forms import composed
from linad.sweeps.expansions import ON_HOST

LARGEST = 2**14
"""Entries up to which these take less time than a call of SciPy's transform from a program."""


@composed(ON_HOST, "cosines")
def cosines(x: Any, *, kind: str, type: int, axis: int) -> Any:
    transform = TRANSFORMS.get((kind, type))
    if transform is None or not 0 < x.size <= LARGEST:
        return None
    lanes = np.moveaxis(x, axis, -1)
    if x.dtype.kind == "c":
        y = transform(lanes.real) + 1j * transform(lanes.imag)
    else:
        y = transform(lanes)
    return np.moveaxis(y, -1, axis)


def _folded(n: int) -> Any:
    """Numbers of even place, and those of odd place backwards."""
    return np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]])


def _turns(x: Any, sign: int) -> Any:
    """exp(± iπ k/2n) for each k up to n/2, in the precision of x."""
    n = x.shape[-1]
    turns = np.exp(sign * 0.5j * np.pi / n * np.arange(n // 2 + 1))
    return turns.astype(np.result_type(x.dtype, np.complex64))


def _second(x: Any) -> Any:
    n = x.shape[-1]
    w = np.fft.rfft(x[..., _folded(n)]) * _turns(x, -1)
    first, rest = 2 * w.real, -2 * w.imag[..., 1 : (n + 1) // 2]
    return np.concatenate([first, rest[..., ::-1]], axis=-1)


def _third(x: Any) -> Any:
    n = x.shape[-1]
    behind = np.concatenate([np.zeros_like(x[..., :1]), x[..., : (n - 1) // 2 : -1]], axis=-1)
    v = (x[..., : n // 2 + 1] - 1j * behind) * _turns(x, 1)
    y = np.fft.irfft(v, n, norm="forward")
    return y[..., np.argsort(_folded(n))]


def _first(x: Any) -> Any:
    return np.fft.rfft(np.concatenate([x, x[..., -2:0:-1]], axis=-1)).real


def _first_sines(x: Any) -> Any:
    zero = np.zeros_like(x[..., :1])
    odd = np.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1)
    return -np.fft.rfft(odd).imag[..., 1:-1]


def _signs(x: Any) -> Any:
    return np.where(np.arange(x.shape[-1]) % 2, -1, 1).astype(x.dtype)


TRANSFORMS = {
    ("dct", 1): _first,
    ("dct", 2): _second,
    ("dct", 3): _third,
    ("dst", 1): _first_sines,
    ("dst", 2): lambda x: _second(x * _signs(x))[..., ::-1],
    ("dst", 3): lambda x: _third(x[..., ::-1]) * _signs(x),
}
"""By kind and type; each is along the last axis, of real numbers."""
