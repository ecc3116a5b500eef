"""Questions about syntax: jumps, returns, and names that only count."""

import ast
import textwrap

import pytest

from linad.kernels.syntax import contains, leaves, loop_names, single_return


def parsed(source):
    (tree,) = ast.parse(textwrap.dedent(source)).body
    return tree


LOOP = parsed("""
    def f(a):
        for i in range(3):
            if a:
                break
            while a:
                continue
        return a
""")


def test_jumps():
    loop = LOOP.body[0]
    assert not contains(loop, ast.Break)  # it ends there
    assert contains(loop, ast.Break, own=True)
    assert not contains(loop, ast.Continue, own=True)  # the inner loop's
    assert not contains(loop, ast.Return)
    assert contains(parsed("for i in x:\n    while y:\n        return 1"), ast.Return)


@pytest.mark.parametrize(
    "source, always",
    [
        ("return", True),
        ("if a:\n    return\nelse:\n    raise a", True),
        ("if a:\n    return", False),
        ("for i in a:\n    return", False),
        ("a = 1\nbreak", True),
    ],
)
def test_what_always_leaves(source, always):
    assert leaves(ast.parse(source).body) == always


def test_returns():
    assert single_return(LOOP)
    assert single_return(parsed("def f(): pass"))
    assert not single_return(parsed("def f(a):\n    if a:\n        return 1\n    return 2"))
    assert not single_return(parsed("def f(a):\n    if a:\n        return 1\n    a = 2"))


def test_names_that_only_count():
    tree = parsed("""
        def f(a):
            for i in a:
                a[i] = i
            for j in a:
                pass
            for k in a:
                k = k + 1
            for m in a:
                for m in a:
                    pass
            for i in a:
                a[i] = 0
            return j
    """)
    assert loop_names(tree) == {"i"}
