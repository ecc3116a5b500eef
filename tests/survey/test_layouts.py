"""Results lie in memory as NumPy's do: that decides whether a reshape of them is a view."""

import itertools

import numpy as np
import pytest
from rule_cases import TOPICS

import linad
from linad.core import tree
from linad.core.memory_layouts import copied, layout_of
from linad.core.primitive import Primitive
from linad.errors import LinadError
from survey import table as survey

rng = np.random.default_rng(0)
SQUARE, WIDE = (np.asfortranarray(rng.uniform(0.2, 0.8, shape)) for shape in ((3, 3), (3, 4)))
POINTS = [SQUARE, WIDE, WIDE.T, WIDE[:, ::-1], np.repeat(WIDE, 2, axis=0)[::2]]


def order(y):
    """Whether the first result is in order C, and whether it is in order F; None for a vector."""
    y = y[0] if isinstance(y, (tuple, list)) and y else y
    if np.ndim(y) < 2 or np.size(y) < 2 or not hasattr(y, "flags"):
        return None
    return y.flags.c_contiguous, y.flags.f_contiguous


def without_gaps(y):
    """The first result as a copy: a compiled program returns no views of its arguments."""
    y = y[0] if isinstance(y, (tuple, list)) and y else y
    return None if 0 in getattr(y, "strides", ()) else np.copy(y, order="K")


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", ["numpy", "Methods of ufuncs", "numpy.ndarray", "numpy.linalg"])
def test_results_lie_as_numpys(title):
    checked, wrong = 0, []
    for entry in survey.entries()[title]:
        for call, point in [(c, p) for c in entry.calls for p in POINTS]:
            found = []

            def f(a, call=call, function=entry.function, found=found):
                y = call(function, a)
                found.append(order(y))
                return a.sum()

            try:
                expected = order(call(entry.function, point.copy("K")))
                linad.linearize(f, point.copy("K"))
            except Exception:  # what traces, and for which arguments, is the table's matter
                continue
            checked += 1
            if expected is not None and found[0] != expected:
                wrong.append(entry.name)
    assert checked > 50
    assert not wrong


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("title", ["numpy", "Methods of ufuncs", "numpy.ndarray", "numpy.linalg"])
def test_results_of_compiled_calls_lie_as_numpys(title):
    checked, wrong = 0, []
    for entry in survey.entries()[title]:
        for call, point in [(c, p) for c in entry.calls for p in POINTS]:
            jitted = linad.jit(lambda a, call=call, f=entry.function: call(f, a))
            try:
                expected = order(without_gaps(call(entry.function, point.copy("K"))))
                found = [order(without_gaps(jitted(point.copy("K")))) for _ in range(3)]
            except Exception:  # what traces, and for which arguments, is the table's matter
                continue
            checked += 1
            if expected is not None and set(found) != {expected}:
                wrong.append(entry.name)
    assert checked > 50
    assert not wrong


TURNED = {
    "F": np.asfortranarray,
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "F with gaps": lambda a: np.repeat(a.T, 2, axis=-1)[..., ::2].T,
    "middle first": lambda a: np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, 0)), 0, 1),
}
VIEWS = {"broadcast_arrays", "sliding_window_view"}
"""Of which NumPy gives views with entries in several places, and a compiled program copies."""
CASES = [(f"{t}-{k}", c) for t, cases in TOPICS.items() for k, c in enumerate(cases)]
CASES = [
    (name, case)
    for name, case in CASES
    if not isinstance(case.function, Primitive)
    and getattr(case.function, "__name__", "") not in VIEWS
    and any(np.ndim(a) > 1 for a in case.args)
]


def layouts(y):
    """How the results with two axes and more lie in memory, those without gaps."""
    found = [np.asarray(v) for v in tree.flatten(y)[0]]
    return [layout_of(np.copy(v, order="K")) for v in found if v.ndim > 1 and 1 not in v.shape]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("kernels")
