"""The command line: `linad demo`, `linad check`, `linad show`, `linad explain`.

Exit status: 0 when all is well, 1 when a check fails or linad cannot differentiate the
function, 2 when the command cannot be run as it was given.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import linad
from linad.command.checks import Finding, run_checks
from linad.command.loading import Problem, UsageError, describe, line_of, load_problem
from linad.command.terminal import Terminal
from linad.core import tree
from linad.core.callers import user_frame
from linad.errors import LinadError

GOOD, FAILED, USAGE = 0, 1, 2

EXAMPLES = """\
examples:
  linad demo                       solve a nonlinear equation, fit lynx and hare pelts
  linad demo --plot pelts.png      and draw the fit with matplotlib
  linad check model.py:loss --at "np.linspace(0, 1, 5)"
                                   is the derivative of loss right there?
  linad check model.py:loss --at "(x0, 2.0)"
                                   a tuple is the arguments; names are those of model.py
  linad show model.py:loss --at point.npz
                                   the forward and reverse programs, line by line
  linad explain model.py:loss --at "np.zeros(3)"
                                   what linad.jit makes of them: loops, memory, what falls back
"""


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="linad",
        description="Automatic differentiation of NumPy code.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"linad {linad.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)

    demo = commands.add_parser(
        "demo",
        help="solve a nonlinear equation and fit real data, with times",
        description="Solve Bratu's equation, 576 unknowns, by Newton's method; then fit the "
        "Lotka-Volterra equations to the lynx and hare pelts of the Hudson's Bay Company, "
        "1900-1920, with scipy.optimize.least_squares and a compiled Jacobian. Both beside "
        "finite differences.",
    )
    demo.add_argument("--plot", metavar="FILE", help="write the fit as an image (PNG, PDF, SVG)")
    demo.set_defaults(run=run_demo)

    check = commands.add_parser(
        "check",
        help="check the derivatives of a function at a point",
        description="Check the derivatives linad takes of a function at a point: dot test, "
        "central differences, orders of the Taylor remainders, symmetry of the Hessian. "
        "Exit status 0: all passed; 1: a check failed; 2: wrong usage.",
    )
    _add_problem(check)
    check.add_argument(
        "--order",
        type=int,
        choices=(1, 2),
        default=2,
        help="derivatives to check: 1, the Jacobian; 2, the Hessian as well (default)",
    )
    check.add_argument("--seed", type=int, default=0, help="of the random directions (default 0)")
    check.set_defaults(run=run_check)

    show = commands.add_parser(
        "show",
        help="print the forward and reverse programs of a function",
        description="Print the primitives a function runs at a point, and those its pullback "
        "runs, with the lines they come from.",
    )
    _add_problem(show)
    show.set_defaults(run=run_show)

    explain = commands.add_parser(
        "explain",
        help="print what linad.jit makes of a function and of its derivative",
        description="Compile a function and its gradient (its Jacobian, if it is not a real "
        "scalar) at a point; print the steps of a call, the memory they touch, what runs in "
        "NumPy, and the decisions that are checked.",
    )
    _add_problem(explain)
    explain.set_defaults(run=run_explain)
    return top


def _add_problem(command: argparse.ArgumentParser) -> None:
    command.add_argument("function", metavar="FILE.py:FUNCTION")
    command.add_argument(
        "--at",
        metavar="POINT",
        help="a Python expression with np and the names of the file, a tuple for several "
        "arguments; or an .npz file with arrays named as the parameters, or arr_0, arr_1, ...; or "
        "an .npy file",
    )


def run_demo(options: argparse.Namespace, terminal: Terminal) -> int:
    """`linad demo`."""
    from linad.command import demo

    if options.plot:
        demo.check_plot(options.plot)
    for k, part in enumerate(demo.parts(terminal)):
        print("\n" * bool(k) + part, flush=True)
    if options.plot:
        demo.save_plot(demo.fit_by_matrix().theta, options.plot)
        print(f"\n  wrote {options.plot}")
    return GOOD


def run_check(options: argparse.Namespace, terminal: Terminal) -> int:
    """`linad check`."""
    problem = load_problem(options.function, options.at)
    y = evaluate(problem)
    print(f"{terminal.paint(problem.__name__, 'bold')}  {problem.place}\n")
    print("\n".join(_signature(problem, y)) + "\n")
    findings = run_checks(problem, problem.point, options.order, options.seed)
    for finding in findings:
        print(_line(finding, terminal))
    failed = [finding.name for finding in findings if not finding.passed]
    print()
    if not failed:
        print(f"  {terminal.paint('Correct:', 'green')} all {len(findings)} checks passed.")
        return GOOD
    verdict = f"{len(failed)} of {len(findings)} checks failed: {', '.join(failed)}."
    print(f"  {terminal.paint('Wrong:', 'red')} {verdict}\n  {_hint(failed)}")
    return FAILED


def _hint(failed: list[str]) -> str:
    """Where to look, from which checks failed."""
    if "value" in failed:
        return (
            "The function gave another value when it was traced: is there randomness in\n"
            "  it, or state that it changes?"
        )
    if "dot test" in failed:
        return (
            "The two modes are not adjoint to each other: look at rules of your own, whose\n"
            "  pullback must be the transpose of their pushforward."
        )
    return (
        "The two modes agree with each other, so look at the function here: a kink or\n"
        "  jump, a stop_gradient, or a rule of your own with the wrong slope."
    )


def run_show(options: argparse.Namespace, terminal: Terminal) -> int:
    """`linad show`."""
    from linad.transforms.programs import trace_vjp

    problem = load_problem(options.function, options.at)
    evaluate(problem)
    forward, reverse = trace_vjp(problem, *problem.point)
    for title, tape in (("forward", forward), ("reverse", reverse)):
        print(terminal.paint(f"# {title}: {len(tape)} equations", "faint"))
        print(f"{tape}\n")
    return GOOD


def run_explain(options: argparse.Namespace, terminal: Terminal) -> int:
    """`linad explain`."""
    problem = load_problem(options.function, options.at)
    y = evaluate(problem)
    argnums = tuple(range(len(problem.point)))
    scalar = isinstance(y, np.ndarray | np.generic | float) and np.shape(y) == ()
    derivative = linad.grad if scalar else linad.jacobian
    for title, function in (
        ("value", problem),
        ("gradient" if scalar else "Jacobian", derivative(problem, argnums)),
    ):
        print(terminal.paint(f"# {title}", "faint"))
        report = linad.explain(function)(*problem.point)
        for step in report.steps:
            if step.source is not None and step.source.filename == _entry():
                step.source = None  # a step of the derivative alone: no line of the user's
        print(f"{report}\n")
    return GOOD


def _entry() -> str | None:
    """The file that the command was started from."""
    frame = user_frame()
    return frame and frame.f_code.co_filename


def evaluate(problem: Problem) -> Any:
    """Run the function at its point without tracing.

    Raises
    ------
    UsageError
        If it raises there, or its value is not finite.
    """
    try:
        with np.errstate(all="ignore"):
            y = problem(*problem.copies())
    except Exception as error:
        raise UsageError(f"{problem.__name__} raised {describe(error)}") from error
    leaves = tree.flatten(y)[0] if y is not None else []
    numbers = [leaf for leaf in leaves if isinstance(leaf, np.ndarray | np.generic | float)]
    if not all(
        np.all(np.isfinite(leaf)) for leaf in numbers if np.asarray(leaf).dtype.kind in "fc"
    ):
        raise UsageError(
            f"{problem.__name__} is not finite at this point, so there is nothing to compare"
        )
    return y


def _signature(problem: Problem, y: Any) -> list[str]:
    """What goes in and what comes out, a line each."""
    rows = [
        (name, _describe(value), "" if i in problem.active else "held fixed")
        for i, (name, value) in enumerate(zip(problem.names, problem.values, strict=True))
    ]
    rows.append(("value", _describe(y), _number_as_text(y)))
    width = max(len(name) for name, _, _ in rows)
    kinds = max(len(kind) for _, kind, _ in rows)
    return [f"  {name:<{width}}  {kind:<{kinds}}  {note}".rstrip() for name, kind, note in rows]


def _describe(value: Any) -> str:
    """Dtype and shape; for a container its type and what it holds."""
    if isinstance(value, np.ndarray | np.generic | int | float | complex):
        x = np.asarray(value)
        return f"{x.dtype} {x.shape}"
    leaves = tree.flatten(value)[0] if value is not None else []
    kinds = ", ".join(_describe(leaf) for leaf in leaves[:3])
    more = f", ... {len(leaves)} in all" if len(leaves) > 3 else ""
    return f"{type(value).__name__} of {kinds}{more}" if leaves else type(value).__name__


def _number_as_text(y: Any) -> str:
    """A number as such; nothing for arrays."""
    return f"{y:.6g}" if isinstance(y, np.generic | float) else ""


def _line(finding: Finding, terminal: Terminal) -> str:
    return (
        f"  {terminal.mark(finding.passed)} {finding.name:<12}{finding.formula:<33}"
        f"{finding.found:<16}{finding.needed}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    if not (sys.argv[1:] if arguments is None else arguments):
        parser().print_help(sys.stderr)
        raise SystemExit(USAGE)
    options = parser().parse_args(arguments)
    try:
        status: int = options.run(options, Terminal.of())
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"linad: {error}", file=sys.stderr)
        return USAGE
    except LinadError as error:
        print(f"linad: {type(error).__name__}: {error}{line_of(error)}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(note, file=sys.stderr)
        return FAILED
    except BrokenPipeError:
        # The reader (a pager, head) has seen enough; keep Python's exit from flushing to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
