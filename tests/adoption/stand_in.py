"""Code as packages write it, pattern by pattern; the tests install it and differentiate it.

Each function takes an array of three numbers. None knows of linad.
"""

import cmath
import functools
import math
import numbers
from collections.abc import Iterable, Sized
from math import exp as e_to

import numpy as np
import scipy as sp
import scipy.integrate
import scipy.interpolate
import scipy.ndimage
import scipy.optimize
import scipy.sparse.linalg
import scipy.spatial.transform
import scipy.special
import scipy.stats
from numpy import array, zeros

CONSTANTS = {"e": math.exp, "s": math.sin, "f": float}
STEPS = [np.asarray, math.sqrt]
PAIR = (math.cos, 2.0)
square = functools.partial(math.pow, 2.0)
REDUCTIONS = {"sum": np.sum, "mean": np.mean, "zeros": np.zeros, "asks": isinstance}
RATES = {np.sum: 2.0, math.sin: 3.0}
sine = math.sin
MATRIX = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0], [2.0, 0.0, 1.0]])


# Arrays that are made and written.


def written_zeros(x):
    y = np.zeros(3)
    y[0] = x[1] * x[2]
    y[1:] = x[:2] ** 2
    return y


def written_from_import(x):
    y = zeros(3)
    for i in range(3):
        y[i] = x[i] ** (i + 1)
    return y


def written_literal(x):
    y = np.array([0.0, 0.0, 1.0])
    y[1] = x[0] * x[1]
    y[0] += x[2]
    return y


def updated_literal(x):
    y = np.array([1.0, 2.0, 3.0])
    y += x
    y *= x[::-1]
    return y


def written_rows(x):
    y = MATRIX @ np.eye(3)
    y[1] += x
    y[:, 2] = x**2
    return y.sum(axis=0)


def written_empty_like(x):
    y = np.empty_like(x)
    y[:] = x
    y[y > 0.4] = 0.0
    return y


def written_reshaped(x):
    y = np.zeros(3)
    y[:] = x**2
    y.shape = (3, 1)
    return y[:, 0] * x


def nested_list(x):
    return np.array([[x[0], 0], [0, x[1]]]).sum(axis=1)


def asarray_of_list(x):
    return np.asarray([x[0] * x[1], 1.0, x[2]], dtype=float)


def from_import_array(x):
    return array([x[0], x[1] * 2, 3.0])


def rows_of_lists(x):
    R = np.array([[np.cos(x[0]), -np.sin(x[0]), 0], [np.sin(x[0]), np.cos(x[0]), 0], [0, 0, 1]])
    return np.dot(R, x)


def shapes_of_lists(x):
    rows, columns = np.shape([[x[0], 1.0, x[1]], [2.0, x[2], 0.0]])
    return x * rows + columns * np.size([x[0], 1.0]) ** np.ndim([[x[0]]])


def concatenators(x):
    return np.r_[x, 1.0] * np.c_[x, x].sum() + np.r_[0.0, x]


def filled(x):
    y = np.full(3, x[0])
    y.fill(x[1])
    return y * x


def appended(x):
    out = []
    for v in x:
        out.append(v * v)
    return np.array(out)


def list_into_rows(x):
    y = np.eye(3)
    y[0:2, 2] = [x[0], 1.0]
    return y @ x


def beside_lists(x):
    y = MATRIX @ [x[0], 2.0, x[1] * x[2]] + [1.0] * 3
    return y * list(map(np.dot, [x, x, x], MATRIX)) - [v * v for v in x] / MATRIX[0]


def broadcast_shapes(x):
    together = np.broadcast(x, MATRIX)
    return together.size * np.array([a * b for a, b in together]).reshape(together.shape)[1]


# Conversions.


def to_floats(x):
    return float(x[0]) * x + float(np.sum(x))


def to_ints(x):
    return int(x[0] * 7) * x + math.floor(x[1] * 7)


def numpy_scalars(x):
    return np.float64(x[0]) * x + np.float64(x)


def items(x):
    return x[0].item() * x + x.item(1)


def lists(x):
    a, b, c = x.tolist()
    return np.array([a * b, b * c, c * a])


