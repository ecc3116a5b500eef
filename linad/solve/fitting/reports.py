"""The report of a fit, as text and as HTML."""

import re
from collections import Counter
from html import escape
from typing import Any

import numpy as np

from linad.solve.fitting.asked_of_parameters import unread

MOST, STRONGEST = 60, 20
"""Parameters, and correlations, that a report lists."""


def rounded(value: float, error: float) -> tuple[str, str]:
    """A value to as many digits as its error has meaning for, and the error to two or three."""
    if np.isnan(value) or (np.isfinite(value) and not np.isfinite(error)):
        return f"{value:.6g}", "?"
    if not (error > 0 and np.isfinite(value)):
        return f"{value:.6g}", f"{error:.3g}"
    places = 1 - int(np.floor(np.log10(error)))
    # A date or a frequency that is known to many digits is not read with an exponent.
    if 1e6 <= abs(value) < 1e15 and 1e-6 <= error <= 1e-5 * abs(value):
        return f"{value:.{max(places, 0)}f}", f"{error:.{max(places, 0)}f}"
    if abs(value) >= 1e6 or 0 < max(abs(value), error) < 1e-3:
        digits = max(int(np.floor(np.log10(max(abs(value), error)))) + places, 1)
        return f"{value:.{min(digits, 16)}e}", f"{error:.1e}"
    if places < 0:
        return f"{value:.0f}", f"{error:.0f}"
    return f"{value:.{places}f}", f"{error:.{places}f}"


def statistics(fit: Any) -> list[tuple[str, str]]:
    """What there is to say beside the parameters."""
    found = [
        ("result", fit.message.partition(": ")[2] or fit.message),
        ("observations", str(fit.observations)),
        ("free parameters", str(fit.free_parameters)),
        ("chi-square" if fit.loss is None else "sum of losses", f"{fit.chi_square:.8g}"),
        ("reduced chi-square" if fit.loss is None else "reduced", f"{fit.reduced_chi_square:.8g}"),
        ("Akaike criterion", f"{fit.aic:.6g}"),
        ("Bayesian criterion", f"{fit.bic:.6g}"),
    ]
    if np.isfinite(fit.r_squared):
        found.append(("R-squared", f"{fit.r_squared:.8g}"))
    found.append(("steps", f"{fit.nit}, evaluations {fit.nfev}"))
    return found


def remarks(fit: Any) -> list[str]:
    """For each parameter what makes it special."""
    lower, upper = fit.bounds
    open_ = {name for direction in fit.undetermined for name in direction}
    found = []
    for i, (name, value, error) in enumerate(fit.rows()):
        words = []
        if not fit.parameters.free[i]:
            words.append("fixed")
        elif name in open_:
            words.append("acts by its square" if acts_by_square(fit, name) else "undetermined")
        elif value in (lower[i], upper[i]):
            words.append("at its bound")
        elif not np.isfinite(error):
            why = fit._why_unknown()
            words.append(why.partition(": ")[0] if why in fit.message else why)
        elif error and abs(error) < 10 * abs(value):
            words.append(f"{abs(error / value):.2%}")
        if fit.parameters.free[i] and (np.isfinite(lower[i]) or np.isfinite(upper[i])):
            words.append(f"in [{lower[i]:g}, {upper[i]:g}]")
        found.append(", ".join(words))
    return found


def unknown(fit: Any) -> str:
    """Why there is no error of a parameter that the data determine."""
    if fit.degrees_of_freedom <= 0:
        return "no observations are left to tell errors by"
    if fit.loss is not None and np.isinf(fit._scales[0]):
        return "error unknown: most residuals are many times f_scale"
    return "error unknown"