@pytest.mark.sweep(part=0.05)
@pytest.mark.parametrize("start", range(0, len(CASES), 8))
def test_results_of_rules_lie_as_numpys(start):
    """Each argument in each order, beside others that stay: eagerly, and in three calls of jit."""
    wrong = []
    for (name, case), turn in itertools.product(CASES[start : start + 8], TURNED):
        for i in [i for i, a in enumerate(case.args) if np.ndim(a) > 1]:
            args = [*case.args]
            args[i] = TURNED[turn](np.asarray(args[i]))

            def f(x, case=case, args=args, i=i):
                return case.function(*args[:i], x, *args[i + 1 :], **case.params)

            jitted = linad.jit(f)
            try:
                expected = layouts(f(copied(args[i])))
                found = [layouts(jitted(copied(args[i]))) for _ in range(3)]
                found += [layouts(linad.linearize(f, copied(args[i]))[0])]
            except (LinadError, ValueError, TypeError):  # what traces is the table's matter
                continue
            if any(order != expected for order in found):
                wrong.append(f"{name} {case!r}, argument {i} {turn}: {found} for {expected}")
    assert not wrong, "\n".join(wrong)


FORMS = {
    "elementwise": lambda x: 2 * np.sin(x),
    "reduced": lambda x: x.sum(1),
    "stacked": lambda x: np.stack([x, x], axis=1),
    "chosen": lambda x: np.choose(np.zeros(x.shape[-1], int), [x, 2 * x]),
    "turned": lambda x: x.T + 1,
    "rows": lambda x: x[:, [1, 0]],
    "outer": lambda x: x[:, None] * x[None],
    "column": lambda x: x.copy("F"),
    "average": lambda x: np.average(x, axis=0, weights=np.ones(len(x))),
    "quantile": lambda x: np.quantile(x, 0.3, axis=0),
    "dot": lambda x: np.dot(2.0 * x.ravel()[0], x),
    "written": lambda x: _doubled(x),
}
SOLID = rng.uniform(size=(2, 3, 4))
PERMUTATIONS = list(itertools.permutations(range(3)))


def _doubled(x):
    y = np.empty_like(x)
    y[...] = x
    y[0] *= 2
    return y


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", FORMS)
def test_results_of_later_calls_lie_as_numpys(name):
    """One jitted function for all layouts, called twice with each."""
    jitted = linad.jit(FORMS[name])
    turned = [np.ascontiguousarray(SOLID.transpose(p)) for p in PERMUTATIONS]
    back = [a.transpose(np.argsort(p)) for a, p in zip(turned, PERMUTATIONS, strict=True)]
    for x in [SOLID, *back, SOLID[:, ::-1], SQUARE, np.ascontiguousarray(SQUARE), WIDE[::2]] * 2:
        expected, found = FORMS[name](x), jitted(x)
        np.testing.assert_allclose(found, expected, rtol=1e-14)
        assert layout_of(found) == layout_of(expected)
        np.testing.assert_allclose(found.ravel("K"), expected.ravel("K"), rtol=1e-14)


def test_the_short_call_lays_its_results_out():
    jitted = linad.jit(lambda x: (np.sin(x).T, {"y": x.copy("F")}))
    x = np.arange(6.0).reshape(2, 3)
    for _ in range(4):
        y, z = jitted(x)
        assert y.flags.f_contiguous
        assert z["y"].flags.f_contiguous
        np.testing.assert_allclose(y, np.sin(x).T)
        np.testing.assert_array_equal(z["y"], x)
    assert jitted._short is not None


def test_a_write_into_a_reshaped_result():
    """Sorted, an array in order F stays so, and its flat form is a copy."""

    def f(x):
        y = np.sort(x, axis=0)
        y.reshape(-1)[0] = 10 * x[1, 0]
        return y

    jitted = linad.jit(f)
    for x in (WIDE, np.ascontiguousarray(WIDE), WIDE, 2 * WIDE):
        np.testing.assert_array_equal(jitted(x), f(x))
        np.testing.assert_array_equal(linad.linearize(f, x)[0], f(x))
