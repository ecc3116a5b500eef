"""Functions of SciPy that run as SciPy's own code on traced values."""

import gc
import importlib
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.signal
import scipy.spatial.transform
import scipy.stats
import twin_cases
from released import OLD_SCIPY, newer_scipy
from survey.table import mirrored_functions

import linad
import linad.scipy.signal as ls
import linad.scipy.spatial
import linad.scipy.stats as lt
from linad.errors import LinadError
from linad.scipy import twins
from linad.scipy.twinforms import form_by_twin
from linad.scipy.twins import class_twin, function_twin, twin_of
from linad.testing.derivative_checks import check_derivatives

ALL = [(room, name) for room, cases in twin_cases.ROOMS.items() for name in cases]


# SciPy 1.18 says so of these; what they compute is the same.
@pytest.mark.filterwarnings(
    "ignore:`(distance_matrix|minkowski_distance(_p)?)` is:DeprecationWarning"
)
@pytest.mark.sweep(part=0.08)
@pytest.mark.parametrize("room, name", ALL)
def test_values_and_both_derivatives(room, name):
    f, *arrays = twin_cases.ROOMS[room][name]
    theirs = getattr(scipy, room)
    ours = importlib.import_module(f"linad.scipy.{room}")
    if not hasattr(theirs, name.partition("-")[0].partition(".")[0]):
        return  # of a later SciPy
    if OLD_SCIPY and name == "tf2sos":
        return  # does not trace
    # What ranks alone tell does not move.
    with np.errstate(all="ignore"), linad.config(disconnected="ignore"):
        expected = np.asarray(f(theirs, *arrays))
        np.testing.assert_array_equal(f(ours, *arrays), expected)
        found = linad.linearize(lambda *a: f(ours, *a), *arrays)[0]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        check_derivatives(lambda *a: f(ours, *a), *arrays)


# What SciPy's code may do with Python's own functions, which have forms for traced values.
WITH_BUILTINS = {
    "float": lambda x: float(x[0]) * x[1],
    "complex": lambda x: (complex(x[0], 2.0) * complex(x[1])).imag,
    "int": lambda x: x[0] * int(x[1]),
    "isinstance": lambda x: x[0] if isinstance(x[0], float) else "lost",
    "getattr": lambda x: x[0] * getattr(x, "_node", 2.0),
    "hasattr": lambda x: x[0] if hasattr(x, "ctypes") else "lost",
    "type": lambda x: x[0] if type(x) is np.ndarray else "lost",
}


@pytest.mark.parametrize("name", WITH_BUILTINS)
def test_pythons_own_functions(name):
    f, x = WITH_BUILTINS[name], np.array([1.5, 2.25])
    np.testing.assert_array_equal(linad.linearize(function_twin(f), x)[0], f(x))


def test_a_union_of_classes_holds_those_of_scipy():
    """`ttest_ind` asks ``isinstance(method, PermutationMethod | MonteCarloMethod | None)``."""
    x, y = twin_cases.X[:5], twin_cases.Y[:4]
    expected = linad.grad(lambda x: lt.ttest_ind(x, y).statistic)(x)
    for kind in (scipy.stats.PermutationMethod, scipy.stats.MonteCarloMethod):

        def f(x, m=lt, kind=kind):
            result = m.ttest_ind(x, y, method=kind(n_resamples=9, rng=1))
            return result.statistic, result.pvalue

        (statistic, p), slope = linad.value_and_grad(f, has_aux=True)(x)
        np.testing.assert_allclose((statistic, p), f(x, scipy.stats))
        np.testing.assert_allclose(slope, expected)


def test_every_twin_has_a_case():
    forms = mirrored_functions()
    twins = {
        name.removeprefix("scipy.") for name, form in forms.items() if hasattr(form, "is_twin")
    }
    cases = {f"{room}.{name.partition('-')[0]}" for room, name in ALL}
    assert twins - cases == set()


