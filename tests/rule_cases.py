"""The cases of all rules, by the topics of the tests beside them: for sweeps over every rule."""

import importlib.util
import sys
from pathlib import Path

import numpy as np


def _cases_of(path):
    spec = importlib.util.spec_from_file_location(f"cases_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that functions in it can be pickled
    spec.loader.exec_module(module)
    return getattr(module, "CASES", [])


TOPICS = {
    path.stem.removeprefix("test_"): _cases_of(path)
    for path in sorted((Path(__file__).parent / "rules").glob("test_*.py"))
    if path.stem != "test_registry"
}

FIRST = {id(c.function): c for cases in reversed(TOPICS.values()) for c in reversed(cases)}


def is_first(case):
    """Whether a case is the first of its function."""
    return FIRST[id(case.function)] is case


def asked_of(case):
    """The arguments that a case differentiates in."""
    given = range(len(case.args))
    inexact = [i for i in given if np.asarray(case.args[i]).dtype.kind in "fc"]
    return set(case.options.get("wrt") or inexact)


def _first_of_each_argument():
    """The ids of the cases without which an argument of a function would not be asked for."""
    asked, found = {}, set()
    for case in (case for cases in TOPICS.values() for case in cases):
        known = asked.setdefault(id(case.function), set())
        if is_first(case) or not asked_of(case) <= known:
            found.add(id(case))
            known |= asked_of(case)
    return found


NEEDED = _first_of_each_argument()


def is_needed(case):
    """Whether a case is the first of its function, or the first that asks for an argument."""
    return id(case) in NEEDED
