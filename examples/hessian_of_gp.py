"""Hyperparameters of a Gaussian process, by exact second derivatives.

The negative log marginal likelihood of observations y at points x,

    1/2 y^T K^-1 y + log det L + n/2 log 2π,    K = L L^T = a² exp(-(x - x')²/2l²) + s² I

in θ = log (a, l, s), is written in plain NumPy. scipy.optimize's trust-ncg gets its gradient and
Hessian-vector products; the Hessian at the minimum gives the uncertainty of θ.

    python examples/hessian_of_gp.py [--plot FILE]
"""

import argparse

import numpy as np
from scipy.optimize import minimize

import linad

NAMES = ("amplitude", "length", "noise")
TRUTH = np.array([1.5, 0.8, 0.2])
START = np.log([1.0, 0.3, 0.5])


def kernel(theta, x1, x2):
    amplitude, length = np.exp(theta[0]), np.exp(theta[1])
    return amplitude**2 * np.exp(-0.5 * ((x1[:, None] - x2[None, :]) / length) ** 2)


def covariance(theta, x):
    return kernel(theta, x, x) + np.exp(2 * theta[2]) * np.eye(len(x))


def negative_log_likelihood(theta, x, y):
    L = np.linalg.cholesky(covariance(theta, x))
    white = np.linalg.solve(L, y)
    return 0.5 * white @ white + np.sum(np.log(np.diag(L))) + 0.5 * len(x) * np.log(2 * np.pi)


def draw_data(n=60, rng=2):
    """Observations of a process with the parameters TRUTH."""
    rng = np.random.default_rng(rng)
    x = np.sort(rng.uniform(0.0, 10.0, n))
    L = np.linalg.cholesky(covariance(np.log(TRUTH), x))
    return x, L @ rng.standard_normal(n)


def fit(x, y):
    def loss(theta):
        return negative_log_likelihood(theta, x, y)

    return minimize(
        linad.value_and_grad(loss),
        START,
        jac=True,
        hessp=lambda theta, v: linad.hvp(loss, (theta,), (v,)),
        method="trust-ncg",
        options={"gtol": 1e-5},
    )


def uncertainties(theta, x, y):
    """Standard deviations of θ in Laplace's approximation: those of the inverse Hessian."""
    H = linad.hessian(negative_log_likelihood)(theta, x, y)
    return np.sqrt(np.diag(np.linalg.inv(H)))


def save_plot(theta, x, y, path):
    from matplotlib.figure import Figure

    grid = np.linspace(0, 10, 200)
    mean = kernel(theta, grid, x) @ np.linalg.solve(covariance(theta, x), y)
    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    axes.plot(grid, mean)
    axes.plot(x, y, ".")
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Fit a Gaussian process.")
    parser.add_argument("--plot", metavar="FILE", help="draw the fit with Matplotlib")
    options = parser.parse_args(arguments)
    x, y = draw_data()
    found = fit(x, y)
    deviations = uncertainties(found.x, x, y)
    print(
        f"{found.message} {found.nit} steps, {found.njev} gradients, "
        f"{found.nhev} Hessian-vector products"
    )
    print("\n              true    found    68 % of the probability")
    for name, truth, log, deviation in zip(NAMES, TRUTH, found.x, deviations, strict=True):
        low, high = np.exp([log - deviation, log + deviation])
        print(f"  {name:<10}{truth:>6.2f}{np.exp(log):>9.3f}    {low:.3f} to {high:.3f}")
    if options.plot:
        save_plot(found.x, x, y, options.plot)


if __name__ == "__main__":
    main()
