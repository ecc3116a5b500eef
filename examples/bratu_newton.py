"""Bratu's equation by Newton's method, without ever forming a Jacobian matrix.

    Δu + λ exp(u) = 0 in the unit square,  u = 0 on its boundary

The five-point Laplacian is plain NumPy. GMRES solves with linad's operator, preconditioned by
the inverse of the Laplacian, which fast sine transforms apply. At the solution the same operator
gives the sensitivity du/dλ, by the implicit function theorem.

    python examples/bratu_newton.py [--n 63] [--plot FILE]
"""

import argparse

import numpy as np
from scipy.fft import dstn, idstn
from scipy.sparse.linalg import LinearOperator, gmres

import linad


def laplacian(u):
    """(n, n) -> (n, n); the boundary values, zero, are not part of u."""
    n = len(u)
    v = np.pad(u, 1)
    neighbours = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
    return (neighbours - 4 * u) * (n + 1) ** 2


def bratu(u, lam):
    return laplacian(u) + lam * np.exp(u)


def inverse_laplacian(n):
    """The inverse of `laplacian`, as an operator on flat vectors.

    Sines are its eigenvectors, so it is diagonal between two sine transforms.
    """
    k = np.arange(1, n + 1)
    one = -4 * (n + 1) ** 2 * np.sin(k * np.pi / (2 * (n + 1))) ** 2
    eigenvalues = one[:, None] + one[None, :]

    def apply(r):
        return idstn(dstn(r.reshape(n, n), type=1) / eigenvalues, type=1).ravel()

    return LinearOperator((n * n, n * n), matvec=apply, dtype=float)


def krylov(J, b, M):
    """Solve J x = b; return x and the number of products with J."""
    steps = []
    x, info = gmres(
        J, b, M=M, rtol=1e-10, restart=50, callback=steps.append, callback_type="pr_norm"
    )
    if info:
        raise RuntimeError(f"GMRES did not converge in {info} iterations")
    return x, len(steps)


def solve(n, lam, tol=1e-11, report=lambda *_: None):
    """The lower solution, (n, n), by Newton's method from zero."""
    M = inverse_laplacian(n)
    u = np.zeros((n, n))
    for step in range(20):
        r, J = linad.linearize(lambda u: bratu(u, lam), u)
        size = np.abs(r).max()
        if size < tol * (n + 1) ** 2:
            report(step, size, 0)
            return u
        du, products = krylov(J, -r.ravel(), M)
        report(step, size, products)
        u = u + du.reshape(n, n)
    raise RuntimeError(f"Newton's method did not converge for lambda = {lam}")


def sensitivity(u, lam):
    """du/dλ: F(u(λ), λ) = 0 gives J du/dλ = -dF/dλ."""
    n = len(u)
    _, J = linad.linearize(lambda u: bratu(u, lam), u)
    dF = linad.derivative(lambda lam: bratu(u, lam))(lam)
    du, _ = krylov(J, -dF.ravel(), inverse_laplacian(n))
    return du.reshape(n, n)


def save_plot(u, path):
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot(title="Bratu's equation, u", aspect="equal")
    image = axes.imshow(u, extent=(0, 1, 0, 1), origin="lower")
    figure.colorbar(image)
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Bratu's equation by Newton and GMRES.")
    parser.add_argument("--n", type=int, default=63, help="inner grid points a side")
    parser.add_argument("--lam", type=float, default=5.0, help="at most about 6.8")
    parser.add_argument("--plot", metavar="FILE", help="draw the solution with Matplotlib")
    options = parser.parse_args(arguments)
    print(f"{options.n**2} unknowns, lambda = {options.lam}")

    def report(step, size, products):
        print(f"  Newton step {step}: residual {size:.1e}, {products} products with J")

    u = solve(options.n, options.lam, report=report)
    slope = sensitivity(u, options.lam)
    print(f"  largest u {u.max():.6f}, d(largest u)/d(lambda) {slope.ravel()[u.argmax()]:.6f}")
    if options.plot:
        save_plot(u, options.plot)


if __name__ == "__main__":
    main()
