"""Names of a user's that could be those of what derivatives compute."""

import linecache

import numpy as np
import pytest
from kernel_checks import check

COUNT = 12


def with_names(base):
    """A kernel of a dozen scalars that begin alike, overwritten in a loop."""
    names = [f"{base}{k}" for k in range(COUNT)]
    lines = ["def numbered(x):"]
    lines += [f"    {name} = 0.1 * {k}" for k, name in enumerate(names)]
    lines += ["    n = 0", "    while n < 3:"]
    for k, name in enumerate(names):
        other = names[(k + 1) % COUNT]
        lines.append(f"        {name} = {name} * x[{k % 3}] + np.exp(-{other} * {other})")
    lines += ["        if n > 1:", f"            x[0] *= 0.1 * {names[0]}", "        n += 1"]
    lines.append(f"    return {' + '.join([f'{n} * {n}' for n in names])}")
    text, file = "\n".join(lines) + "\n", f"<numbered {base}>"
    scope = {"np": np}
    exec(compile(text, file, "exec"), scope)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return scope["numbered"]


@pytest.mark.parametrize(
    "base", ["w", "v", "turn", "count", "taken", "old", "x_axis", "reals_b1_n"]
)
def test_scalars_with_numbers(base, as_python):
    check(with_names(base), (np.array([0.3, 0.5, 0.2]),), hessian=base in ("w", "v"))


def with_words_of_the_compiler(x, operand, get, x_slot):
    array_f8 = np.zeros(3)
    done = np.zeros(3, np.bool_)
    array = x.copy()
    sizes = 1.0
    number = 2.0 * operand
    word = 0.0
    for to in range(3):
        if not done[to]:
            array_f8[to] = array[to] * number * get[to] + x_slot
            done[to] = True
        get[to] += array_f8[to] ** 2
        word += get[to] * sizes
    reals = word * word
    return reals * sizes


@pytest.mark.compiles
def test_words_of_the_language_that_programs_are_compiled_in():
    x, get = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.5, 0.3])
    check(with_words_of_the_compiler, (x, 0.7, get, 0.3), hessian=False)
