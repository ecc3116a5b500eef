"""The source of a function is told only where it is certainly that of its code."""

import ast
import functools
import linecache

import pytest

from linad.control.source_of_code import source_of

first, second = lambda x: x + 1, lambda x: x * 2
nested = lambda x: lambda y: x - y  # noqa: E731


def decorated_by(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)

    return wrapper


@decorated_by
def decorated(x):
    return x * 3


def generator():
    yield 1


def shown(f):
    source = source_of(f.__code__)
    return None if source is None else ast.unparse(source)


def test_lambdas_of_one_line_are_told_apart():
    assert shown(first) == "lambda x: x + 1"
    assert shown(second) == "lambda x: x * 2"
    assert shown(nested) == "lambda x: lambda y: x - y"
    assert shown(nested(1)) == "lambda y: x - y"


def test_a_decorated_function_is_its_wrapper_and_itself():
    assert "f(*args)" in shown(decorated)
    assert "x * 3" in shown(decorated.__wrapped__)


def test_generators_and_made_code_have_no_source():
    made = {}
    exec("def f(x): return x", made)
    assert shown(generator) is None
    assert shown(made["f"]) is None


@pytest.mark.parametrize("now", ["def f(x): return x - 1", "def f(x): return x + 2", "def f(x"])
def test_an_edited_file_is_not_the_source(tmp_path, now):
    file, made = tmp_path / "m.py", {}
    file.write_text("def f(x): return x + 1")
    exec(compile(file.read_text(), str(file), "exec"), made)
    assert shown(made["f"]) is not None
    file.write_text(now)
    linecache.checkcache()
    assert shown(made["f"]) is None
