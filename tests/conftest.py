"""What all tests share: a folder of their own for compiled kernels, and how kernels are run.

With ``NUMBA_DISABLE_JIT`` there are no compiled programs (`linad.jit` lets NumPy run what it
recorded), so tests of these are left out: the back end's, the documentation's blocks, which
show compiled programs, and those marked ``compiles``.
"""

import gc
import os
import shutil
import zlib

import pytest
from hypothesis import HealthCheck, settings as of_hypothesis

of_hypothesis.register_profile("any machine", suppress_health_check=[HealthCheck.too_slow])
of_hypothesis.load_profile("any machine")
"""How long drawing examples takes is no result: of the first, Hypothesis reads all of linad."""

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""The tests run side by side, on small matrices: more threads of BLAS would wait for each other."""

os.environ.setdefault("LINAD_COMPILERS", "0")
os.environ.setdefault("LINAD_PROGRESS", "0")
"""Each test compiles for itself, and says nothing: some look at what is printed."""

MOST_KERNELS = 5000
"""About what four full runs of changed back ends leave; 200 MB."""

COMPILER_IS_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

if COMPILER_IS_OFF:
    collect_ignore = ["sweeps", "test_docs.py"]


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        default="1",
        metavar="FRACTION[:SEED]",
        help="run only this part of the tests marked full, another one for each seed",
    )


def pytest_itemcollected(item):
    """Of a grid marked ``sweep``, a part stays in the default run: by name, so always the same."""
    sweep = item.get_closest_marker("sweep")
    if sweep and zlib.crc32(item.nodeid.encode()) >= sweep.kwargs["part"] * 2**32:
        item.add_marker(pytest.mark.full)


MANY, STAYING = 6, 6
"""Cases from which a test is a grid, and the part of them, one in so many, that stays in the
default run."""


def mark_the_rest(items):
    """Leave most of a grid's cases to `.ci/run`: by name, so always the same ones, of those that
    are not left to it by a mark of their own."""
    grids = {}
    for item in items:
        if not any([item.get_closest_marker(name) for name in ("full", "whole", "rest")]):
            grids.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for grid in grids.values():
        if len(grid) >= MANY:
            grid.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
            for item in grid[len(grid) // STAYING :]:
                item.add_marker(pytest.mark.rest)


@pytest.hookimpl(tryfirst=True)  # before -m is looked at
def pytest_collection_modifyitems(config, items):
    mark_the_rest(items)
    fraction, _, seed = config.getoption("--part").partition(":")

    def is_wanted(item):
        if COMPILER_IS_OFF and item.get_closest_marker("compiles"):
            return False
        if not item.get_closest_marker("full"):
            return True
        return zlib.crc32(f"{seed} {item.nodeid}".encode()) < float(fraction) * 2**32

    left_out = [item for item in items if not is_wanted(item)]
    if left_out:
        items[:] = [item for item in items if is_wanted(item)]
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Thousands of tests are made, and all of them stay: the garbage collector has no work here.

    Nor later: it would look at a million objects each time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


TESTS_TO_REST = 300
TESTS_SINCE = pytest.StashKey[int]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Nor at what tests leave in tables and modules: hundreds of thousands of objects,
    and those that ask what is let go of collect again and again. Not within a file, whose tests
    may look for what they share.
    """
    result = yield
    stash = item.config.stash
    stash[TESTS_SINCE] = stash.get(TESTS_SINCE, 0) + 1
    if nextitem and nextitem.path != item.path and stash[TESTS_SINCE] >= TESTS_TO_REST:
        stash[TESTS_SINCE] = 0
        gc.collect()
        gc.freeze()
    return result


AS_FOUND = pytest.StashKey()


def process_state():
    """What a test has to leave as it was for the next one: which that is, is chance.

    `numpy.seterr` alone does not, even where it is called again with what it has returned: that is
    another state to calls that compare it.
    """
    from linad.core.error_state import state
    from linad.core.settings import settings

    return state(), settings()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    item.stash[AS_FOUND] = process_state()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    result = yield
    assert process_state() == item.stash[AS_FOUND], (
        "NumPy's error state or linad's settings changed"
    )
    return result


@pytest.fixture
def unfrozen():
    """For tests that adopt code: to reach objects that are frozen takes seconds."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture
def adopting(request, monkeypatch):
    """For tests that adopt code: it is looked for in what they make and in what their module holds.

    In the million objects of all other tests that takes most of the time. Tests that ask for
    ``unfrozen`` look there, too.
    """
    if "unfrozen" in request.fixturenames:
        return
    from linad.adoption import live_objects

    held = list(vars(request.module).values())
    held += [member for o in held if isinstance(o, type) for member in vars(o).values()]

    def of_this_test():
        return list({id(o): o for o in [*gc.get_objects(), *held]}.values())

    monkeypatch.setattr(live_objects, "live_objects", of_this_test)


def folder_of(config, tmp_path_factory):
    """pytest's own cache, so that a second run compiles little; a temporary folder without one.

    Processes that run tests side by side share it.
    """
    if hasattr(config, "cache"):
        return config.cache.mkdir("linad") / "kernels"
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "kernels"


@pytest.fixture(scope="session", autouse=True)
def folder_for_kernels(request, tmp_path_factory):
    """A folder of their own for compiled kernels, unless LINAD_CACHE_DIR names one."""
    if "LINAD_CACHE_DIR" in os.environ:
        yield
        return
    os.environ["LINAD_CACHE_DIR"] = str(folder_of(request.config, tmp_path_factory))
    yield
    del os.environ["LINAD_CACHE_DIR"]


def pytest_sessionstart(session):
    """Kernels of sources that have changed since pile up: start anew before there are too many."""
    if "PYTEST_XDIST_WORKER" in os.environ or not hasattr(session.config, "cache"):
        return
    folder = session.config.cache.mkdir("linad") / "kernels"
    if folder.is_dir() and sum(1 for _ in folder.glob("k*.py")) > MOST_KERNELS:
        shutil.rmtree(folder)


@pytest.fixture(params=["python", pytest.param("compiled", marks=pytest.mark.full)])
def kernels(request):
    """For tests of many kernels: Python runs them, and they are compiled by ``tox -e full``."""
    if request.param == "compiled" or COMPILER_IS_OFF:
        yield
    else:
        from kernels_in_python import kernels_in_python

        with kernels_in_python():
            yield