def test_results_have_scipys_names():
    def f(x):
        result = lt.ttest_ind(x, twin_cases.Y)
        assert type(result).__name__ == "TtestResult"
        t, p = result
        return result.statistic + result.pvalue * 0 + t + p * 0 + result.df

    assert np.all(linad.grad(f)(twin_cases.X) != 0)


@pytest.mark.parametrize(
    "normmax, llf, x",
    [
        pytest.param(lambda m, x: m.boxcox(x)[1], "boxcox_llf", twin_cases.P, marks=newer_scipy),
        (lambda m, x: m.yeojohnson_normmax(x), "yeojohnson_llf", twin_cases.X),
    ],
)
def test_the_best_exponent_moves_with_the_data(normmax, llf, x):
    exponent, J = linad.linearize(lambda x: normmax(lt, x), x)
    assert exponent == normmax(scipy.stats, x)
    # Of l'(λ, x) = 0, by differences of the likelihood alone.
    h, likelihood, v = 1e-3, getattr(scipy.stats, llf), np.cos(np.arange(x.size))

    def slope(change, step):
        moved = x + change * v
        return (likelihood(exponent + step, moved) - likelihood(exponent - step, moved)) / (
            2 * step
        )

    curvature = (
        likelihood(exponent + h, x) - 2 * likelihood(exponent, x) + likelihood(exponent - h, x)
    ) / h**2
    expected = -(slope(h, h) - slope(-h, h)) / (2 * h) / curvature
    np.testing.assert_allclose(J.pushforward(v), expected, rtol=1e-4)


@newer_scipy
def test_a_coefficient_that_is_one_has_a_derivative():
    """SciPy divides by it only where it is something else."""
    b, a, y = np.array([0.2, 0.5]), np.array([1.0, -0.4, 0.2]), np.array([0.3, 0.6])
    _, J = linad.linearize(lambda a: ls.lfiltic(b, a, y), a)
    step = np.array([1e-6, 0, 0])
    differences = (
        scipy.signal.lfiltic(b, a + step, y) - scipy.signal.lfiltic(b, a - step, y)
    ) / 2e-6
    np.testing.assert_allclose(J.pushforward(np.eye(3)[0]), differences, rtol=1e-6)


@pytest.mark.skipif(not hasattr(scipy.stats, "chatterjeexi"), reason="since SciPy 1.15")
def test_equal_entries_stay_in_order_where_scipys_do():
    """The standard's argsort is stable, NumPy's is not."""
    x = twin_cases.X.copy()
    x[[3, 7, 9]] = 0.0
    with linad.config(disconnected="ignore"):
        found = linad.linearize(lambda x: lt.chatterjeexi(x, twin_cases.Y).statistic, x)[0]
    assert found == scipy.stats.chatterjeexi(x, twin_cases.Y).statistic


def test_what_is_left_in_place_is_written_in_place():
    """iircomb writes into its coefficients and drops what the writing gives."""
    traced = linad.linearize(lambda q: ls.iircomb(0.25, q), 20.0)[0]
    for y, expected in zip(traced, scipy.signal.iircomb(0.25, 20.0), strict=True):
        np.testing.assert_allclose(y, expected)


# How twins are made.


def test_scipy_itself_is_left_alone():
    before = scipy.signal.butter.__code__, dict(scipy.signal.butter.__globals__)
    linad.grad(lambda w: np.sum(ls.butter(2, w)[1] ** 2))(0.3)
    assert (scipy.signal.butter.__code__, dict(scipy.signal.butter.__globals__)) == before


def test_plain_arguments_go_to_scipy():
    assert ls.butter.__wrapped__ is scipy.signal.butter
    assert isinstance(ls.lti([1.0], [1.0, 2.0]), scipy.signal.lti)
    assert isinstance(ls.lti([1.0], [1.0, 2.0]), ls.lti)
    assert type(lt.Normal(mu=1.0)) is scipy.stats.Normal
    np.testing.assert_array_equal(
        lt.dirichlet.logpdf([0.2, 0.8], [1.0, 2.0]),
        scipy.stats.dirichlet.logpdf([0.2, 0.8], [1.0, 2.0]),
    )


