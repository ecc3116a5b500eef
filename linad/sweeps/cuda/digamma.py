"""The digamma function, which libdevice lacks, and derivatives of the gamma function need.

psi(x) = psi(x + 1) - 1/x                         up to where the series holds
psi(x) = log x - 1/(2 x) - sum B_2k / (2 k x^2k)
psi(x) = psi(1 - x) - pi / tan(pi x)              below zero

Source: DLMF, 5.5.2, 5.5.4 and 5.11.2.
"""

from typing import Any

import numpy as np

LARGE = 10.0
"""From here on eight terms of the series give all digits."""


def psi(x: Any) -> Any:
    if x == 0:
        return np.copysign(np.inf, -x)
    total = 0.0
    if x < 0:
        nearest = np.rint(x)
        if nearest == x:
            return np.nan
        total = -np.pi / np.tan(np.pi * (x - nearest))
        x = 1 - x
    while x < LARGE:
        total -= 1 / x
        x += 1
    y = 1 / (x * x)
    series = 1 / 132 - y * (691 / 32760 - y * (1 / 12 - y * 3617 / 8160))
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * series))))
    return total + np.log(x) - 0.5 / x - series
