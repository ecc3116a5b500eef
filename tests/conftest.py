"""What all tests share: a folder of their own for compiled kernels."""

import os

import pytest


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
