"""Lynxes and hares: a fit, its standard errors, and what each observation does to it.

The model of `linad demo`: the equations of Lotka and Volterra, integrated by Runge and Kutta's
method in plain NumPy, and fitted to the logarithms of the pelts traded in 1900 to 1920. Here the
fit is linad's own, by Gauss and Newton's method.

Standard errors are those of s² (JᵀJ)⁻¹. The fit as a function of the data is differentiated
through the solution (implicit differentiation), not through the solver's steps: one Jacobian says
how each parameter would move if any pelt count had been another. From it follow errors once more,
without the assumption that the model is linear near the fit.

    python examples/pelts.py [--plot FILE]
"""

import argparse

import numpy as np

import linad
from linad.command.demo import LOG_PELTS, NAMES, START, YEARS, model


def residual(theta, log_pelts):
    """Model minus data, (21, 2); ``theta`` are logarithms of NAMES."""
    return model(theta) - log_pelts


def fit():
    """The fit: a result with ``x``, ``fun``, ``jac``, ``cost``."""
    return linad.solve.gauss_newton(residual, START, (LOG_PELTS,), xtol=1e-12, ftol=0)


def scatter(found):
    """s, the standard deviation of the data about the fit."""
    m, n = found.jac.shape
    return np.sqrt(2 * found.cost / (m - n))


def standard_errors(found):
    """Of theta: square roots of the diagonal of s² (JᵀJ)⁻¹."""
    J = found.jac
    return scatter(found) * np.sqrt(np.diag(np.linalg.inv((J.T @ J).todense())))


def sensitivities(found):
    """d theta / d log pelts, (6, 21, 2), by the implicit function theorem."""

    def solution(log_pelts):
        # Started where it ends: the derivative does not depend on the way there.
        return linad.solve.least_squares(residual, found.x, log_pelts, xtol=1e-12, ftol=0)

    return linad.jacobian(solution)(LOG_PELTS)


def propagated_errors(found, S):
    """Of theta: those of the data, s each and independent, through the sensitivities S."""
    return scatter(found) * np.sqrt(np.sum(S**2, axis=(1, 2)))


def save_plot(S, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    panels = figure.subplots(3, 2, sharex=True)
    for name, of_one, axes in zip(NAMES, S, panels.flat, strict=True):
        axes.axhline(0, color="0.7", linewidth=0.8)
        for animal, column, colour in zip(("hare", "lynx"), of_one.T, ("C1", "C0"), strict=True):
            axes.plot(YEARS, column, "o-", color=colour, markersize=3, label=animal)
        axes.set(title=f"log {name}", xticks=YEARS[::5])
    panels[0, 0].legend(fontsize="small")
    figure.suptitle("how the fit moves with the logarithm of each pelt count")
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The fit of the pelts, and what it rests on.")
    parser.add_argument("--plot", metavar="FILE", help="draw the sensitivities with Matplotlib")
    options = parser.parse_args(arguments)
    found = fit()
    print(f"{found.message}, {found.nit} steps\n")
    print("            estimate   std. error   by sensitivities   leans most on")
    S = sensitivities(found)
    errors = standard_errors(found), propagated_errors(found, S)
    for k, (name, of_one) in enumerate(zip(NAMES, S, strict=True)):
        year, animal = np.unravel_index(np.argmax(np.abs(of_one)), of_one.shape)
        estimate = np.exp(found.x[k])
        print(
            f"  {name:<8}{estimate:10.4f} {estimate * errors[0][k]:11.4f} "
            f"{estimate * errors[1][k]:15.4f}        {('hares', 'lynxes')[animal]} of "
            f"{YEARS[year]}"
        )
    if options.plot:
        save_plot(S, options.plot)


if __name__ == "__main__":
    main()
