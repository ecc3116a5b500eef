"""Random programs at the edges of arrays: repeated indices, empty axes, infinities, sizes near 64.

What `random_programs` leaves out: entries are read and written several times, axes have length
0 or 1, numbers are infinite or NaN, and small arrays are just as large as rewrites look into.
"""

import warnings

import numpy as np

SHAPES = [(), (0,), (1,), (3,), (63,), (64,), (65,), (0, 3), (3, 0), (2, 3), (1, 3), (3, 1)]
SHAPES += [(8, 8), (2, 0, 3)]
ODD = [0.0, -0.0, 1.0, np.inf, -np.inf, np.nan]

UNARY = {
    "negative": lambda x: -x,
    "square": lambda x: x * x,
    **{f"power {p}": lambda x, p=p: x**p for p in (0, 1, 2, 3, 4, 0.5)},
    "power -1": lambda x: np.abs(x) ** -1.0,
    "tanh": np.tanh,
    "sin": np.sin,
    "exp": lambda x: np.exp(-np.abs(x)),
    "log": lambda x: np.log1p(np.abs(x)),
    "sqrt": lambda x: np.sqrt(np.abs(x)),
    "abs": np.abs,
    "sign": np.sign,
    "times one": lambda x: x * 1,
    "times minus one": lambda x: x * -1.0,
    "times zero": lambda x: x * 0,
    "plus zero": lambda x: x + 0,
    "zero minus": lambda x: 0 - x,
    "over one": lambda x: x / 1,
    "twice negative": lambda x: np.negative(-x),
    "copy": np.copy,
    "uniform": lambda x: x * np.full(x.shape, 2.5),
    "zeros": lambda x: x * np.zeros(x.shape),
    "ones over": lambda x: np.ones(x.shape) / np.abs(x),
    "reciprocal": lambda x: np.reciprocal(np.abs(x)),
    "real": np.real,
    "conj": np.conj,
    "imaginary": lambda x: (x * 1j).imag,
    "positive part": lambda x: np.maximum(x, 0),
    "clip": lambda x: np.clip(x, -1, 1),
    "where": lambda x: np.where(x > 0, x, 0),
    "where true": lambda x: np.where(np.full(x.shape, True), x, 0),
    "nan_to_num": np.nan_to_num,
    "hypot": lambda x: np.hypot(x, 1.5),
    "sinc": np.sinc,
}
BINARY = {
    "add": np.add,
    "multiply": np.multiply,
    "subtract": np.subtract,
    "divide": lambda a, b: a / (2 + np.abs(b)),
    "over": lambda a, b: a / np.abs(b),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fmax": np.fmax,
    "hypot": np.hypot,
    "logaddexp": np.logaddexp,
    "where": lambda a, b: np.where(a > 0, a, b),
    "one choice": lambda a, b: np.where(b > 0, a, a) + b,
    "plus negative": lambda a, b: a + (-b),
    "minus negative": lambda a, b: a - (-b),
}
REDUCTIONS = {
    **{f.__name__: f for f in (np.sum, np.mean, np.max, np.min, np.prod, np.var, np.nansum)},
    "std": np.std,
    "root of squares": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis, keepdims=keepdims)),
    "log of sum": lambda x, axis, keepdims: np.logaddexp.reduce(x, axis[0], keepdims=keepdims),
    **{
        f"norm {p}": lambda x, axis, keepdims, p=p: np.linalg.norm(x, p, axis[0], keepdims)
        for p in (None, 1, 3, np.inf)
    },
}
JOINS = {
    "concatenate": lambda a, b: np.concatenate([a, b]),
    "part": lambda a, b: np.concatenate([a, b])[len(a) : len(a) + len(b)] * 2,
    "stack": lambda a, b: np.stack([a, a[::-1]], axis=-1)[..., 0],
    "pad": lambda a, b: np.pad(a, 1),
    "roll": lambda a, b: np.roll(a, 1, axis=0),
    "flip": lambda a, b: np.flip(a, axis=0),
    "diff": lambda a, b: np.diff(a, axis=0),
    "cumsum": lambda a, b: np.cumsum(a, axis=0),
    "repeat": lambda a, b: np.repeat(a, 2, axis=0),
    "shift": lambda a, b: a[1:] * a[:-1] - a[:1],
}
PRODUCTS = {
    "dot": lambda x: np.dot(x.reshape(-1), x.reshape(-1)),
    "outer": lambda x: x.reshape(-1, 1) @ x.reshape(1, -1),
    "matmul": lambda x: x.T @ x,
    "kron": lambda x: np.kron(x, x[:2]),
    "trace": lambda x: np.trace(x),
    "einsum": lambda x: np.einsum("ij,ik->jk", x, x),
    "inner": lambda x: np.einsum("ij,ij->j", x, x),
}


