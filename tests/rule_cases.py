"""The cases of all rules, by the topics of the tests beside them: for sweeps over every rule."""

import importlib.util
from pathlib import Path


def _cases_of(path):
    spec = importlib.util.spec_from_file_location(f"cases_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
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
