"""`linad demo`: an equation with hundreds of unknowns; then lynxes and hares.

The first part is in `bratu.py`. The second fits the Lotka-Volterra equations,

du/dt =  alpha u - beta  u v       u  hare pelts, thousands
dv/dt = -gamma v + delta u v       v  lynx pelts, thousands

In logarithms, z = (log u, log v),

dz/dt = a - b exp(z reversed)       a = (alpha, -gamma)       b = (beta, -delta)

which keeps the populations positive, and is the scale of the fit: the numbers of a pelt
count are off by a factor rather than by a difference.

Data: pelts traded by the Hudson's Bay Company, 1900-1920, as in E. P. Odum, "Fundamentals
of Ecology", 1953. Published estimates: B. Carpenter, "Predator-prey population dynamics:
the Lotka-Volterra model in Stan", 2018 (posterior means).
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import linad
from linad.command.bratu import SIDE, Solved, solved
from linad.command.loading import UsageError
from linad.command.terminal import Series, Terminal, legend, plot
from linad.core.array_type import Array

YEARS = np.arange(1900, 1921)
HARE = np.array([
    30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1,
    40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6, 14.6, 16.2, 24.7,
])  # fmt: skip
LYNX = np.array([
    4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4,
    8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7, 10.1, 8.6,
])  # fmt: skip
LOG_PELTS = np.log(np.stack([HARE, LYNX], axis=1))

NAMES = ("alpha", "beta", "gamma", "delta", "u(1900)", "v(1900)")
PUBLISHED = {"alpha": 0.55, "beta": 0.028, "gamma": 0.80, "delta": 0.024}
START = np.log([1.0, 0.05, 1.0, 0.05, HARE[0], LYNX[0]])
STEPS_A_YEAR = 5

SIGNS = np.array([1.0, -1.0])


def states(theta: Array, steps: int = STEPS_A_YEAR, years: int = 20) -> list[Any]:
    """Integrate the equations by the classical Runge-Kutta method of order 4.

    Parameters
    ----------
    theta : array (6,)
        Logarithms of NAMES.
    steps : int
        A year, of equal length.
    years : int

    Returns
    -------
    list of array (2,)
        Log populations of hare and lynx at the start and after each step.
    """
    # Rates a step instead of rates a year: h enters once here, not in every stage.
    rates = np.exp(theta[:4]) / steps
    growth, eaten = SIGNS * rates[0::2], SIGNS * rates[1::2]

    def slope(z: Array) -> Any:
        return growth - eaten * np.exp(z[::-1])

    z = theta[4:]
    found = [z]
    for _ in range(years * steps):
        k1 = slope(z)
        k2 = slope(z + 0.5 * k1)
        k3 = slope(z + 0.5 * k2)
        k4 = slope(z + k3)
        z = z + (k1 + 2.0 * (k2 + k3) + k4) / 6.0
        found.append(z)
    return found


def model(theta: Array) -> Any:
    """Log populations of hare and lynx in each of YEARS, (21, 2)."""
    return np.stack(states(theta)[::STEPS_A_YEAR])


def residual(theta: Array) -> Any:
    """Fit minus data in the log scale, (42,)."""
    return (model(theta) - LOG_PELTS).ravel()


@dataclass
class PopulationFit:
    """A least squares fit, and what its Jacobians cost.

    Attributes
    ----------
    name : str
        How the Jacobian was taken.
    theta : array (6,)
        Logarithms of NAMES, estimated.
    jacobian : array (42, 6)
        At ``theta``.
    work : str
        The Jacobians or runs it took.
    seconds : float
    compiling : float
        Seconds that went by before the Jacobian was compiled.
    """

    name: str
    theta: Any
    jacobian: Any
    cost: float
    work: str
    seconds: float
    compiling: float = 0.0

    @property
    def estimates(self) -> Any:
        """Values of NAMES."""
        return np.exp(self.theta)

    @property
    def standard_errors(self) -> Any:
        """Square roots of the diagonal of sigma^2 (J^T J)^-1, taken from log to linear scale."""
        m, n = self.jacobian.shape
        variance = 2 * self.cost / (m - n)
        covariance = variance * np.linalg.inv(self.jacobian.T @ self.jacobian)
        return self.estimates * np.sqrt(np.diag(covariance))


def fit_compiled() -> PopulationFit:
    """Fit with the Jacobian as a compiled program: the same function, and `linad.jit`."""
    jacobian = linad.jit(linad.jacobian(residual))
    begun = time.perf_counter()
    for _ in range(2):  # the first call records what the function does, the second compiles it
        jacobian(START)
    compiling = time.perf_counter() - begun
    result, seconds = _least_squares(jacobian)
    work = f"{result.njev} Jacobians"
    return PopulationFit("linad.jit", result.x, result.jac, result.cost, work, seconds, compiling)


def fit_by_matrix() -> PopulationFit:
    """Fit with the Jacobian as a matrix: its 6 columns in one forward sweep of linad."""
    result, seconds = _least_squares(linad.jacobian(residual))
    work = f"{result.njev} Jacobians"
    return PopulationFit("linad, uncompiled", result.x, result.jac, result.cost, work, seconds)


def fit_by_differences(scheme: str) -> PopulationFit:
    """Fit with finite differences, SciPy's "2-point" or "3-point"."""
    result, seconds = _least_squares(scheme)
    runs = result.njev * len(START) * (1 if scheme == "2-point" else 2)
    work = f"{runs} runs of the model"
    return PopulationFit(f"differences, {scheme}", result.x, result.jac, result.cost, work, seconds)