class OddProgram:
    """A random function of up to three arrays; ``inputs`` are the arrays, ``text`` its steps."""

    KINDS = (
        *("unary", "unary", "binary", "reduce", "view", "spread", "take", "take", "write"),
        *("scatter", "group", "accumulate", "entries", "join", "product"),
    )

    def __init__(self, seed, length=14):
        self.rng = np.random.default_rng(seed)
        self.inputs = [self.array() for _ in range(self.rng.integers(1, 4))]
        self.steps, self.text = [], []
        self.values = [x.copy() for x in self.inputs]
        for _ in range(length):
            self.grow()
        late = len(self.values) - np.minimum(self.rng.geometric(0.3, size=3), len(self.values))
        self.wanted = sorted({*late.tolist(), len(self.values) - 1})

    def __call__(self, *given):
        values = [x * 1 for x in given]
        for step in self.steps:
            step(values)
        return [values[k] * 1 for k in self.wanted]

    def array(self):
        shape = self.choice(SHAPES)
        x = np.array(np.round(self.rng.normal(size=shape) * 8) / 8)
        if self.rng.random() < 0.6:
            odd = self.rng.random(shape) < 0.15
            x[odd] = self.rng.choice(ODD, size=int(odd.sum()))
        if self.rng.random() < 0.12:
            x = x + 1j * np.round(self.rng.normal(size=shape) * 8) / 8
        return x

    def grow(self):
        """Add a step, unless NumPy refuses it or its result is large."""
        made = getattr(self, self.choice(self.KINDS))()
        if made is None:
            return
        text, step = made
        values = [v.copy() for v in self.values]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            try:
                step(values)
            except (ValueError, TypeError, IndexError, np.exceptions.ComplexWarning):
                return
        new = np.asarray(values[-1])
        finite = new[np.isfinite(new)] if new.dtype.kind in "fc" else None
        if finite is None or new.size > 130 or new.ndim > 3 or np.any(np.abs(finite) > 1e6):
            return
        self.steps.append(step)
        self.text.append(f"{text} -> {new.shape}")
        self.values = [np.asarray(v) for v in values]

    # What steps are made of.

    def choice(self, items):
        return items[self.rng.integers(len(items))]

    def flag(self, share=0.5):
        return bool(self.rng.random() < share)

    def pick(self, test=lambda x: True):
        """The number of a value, of late ones more often; None if none will do."""
        found = [k for k, x in enumerate(self.values) if test(x)]
        return self.choice(found + found[-4:] + found[-2:]) if found else None

    def index(self, shape):
        entries = []
        for n in shape:
            start, stop = sorted(self.rng.integers(0, n + 1, size=2).tolist())
            step = self.choice([1, 1, 1, 2, -1])
            entries.append(slice(start, stop, step) if step > 0 else slice(None, None, -1))
        if shape and shape[0] and self.flag(0.3):
            entries[0] = int(self.rng.integers(-shape[0], shape[0]))
        return tuple(entries)

    def unary(self):
        i, name = self.pick(), self.choice(sorted(UNARY))
        return f"{name} {i}", lambda v: v.append(UNARY[name](v[i]))

    def binary(self):
        i, j, name = self.pick(), self.pick(), self.choice(sorted(BINARY))
        return f"{name} {i} {j}", lambda v: v.append(BINARY[name](v[i], v[j]))

    def reduce(self):
        i = self.pick(lambda x: x.ndim > 0)
        if i is None:
            return None
        name, ndim = self.choice(sorted(REDUCTIONS)), self.values[i].ndim
        axes = tuple(sorted(self.rng.permutation(ndim)[: self.rng.integers(1, ndim + 1)].tolist()))
        keep = self.flag(0.4)
        function = REDUCTIONS[name]
        return f"{name} {i} {axes}", lambda v: v.append(function(v[i], axis=axes, keepdims=keep))

    def view(self):
        i = self.pick(lambda x: x.ndim > 0)
        if i is None:
            return None
        kind, shape = self.choice(["slice", "slice", "axes", "line", "rows"]), self.values[i].shape
        if kind == "slice":
            index = self.index(shape)
            return f"{i} at {index}", lambda v: v.append(v[i][index])
        if kind == "axes":
            axes = self.rng.permutation(len(shape)).tolist()
            return f"{i} transposed {axes}", lambda v: v.append(v[i].transpose(axes))
        new = (-1,) if kind == "line" else (2, -1)
        return f"{i} reshaped {new}", lambda v: v.append(v[i].reshape(new))

    def spread(self):
        """Copies, none at all perhaps, and their sum."""
        i = self.pick(lambda x: x.ndim < 3)
        if i is None:
            return None
        shape, n, added = self.values[i].shape, self.choice([0, 1, 2, 3]), self.flag(0.7)
        axis = int(self.rng.integers(0, len(shape) + 1))

        def run(v):
            y = np.broadcast_to(v[i], (n, *shape))
            v.append(np.sum(y, axis=axis) if added else y * 1)

        return f"{n} copies of {i}, sum {added} along {axis}", run

    def positions(self, n, count):
        found = self.rng.integers(-n, n, size=count)
        return np.concatenate([found, found[:1]]) if self.flag() else found

    def take(self):
        i = self.pick(lambda x: x.ndim > 0 and len(x) > 0)
        if i is None:
            return None
        e = self.positions(len(self.values[i]), self.rng.integers(0, 5))
        return f"{i} at {e.tolist()}", lambda v: v.append(v[i][e])

    def scatter(self):
        """Entries put in, or added to, at positions that may repeat, and read there."""
        i, j = self.pick(lambda x: x.ndim > 0 and len(x) > 0), self.pick()
        if i is None:
            return None
        x, add, read = self.values[i], self.flag(), self.flag(0.6)
        e = self.positions(len(x), self.rng.integers(1, 4))
        different = np.arange(1.0, 1 + len(e)).reshape((-1,) + (1,) * (x.ndim - 1))

        def run(v):
            y = v[i] * 1
            if add:
                np.add.at(y, e, v[i][e] * 2)
            else:
                y[e] = np.sum(v[j]) * different
            v.append(y[e] if read else y)

        return f"{i} with {j} at {e.tolist()}, add {add}, read {read}", run

    def group(self):
        """Sums of groups, given back to the members."""
        i = self.pick(lambda x: x.ndim == 1 and 0 < len(x) < 66 and x.dtype.kind == "f")
        if i is None:
            return None
        n = len(self.values[i])
        e = self.rng.integers(0, max(n // 2, 1), size=n)
        other = e if self.flag(0.6) else self.rng.permutation(e)
        length = int(e.max()) + 1 + self.choice([0, 0, 62, 64])
        return (
            f"groups {e.tolist()} of {i} read at {other.tolist()}",
            lambda v: v.append(np.bincount(e, v[i], length)[other]),
        )

    def write(self):
        i, j = self.pick(lambda x: x.ndim > 0), self.pick()
        if i is None:
            return None
        first, second = self.index(self.values[i].shape), self.index(self.values[i].shape)
        add, second = self.flag(), first if self.flag() else second

        def run(v):
            y = v[i] * 1
            if add:
                y[first] += np.sum(v[j])
            else:
                y[first] = v[j]
            v.append(y[second] * 2)
            v.append(y)

        return f"{i} at {first} set to {j}, add {add}, read {second}", run

    def accumulate(self):
        i = self.pick(lambda x: x.ndim > 0)
        if i is None:
            return None
        a, b = self.index(self.values[i].shape), self.index(self.values[i].shape)

        def run(v):
            y = np.zeros_like(v[i])
            y[a] += v[i][a]
            y[b] += v[i][b] * 2
            y[a] *= 3
            v.append(y)

        return f"{i} accumulated at {a}, {b}", run

    def entries(self):
        i = self.pick(lambda x: x.ndim == 1 and 2 < x.size < 66)
        if i is None:
            return None
        n = self.values[i].size
        put, read = (self.rng.integers(0, n, size=k).tolist() for k in (4, 3))

        def run(v):
            y = v[i] * 2
            for k in put:
                y[k] = y[k - 1] * 0.5 + v[i][k]
            v.append(np.stack([y[k] for k in read]))
            v.append(y)

        return f"entries {put} of {i}, read {read}", run

    def join(self):
        i = self.pick(lambda x: x.ndim > 0)
        if i is None:
            return None
        x, name = self.values[i], self.choice(sorted(JOINS))
        j = self.pick(lambda b: b.ndim == x.ndim and b.shape[1:] == x.shape[1:])
        return f"{name} {i} {j}", lambda v: v.append(JOINS[name](v[i], v[j]))

    def product(self):
        i, name = self.pick(lambda x: x.ndim in (1, 2)), self.choice(sorted(PRODUCTS))
        return None if i is None else (f"{name} {i}", lambda v: v.append(PRODUCTS[name](v[i])))
