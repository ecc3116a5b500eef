"""``python -m fuzz``: random programs, until time is up."""

import argparse
import contextlib
import sys
import time
from collections import Counter

from fuzz.checks import DifferenceError, check
from fuzz.deep_words import DEEP
from fuzz.limits import changed, drawn
from fuzz.odd_words import ODD
from fuzz.people_words import PEOPLE
from fuzz.plain_words import PLAIN
from fuzz.smaller import smaller
from fuzz.writer import write

WORDS = {
    "plain": (PLAIN, PLAIN),
    "people": (PEOPLE, PEOPLE),
    "both": (PLAIN, PEOPLE),
    "odd": (ODD, ODD),
    "deep": (DEEP, DEEP),
}
"""What programs of even and of odd seeds are written with."""


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--programs", type=int, default=10**9, help="stop after so many")
    parser.add_argument(
        "--kernels",
        choices=["python", "compiled"],
        default="python",
        help="whether kernels are run by Python (quick), or compiled (with NUMBA_DISABLE_JIT=1 "
        "in the environment there are none, and NumPy runs the tapes)",
    )
    parser.add_argument(
        "--words",
        choices=list(WORDS),
        default="both",
        help="programs of arrays and views, or with all that people write around them, or a "
        "program of each in turn, or with what is seldom written, too, or with loops and other "
        "compound statements in each other",
    )
    parser.add_argument(
        "--limits",
        action="store_true",
        help="each program with other limits from which linad takes another way, small ones",
    )
    parser.add_argument("--fixed", action="store_true", help="nothing changes between calls")
    parser.add_argument("--large", action="store_true", help="print programs as they were found")
    parser.add_argument("--refusals", action="store_true", help="count refusals by what they say")
    parser.add_argument("--progress", type=int, default=250, help="a line after so many programs")
    return parser.parse_args(arguments)


def backend(kind):
    from linad.core.settings import compiler_is_off

    if kind == "compiled" or compiler_is_off():
        return contextlib.nullcontext()
    from kernels_in_python import kernels_in_python

    return kernels_in_python()


def main(arguments=None):
    """Run programs; return how many differ."""
    options = parsed(arguments)
    end = time.monotonic() + options.seconds
    ran = asked = refused = 0
    reasons, failed = Counter(), []
    seed = options.seed
    while time.monotonic() < end and ran < options.programs:
        words = WORDS[options.words][seed % 2]
        program = write(seed, not options.fixed, words)
        limits = drawn(seed) if options.limits else {}
        try:
            with backend(options.kernels), changed(limits):
                trial = check(program)
        except Exception as problem:  # whatever it is, it is to be seen
            failed.append(seed)
            if not isinstance(problem, DifferenceError):
                problem = f"{type(problem).__name__}: {problem}"
            print(f"# ---- seed {seed}: {problem}\n".replace("\n", "\n# "))
            for (module, name), value in limits.items():
                print(f"# {module}.{name} = {value}")
            with backend(options.kernels), changed(limits):
                print((program if options.large else smaller(program)).script(), flush=True)
        else:
            asked += trial.asked
            refused += len(trial.refused)
            reasons.update(str(error).split("\n")[0][:90] for _, error in trial.refused)
        ran += 1
        seed += 1
        if ran % options.progress == 0:
            print(f"# so far {ran} programs, {asked} questions, {len(failed)} differ", flush=True)
    print(f"{ran} programs, {asked} questions, {refused} refused with an error of linad's own")
    if options.refusals:
        for text, count in reasons.most_common(40):
            print(f"{count:6d}  {text}")
    print(f"{len(failed)} programs differ: seeds {failed[:100]}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
