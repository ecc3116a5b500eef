"""Bratu's equation on a fine grid by Newton's method, and the fold where its solutions end.

    Δu + λ exp(u) = 0 in the unit square,  u = 0 on its boundary

The residual is plain NumPy. linad finds the pattern of its Jacobian, colours it, and solves with
the sparse matrix: no stencil is written twice, no pattern given. Solutions exist up to λ = 6.808;
there the branch turns back, and continuation by arclength follows it round.

    python examples/bratu_fold.py [--n 128] [--plot FILE]
"""

import argparse
import time

import numpy as np
import scipy.optimize

import linad

FOLD = 6.808124423
"""The largest λ, in the limit of fine grids (A. Mohsen, "A simple solution of the Bratu problem",
Computers and Mathematics with Applications 67, 2014)."""


def bratu(u, lam):
    """The five-point residual, times h², (n, n); the boundary values, zero, are not part of u."""
    n = len(u)
    v = np.pad(u, 1)
    neighbours = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
    return neighbours - 4 * u + lam / (n + 1) ** 2 * np.exp(u)


def solve(n, lam, tol=1e-12):
    """The lower solution, by Newton's method from zero."""
    return linad.solve.newton(bratu, np.zeros((n, n)), (lam,), ftol=tol)


def solve_by_differences(n, lam, tol=1e-12):
    """The same by SciPy's Newton-Krylov, which differentiates by differences."""
    return scipy.optimize.newton_krylov(lambda u: bratu(u, lam), np.zeros((n, n)), f_tol=tol)


def follow(n, points=40):
    """The branch from λ = 0 up to the fold and back."""
    return linad.solve.continuation(
        bratu, np.zeros((n, n)), 0.0, step=0.5, bounds=(0.0, np.inf), maxiter=points, ftol=1e-11
    )


def save_plot(branch, path):
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot(title="Bratu's equation", xlabel="λ", ylabel="largest u")
    axes.plot(branch.parameters, [u.max() for u in branch.path], ".-")
    for fold in branch.folds:
        axes.plot(fold.parameter, fold.x.max(), "o")
        label = f"λ = {fold.parameter:.4f}  "
        axes.annotate(label, (fold.parameter, fold.x.max()), ha="right", va="center")
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Bratu's equation and its fold.")
    parser.add_argument("--n", type=int, default=64, help="inner grid points a side")
    parser.add_argument("--lam", type=float, default=5.0, help="at most about 6.808")
    parser.add_argument("--points", type=int, default=20, help="points on the branch")
    parser.add_argument("--plot", metavar="FILE", help="draw the branch with Matplotlib")
    options = parser.parse_args(arguments)
    n = options.n
    solve(n, options.lam)  # the pattern and its colouring, once
    start = time.perf_counter()
    found = solve(n, options.lam)
    middle = time.perf_counter()
    solve_by_differences(n, options.lam)
    end = time.perf_counter()
    print(f"{n * n} unknowns, λ = {options.lam}")
    print(f"  {found.message}")
    print(f"  {found.nit} steps, largest u {found.x.max():.6f}, {middle - start:.3f} s")
    print(f"  by differences: {(end - middle) / (middle - start):.1f} times as long")
    branch = follow(n, options.points)
    for fold in branch.folds:
        print(f"  fold at λ = {fold.parameter:.6f}, {FOLD:.6f} on fine grids")
    print(f"  {branch.nit} points, the last at λ = {branch.parameter:.4f}")
    if options.plot:
        save_plot(branch, options.plot)


if __name__ == "__main__":
    main()
