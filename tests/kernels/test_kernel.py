"""`linad.kernel`: what it refuses, how it is called, and what is compiled."""

import linecache
import math
import subprocess
import sys

import numpy as np
import pytest
from kernel_cases import CASES
from kernel_checks import check
from numba import njit
from together import together

import linad
from linad.errors import KernelError


@linad.kernel
def relax(u, f, h, sweeps):
    for _ in range(sweeps):
        for i in range(1, len(u) - 1):
            u[i] = 0.5 * (u[i - 1] + u[i + 1] + h * f[i] - h * u[i] ** 3)


def solved(f):
    u = np.zeros_like(f)
    relax(u, f, 0.1, 3)
    return np.sum(u**2)


F = np.linspace(0.2, 1.0, 7)


@pytest.mark.compiles
def test_a_compiled_kernel_inside_jit_is_an_instruction():
    expected = linad.grad(solved)(F)
    gradient = linad.jit(linad.grad(solved))
    for _ in range(3):
        np.testing.assert_allclose(gradient(F), expected, rtol=1e-12)
    shown = str(linad.explain(gradient)(F))
    assert "none in NumPy" in shown
    assert "call of @relax_adjoint" in shown


@pytest.mark.compiles
def test_two_linearizations_are_alive_at_once_and_pulled_back_again():
    def f(x):
        u = x * 2.0
        relax(u, x, 0.1, 2)
        return u

    _, J = linad.linearize(f, F)
    _, K = linad.linearize(f, 2 * F)
    w = np.arange(7.0)
    first, other = J.T @ w, K.T @ w
    np.testing.assert_array_equal(J.T @ w, first)
    np.testing.assert_array_equal(K.T @ w, other)
    np.testing.assert_allclose(np.vdot(w, J @ w), np.vdot(first, w), rtol=1e-12)
    np.testing.assert_allclose(linad.jacobian(f)(F).T @ w, first, rtol=1e-12)


@linad.kernel
def filtered(x, n, w):
    a = np.zeros(n)
    b = np.zeros(max(1, math.ceil(len(x) / 2)))
    for i in range(n):
        a[i] = x[i] * x[i]
    for i in range(len(b)):
        b[i] += w * a[i % n] ** 2
    return b