def _least_squares(jacobian: Any) -> tuple[Any, float]:
    from scipy.optimize import least_squares

    start = time.perf_counter()
    result = least_squares(residual, START, jac=jacobian, method="trf")
    return result, time.perf_counter() - start


def exact_jacobian(theta: Array) -> Any:
    """The Jacobian by complex steps, exact to rounding: Im f(x + i h e_j) / h for tiny h."""
    h = 1e-30
    columns = [residual(theta + 1j * h * unit).imag / h for unit in np.eye(len(theta))]
    return np.stack(columns, axis=1)


def all_fits() -> list[PopulationFit]:
    """The fit in four ways, each from the same start; the first is the demonstration."""
    linad.jacobian(residual)(START)  # so that nothing below is the first of its kind
    return [
        fit_compiled(),
        fit_by_matrix(),
        fit_by_differences("2-point"),
        fit_by_differences("3-point"),
    ]


NEXT = """\
Your own function, in a file model.py that defines loss(x), at a point:

  linad check model.py:loss --at "np.ones(3)"      is its derivative right?
  linad explain model.py:loss --at "np.ones(3)"    what linad.jit makes of it

In Python:

  import linad
  linad.grad(loss)(x)                              the gradient
  linad.jit(linad.grad(loss))                      compiled, from the second call on
  linad.solve.curve_fit(model, t, y, p0)           a fit with standard errors"""


def parts(terminal: Terminal) -> Iterator[str]:
    """The demonstration as text, part by part, each as soon as it is known."""
    yield report_of_equation(solved(), terminal)
    yield "Fitting a model to data; the first time its Jacobian is compiled, for some seconds ..."
    yield report(all_fits(), terminal)
    yield terminal.paint("What to type next", "bold") + f"\n\n{NEXT}"


def report_of_equation(found: Solved, terminal: Terminal) -> str:
    """The first part as text."""
    n = SIDE * SIDE
    ratio = found.seconds_by_differences / found.seconds
    milliseconds = 1e3 * found.seconds_by_differences
    other = f"{milliseconds:.0f} ms, with differences: {ratio:.1f} times as long"
    return "\n".join([
        terminal.paint(f"Bratu's equation on a square, {n} unknowns", "bold"),
        "",
        "  def bratu(u, lam=6.0):          # a Laplacian and an exponential, plain NumPy",
        "      v = np.pad(u, 1)",
        "      around = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]",
        "      return (around - 4 * u) * (len(u) + 1) ** 2 + lam * np.exp(u)",
        "",
        f"  linad.solve.newton(bratu, np.zeros(({SIDE}, {SIDE})))",
        "",
        f"  largest u                     {found.u.max():.6f}, after {found.steps} steps",
        f"  the Jacobian, {n} x {n}:     {found.entries} entries, found from the code",
        f"  time                          {1e3 * found.seconds:.0f} ms",
        f"  scipy.optimize.root           {other}",
        f"  the two solutions differ by   {found.apart:.0e}",
    ])  # fmt: skip


