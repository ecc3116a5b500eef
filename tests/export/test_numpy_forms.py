"""Every case of the rules as a NumPy module: the value, the Jacobian, and its derivative."""

import warnings

import numpy as np
import pytest
from onnx_cases import cases, is_real, program

import linad
from linad.core import tree
from linad.errors import ExportError

CASES = {name: case for name, case in cases().items() if is_real(case)}


def leaves(value):
    return [np.asarray(v) for v in tree.flatten(value)[0]]


def check_module(f, args):
    """The module's numbers are those of linad; where something has no text form, it is refused."""
    try:
        module = linad.lower(f)(*args).load()
    except ExportError:
        return
    y, pull = linad.vjp(f, *args)
    seeds, structure = tree.flatten(y)
    seeds = [np.cos(np.arange(np.size(v))).reshape(np.shape(v)).astype(v.dtype) for v in seeds]
    found, residuals = module["forward"](*args)
    pulled = module["reverse"](residuals, seeds[0] if len(seeds) == 1 else seeds)
    expected = pull(tree.unflatten(structure, [v[()] for v in seeds]))
    for a, b in zip(leaves([found, pulled]), leaves([y, expected]), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


@pytest.mark.sweep(part=0.15)
@pytest.mark.parametrize("name", CASES)
def test_values_and_jacobians(name):
    """Jacobians are programs with axes of seeds in front."""
    f, args = program(CASES[name])
    if not args or any([a.dtype.kind != "f" for a in args]):
        return
    wrt = tuple(range(len(args)))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_module(f, args)
        check_module(linad.jacobian(f, wrt), args)
