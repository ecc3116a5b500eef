"""What all tests share: a folder of their own for compiled kernels.

With ``NUMBA_DISABLE_JIT`` there are no compiled programs (`linad.jit` lets NumPy run what it
recorded), so tests of these are left out: the back end's, the documentation's blocks, which
show compiled programs, and those marked ``compiles``.
"""

import os

import pytest

COMPILER_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

if COMPILER_IS_OFF:
    collect_ignore = ["sweeps", "test_docs.py"]


def pytest_collection_modifyitems(config, items):
    if COMPILER_IS_OFF:
        left_out = [item for item in items if item.get_closest_marker("compiles")]
        items[:] = [item for item in items if not item.get_closest_marker("compiles")]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session", autouse=True)
def folder_for_kernels(tmp_path_factory):
    """Kernels are kept for the session; for longer, where LINAD_CACHE_DIR names a folder.

    Processes that run tests side by side share it.
    """
    if "LINAD_CACHE_DIR" in os.environ:
        yield
        return
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    os.environ["LINAD_CACHE_DIR"] = str(folder / "kernels")
    yield
    del os.environ["LINAD_CACHE_DIR"]


@pytest.fixture(params=["python", pytest.param("compiled", marks=pytest.mark.full)])
def kernels(request):
    """For tests of many kernels: Python runs them, and they are compiled by ``tox -e full``."""
    if request.param == "compiled" or COMPILER_IS_OFF:
        yield
    else:
        from kernels_in_python import kernels_in_python

        with kernels_in_python():
            yield