def through_texts(x):
    short = np.format_float_positional(x[0], precision=3)
    return float(f"{x[0]:.18f}") * x * float(str(x[1])) + int(short[0])


def copies(x):
    return np.array(x, copy=True, order=None) * np.array(x, copy=np._CopyMode.IF_NEEDED)


def complex_numbers(x):
    z = complex(x[0], x[1])
    return np.array([z.real * x[2], abs(cmath.exp(z)), (z * z).imag])


def through_array_method(x):
    return x.__array__() * 2.0


def through_slots(x):
    multiply, add = float.__mul__, float.__radd__
    return multiply(x[0], 3.0) * x + add(2.0, x[1])


# math.


def of_math(x):
    return x * math.sin(x[0]) + math.hypot(x[0], x[1]) + math.atan2(x[1], x[2]) + e_to(x[0])


def math_by_errors(x):
    try:
        return x * math.sqrt(x[0] - 10.0)
    except ValueError:
        return x * math.log(x[0], 2)


def mapped(x):
    return np.array(list(map(math.sin, x)))


def reduced(x):
    return x * functools.reduce(math.hypot, x)


# Where a function is kept.


def from_table(x):
    return CONSTANTS["e"](x[0]) * x + CONSTANTS["f"](x[1])


def from_list(x):
    return STEPS[1](STEPS[0](x)[0]) * x


def from_tuple(x):
    return PAIR[0](x[0]) * PAIR[1] * x


def from_partial(x):
    return square(x[0]) * x


def from_alias(x):
    return sine(x[0]) * x


def from_default(x, f=math.exp):
    return f(x[0]) * x


def from_keyword_default(x, *, f=math.exp):
    return f(x[0]) * x


def from_argument(x):
    def apply(f, y):
        return f(y)

    return apply(math.tanh, x[0]) * x


def from_local_import(x):
    from math import cosh

    import numpy as np

    y = np.zeros(3)
    y[1] = cosh(x[0])
    return y * x


def _closing(f):
    def inner(x):
        return f(x[0]) * x

    return inner


from_closure = _closing(math.sin)


class Model:
    transform = math.exp
    kind = staticmethod(np.asarray)

    def __init__(self):
        self.state = np.zeros(3)

    def __call__(self, x):
        self.state[1] = x[0] * x[1]
        return self.kind([self.state[1], 1.0, x[2]]) * Model.transform(x[0])

    @property
    def base(self):
        return np.ones(3)

    @staticmethod
    def scaled(x):
        y = np.ones(3)
        y[2] = x[0]
        return y


def from_class(x):
    return Model()(x) * Model.scaled(x)


def from_generator(x):
    def parts():
        for i in range(3):
            y = np.zeros(2)
            y[0] = x[i]
            yield y[0] * x[0]

    return np.array(list(parts()))


class Accumulator:
    def __init__(self):
        self.total = np.zeros(3)
        self.count = np.array(0.0)

    def add(self, x):
        self.total += x
        self.count += 1.0
        return self.total * x[0] / self.count

    @classmethod
    @functools.lru_cache
    def start(cls, n):
        return cls.__name__, np.ones(n)

    @staticmethod
    @functools.cache
    def double(n):
        return 2 * n


def into_attributes(x):
    a = Accumulator()
    a.add(x)
    return a.add(x**2)


def from_cached_methods(x):
    name, ones = Accumulator.start(3)
    return x * ones * Accumulator.double(len(name))


@functools.lru_cache
def nodes(n):
    y = np.zeros(n)
    y[0] = 1.0
    y[1:] = 0.5
    return y


def from_cache(x):
    return x * nodes(3)


from scipy.stats import norm  # noqa: E402 -- its methods stand under names of the module's own

N, density = norm.cdf, norm.pdf


def from_methods(x):
    return N(x[0]) * x + density(x)


# What is kept is compared as well as called.


class Reduction:
    how = np.sum
    other = staticmethod(math.sin)

    def __call__(self, x):
        return self.other(x[0]) * x if self.how is np.sum and self.other is math.sin else x