def report(fits: list[PopulationFit], terminal: Terminal) -> str:
    """The second part as text."""
    best = fits[0]
    strong = partial(terminal.paint, colour="bold")
    misfit = np.sqrt(2 * best.cost / (LOG_PELTS.size - len(START)))
    lines = [
        strong("Lynx and hare pelts of the Hudson's Bay Company, in thousands"),
        "",
        _picture(best.theta, terminal),
        "",
        "  du/dt =  alpha u - beta  u v      u  hare",
        "  dv/dt = -gamma v + delta u v      v  lynx",
        "",
        f"  fitted to {LOG_PELTS.size} numbers in the log scale, which scatter by {misfit:.2f};",
        f"  Runge-Kutta of order 4 in a loop of plain NumPy, {STEPS_A_YEAR} steps a year",
        "",
        strong("              estimate   std. error    published"),
        *_estimates(best),
        "",
        strong("The Jacobian, 42 x 6: what least_squares was given, and what the fit cost"),
        "",
        *_costs(fits),
    ]
    return "\n".join(lines)


def _estimates(fit: PopulationFit) -> list[str]:
    lines = []
    for name, value, error in zip(NAMES, fit.estimates, fit.standard_errors, strict=True):
        digits = 4 if value < 0.1 else 3 if value < 1 else 2 if value < 10 else 1
        cells = [_aligned(value, digits), _aligned(error, digits)]
        if name in PUBLISHED:
            cells.append(_aligned(PUBLISHED[name], digits - 1))
        lines.append(f"  {name:<8}{''.join(f'{cell:>13}' for cell in cells)}".rstrip())
    return lines


def _aligned(value: float, digits: int) -> str:
    """A number that ends in blanks, so that points stand below each other."""
    return f"{value:.{digits}f}" + " " * (4 - digits)


def _costs(fits: list[PopulationFit]) -> list[str]:
    lines = [f"  {'':<21}{'time':>8}   {'J off by':>8}   work"]
    for fit in fits:
        exact = exact_jacobian(fit.theta)
        error = np.abs(fit.jacobian - exact).max() / np.abs(exact).max()
        lines.append(f"  {fit.name:<21}{1e3 * fit.seconds:>5.0f} ms   {error:>8.0e}   {fit.work}")
    return [
        *lines,
        "",
        f"  Until it was compiled {fits[0].compiling:.1f} s went by; that stays on disk.",
        "  Loops over small arrays want linad.jit; large arrays do well without.",
    ]


def _series(theta: Array) -> tuple[Series, Series]:
    """Data and fitted curves of both animals, in thousands."""
    steps = 20
    curves = np.exp(np.stack(states(theta, steps), axis=1))
    when = YEARS[0] + np.arange(curves.shape[1]) / steps
    return (
        Series("hare", "yellow", (YEARS, HARE), (when, curves[0]), "●", "o", "."),
        Series("lynx", "cyan", (YEARS, LYNX), (when, curves[1]), "○", "x", ":", dash=4),
    )


def _picture(theta: Array, terminal: Terminal) -> str:
    series = _series(theta)
    picture = plot(series, range(1900, 1921, 5), range(0, 81, 20), terminal)
    return f"{picture}\n\n  {legend(series, terminal)}   lines: the fit"


def save_plot(theta: Array, path: str) -> None:
    """Write data and fit as an image; the format is that of the suffix.

    Raises
    ------
    UsageError
        If Matplotlib is missing, or the file cannot be written.
    """
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for series, colour in zip(_series(theta), ("tab:orange", "tab:blue"), strict=True):
        axes.plot(*series.curve, color=colour, label=f"{series.name}, fit")
        axes.plot(*series.points, "o", color=colour, label=f"{series.name}, pelts")
    axes.set(
        title="Lotka-Volterra equations fitted to the Hudson's Bay Company's pelts",
        ylabel="pelts, thousands",
        xlim=(YEARS[0] - 0.5, YEARS[-1] + 0.5),
        ylim=(0, None),
        xticks=range(1900, 1921, 4),
    )
    axes.grid(alpha=0.3)
    axes.legend()
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise UsageError(f"--plot: {path} cannot be written: {error}") from error


def check_plot(path: str) -> None:
    """Raise UsageError if no plot can be written there, before there is one."""
    if find_spec("matplotlib") is None:
        raise UsageError(
            "--plot needs Matplotlib, which is not installed; pip install 'linad[plot]' adds it"
        )
    from matplotlib.figure import Figure

    folder, kind = Path(path).resolve().parent, Path(path).suffix.removeprefix(".").lower()
    if not folder.is_dir():
        raise UsageError(f"--plot: {path} cannot be written: there is no folder {folder}")
    known = Figure().canvas.get_supported_filetypes()
    if kind and kind not in known:
        raise UsageError(f"--plot: {path} cannot be written: the format is one of {sorted(known)}")
