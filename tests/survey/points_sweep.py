"""The sweep of all functions that linad differentiates at special points: ``tox -e special``.

It prints what is wrong, by the names of the problems, and takes hours; a part of it minutes.
"""

import argparse
import itertools
import sys
import warnings

import linad
from survey import special_points
from survey.special_points import SOURCES

COUNT = 3
"""Special points of each problem."""

ROUNDING = "its digits are lost: what is exact there is 0 / 0, or a pole that cancels"
KEPT = "at equal or zero eigenvalues its vectors are any; their derivative is NaN, or that of some"
ELSEWHERE = {
    "gradient(": "quotients of equal coordinates: infinities of either sign, or NaN",
    "numpy.linalg.eig": KEPT,
    "spectral-": KEPT,
    "eigenpairs": KEPT,
    "schur": KEPT,
    "cdf2rdf": KEPT,
    "funm": KEPT,
    "qr": "of dependent columns it depends on rounding, and so do signs in triangular matrices",
    "tklmbda": "SciPy's is flat about the shape 0",
    "slogdet": "of a singular matrix there is none, and LinAlgError says so",
    "heaviside": "a jump",
    "copysign": "a jump",
    "CZT": ROUNDING,
    "iircomb": ROUNDING,
    "iirnotch": ROUNDING,
    "iirpeak": ROUNDING,
    "lombscargle": ROUNDING,
    "windows": "of width 0, or of no attenuation: NaN, where most entries of the window are 0",
    "siegelslopes": "SciPy reads memory that nothing was written to",
    "modfresnel": "SciPy's imaginary part at negative arguments is no integral of what it says",
}
"""Problems by a part of their names, and why their findings are none."""

DEPENDENT = "of dependent rows it depends on rounding"
SINGULAR = "of a singular matrix SciPy gives what rounding has chosen, or what it was given"
KNOWN = {
    ("allpole", "JIT VALUE"): "SciPy divides by a leading 0 anew for each signal, and then by NaN",
    ("bartlett", "all"): "of equal entries T is infinite, and p a power that no chain rule sees",
    ("f_oneway", "JIT VALUE"): "of equal samples F is 0, or below by rounding, where p is NaN",
    ("lmoment", "JIT VALUE"): "of equal entries: a quotient of rounding errors",
    ("linalg.rq", "VALUE"): DEPENDENT,
    ("linalg.rq", "two equal rows"): DEPENDENT,
    ("linalg.inv", "LinAlgError: Singular matrix"): SINGULAR,
    ("linalg.solve_continuous_lyapunov", "VALUE"): SINGULAR,
    ("linalg.get_lapack_funcs", "VALUE"): SINGULAR,
    ("linalg.signm", "diagonal"): "an eigenvalue is 0, where the sign jumps",
    ("signal-step", "first"): "a leading 0 is dropped, and the order of the system with it",
    ("signal-zpk2sos", "END"): "zeros and poles are paired otherwise on one side",
}
"""Findings by a part of the name of the problem and one of the finding, and why they are none."""

LONG = ("expm_cond", "lsim", "optimize", "solve_bvp", "nct", "carlson", "betainc_wrt_shapes")
"""Parts of the names of those that take seconds at each point."""


def wrong_among(problems):
    """What is wrong, by the names of the problems."""
    told = (*ELSEWHERE, *LONG)
    found = {}
    with linad.config(disconnected="ignore"):
        for problem in problems:
            if not any(part in problem.name for part in told):
                wrong = [
                    w
                    for w in special_points.wrong_of(problem, COUNT)
                    if not any(part in problem.name and what in w for part, what in KNOWN)
                ]
                if wrong:
                    found[problem.name] = wrong
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", choices=list(SOURCES), help="one source of problems")
    parser.add_argument("--part", default="0/1", help="k/n: the k-th of n parts of each source")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    warnings.simplefilter("ignore")  # NumPy and SciPy warn of what such points are to them
    wrong = False
    for source in [given.source] if given.source else SOURCES:
        for problem in itertools.islice(SOURCES[source](), part, None, parts):
            for name, found in wrong_among([problem]).items():
                wrong = True
                print(f"{source}: {name}: {found}", flush=True)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
