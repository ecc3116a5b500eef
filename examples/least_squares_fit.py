"""Fit a curve to reference data, with the Jacobian as an operator.

Misra1a of NIST's Statistical Reference Datasets: monomolecular adsorption,

    volume = b1 (1 - exp(-b2 pressure))

with certified estimates, standard deviations and sum of squares to compare with.

    python examples/least_squares_fit.py [--plot FILE]
"""

import argparse

import numpy as np
from scipy.optimize import least_squares

import linad

PRESSURE = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                     378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])  # fmt: skip
VOLUME = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                   44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])  # fmt: skip

STARTS = np.array([[500.0, 1e-4], [250.0, 5e-4]])  # NIST's two
CERTIFIED = np.array([2.3894212918e02, 5.5015643181e-04])
CERTIFIED_DEVIATIONS = np.array([2.7070075241e00, 7.2668688436e-06])
CERTIFIED_SUM_OF_SQUARES = 1.2455138894e-01


def model(b, pressure):
    return b[0] * (1 - np.exp(-b[1] * pressure))


def residual(b):
    return model(b, PRESSURE) - VOLUME


def jacobian(b):
    """The Jacobian of `residual`: a scipy.sparse.linalg.LinearOperator, 14 x 2."""
    _, J = linad.linearize(residual, b)
    return J


def fit(start):
    # The parameters differ by a factor of 1e6, and least_squares cannot see the columns of
    # an operator; so the scales are given.
    return least_squares(
        residual, start, jac=jacobian, x_scale=[1e2, 1e-4], ftol=1e-14, xtol=1e-14, gtol=1e-14
    )


def standard_deviations(b):
    """Square roots of the diagonal of s^2 (J^T J)^-1."""
    r, J = linad.linearize(residual, b)
    m, n = J.shape
    covariance = r @ r / (m - n) * np.linalg.inv((J.T @ J).todense())
    return np.sqrt(np.diag(covariance))


def save_plot(b, path):
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot(xlabel="pressure", ylabel="volume")
    grid = np.linspace(0, 800, 200)
    axes.plot(grid, model(b, grid))
    axes.plot(PRESSURE, VOLUME, "o")
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Fit NIST's data set Misra1a.")
    parser.add_argument("--plot", metavar="FILE", help="draw the fit with Matplotlib")
    options = parser.parse_args(arguments)
    for start in STARTS:
        found = fit(start)
        print(f"from {start}: {found.nfev} runs, {found.njev} linearizations")
    print()
    print("                  found               certified")
    deviations = standard_deviations(found.x)
    for k in range(2):
        print(f"  b{k + 1}          {found.x[k]:.10e}    {CERTIFIED[k]:.10e}")
        print(f"    deviation {deviations[k]:.10e}    {CERTIFIED_DEVIATIONS[k]:.10e}")
    print(f"  squares     {2 * found.cost:.10e}    {CERTIFIED_SUM_OF_SQUARES:.10e}")
    if options.plot:
        save_plot(found.x, options.plot)


if __name__ == "__main__":
    main()