@pytest.mark.compiles
def test_own_arrays_are_kept_where_their_lengths_follow_from_those_of_arguments():
    def f(x, n):
        return np.sum(filtered(x, n, 2.0))

    for size, n in ((5, 3), (4, 1), (5, 2), (5, 3)):
        x = np.linspace(1.0, 2.0, size)
        turns = [i % n for i in range((size + 1) // 2)]
        expected = np.bincount(turns, minlength=size) * 8 * x**3
        np.testing.assert_allclose(linad.grad(f)(x, n), expected, rtol=1e-13)
    np.testing.assert_allclose(linad.jit(linad.grad(f))(x, n), expected, rtol=1e-13)
    (adjoint,) = filtered.last.call._derivatives.values()
    assert len(adjoint.program.rooms) == 2  # b and its cotangent; the length of a is an argument
    before = adjoint.serial.free[(3,), (3,)][0]
    linad.grad(f)(x, n)
    assert adjoint.serial.free[(3,), (3,)][0] is before


@pytest.mark.compiles
def test_changing_shapes_and_threads():
    expected = {n: linad.grad(solved)(np.linspace(0.1, 1.0, n)) for n in (0, 1, 2, 3, 50)}

    def work(_):
        for n in (50, 2, 3, 0, 1, 50):
            g = linad.grad(solved)(np.linspace(0.1, 1.0, n))
            np.testing.assert_array_equal(g, expected[n])

    together(4, work)


def test_a_plain_array_is_not_filled_with_traced_values():
    u = np.ones(7)
    with pytest.raises(KernelError, match=r"plain array u; make it .* np.zeros\(n, like=x\)"):
        linad.grad(lambda f: relax(u, f, 0.1, 2) or np.sum(f))(F)
    np.testing.assert_array_equal(u, 1.0)


def test_a_written_array_that_is_given_twice():
    def f(x):
        u = x * 1.0
        relax(u, u, 0.1, 2)
        return np.sum(u)

    with pytest.raises(KernelError, match="u and f share memory"):
        linad.grad(f)(F)


@pytest.mark.compiles
def test_a_function_as_an_argument():
    @njit
    def cube(t):
        return t * t * t

    @linad.kernel
    def applied(g, x):
        s = 0.0
        for i in range(len(x)):
            s += g(x[i])
        return s

    np.testing.assert_allclose(linad.grad(lambda x: applied(cube, x))(F), 3 * F**2)


def with_set(x):
    return {2 * v for v in x}


def with_try(x):
    try:
        x[0] = 1.0
    except ValueError:
        x[0] = 2.0


def over_a_set(x):
    for v in {1.0, 2.0}:
        x[0] = v


def with_fft(x):
    x[:] = np.fft.fft(x).real


def with_partition(x):
    x.partition(1)


def with_else(x):
    for i in range(3):
        x[i] = 0.0
    else:
        x[0] = 1.0


def with_star(*x):
    return x[0]


def test_traced_values_in_a_tuple_are_refused():
    @linad.kernel
    def line(x, p):
        return p[0] + p[1] * x[0]

    with pytest.raises(KernelError, match="argument p is a tuple"):
        linad.grad(lambda p: line(F, (p[0], p[1])))(F)


def stepped(u, h=0.5, sweeps=2):
    for _ in range(sweeps):
        for i in range(1, len(u)):
            u[i] += h * u[i - 1] ** 2
    return u[-1]


@pytest.mark.compiles
@pytest.mark.parametrize("named", [{"sweeps": 3}, {"h": 0.1}, {"sweeps": 1, "h": 0.2}, {}])
def test_arguments_by_name(named):
    kernel = linad.kernel(stepped)
    np.testing.assert_allclose(kernel(F.copy(), **named), stepped(F.copy(), **named))
    found = linad.grad(lambda x: kernel(x * 1.0, **named))(F)
    np.testing.assert_allclose(found, linad.grad(lambda x: stepped(x * 1.0, **named))(F))


REFUSED = (
    with_set,
    with_try,
    over_a_set,
    with_fft,
    with_partition,
    with_else,
    with_star,
)


@pytest.mark.parametrize("function", REFUSED)
def test_what_is_outside_of_the_language_is_refused_at_decoration(function):
    with pytest.raises(KernelError, match=r"(?s)test_kernel\.py:\d+\n    \S.*") as caught:
        linad.kernel(function)
    assert ";" in str(caught.value)  # what to write instead


def test_recursion_is_refused():
    @njit
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    @linad.kernel
    def f(x):
        return power(x[0], 3)

    with pytest.raises(KernelError, match="calls itself"):
        linad.grad(f)(F)


def test_the_adjoint_is_readable():
    relax.specialized((F, F, 0.1, 2))
    source = relax.adjoint_source
    assert "# u[i] = 0.5 * (u[i - 1] + u[i + 1] + h * f[i] - h * u[i] ** 3)" in source
    assert source.startswith("def relax_adjoint(u, f, h, sweeps, u_b1, f_b1, h_slot_b1")
    compile(source, "adjoint", "exec")


def test_the_tangent_is_readable():
    relax.specialized((F, F, 0.1, 2))
    source = relax.tangent_source
    assert source.startswith("def relax_tangent(u, f, h, sweeps, u_d1, f_d1, h_d1")
    compile(source, "tangent", "exec")


@pytest.mark.full
@pytest.mark.compiles
@pytest.mark.parametrize("name", CASES)
def test_compiled(name):
    function, make, _ = CASES[name]
    check(function, make(np.random.default_rng(1)), unrolled=False)


@pytest.mark.full
@pytest.mark.compiles
def test_a_second_process_compiles_nothing(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, linad\n"
        "from numba.core import event\n"
        "@linad.kernel\n"
        "def f(x):\n"
        "    s = 0.0\n"
        "    for i in range(len(x)):\n"
        "        s += x[i] ** 4\n"
        "    return s\n"
        "with event.install_recorder('numba:compile') as seen:\n"
        "    assert np.allclose(linad.grad(f)(np.arange(3.0)), 4 * np.arange(3.0) ** 3)\n"
        "print(len(seen.buffer))\n"
    )
    counts = [
        subprocess.run(
            [sys.executable, "-P", str(script)], capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert counts[1] == "0"


def test_slopes_agree_with_the_rules_of_linad(as_python):
    """The table of derivatives of kernels says what the rules for NumPy's functions say."""
    from linad.kernels.scalar_functions import FUNCTIONS

    numpys = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2"}
    numpys |= {"asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
    others = {"erf", "erfc", "float", "min", "max", "npside", "npmoving"}
    for name, function in FUNCTIONS.items():
        if not function.slopes or name in others:
            continue
        f = getattr(np, numpys.get(name, name))
        x = [1.3, 0.7, 2.1][: len(function.slopes)]
        if len(x) == 1 and name != "acosh":
            x = [0.3]
        scope = {"np": np, "f": f}
        text = f"def g(x):\n    return f({', '.join([f'x[{k}]' for k in range(len(x))])})\n"
        file = f"<slope of {name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        exec(compile(text, file, "exec"), scope)
        expected = linad.grad(scope["g"])(np.array(x))
        found = linad.grad(linad.kernel(scope["g"]))(np.array(x))
        np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=name)


@pytest.mark.compiles
def test_single_precision():
    x = F.astype(np.float32)
    g = linad.grad(solved)(x)
    assert g.dtype == np.float32
    np.testing.assert_allclose(g, linad.grad(solved)(F), rtol=1e-5, atol=1e-6)