def openings(fit: Any, most: int = STRONGEST) -> list[str]:
    """Sentences on what the data do not determine, with what to do."""
    directions = fit.undetermined
    found = fit._cautions()
    free = np.count_nonzero(fit.parameters.free)
    squares = not directions or act_by_squares(fit)
    lost = len(directions) < free < 2 * len(directions) and not squares
    if lost:
        found.append(_lost(fit))
    alone = [next(iter(direction)) for direction in directions[:most] if len(direction) == 1]
    stepwise = [name for name in alone if fit._acts_by_steps(name)]
    if stepwise:
        found.append(by_steps(stepwise))
    for direction in directions[:most]:
        names = list(direction)
        if len(names) == 1 and names[0] in stepwise:
            continue
        if len(names) == 1:
            found.append(f"{names[0]}: {fit._without_effect(names[0])}")
        else:
            moves = ", ".join(f"{name} by {move:.4g}" for name, move in direction.items())
            found.append(f"{' and '.join(names)}: {fit.unchanged} if they move together, {moves}")
    if len(directions) > most:
        found.append(f"... and {len(directions) - most} more")
    if squares:
        return found
    if len(directions) == free:
        found.append("Nothing is determined: start elsewhere, where the model responds.")
    elif not lost:
        # The pivots of Gauss and Jordan, and perhaps more, are in one direction alone.
        times = Counter(name for direction in directions for name in direction)
        held = [next(k for k in direction if times[k] == 1) for direction in directions[:most]]
        first = "No p0 was given: say where to start, p0=[...]. " if fit.started_anywhere else ""
        found.append(
            f"{first}Fix one parameter of each, fixed={held!r}, or write a model without it."
        )
    return found


def _lost(fit: Any) -> str:
    """What to do where most is not determined: few models are so, and many starts."""
    if fit.started_anywhere:
        return "Most is not determined, and no p0 was given: say where to start, p0=[...]."
    swapped = ", or give xdata and ydata in that order" if fit.data is not None else ""
    return f"Most is not determined: start elsewhere, where the model responds{swapped}."


def cautions(fit: Any) -> list[str]:
    """What is wrong with a fit as a whole."""
    if fit.data is None and fit.observations == 1:
        return ["There is one residual: return all of them, not the sum of their squares."]
    if fit.data is not None and fit.data.alone and fit.undetermined:
        return [f"{fit.title} returned one number for {fit.data.alone} data: return one for each."]
    return []


def without_effect(fit: Any, name: str) -> str:
    """What there is to say of a parameter whose derivatives are zero."""
    return f"no residual depends on it{not_read(fit, name) or flat_here(fit, name)}"


def by_steps(names: list[str]) -> str:
    """What there is to say of parameters on which residuals depend by steps alone."""
    it = "it" if len(names) == 1 else "them"
    return (
        f"{', '.join(names)}: residuals depend on {it} by steps alone, which no fit follows; what "
        f"the model returns is cut off from {it} by comparisons, rounding, or decisions on plain "
        f"numbers: find a root by linad.scipy.optimize.brentq or linad.solve.root and not by a "
        f"bisection of your own, whose result is its plain ends; make a jump smooth, as "
        f"abs(x) < width by 1 / (1 + np.exp((abs(x) - width) / soft)); or try values of {it}, "
        f"fixed={names!r}"
    )


def flat_here(fit: Any, name: str) -> str:
    """Where nothing depends on a parameter, which may be out of reach there."""
    i = fit.names.index(name)
    value, start = fit.vector[i], fit.parameters.start[i]
    where = f"its start, {name} = {value:.6g}" if value == start else f"{name} = {value:.6g}"
    if acts_by_square(fit, name):
        place = 0.0 if abs(value) <= 1e-5 * abs(start) else value
        return (
            f" to first order at {name} = {place:.6g}, where the cost is least: it acts by its "
            f"square, and has an interval, profile_intervals(names={name!r}), though no error; "
            f"bounds={{{name!r}: ({place:.6g}, None)}} keep it on one side"
        )
    if getattr(fit.result, "rounding", np.zeros(i + 1))[i]:  # a likelihood has no columns
        return f" beyond rounding near {where}: start elsewhere if it should matter"
    return f" near {where}: start elsewhere if it should matter"


