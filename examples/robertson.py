"""Robertson's reactions: rates from 0.04 to 3e7, integrated over eleven decades of time.

    A -> B              0.04               dA/dt = -0.04 A + 1e4 B C
    B + B -> B + C      3e7                dB/dt =  0.04 A - 1e4 B C - 3e7 B²
    B + C -> A + C      1e4                dC/dt =  3e7 B²

Stiff: explicit methods would need steps of about 1e-4. scipy.integrate's Radau takes some hundred
in all, and wants the Jacobian. `linad.scipy_args` hands it the exact one.

    python examples/robertson.py [--plot FILE]

The reference is that of F. Mazzia and C. Magherini, "Test set for initial value problem solvers",
2008.
"""

import argparse

import numpy as np
from scipy.integrate import solve_ivp

import linad

START = np.array([1.0, 0.0, 0.0])
END = 1e11
REFERENCE = np.array([0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050])
TOLERANCES = {"rtol": 1e-6, "atol": np.array([1e-13, 1e-18, 1e-13])}


def rates(t, y):
    """dy/dt, (3,); amounts and time have no unit."""
    forth = 0.04 * y[0]
    back = 1e4 * y[1] * y[2]
    on = 3e7 * y[1] ** 2
    return np.stack([back - forth, forth - back - on, on])


def jacobian_by_hand(t, y):
    """What a user would have to write."""
    return np.array([
        [-0.04, 1e4 * y[2], 1e4 * y[1]],
        [0.04, -1e4 * y[2] - 6e7 * y[1], -1e4 * y[1]],
        [0.0, 6e7 * y[1], 0.0],
    ])  # fmt: skip


def integrate(**more):
    """The solution, with derivatives by linad unless ``jac`` or ``fun`` says otherwise."""
    arguments = {**linad.scipy_args(rates, "solve_ivp", method="Radau"), **TOLERANCES, **more}
    return solve_ivp(t_span=(0.0, END), y0=START, **arguments)


def error(found):
    """The largest relative error at the end."""
    return np.abs(found.y[:, -1] / REFERENCE - 1).max()


def save_plot(found, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel="time", ylabel="amount", xscale="log")
    later = found.t > 1e-6
    for y, factor, label in zip(found.y, (1, 1e4, 1), ("A", "10⁴ B", "C"), strict=True):
        axes.plot(found.t[later], factor * y[later], ".-", markersize=3, label=label)
    axes.legend()
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Robertson's stiff reactions by Radau.")
    parser.add_argument("--plot", metavar="FILE", help="draw the amounts with Matplotlib")
    options = parser.parse_args(arguments)
    found = integrate()
    ways = {
        "linad": found,
        "by hand": integrate(jac=jacobian_by_hand),
        "differences": integrate(jac=None),
    }
    print("  Jacobian        steps    runs of f    Jacobians    relative error at the end")
    for name, way in ways.items():
        steps = way.t.size - 1
        print(f"  {name:<12}{steps:9}{way.nfev:13}{way.njev:13}{error(way):18.1e}")
    print(f"  A + B + C - 1 at the end: {found.y[:, -1].sum() - 1:.0e}")
    if options.plot:
        save_plot(found, options.plot)


if __name__ == "__main__":
    main()
