"""What a function's instructions read from outside: names, attributes, modules."""

# ruff: noqa: F821  functions that are read, not run
import math
import os.path
import sys

import pytest

import linad
import linad.errors
from linad.jit.code_reads import LoadedName, module_named, reads_of


def reads(f):
    return reads_of(f.__code__)


def around(c, taken, counts):
    def inner(x):
        nonlocal taken
        taken += 1
        counts["f"] += 1
        return c * x

    return inner


def test_names_attributes_and_cells():
    def f(x):
        return (lambda y: A.b * y)(x) + {"word": 1}["word"] + c.d(x)

    found = reads(f)
    assert set(found.names) == {"A", "c"}
    assert found.attributes >= {"b", "d", "word"}
    assert not found.whole
    assert reads(around(1, 2, {})).cells == {"c"}


def only_counted(x):
    global calls
    calls += 1
    counts["f"] += 1
    counts["g"] -= x
    seen.append(x)
    log.info("called with %s", x)
    me.calls += 1
    return x


def test_what_only_keeps_count_is_not_read():
    assert set(reads(only_counted).names) <= {"me"}


def test_what_only_keeps_count_is_not_read_once_it_is_adopted():
    written = reads(only_counted)
    with linad.adopt(only_counted):
        assert set(reads(only_counted).names) <= {"me"}
        assert reads(only_counted) == written
        assert "_linad_plain" in only_counted.__code__.co_names  # it is other code


class Counting:
    calls = 0

    def log_likelihood(self, p):
        total = 0.0
        for w in (0.5, 1.0, 2.0):
            self.calls += 1
            z = (w / p["scale"]) ** p["shape"]
            total += math.log(p["shape"] / w * z) - z
        return total


def test_an_adopted_method_that_counts_its_calls_is_recorded_once():
    model = Counting()
    with linad.adopt(Counting):
        f = linad.jit(model.log_likelihood)
        for k in range(4):
            p = {"scale": 1.0 + k / 10, "shape": 1.5}
            linad.grad(f)(p)
            f(p)
    assert model.calls <= 6  # Python ran it for a gradient, and for a value


def counted_and_read(x):
    global calls
    calls += 1
    return calls * x


def doubled(x):
    global calls
    calls *= 2
    return x


def used_counter(x):
    return x * counts.update(x)


def other_counter(x):
    global calls
    calls = total + 1
    return x


def asked_for_a_note(x):
    if seen.append:
        return x


def noted_by_choice(x):
    seen.append(x if x > 0 else 0)
    return x


@pytest.mark.parametrize(
    "f, name",
    [
        (counted_and_read, "calls"),
        (doubled, "calls"),
        (used_counter, "counts"),
        (other_counter, "total"),
        (asked_for_a_note, "seen"),
        (noted_by_choice, "seen"),
    ],
)
def test_what_is_read_as_well_counts(f, name):
    assert name in reads(f).names


def test_attributes_that_are_named_nowhere():
    assert reads(lambda x: getattr(a, x)).whole
    assert reads(lambda x: x.__dict__).whole
    assert not reads(lambda x: a.vars_of).whole


def test_variables_that_a_text_names():
    found = reads(lambda x: eval("inner + 1") * x)
    assert {"eval", "inner"} <= set(found.names)
    assert "inner" not in reads(lambda x: "inner + 1").names
    assert "eval" in reads(lambda x: eval("1 +")).names  # which is no Python


def imports(x):
    import os
    import os.path as place
    from os import environ as settings, getpid

    def inner(y):
        return y + place.pardir

    return os.sep + place.curdir + settings.get("A") + getpid()


def imports_by_dots(x):
    from ..other import name  # noqa: TID252
    from . import conf

    return conf.value + name


def test_modules_that_a_function_imports():
    found = reads(imports)
    assert found.imports == {"os", "os.path"}
    assert set(found.chains) >= {
        LoadedName("os", ("sep",), True, False),
        LoadedName("os.path", ("curdir",), True, False),
        LoadedName("os.path", ("pardir",), True, False),
        LoadedName("os", ("environ", "get"), True, False),
        LoadedName("os", ("getpid",), True, True),
    }
    assert module_named("os.path", imports) is os.path
    assert module_named("not_there", imports) is None


def test_modules_that_a_function_imports_by_dots(monkeypatch):
    found = reads(imports_by_dots)
    assert found.imports == {".", "..other"}
    assert set(found.chains) == {
        LoadedName(".", ("conf", "value"), True, False),
        LoadedName("..other", ("name",), True, False),
    }
    monkeypatch.setitem(imports_by_dots.__globals__, "__package__", "linad.jit")
    assert module_named(".", imports_by_dots) is sys.modules["linad.jit"]
    assert module_named(".code_reads", imports_by_dots) is sys.modules["linad.jit.code_reads"]
    assert module_named("..errors", imports_by_dots) is linad.errors
    monkeypatch.setitem(imports_by_dots.__globals__, "__package__", None)
    assert module_named(".", imports_by_dots) is None


@pytest.mark.parametrize(
    "f, attributes, bare",
    [
        (lambda x: clock() * x, (), True),
        (lambda x: clock(None) * x, (), True),
        (lambda x: clock(x) * x, (), False),
        (lambda x: clock(1) * x, (), False),
        (lambda x: clock * x, (), False),
        (lambda x: clock.now() * x, ("now",), True),
        (lambda x: clock.now.at(x), ("now", "at"), False),
        (lambda x: clock, (), False),
    ],
)
def test_chains_of_attributes(f, attributes, bare):
    assert reads(f).chains == (LoadedName("clock", attributes, False, bare),)
