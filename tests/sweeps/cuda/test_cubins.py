"""Machine code of device kernels on disk; what makes it is tested by tests/cuda_kernels.py."""

import numpy as np
import pytest

import linad
from linad.errors import FallbackError
from linad.sweeps.cuda import compiler, cubins
from linad.sweeps.cuda.cubins import Cubin, cubin_of

LOG = """
ptxas info    : Function properties for __internal_trig_reduction_slowpathd
ptxas         .     40 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 34 registers, used 0 barriers
info    : used 46 registers, used 5 barriers, 40 stack, 0 bytes smem
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A folder of kernels, a compiler that says what it was asked for, and no kernels yet."""
    asked = []

    def linked(ptx, capability):
        asked.append((ptx, capability))
        return Cubin(b"\x7fELF\n\n" + ptx.encode(), 34, 0, 8)

    monkeypatch.setattr(compiler, "check_packages", lambda: None)
    monkeypatch.setattr(compiler, "ptx_of", lambda source, capability: f"ptx of {source}")
    monkeypatch.setattr(cubins, "linked", linked)
    monkeypatch.setattr(cubins, "toolchain", lambda: "tools")
    monkeypatch.setattr(cubins.cache, "folder", lambda: tmp_path)
    monkeypatch.setattr(cubins, "_cubins", {})
    return asked


def test_found_on_disk(made, tmp_path):
    first = cubin_of("source")
    assert cubin_of("source") is first
    cubins._cubins.clear()
    assert cubin_of("source") == first
    assert made == [("ptx of source", (9, 0))]
    assert len(list(tmp_path.glob("g*.cubin"))) == 1


def test_one_for_each_capability(made):
    assert cubin_of("source", (10, 0)) == cubin_of("source")
    assert [capability for _, capability in made] == [(10, 0), (9, 0)]


def test_damaged_files_are_not_used(made, tmp_path):
    first = cubin_of("source")
    (path,) = tmp_path.glob("g*.cubin")
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    cubins._cubins.clear()
    assert cubin_of("source") == first
    assert len(made) == 2


def test_what_the_assembler_says():
    assert cubins._facts(LOG) == {"registers": 46, "spilled": 24, "stack": 40}


def test_other_targets_have_none():
    with pytest.raises(FallbackError, match="cubins: expected a program for CUDA, got one for CPU"):
        linad.explain(np.sin)(np.ones(3)).cubins()
