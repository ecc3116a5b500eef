"""A lid drives the flow in a square cavity: stream function and vorticity, by Newton-Krylov.

    Δψ + ω = 0          Δω = Re (ψ_y ω_x - ψ_x ω_y)          u = ψ_y,  v = -ψ_x

in the unit square; ψ = 0 on the walls, which stand still but for the lid, y = 1, where u = 1.
Central differences; at a wall Thom's formula, which has ψ one cell off it: ω = -2 ψ / h², and
-2 / h more at the lid. Unknowns are ψ and h² ω.

Newton's systems are solved by GMRES on exact products with the Jacobian, which is never formed.
The preconditioner is made of Stokes' equations, Re = 0: their Jacobian, which linad gives as a
sparse matrix, is factorised once, and serves all steps.

    python examples/driven_cavity.py [--n 63] [--reynolds 100] [--plot FILE]

Compared with U. Ghia, K. N. Ghia and C. T. Shin, "High-Re solutions for incompressible flow using
the Navier-Stokes equations and a multigrid method", Journal of Computational Physics 48, 1982:
velocities on the lines through the middle, on a grid of 129 x 129. Finer computations since differ
from their table by up to 0.009: O. Botella and R. Peyret, "Benchmark spectral results on the
lid-driven cavity flow", Computers and Fluids 27, 1998, have a least v of -0.25380 in the middle.
"""

import argparse

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.sparse.linalg import LinearOperator, splu

import linad

# Ghia, Ghia and Shin, tables I and II, Re = 100: y, u at x = 1/2, and x, v at y = 1/2.
GHIA_Y = np.array([0.0547, 0.0625, 0.0703, 0.1016, 0.1719, 0.2813, 0.4531, 0.5, 0.6172,
                   0.7344, 0.8516, 0.9531, 0.9609, 0.9688, 0.9766])  # fmt: skip
GHIA_U = np.array([-0.03717, -0.04192, -0.04775, -0.06434, -0.10150, -0.15662, -0.21090,
                   -0.20581, -0.13641, 0.00332, 0.23151, 0.68717, 0.73722, 0.78871,
                   0.84123])  # fmt: skip
GHIA_X = np.array([0.0625, 0.0703, 0.0781, 0.0938, 0.1563, 0.2266, 0.2344, 0.5, 0.8047,
                   0.8594, 0.9063, 0.9453, 0.9531, 0.9609, 0.9688])  # fmt: skip
GHIA_V = np.array([0.09233, 0.10091, 0.10890, 0.12317, 0.16077, 0.17507, 0.17527, 0.05454,
                   -0.24533, -0.22445, -0.16914, -0.10313, -0.08864, -0.07391,
                   -0.05906])  # fmt: skip


def with_walls(psi, omega):
    """Both functions (n, n) with their values at the walls, (n + 2, n + 2); axes are (y, x)."""
    h = 1 / (len(psi) + 1)
    at_walls = -2 * np.pad(psi, 1, mode="edge") / h**2
    wall = np.pad(np.zeros(psi.shape), 1, constant_values=1.0)
    lid = np.zeros(wall.shape)
    lid[-1] = 2 / h
    return np.pad(psi, 1), np.pad(omega, 1) + wall * at_walls - lid


def laplacian(f):
    """h² Δf at the inner points, (n, n), of f with walls."""
    return f[:-2, 1:-1] + f[2:, 1:-1] + f[1:-1, :-2] + f[1:-1, 2:] - 4 * f[1:-1, 1:-1]


def along_x(f):
    """2 h f_x."""
    return f[1:-1, 2:] - f[1:-1, :-2]


def along_y(f):
    """2 h f_y."""
    return f[2:, 1:-1] - f[:-2, 1:-1]


def flow(fields, reynolds):
    """The two equations, (2, n, n); ``fields`` (2, n, n) are ψ and h² ω at the inner points."""
    n = fields.shape[1]
    h = 1 / (n + 1)
    psi, omega = with_walls(fields[0], fields[1] / h**2)
    carried = along_y(psi) * along_x(omega) - along_x(psi) * along_y(omega)
    first = laplacian(psi) + fields[1]
    return np.stack([first, h**2 * (laplacian(omega) - reynolds / 4 * carried)])


def solve(n, reynolds=100.0, **options):
    """ψ and h² ω in ``found.x``, (2, n, n)."""
    rest = np.zeros((2, n, n))
    stokes = splu(linad.sparse_jacobian(flow, rest, 0.0, format="csc"))
    M = LinearOperator((rest.size, rest.size), matvec=stokes.solve, dtype=float)
    return linad.solve.newton_krylov(flow, rest, (reynolds,), preconditioner=M, **options)


def centre_lines(fields):
    """u(y) at x = 1/2 and v(x) at y = 1/2, as splines; n is odd."""
    n = fields.shape[1]
    h, middle = 1 / (n + 1), (n - 1) // 2
    psi = np.pad(fields[0], 1)
    u, v = along_y(psi) / (2 * h), -along_x(psi) / (2 * h)
    s = np.linspace(0, 1, n + 2)
    return (
        CubicSpline(s, np.concatenate([[0.0], u[:, middle], [1.0]])),
        CubicSpline(s, np.concatenate([[0.0], v[middle], [0.0]])),
    )


def save_plot(fields, path):
    from matplotlib.figure import Figure

    n = fields.shape[1]
    s = np.linspace(0, 1, n + 2)
    u, v = centre_lines(fields)
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    stream, left, right = figure.subplots(1, 3)
    psi = np.pad(fields[0], 1)
    stream.contour(s, s, psi, np.linspace(psi.min(), 0, 12)[:-1], cmap="viridis")
    stream.contour(s, s, psi, psi.max() * np.array([0.01, 0.1, 0.5]), colors="C3")
    stream.set(title="stream lines", aspect="equal", xticks=[], yticks=[])
    grid = np.linspace(0, 1, 200)
    left.plot(u(grid), grid, label="linad")
    left.plot(GHIA_U, GHIA_Y, "k.", label="Ghia et al., Re = 100")
    left.set(xlabel="u at x = 1/2", ylabel="y")
    left.legend(fontsize="small")
    right.plot(grid, v(grid))
    right.plot(GHIA_X, GHIA_V, "k.")
    right.set(xlabel="x", ylabel="v at y = 1/2")
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="The lid-driven cavity by Newton-Krylov.")
    parser.add_argument("--n", type=int, default=63, help="inner grid points a side, odd")
    parser.add_argument("--reynolds", type=float, default=100.0)
    parser.add_argument("--plot", metavar="FILE", help="draw the flow with Matplotlib")
    options = parser.parse_args(arguments)
    if options.n % 2 == 0:
        parser.error(f"--n {options.n}: an odd number is needed, so that a line is in the middle")

    found = solve(options.n, options.reynolds, disp=True)
    print(f"  {found.x.size} unknowns, {found.njvp} products with the Jacobian")
    if not found.success:
        raise SystemExit(1)
    print(f"  least stream function {found.x[0].min():.5f}")
    if options.reynolds == 100:
        u, v = centre_lines(found.x)
        print("\n      y    u at x = 1/2   Ghia et al.         x    v at y = 1/2   Ghia et al.")
        for k in range(0, len(GHIA_Y), 2):
            print(
                f"  {GHIA_Y[k]:.4f} {u(GHIA_Y[k]):12.5f} {GHIA_U[k]:13.5f}    "
                f"{GHIA_X[k]:.4f} {v(GHIA_X[k]):12.5f} {GHIA_V[k]:13.5f}"
            )
    if options.plot:
        save_plot(found.x, options.plot)


if __name__ == "__main__":
    main()