def compared(x, f=np.mean, *, g=math.sin):
    same = f is np.mean and g is math.sin and PAIR[0] is math.cos and square.func is math.pow
    among = REDUCTIONS["sum"] in (np.sum, np.max) and STEPS.index(np.asarray) == 0
    return f(x) * g(x[0]) * x if same and among else x


def compared_in_closures(x):
    def inner(f):
        return lambda y: f(y) * y if f is REDUCTIONS["sum"] else y

    return inner(np.sum)(x) + Reduction()(x)


def keyed_by_functions(x):
    return RATES[REDUCTIONS["sum"]] * RATES[Reduction.other] * x**2


def asks_from_table(x):
    return x**2 if REDUCTIONS["asks"](x, np.ndarray) else x


def made_from_table(x):
    y = REDUCTIONS["zeros"](3)
    y[1] = x[0]
    return y * x


def cached_in_table(x):
    table = {"nodes": nodes}
    return x * table["nodes"](3) if table["nodes"] is nodes and CACHES[0] is nodes else x


def called_by_others(x):
    ordered = np.stack(sorted(x, key=math.cos)) * max(x, key=math.sin)
    area = scipy.integrate.quad(math.sin, 0.0, x[0])[0]
    root = scipy.optimize.newton(math.cos, x[0] + 1.0, fprime=lambda s: -math.sin(s))
    turned = np.apply_along_axis(np.sum, 1, x[:, None]) * np.vectorize(math.tan)(x)
    return ordered * area * root + turned


CACHES = [nodes]


# Type tests.


def tests_array(x):
    return x**2 if isinstance(x, np.ndarray) else 7 * x


def tests_exact_type(x):
    return x**2 if type(x) is np.ndarray else 7 * x


def tests_float(x):
    s = x[0]
    return s * x if isinstance(s, float) and np.isscalar(s) else 7 * x


def tests_number(x):
    return x[1] * x if isinstance(x[0], numbers.Real) else 7 * x


def tests_iterable(x):
    s = x[0]
    return s * x if isinstance(x, Sized) and not isinstance(s, (list, Iterable)) else 7 * x


def asks_for_attributes(x):
    s = np.sum(x)
    lengths = getattr(x, "__len__", None), getattr(s, "__len__", None)
    return s * x if lengths[0] is not None and lengths[1] is None and no_length(s) else 7 * x


def no_length(s):
    return not hasattr(s, "__len__") and not hasattr(s, "__iter__") and hasattr(s, "shape")


def tests_by_key(x):
    table = {np.ndarray: lambda v: v**3, float: lambda v: v}
    return table[type(x)](x)


def swallows(x):
    try:
        s = float(x[0])
    except TypeError:
        s = 0.0
    return s * x


# NumPy on what is plain, or on lists.


def plain_method(x):
    return MATRIX.dot(x)


def lists_to_numpy(x):
    return np.sin([x[0], x[1], 1.0]) + np.maximum([x[0], 0.4, x[2]], 0.45) + np.linalg.norm([*x])


def piecewise(x):
    return np.piecewise(x, [x < 0.4, x >= 0.4], [lambda v: v**2, lambda v: 3 * v])


def vectorized(x):
    return np.vectorize(lambda a, b: a * b if a > 0.4 else math.sin(b))(x, 2.0)


def where_scalar(x):
    return np.where(np.atleast_1d(x) > 0.4, [x[0], x[1], x[2]], math.sin(x[0]))


def ufunc_methods(x):
    return np.add.reduce(x) * np.multiply.outer(x, [1.0, x[0]]).sum(axis=1)


def by_scipy(x):
    A = np.array([[2.0 + x[0], 1.0, 0.0], [1.0, 3.0, x[1]], [0.0, x[1], 4.0]])
    return sp.linalg.solve(A, x) + scipy.special.erf(x) + sp.linalg.expm(A)[0]


def named_not_called(x, kind=np.float64):
    chosen = np.sum if kind in (np.float64, float) else np.mean
    return chosen(x) * x.astype(kind)


def polynomials(x):
    p = np.polynomial.Polynomial([x[0], 1.0, x[1]])
    return p.deriv()(x) + np.polynomial.chebyshev.chebval(0.3, x)


