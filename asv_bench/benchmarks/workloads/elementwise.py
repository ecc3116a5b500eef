"""Functions entry by entry and their sums; calls so small that only the way there counts.

Several are those of Mooncake's public benchmark suite (chalk-lab/Mooncake.jl, bench/), under its
names; the published ratios are those its continuous integration wrote in pull request 1292.
"""

import numpy as np

from .limit import cos, exp, limit, sin, tanh
from .workload import Family, Workload


def sum_sin(x, numpy=np):
    return numpy.sum(numpy.sin(x))


@limit
def sum_sin_gradient(x, slopes):
    for i in range(x.size):
        slopes[i] = cos(x[i])


@limit
def sum_sin_value_and_grad(x, slopes):
    total = 0.0
    for i in range(x.size):
        total += sin(x[i])
        slopes[i] = cos(x[i])
    return total


def sum_(x, numpy=np):
    return numpy.sum(x)


@limit
def sum_gradient(x, slopes):
    for i in range(x.size):
        slopes[i] = 1.0


def hand_written_sum(x, numpy=np):
    """A Python loop over the entries."""
    y = 0.0
    for n in range(1000):
        y = y + x[n]
    return y


def hand_written_sum_sin(x, numpy=np):
    y = 0.0
    for n in range(1000):
        y = y + numpy.sin(x[n])
    return y


def sin_cos_exp(x, numpy=np):
    return numpy.sum(numpy.sin(numpy.cos(numpy.exp(x))))


@limit
def sin_cos_exp_gradient(x, slopes):
    x, slopes = x.reshape(x.size), slopes.reshape(x.size)
    for i in range(x.size):
        e = exp(x[i])
        slopes[i] = -cos(cos(e)) * sin(e) * e


def naive_map_sin_cos_exp(x, numpy=np):
    """Entry by entry, into a list that becomes an array."""
    entries = []
    for i in range(10):
        for j in range(10):
            entries.append(numpy.sin(numpy.cos(numpy.exp(x[i, j]))))
    return numpy.sum(numpy.stack(entries))


def products(x, numpy=np):
    """400 scalar products, one after the other."""
    y, a = x[0], x[1]
    for _ in range(400):
        y = y * a
    return y


@limit
def products_gradient(x, slopes):
    """It knows that they are a power."""
    power = 1.0
    for _ in range(399):
        power *= x[1]
    slopes[0], slopes[1] = power * x[1], 400.0 * x[0] * power


def waves(x, numpy=np):
    return numpy.tanh(x) * numpy.sin(x) + x * x


def wave(x, numpy=np):
    return numpy.sum(numpy.tanh(x) * numpy.sin(x) + x * x)


@limit
def wave_gradient(x, slopes):
    for i in range(x.size):
        t = tanh(x[i])
        slopes[i] = (1.0 - t * t) * sin(x[i]) + t * cos(x[i]) + 2.0 * x[i]


@limit
def wave_value_and_grad(x, slopes):
    total = 0.0
    for i in range(x.size):
        t, s = tanh(x[i]), sin(x[i])
        total += t * s + x[i] * x[i]
        slopes[i] = (1.0 - t * t) * s + t * cos(x[i]) + 2.0 * x[i]
    return total


def chain(x, length, numpy=np):
    """Length elementwise operations, one after the other, then a sum."""
    functions = [numpy.sin, numpy.tanh, numpy.cos, numpy.exp]
    for i in range(length):
        x = functions[i % 4](x)
    return numpy.sum(x)


def chain_over(x, steps, numpy=np):
    """The same, as long as the steps are many."""
    return chain(x, len(steps), numpy)


def gauss_seidel(x, numpy=np):
    """A nonlinear sweep: each entry is written from those beside it."""
    y = x * 1.0
    for i in range(1, len(x) - 1):
        y[i] = 0.5 * (y[i - 1] + y[i + 1]) + 0.1 * y[i] ** 2
    return y


def _normal(*shape):
    return lambda rng: (rng.standard_normal(shape),)


SIZES = (10, 1000, 100_000, 1_000_000)

WORKLOADS = [
    Workload(
        "tiny: sum(sin), n=3",
        "elementwise",
        sum_sin,
        _normal(3),
        by_hand={"gradient": sum_sin_gradient},
    ),
    Workload(
        "sum_1000",
        "elementwise",
        sum_,
        _normal(1000),
        by_hand={"gradient": sum_gradient},
        published=1.61,
    ),
    Workload(
        "_sum_1000 (loop)",
        "elementwise",
        hand_written_sum,
        _normal(1000),
        by_hand={"gradient": sum_gradient},
        without=("pytensor", "torch.compile"),
        published=1.25,
    ),
    Workload(
        "sum_sin_1000",
        "elementwise",
        sum_sin,
        _normal(1000),
        tasks=("gradient", "value_and_grad"),
        by_hand={"gradient": sum_sin_gradient, "value_and_grad": sum_sin_value_and_grad},
        published=2.31,
    ),
    Workload(
        "_sum_sin_1000 (loop)",
        "elementwise",
        hand_written_sum_sin,
        _normal(1000),
        by_hand={"gradient": sum_sin_gradient},
        without=("pytensor", "torch.compile"),
        published=2.4,
    ),
    Workload(
        "broadcast_sin_cos_exp, 10x10",
        "elementwise",
        sin_cos_exp,
        _normal(10, 10),
        by_hand={"gradient": sin_cos_exp_gradient},
    ),
    Workload(
        "naive_map_sin_cos_exp, 10x10",
        "elementwise",
        naive_map_sin_cos_exp,
        _normal(10, 10),
        by_hand={"gradient": sin_cos_exp_gradient},
        without=("pytensor", "casadi", "torch.compile"),
    ),
    Workload(
        "large_single_block: 400 products",
        "elementwise",
        products,
        lambda rng: (np.array([0.9, 0.99]),),
        by_hand={"gradient": products_gradient},
        without=("pytensor", "torch.compile"),
    ),
    Workload(
        "sum(tanh sin + square), n=1e6",
        "elementwise",
        wave,
        _normal(1_000_000),
        tasks=("gradient", "value_and_grad"),
        by_hand={"gradient": wave_gradient, "value_and_grad": wave_value_and_grad},
        without=("casadi",),
    ),
]

FAMILIES = [
    Family("tanh(x) sin(x) + x^2", "elementwise", waves, _normal, ("vjp",), sizes=SIZES),
    Family("its sum", "elementwise", wave, _normal, sizes=SIZES),
    Family(
        "n operations on 3 numbers",
        "overhead",
        chain_over,
        lambda n: lambda rng: (np.array([0.3, 0.5, 0.7]), np.zeros(n)),
        sizes=(1, 10, 100, 1000),
    ),
    Family(
        "n writes of one entry",
        "writes",
        gauss_seidel,
        lambda n: lambda rng: (np.linspace(0.1, 0.9, n),),
        ("vjp",),
        sizes=(10, 100, 1000),
    ),
]