def test_a_form_of_linads_is_preferred_to_a_twin():
    assert twin_of(scipy.signal.lfilter) is ls.lfilter
    assert function_twin(scipy.signal.butter).__name__ == "butter"
    assert twin_of(3.0) == 3.0
    assert twin_of(np.sin) is linad.numpy.sin


def test_classes_keep_their_bases():
    twin = class_twin(scipy.signal.TransferFunction)
    assert twin is class_twin(scipy.signal.TransferFunction)
    assert [kind.__name__ for kind in twin.__mro__] == [
        kind.__name__ for kind in scipy.signal.TransferFunction.__mro__
    ]
    assert class_twin(ValueError) is ValueError
    assert form_by_twin(scipy.signal.lti) is form_by_twin(scipy.signal.lti)


def test_scipys_abstract_classes_still_know_their_objects():
    form = lt.Normal
    normal, uniform = scipy.stats.Normal(), scipy.stats.Uniform(a=0, b=1)
    assert [isinstance(x, scipy.stats.Normal) for x in (normal, uniform, 3)] == [True, False, False]
    assert [isinstance(x, form) for x in (normal, uniform, 3)] == [True, False, False]
    assert [issubclass(k, form) for k in (form, scipy.stats.Normal, int)] == [True, True, False]
    assert not issubclass(int, scipy.stats.Normal)
    assert scipy.stats.abs(uniform).pdf(0.3) == 1


