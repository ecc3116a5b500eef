"""Random programs in NumPy: operations, views and writes, as functions of arrays."""

import numpy as np
from hypothesis import strategies as st

from linad.core import tree

SHAPES = [(), (1,), (3,), (4, 3), (1, 3), (4, 1), (2, 4, 3), (2, 1, 3)]
DTYPES = ["f8", "f8", "f8", "f4", "c16", "i8", "?"]

UNARY = {
    "negative": lambda x: -x if x.dtype.kind != "b" else ~x,
    "square": lambda x: x * x,
    "tanh": lambda x: np.tanh(real(x)),
    "abs": np.abs,
    "exp": lambda x: np.exp(-1.0 * np.abs(x)),
    "double": lambda x: x + x,
    "astype": lambda x: x.astype("f4") if x.dtype.kind == "f" else x.astype("c16"),
    "less": lambda x: real(x) < 0.5,
    "copy": np.copy,
    "conj": np.conj,
    "clip": lambda x: np.clip(real(x), -0.5, 0.5),
    "one more": lambda x: 1 + x,
    "by number": lambda x: x * 2.5,
    "less number": lambda x: 0.5 - real(x) * 1,
}
BINARY = {
    "add": np.add,
    "multiply": np.multiply,
    "subtract": lambda a, b: a * 1 - b * 1,
    "divide": lambda a, b: a / (2 + np.abs(b)),
    "maximum": lambda a, b: np.maximum(real(a), real(b)),
    "where": lambda a, b: np.where(real(a) > 0, a, b),
    "equal": lambda a, b: a == b,
    "choose": lambda a, b: np.where(a != 0, b, 0),
}
KINDS = ["unary", "unary", "binary", "binary", "reduce", "view", "view", "write", "write"]
KINDS += ["take", "join", "product", "scatter"]
REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "mean": np.mean, "prod": np.prod}


def real(x):
    return np.real(x)


def broadcasts(a, b):
    try:
        return len(np.broadcast_shapes(a.shape, b.shape)) <= 3
    except ValueError:
        return False


