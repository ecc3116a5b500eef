"""The nonlinear regressions of NIST's Statistical Reference Datasets: models, data, certificates.

Source: National Institute of Standards and Technology, Statistical Reference Datasets, nonlinear
regression, https://www.itl.nist.gov/div898/strd/. Data, parameters, standard deviations and
residual sums of squares stand in ``nist/``, one file a regression; those files are in the public
domain. Certified numbers have 11 digits.
"""

from pathlib import Path

import numpy as np
from numpy import arctan, cos, exp, pi, sin, sqrt

FOLDER = Path(__file__).with_name("nist")


def gauss(x, b1, b2, b3, b4, b5, b6, b7, b8):
    bumps = b3 * exp(-((x - b4) ** 2) / b5**2) + b6 * exp(-((x - b7) ** 2) / b8**2)
    return b1 * exp(-b2 * x) + bumps


def misra1a(x, b1, b2):
    return b1 * (1 - exp(-b2 * x))


def lanczos(x, b1, b2, b3, b4, b5, b6):
    return b1 * exp(-b2 * x) + b3 * exp(-b4 * x) + b5 * exp(-b6 * x)


def chwirut(x, b1, b2, b3):
    return exp(-b1 * x) / (b2 + b3 * x)


def cubics(x, b1, b2, b3, b4, b5, b6, b7):
    return (b1 + b2 * x + b3 * x**2 + b4 * x**3) / (1 + b5 * x + b6 * x**2 + b7 * x**3)


def wave(x, period, b_cos, b_sin):
    return b_cos * cos(2 * pi * x / period) + b_sin * sin(2 * pi * x / period)


def enso(x, b1, b2, b3, b4, b5, b6, b7, b8, b9):
    return b1 + wave(x, 12, b2, b3) + wave(x, b4, b5, b6) + wave(x, b7, b8, b9)


MODELS = {
    "Bennett5": lambda x, b1, b2, b3: b1 * (b2 + x) ** (-1 / b3),
    "BoxBOD": misra1a,
    "Chwirut1": chwirut,
    "Chwirut2": chwirut,
    "DanWood": lambda x, b1, b2: b1 * x**b2,
    "ENSO": enso,
    "Eckerle4": lambda x, b1, b2, b3: b1 / b2 * exp(-0.5 * ((x - b3) / b2) ** 2),
    "Gauss1": gauss,
    "Gauss2": gauss,
    "Gauss3": gauss,
    "Hahn1": cubics,
    "Kirby2": lambda x, b1, b2, b3, b4, b5: (b1 + b2 * x + b3 * x**2) / (1 + b4 * x + b5 * x**2),
    "Lanczos1": lanczos,
    "Lanczos2": lanczos,
    "Lanczos3": lanczos,
    "MGH09": lambda x, b1, b2, b3, b4: b1 * (x**2 + x * b2) / (x**2 + x * b3 + b4),
    "MGH10": lambda x, b1, b2, b3: b1 * exp(b2 / (x + b3)),
    "MGH17": lambda x, b1, b2, b3, b4, b5: b1 + b2 * exp(-x * b4) + b3 * exp(-x * b5),
    "Misra1a": misra1a,
    "Misra1b": lambda x, b1, b2: b1 * (1 - (1 + b2 * x / 2) ** -2.0),
    "Misra1c": lambda x, b1, b2: b1 * (1 - 1 / sqrt(1 + 2 * b2 * x)),
    "Misra1d": lambda x, b1, b2: b1 * b2 * x / (1 + b2 * x),
    "Nelson": lambda x, b1, b2, b3: b1 - b2 * x[0] * exp(-b3 * x[1]),  # of the logarithm of y
    "Rat42": lambda x, b1, b2, b3: b1 / (1 + exp(b2 - b3 * x)),
    "Rat43": lambda x, b1, b2, b3, b4: b1 / (1 + exp(b2 - b3 * x)) ** (1 / b4),
    "Roszman1": lambda x, b1, b2, b3, b4: b1 - b2 * x - arctan(b3 / (x - b4)) / pi,
    "Thurber": cubics,
}


class Regression:
    """A model with its data, two starts, and what NIST certifies."""

    def __init__(self, name):
        self.name, self.model = name, MODELS[name]
        lines = FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()
        split = next(i for i, line in enumerate(lines) if line.startswith("squares"))
        parameters = np.array([line.split() for line in lines[1:split]], float)
        *self.starts, self.certified, self.deviations = parameters.T.copy()
        self.squares = float(lines[split].split()[1])
        self.y, *x = np.array([line.split() for line in lines[split + 2 :]], float).T.copy()
        self.x = x[0] if len(x) == 1 else np.array(x)
        if name == "Nelson":
            self.y = np.log(self.y)

    def residual(self, b):
        return self.model(self.x, *b) - self.y


def digits(found, certified):
    """How many digits agree, in the worst of several numbers; 11 at most."""
    error = np.abs(np.asarray(found) - certified) / np.abs(certified)
    worst = np.max(error)
    return float(np.clip(-np.log10(worst), 0, 11)) if 0 < worst < np.inf else 11.0 * (worst == 0)