REFUSED = {
    "shapiro": lambda x: lt.shapiro(x)[0],
    "kstest": lambda x: lt.kstest(x, "norm")[0],
    "find_peaks_cwt": lambda x: ls.find_peaks_cwt(x, [1, 2]),
    "remez": lambda x: ls.remez(7, [0, 0.2, 0.3, 0.5], x[:2]),
    "normmax": lambda x: lt.boxcox_normmax(x**2 + 1),
    "count": lambda x: lt.betabinom.logpmf(2, x[0], 1.0, 2.0),
    "point": lambda x: lt.nbinom.logpmf(x[0], 3, 0.4),
    "entropy": lambda x: lt.norminvgauss.entropy(x[0] ** 2 + 2, 0.5),
    "tree": lambda x: linad.scipy.spatial.KDTree(x[:, None]).sparse_distance_matrix(None, 1.0),
    "hull": lambda x: linad.scipy.spatial.ConvexHull(x.reshape(7, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_compiled_code_would_get_is_refused(name):
    with pytest.raises(LinadError, match=r"linad|compiled"):
        linad.linearize(REFUSED[name], twin_cases.X)


# Threads, forks, memory.

PROCESS = """
    import faulthandler, sys, threading, warnings
    import numpy as np
    import scipy.signal, scipy.stats, scipy.spatial.transform
    import linad
    import linad.scipy

    faulthandler.dump_traceback_later(60, exit=True)
    warnings.simplefilter("ignore")
    sys.setswitchinterval(1e-6)
    x = np.linspace(0.2, 1.1, 6)

    def bode(m, x):
        return m.signal.TransferFunction(x[:2], x[2:5]).bode([0.1, 1.0])[1]

    def t_test(m, x):
        return m.stats.ttest_ind(x[:3], x[3:]).pvalue

    def of_matrices(m, x):
        return m.stats.wishart(4, np.eye(2)).logpdf(np.diag(x[:2]))

    def normal(m, x):
        return m.stats.Normal(mu=x).logcdf(0.4)

    def turned(m, x):
        return m.spatial.transform.Rotation.from_rotvec(x[:3]).apply([1.0, 2.0, 3.0])

    def designed(m, x):
        return m.signal.butter(3, x[0])[1]

    found = []

    def run(use):
        gate.wait()
        try:
            traced = linad.linearize(lambda x: use(linad.scipy, x), x)[0]
            found.append(np.allclose(traced, use(scipy, x)))
        except BaseException as error:
            found.append(repr(error))

    uses = [{uses}]
    gate = threading.Barrier(len(uses))
    threads = [threading.Thread(target=run, args=(use,)) for use in uses]
    [t.start() for t in threads]
    [t.join() for t in threads]
    print("right" if found == [True] * len(uses) else found)
"""
"""Threads of a process that has made no twins."""


@pytest.mark.rest
@pytest.mark.parametrize(
    "uses",
    [
        "bode, bode, t_test, t_test",
        pytest.param("normal, normal, normal, of_matrices, of_matrices", marks=pytest.mark.full),
        pytest.param("turned, designed, designed, bode", marks=pytest.mark.full),
    ],
)
def test_first_uses_in_threads(uses):
    assert in_a_new_process(PROCESS.replace("{uses}", uses)) == "right"


@pytest.mark.rest
def test_an_import_waits_for_no_twin():
    """Else who makes a twin, and imports for it, would wait for the importer."""
    assert (
        in_a_new_process("""
        import importlib, threading
        import linad.scipy
        from linad.scipy import twins

        def run():
            for room in (*linad.scipy.ROOMS, *linad.scipy.INNER_ROOMS):
                importlib.import_module(f"linad.scipy.{room}")

        with twins._making:
            thread = threading.Thread(target=run, daemon=True)
            thread.start()
            thread.join(60)
            print(thread.is_alive())
    """)
        == "False"
    )


@pytest.mark.rest
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are of Unix")
def test_a_fork_waits_for_who_makes_twins():
    assert (
        in_a_new_process("""
        import os, threading, time
        from linad.scipy import twins

        begun = threading.Event()

        def run():
            with twins._making:
                begun.set()
                time.sleep(0.2)

        threading.Thread(target=run).start()
        begun.wait()
        if os.fork() == 0:
            os._exit(0 if twins._making.acquire(timeout=5) else 1)
        print(os.wait()[1])
    """)
        == "0"
    )


def test_twins_of_frozen_distributions_go_with_them():
    def f(x):
        return lt.wishart(5, np.eye(2)).logpdf(np.diag(x))

    kept = []
    for _ in range(3):
        linad.grad(f)(np.array([1.0, 2.0]))
        gc.collect()
        kept.append(len(twins._TWINS))
    assert kept[1] == kept[2]


def in_a_new_process(code):
    """What a program prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=120, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.usefixtures("kernels")
def test_neighbours_are_found_at_each_run():
    points = np.array([[0.0, 0.1], [1.0, 0.2], [0.4, 0.9]])

    def f(x):
        near, i = linad.scipy.spatial.KDTree(points).query(x.reshape(2, 2))
        moving, _ = linad.scipy.spatial.cKDTree(x.reshape(2, 2)).query(points, k=2)
        return near * points[i, 0] + moving[:2, 0] + moving[1:, 1]

    g = linad.jit(f)
    for x in ([0.1, 0.0, 0.9, 0.3], [0.5, 0.7, 0.1, 0.2], [0.8, 0.3, 0.3, 0.8]):
        x = np.array(x)
        expected = [f(x + 1e-6 * e) / 2e-6 - f(x - 1e-6 * e) / 2e-6 for e in np.eye(4)]
        np.testing.assert_allclose(g(x), f(x))
        np.testing.assert_allclose(linad.jacobian(g)(x), np.stack(expected, -1), atol=1e-8)


def test_a_dictionary_that_is_given_is_the_one_that_is_read():
    """SciPy's fits take the options that they know out of it, and refuse what is left."""
    data = np.array([0.2, 0.5, 0.9, 1.1, 1.9])
    found, J = linad.linearize(lambda x: lt.t.fit(x, fdf=4.0)[1:], data)
    np.testing.assert_allclose(found, scipy.stats.t.fit(data, fdf=4.0)[1:])
    # That of location and scale: a shift moves the one, a multiple multiplies both.
    np.testing.assert_allclose(J.pushforward(np.ones(5)), [1, 0], atol=1e-3)
    np.testing.assert_allclose(J.pushforward(data), found, rtol=1e-3)