class Steps:
    """A program as a list of functions of the values so far; each appends one, or writes."""

    def __init__(self, rng, inputs):
        self.rng = rng
        self.steps = []
        self.values = [np.array(x) for x in inputs]

    def choice(self, items):
        return items[self.rng.integers(len(items))]

    def number(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def flag(self):
        return self.number(0, 1) == 1

    def pick(self, test=lambda v: True):
        found = [k for k, v in enumerate(self.values) if test(v)]
        # Late values more often: long chains.
        return self.choice(found + found[-3:]) if found else None

    def grow(self):
        kind = self.choice(KINDS)
        step = getattr(self, kind)()
        if step is None:
            return
        with np.errstate(all="ignore"):
            values = list(self.values)
            step(values)
            new = values[-1]
            small = new.size <= 64 and new.ndim <= 3 and np.all(np.isfinite(new))
            small = small and np.max(np.abs(new), initial=0) < 1e6
        if small:
            self.steps.append(step)
            self.values = values

    def unary(self):
        i, f = self.pick(), UNARY[self.choice(sorted(UNARY))]
        return lambda v: v.append(f(v[i]))

    def binary(self):
        i = self.pick()
        j = self.pick(lambda b: broadcasts(self.values[i], b))
        f = BINARY[self.choice(sorted(BINARY))]
        if self.flag():
            i, j = j, i
        return lambda v: v.append(f(v[i], v[j]))

    def reduce(self):
        i = self.pick(lambda x: x.ndim > 0 and x.dtype.kind in "fci")
        if i is None:
            return None
        x = self.values[i]
        axes = self.rng.permutation(x.ndim)[: self.number(1, x.ndim)].tolist()
        keep = self.flag()
        name = self.choice(sorted(REDUCTIONS))
        if name in ("max", "min") and x.dtype.kind == "c":
            name = "sum"
        f = REDUCTIONS[name]
        return lambda v: v.append(f(v[i], axis=tuple(axes), keepdims=keep))

    def index(self, shape):
        entries = []
        for n in shape:
            start = self.number(0, n - 1)
            stop = self.number(start + 1, n)
            step = self.choice([1, 1, 2, -1, -2])
            if step < 0:
                entries.append(slice(stop - 1, None if start == 0 else start - 1, step))
            else:
                entries.append(slice(start, stop, step))
        if self.number(0, 3) == 0:
            entries[0] = self.number(-shape[0], shape[0] - 1)
        return tuple(entries)

    def view(self):
        i = self.pick(lambda x: x.ndim > 0)
        if i is None:
            return None
        x = self.values[i]
        kind = self.choice(["slice", "slice", "transpose", "reshape", "new axis", "spread"])
        if kind == "slice":
            index = self.index(x.shape)
            return lambda v: v.append(v[i][index])
        if kind == "transpose":
            axes = self.rng.permutation(x.ndim).tolist()
            return lambda v: v.append(v[i].transpose(axes))
        if kind == "reshape":
            return lambda v: v.append(v[i].reshape(-1))
        if kind == "new axis":
            return lambda v: v.append(v[i][:, None] if x.ndim < 3 else v[i][0])
        return lambda v: v.append(np.broadcast_to(v[i], (2, *x.shape) if x.ndim < 3 else x.shape))

    def write(self):
        i = self.pick(lambda x: x.ndim > 0 and x.flags.writeable)
        if i is None:
            return None
        x = self.values[i]
        index = self.index(x.shape)
        part = np.shape(x[index])
        kinds = {"f": "f?i", "c": "fci?", "i": "i?", "?": "?", "b": "b"}[x.dtype.kind]

        def fits(b):
            if b.dtype.kind not in kinds.replace("?", "b"):
                return False
            try:
                return np.broadcast_shapes(part, b.shape) == part
            except ValueError:
                return False

        j = self.pick(fits)
        if j is None:
            return None
        add = self.flag() and x.dtype.kind in "fc"
        again = self.flag()

        def run(v):
            if add:
                v[i][index] += v[j]
            else:
                v[i][index] = v[j]
            v.append(v[i] * 1 if again else v[i][...])

        return run

    def take(self):
        i = self.pick(lambda x: x.ndim > 0)
        if i is None:
            return None
        n = self.values[i].shape[0]
        entries = self.rng.integers(-n, n, size=self.number(1, 4)).tolist()
        return lambda v: v.append(v[i][entries])

    def scatter(self):
        i = self.pick(lambda x: x.ndim > 0 and x.flags.writeable and x.dtype.kind in "fc")
        if i is None:
            return None
        n = self.values[i].shape[0]
        entries = self.rng.permutation(n)[: self.number(1, 3)].tolist()

        def run(v):
            y = v[i] * 1
            y[entries] = 0.25
            y[entries[0]] -= 2
            v.append(y)

        return run

    def join(self):
        i = self.pick(lambda x: x.ndim > 0)
        if i is None:
            return None
        x = self.values[i]
        j = self.pick(lambda b: b.ndim == x.ndim and b.shape[1:] == x.shape[1:])
        if self.flag():
            return lambda v: v.append(np.concatenate([v[i], v[j]]))
        return lambda v: v.append(np.stack([v[i], v[i][::-1]], axis=-1))

    def product(self):
        i = self.pick(lambda x: x.ndim == 2 and x.dtype.kind in "fc")
        if i is None:
            return None
        if self.flag():
            return lambda v: v.append(v[i] @ v[i].T)
        return lambda v: v.append(v[i].T @ v[i][:, 0])


def make(seed, length, dtypes):
    """A random function of up to three arrays, and the arrays."""
    rng = np.random.default_rng(seed)
    inputs = []
    for _ in range(rng.integers(1, 4)):
        shape, dtype = SHAPES[rng.integers(len(SHAPES))], dtypes[rng.integers(len(dtypes))]
        x = rng.normal(size=shape)
        x = x + 1j * rng.normal(size=shape) if dtype == "c16" else x
        inputs.append(np.asarray(2 * x if dtype == "i8" else x > 0 if dtype == "?" else x, dtype))
    steps = Steps(rng, inputs)
    for _ in range(length):
        steps.grow()
    late = len(steps.values) - np.minimum(rng.geometric(0.2, size=4), len(steps.values))
    wanted = late[: rng.integers(1, 5)].tolist()

    def f(*given):
        values = [x * 1 if k % 2 else x.copy() for k, x in enumerate(given)]
        for step in steps.steps:
            step(values)
        return [values[k] for k in [*wanted, len(values) - 1]]

    return f, inputs


def programs(dtypes=DTYPES, most=24):
    return st.builds(make, st.integers(0, 2**32), st.integers(most // 2, most), st.just(dtypes))


def rounding(tape):
    """What one operation of the least precise dtype of a program may lose."""
    kept = {v.dtype for eqn in tape.equations for v in eqn.outputs} | {v.dtype for v in tape.inputs}
    return max([np.finfo(d).eps for d in kept if d.kind in "fc"], default=0.0)


def assert_same(found, expected, eps):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype.kind in "fc":
            np.testing.assert_allclose(
                a, b, rtol=0, atol=1e3 * eps * (1 + np.max(np.abs(b), initial=0))
            )
        else:
            np.testing.assert_array_equal(a, b)


def near_a_jump(f, inputs):
    """Whether rounding may decide a comparison; results in containers as well."""
    with np.errstate(all="ignore"):
        shifted = [x * (1 + 1e-6) if x.dtype.kind in "fc" else x for x in inputs]
        a, b = [tree.flatten(f(*at))[0] for at in (inputs, shifted)]
    return any(
        np.max(np.abs(np.subtract(u, v, dtype=complex)), initial=0) > 1e-2
        for u, v in zip(a, b, strict=True)
    )