def acts_by_square(fit: Any, name: str) -> bool:
    """Whether a parameter acts by its square, and the cost is least where that is 0."""
    turned = getattr(fit.result, "turned", None)  # a likelihood has no columns
    return turned is not None and bool(turned[fit.names.index(name)])


def act_by_squares(fit: Any) -> bool:
    """Whether all parameters without an error are such ones."""
    open_ = fit.undetermined
    return bool(open_) and all(len(d) == 1 and acts_by_square(fit, *d) for d in open_)


def not_read(fit: Any, name: str) -> str:
    """That a function does not read a parameter at all; "" where it does."""
    key = re.split(r"[.\[]", name)[0]
    if key not in unread(fit.solve.residual.run, fit.found):
        return ""
    return f": {fit.title} does not read p[{key!r}]"


def pairs(fit: Any, least: float) -> list[tuple[str, str, float]]:
    """Correlations, the largest first."""
    C, names = fit.correlation, fit.names
    found = [
        (names[i], names[j], float(C[i, j]))
        for i in range(len(names))
        for j in range(i)
        if np.isfinite(C[i, j]) and abs(C[i, j]) >= least
    ]
    return sorted(found, key=lambda entry: -abs(entry[2]))


def text(fit: Any, correlations: float) -> str:
    """The report as text."""
    lines = [f"Fit of {fit.title}", ""]
    lines += [f"  {label:<20} {value}" for label, value in fit._statistics()]
    rows = fit.rows()[:MOST]
    shown = [(name, *rounded(value, error)) for name, value, error in rows]
    widths = [max(len(row[k]) for row in shown) for k in range(3)]
    lines += ["", "Parameters"]
    starts = fit.parameters.start
    for (name, value, error), remark, start in zip(shown, remarks(fit), starts, strict=False):
        lines.append(
            f"  {name:<{widths[0]}}  {value:>{widths[1]}} ± {error:<{widths[2]}}  "
            f"({remark + '; ' if remark else ''}start {start:.6g})"
        )
    if len(fit.names) > MOST:
        lines.append(f"  ... and {len(fit.names) - MOST} more")
    left = openings(fit)
    if left:
        title = "Without standard errors" if act_by_squares(fit) else "Undetermined"
        lines += ["", title, *[f"  {line}" for line in left]]
    if len(fit.names) <= MOST:
        found = pairs(fit, correlations)
        if found:
            lines += ["", f"Correlations (of {correlations:g} and more)"]
            width = max(len(a) + len(b) for a, b, _ in found) + 2
            lines += [f"  {f'{a}, {b}':<{width}}  {c:+.3f}" for a, b, c in found[:STRONGEST]]
            if len(found) > STRONGEST:
                more = len(found) - STRONGEST
                lines.append(f"  ... and {more} weaker {'one' if more == 1 else 'ones'}")
    return "\n".join(lines)


def html(fit: Any) -> str:
    """The report as HTML, for notebooks."""
    parameters = "".join(
        f"<tr><th>{escape(name)}</th><td>{value}</td><td>± {error}</td>"
        f"<td>{escape(remark)}</td></tr>"
        for (name, value, error), remark in zip(
            [(name, *rounded(value, error)) for name, value, error in fit.rows()[:MOST]],
            remarks(fit),
            strict=False,
        )
    )
    said = "".join(
        f"<tr><th>{escape(label)}</th><td>{escape(value)}</td></tr>"
        for label, value in fit._statistics()
    )
    left = "".join(f"<tr><td>{escape(line)}</td></tr>" for line in openings(fit))
    return (
        f"<details open><summary>Fit of {escape(fit.title)}</summary>"
        f"<table>{parameters}</table><table>{left}</table><table>{said}</table></details>"
    )
