"""What is outside of the language of kernels, and what the error says to write instead."""

import linecache
import math

import numpy as np
import pytest
import scipy.special

import linad
from linad.errors import KernelError

AT_DECORATION = {
    "x[0] = np.random.rand()": "np.random.rand is not in the language of kernels; draw the numbers",
    "x[0] = scipy.special.gamma(x[0])": "compute it outside of the kernel and pass the result",
    "x[0] = math.lgamma(x[0])": "compute it outside of the kernel and pass the result",
    "x[:] = sorted(x)": "use np.sort",
    "x[0] = x.squeeze()[0]": "the method squeeze; use reshape or transpose, outside of the kernel",
    "x[:] = np.tile(x[:2], 2)": "make the array with np.empty and fill it in a loop",
    "x.insert(0, 1.0)": "the method insert; fill an array of np.zeros, with an integer that counts",
    "x[0] = np.fmod(x[0], 0.3)": r"write x - y \* np.trunc\(x / y\)",
    "x[0] = np.einsum('i,i', x, x)": "np.einsum is not in the language of kernels; write the loop",
    "print(x[0])": "print is not in the language of kernels; leave it out",
    "x[0] = {0: 1.0}[k]": "a dict is not in the language of kernels; use arrays and integers",
    "async def later(): pass": "`async` is not in the language of kernels; use a plain function",
    "x[0] = 1j * x[0]": "complex numbers are not supported; use two arrays, of the parts",
}
AT_FIRST_USE = {
    "x[0] = np.empty(3, dtype=complex)[0]": "an array of complex128; use float64, float32 or",
    "x[0] = np.cumsum(a)[0]": "np.cumsum of an array with several axes; write the loop",
    "x[0] = a.cumprod()[0]": "a.cumprod of an array with several axes; write the loop",
    "x[0] = np.diff(a)[0]": "np.diff of an array with several axes; write the loop",
    "x[0] = np.flip(a)[0, 0]": "np.flip of an array with several axes; write the loop",
    "x[0] = np.transpose(a, (0, 0))[0, 0]": "names an axis twice; name each axis once",
    "x[0] = np.transpose(a, (k, 0))[0, 0]": "the order of axes must be constant; name each axis",
    "x[0] = x[::2].reshape(2, 1)[0, 0]": "entries to reshape are not contiguous; copy the part",
    "x[0] = a.reshape(-1, -1)[0, 0]": "the shape has no lengths, or -1 twice; name the lengths",
    "x[0] = np.where(x > 0, x)[0]": "where of 2 arguments; pass 3",
    "x[:] = np.clip(x, 0.0)": "clip of 2 arguments; pass 3",
    "x[:] = np.negative(x, x)": "negative of 2 arguments; pass 1",
    "x[0] = np.diag(a, 1)[0]": "diag of 2 arguments; pass 1",
    "x[0] = np.arange(0, 1, 2, 3)[0]": "arange of 4 arguments; pass 1 to 3",
    "x[0] = np.dot(x)": "dot of 1 arguments; pass 2 to 3",
    "x[0] = np.ones(3, np.int64, None)[0]": "ones does not take such arguments",
    "x[0] = x[0.5 * k]": r"an index is a float; use int\(...\)",
    "x[0] = (x if k else a[0])[0]": "chooses numbers, not arrays; write them in an `if`",
    "x[a > 0] = 0.0": "an index must be an integer; write a loop",
    "x[:] = np.concatenate((x, a))": "the arrays have different numbers of axes; give all as many",
    "x[:] = np.stack((x, x), k)[0]": "the axis or number of digits must be constant; name it",
    "x[0] = 1.0 if x is x else 2.0": "`is` compares with None only; use ==",
    "x[0] = 1.0 if 2 in x else 2.0": "`in` takes tuples only; use a loop",
    "x[:] = x[x]": "the index array holds floats; use integers",
    "x[0] = ~x[0]": "~ takes integers and booleans only; use `not`, or -x",
}


def written(line):
    """A kernel of one line."""
    text = f"def one_line(x, k, a):\n    {line}\n    return x[0]\n"
    file, scope = f"<one line: {line}>", {"np": np, "math": math, "scipy": scipy}
    exec(compile(text, file, "exec"), scope)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    return scope["one_line"]


@pytest.mark.parametrize("line", AT_DECORATION)
def test_refused_at_decoration(line):
    with pytest.raises(KernelError, match=AT_DECORATION[line]) as caught:
        linad.kernel(written(line))
    assert str(caught.value).endswith(f":2\n    {line}")


@pytest.mark.parametrize("line", AT_FIRST_USE)
def test_refused_at_first_use(line):
    kernel = linad.kernel(written(line))
    with pytest.raises(KernelError, match=AT_FIRST_USE[line]):
        linad.grad(lambda x: kernel(x * 1.0, 2, np.ones((2, 2))))(np.ones(4))


TAKEN = {
    "np.dot(a, x[:2], x[2:])": lambda x, a: np.r_[x[:2], a @ x[:2]],
    "x *= np.full(4, 2.7, np.int64)": lambda x, a: 2 * x,
    "x *= np.full_like(x, 2.7, np.int64)": lambda x, a: 2 * x,
    "x *= np.array([1.5, 2.5, 3.5, 4.5], np.int64)": lambda x, a: np.arange(1, 5) * x,
    "x *= np.array(10 * a[0, 0] * x, np.int64)": lambda x, a: np.int64(10 * a[0, 0] * x) * x,
}


@pytest.mark.parametrize("line", TAKEN)
def test_arguments_that_are_taken_as_numpy_takes_them(line, as_python):
    kernel = linad.kernel(written(line))
    x, a = np.array([0.31, 0.52, 0.77, 0.95]), np.array([[1.2, 0.3], [0.4, 0.9]])

    def run(x):
        u = x * 1.0
        kernel(u, 2, a)
        return u

    plain = x.copy()
    kernel.source.function(plain, 2, a)
    np.testing.assert_allclose(plain, TAKEN[line](x, a))
    J = linad.jacobian(run)(x)
    moved = [TAKEN[line](x + d, a) - TAKEN[line](x - d, a) for d in 1e-6 * np.eye(4)]
    np.testing.assert_allclose(J, np.array(moved).T / 2e-6, atol=1e-8)


def test_a_dict_is_refused_by_its_keys():
    @linad.kernel
    def product(p):
        return p["a"] * p["b"]

    words = r"argument p is a dict; .* one by one, product\(a, b\)"
    with pytest.raises(KernelError, match=words):
        product({"a": 1.0, "b": 2.0})
    with pytest.raises(KernelError, match=words):
        linad.solve.maximum_likelihood(product, {"a": 1.0, "b": 2.0})