def sequences(x):
    return math.fsum(x) * x + math.prod(x) + math.dist(x, [1.0, 0.0, 0.0])


def meshes(x):
    a, b = np.meshgrid(x, [1.0, x[0], 3.0])
    return (a * b).sum(axis=0)


# SciPy objects that are asked what they are, and constants that SciPy is given.


class Impedance:
    def __init__(self, real, imag):
        self.real, self.imag = real, imag

    def __complex__(self):
        return complex(self.real, self.imag)


def own_complex(x):
    z = complex(Impedance(x[0], x[1]))
    return z.real * z.imag * x


def asked_what_they_are(x):
    curve = sp.interpolate.CubicSpline([0.0, 1.0, 2.0], x)
    turned = sp.spatial.transform.Rotation.from_rotvec(x)
    matrix = sp.sparse.csr_matrix((x, ([0, 1, 2], [1, 2, 0])))
    frozen = sp.stats.norm(x[0], x[1])
    if not isinstance(curve, (int, sp.interpolate.PPoly)):
        return x
    if not isinstance(turned, sp.spatial.transform.Rotation | None):
        return x
    if not sp.sparse.issparse(matrix) or isinstance(matrix, sp.sparse.sparray):
        return x
    if not isinstance(frozen, type(sp.stats.norm())):
        return x
    return matrix @ turned.apply([1.0, 2.0, 3.0]) * curve(0.4) + frozen.cdf(0.1)


def constants_to_scipy(x):
    differences = sp.sparse.csc_matrix(np.diff(np.eye(3), 1))
    triangle, turned = sp.linalg.schur(np.ones((3, 3)) + np.eye(3))
    smooth = sp.sparse.diags([x], [0]).tocsc() + differences @ differences.T
    return turned @ sp.sparse.linalg.spsolve(smooth, x) + triangle[0]


def written_sparse(x):
    e = np.ones(3)
    laplacian = sp.sparse.lil_matrix(sp.sparse.spdiags(np.vstack((e, -2 * e, e)), [-1, 0, 1], 3, 3))
    laplacian[0, 2] = laplacian[2, 0] = 1
    step = sp.sparse.csc_matrix(sp.sparse.identity(3) - laplacian / 4)
    return sp.sparse.linalg.spsolve(step, x**2)


def complex_sparse(x):
    matrix = sp.sparse.csr_matrix((x + 1j * x[::-1] ** 2, ([0, 1, 2], [1, 2, 0])))
    turned = np.conj(matrix) @ matrix
    return turned.real @ x + np.real(matrix).toarray()[0] - matrix.imag @ x


def dense_to_sparse(x):
    matrix = sp.sparse.csr_matrix(np.outer(x, x) - x[0] * x[1] * np.ones((3, 3)))
    return matrix.T @ x


def by_percent(x):
    name = "a_%.6f_%d" % (x[0], 3) + "%(b).2f" % {"b": x[1]}  # noqa: UP031
    layout = "%.18e"
    return float(layout % x[1]) * x * len(name) + 7.0 % x[0]


def lists_of_arrays(x):
    parts, kept = [x], {}
    parts += [x[:1], x[1:] * 2]
    kept["a"] = [x[0], x[1]]
    kept["a"].append(x[2])
    return parts[2][0] * np.stack(kept["a"]) + parts[1]


def filtered_into(x):
    smooth = np.empty(3)
    scipy.ndimage.gaussian_filter1d(x, 1.0, output=smooth)

    def second(values, axis, output, mode, cval):
        return scipy.ndimage.correlate1d(values, [1.0, -2.0, 1.0], axis, output, mode, cval)

    return smooth * scipy.ndimage.generic_laplace(x, second)


def fitted_line(x):
    p, spread = np.polyfit([0.0, 1.0, 3.0], x**2, 1, cov=True)
    return p[0] * np.sqrt(np.diag(spread)) * np.polyfit([0.0, 1.0, 3.0], x**2, 1, full=True)[1]


FUNCTIONS = [
    value
    for name, value in list(globals().items())
    if getattr(value, "__module__", "") == __name__
    and callable(value)
    and not isinstance(value, type)
    and not name.startswith("_")
    and name not in ("nodes", "no_length")
]
