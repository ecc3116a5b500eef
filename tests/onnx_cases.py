"""The cases of the rules as programs to export: the value, and a pullback."""

import re

import numpy as np
from rule_cases import TOPICS

import linad
from linad.core import tree
from linad.core.primitive import Primitive
from linad.errors import ExportError
from linad.export.onnx_writer import FORMS


def cases():
    """Every case of the rules, by topic, number and function."""
    return {
        f"{topic}-{k}-{getattr(case.function, '__name__', 'function')}": case
        for topic, found in TOPICS.items()
        for k, case in enumerate(found)
    }


def is_real(case):
    return not any(np.asarray(a).dtype.kind in "cSUMmO" for a in case.args)


def active(case):
    wrt = case.options.get("wrt")
    return [
        i
        for i, a in enumerate(case.args)
        if np.asarray(a).dtype.kind == "f" and (wrt is None or i in wrt)
    ]


def program(case, dtype=None):
    """A case as a function of its active arguments, and these."""
    places = active(case)

    def value(*given):
        full = list(case.args)
        for i, x in zip(places, given, strict=True):
            full[i] = x
        return case.function(*full, **case.params)

    args = [np.array(case.args[i], dtype) for i in places]
    return value, [
        a if is_array(case.args[i]) else a[()] for i, a in zip(places, args, strict=True)
    ]


def is_array(a):
    return isinstance(a, np.ndarray)


def pullback(case, dtype=None):
    """The derivative of a case in reverse, as a function of its arguments and a cotangent."""
    value, args = program(case, dtype)
    result = value(*args)
    leaves, structure = tree.flatten(result)
    seeds = [
        np.cos(np.arange(v.size) + k).reshape(v.shape).astype(v.dtype)[()]
        for k, v in enumerate(leaves)
    ]

    def pull(args, seeds):
        y, back = linad.vjp(value, *args)
        return back(tree.unflatten(structure, list(seeds)))

    return pull, [tuple(args), tuple(seeds)]


def jacobian(case, dtype=None):
    """The dense Jacobian of a case: a program with axes of seeds in front."""
    value, args = program(case, dtype)
    return linad.jacobian(value, tuple(range(len(args)))), args


class Program:
    """A case, or its derivative, to be exported."""

    def __init__(self, case, make, dtype):
        self.make, self.case, self.dtype = make, case, dtype
        self.simple = make is program
        self.args = ()

    def exported(self):
        """The model; None where it is refused by the name of a primitive, or complex."""
        with linad.config(disconnected="ignore"), np.errstate(all="ignore"):
            f, self.args = self.make(self.case, self.dtype)
            try:
                return linad.onnx(f)(*self.args)
            except ExportError as refusal:
                if re.search("complex|no form in ONNX|signs of its vectors", str(refusal)):
                    return None
                raise


def programs(case, dtype=None):
    return [Program(case, make, dtype) for make in (program, pullback, jacobian)]


def is_exported(case):
    """Whether a case has real arguments, and is that of a primitive with a form or of NumPy."""
    f = case.function
    if isinstance(f, Primitive) and f.name not in FORMS:
        return False
    return is_real(case) and bool(active(case))
