"""Operators that linad pickled before it had rooms are read, or refused in words.

``former_pickles.json`` was written by the revision before the modules moved: pickles,
compressed, in base 64, with the matrices that it had for them (complex ones in two parts).
"""

import base64
import json
import pickle
import zlib
from pathlib import Path

import numpy as np
import pytest

import linad
from linad.errors import DTypeError
from linad.operators.convolution import ValidKernel
from linad.operators.former_states import CHANGED

FORMER = json.loads(Path(__file__).with_name("former_pickles.json").read_text())


def read(name):
    return pickle.loads(zlib.decompress(base64.b64decode(FORMER[name]["pickle"])))


@pytest.mark.parametrize("name", sorted({*FORMER} - {"jitted function"}))
def test_an_operator_is_what_it_was(name):
    J, parts = read(name), np.array(FORMER[name]["matrix"])
    matrix = parts[0] + 1j * parts[1] if parts.ndim == 3 else parts
    columns = np.stack([J @ e for e in np.eye(J.shape[1])], axis=1)
    rows = np.stack([J.H @ e for e in np.eye(J.shape[0])])
    for found in (columns, rows.conj(), (2 * J).todense() / 2):
        np.testing.assert_allclose(found, matrix, rtol=1e-12, atol=1e-14)
    again = pickle.loads(pickle.dumps(J))
    np.testing.assert_array_equal(again @ np.ones(J.shape[1]), J @ np.ones(J.shape[1]))


def test_facts_are_asked_of_them():
    assert "diagonal" in read("sine").structure
    assert "diagonal" in read("tagged").structure
    x = linad.solve_linear(linad.eye(3) + read("sine"), np.ones(3))
    np.testing.assert_allclose(x, 1 / (1 + np.diag(FORMER["sine"]["matrix"])), rtol=1e-14)
    assert isinstance(read("sum").pushforward(np.ones(3)), np.floating)
    for name in ("cosine transform", "sine transform"):
        expected = np.linalg.solve(FORMER[name]["matrix"], np.ones(3))
        found = linad.solve_linear(read(name), np.ones(3))
        np.testing.assert_allclose(found, expected, atol=1e-14)


def test_seeds_are_checked_as_before():
    with pytest.raises(DTypeError, match="expected dtype float64"):
        read("sine").pushforward(np.ones(3) * 1j)


def test_programs_are_refused():
    with pytest.raises(pickle.UnpicklingError, match=r"jit\(.*earlier revision.*make it anew"):
        read("jitted function")
    with pytest.raises(pickle.UnpicklingError, match="primitive 'of no revision'.*make it anew"):
        pickle.loads(b"clinad.core.primitive\nregistered\n(S'of no revision'\ntR.")


def test_each_class_that_changed_has_a_pickle_here():
    """So that what fills in its state is tried; the name says which classes they are."""
    held = b"".join(zlib.decompress(base64.b64decode(f["pickle"])) for f in FORMER.values())
    assert [name for name in CHANGED if name.encode() not in held] == ["ValidKernel"]


def test_a_kernel_of_one_axis():
    """No function of then that can be pickled has one."""
    J = linad.linearize(lambda k: np.convolve(np.arange(5.0), k, "valid"), np.ones(2))[1]
    kernel = next(op for _, links in J.steps for _, op in links if type(op) is ValidKernel)
    state = kernel.__getstate__()
    del state["axes"]
    former = object.__new__(ValidKernel)
    former.__setstate__(state)
    np.testing.assert_array_equal(former.todense(), kernel.todense())
