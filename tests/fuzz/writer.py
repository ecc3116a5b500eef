"""Write random programs, statement by statement, each tried on values before it is kept."""

import copy
import warnings

import numpy as np

from fuzz.program import LAYOUTS, Program, values

SHAPES = [
    (),
    (1,),
    (3,),
    (3,),
    (4,),
    (2, 3),
    (3, 2),
    (3, 3),
    (1, 3),
    (2, 1, 3),
    (0,),
    (2, 0),
    (12,),
]
SHAPES += [(2, 3, 2), (9, 2)]
DTYPES = ["f8"] * 9 + ["f4", "c16", "c8", "i4", "b1", "i8"]

AROUND = (
    "G = 1.5",
    "W = np.array([0.5, -1.0, 2.0])",
    "I = np.array([0, 1, 0])",
    "TABLE = {'a': 0.7, 'b': np.array([1.0, 2.0, 3.0])}",
    "FLAGS = [True, 2]",
    "def helper(v):\n    return v * 2.0",
    """class Box:
    scale = 0.5
    def __init__(self):
        self.w = np.array([1.0, 0.5, 0.25])
        self.s = 2.0
        self.mode = 'up'
    def apply(self, v):
        return v * self.s if self.mode == 'up' else v - self.s""",
    "box = Box()",
    """def make(k):
    def scaled(v):
        return v * k
    def set_k(new):
        nonlocal k
        k = new
    return scaled, set_k""",
    "scaled, set_k = make(1.25)",
    "import argparse, contextvars, os, types",
    "OPTIONS = argparse.Namespace(rate=0.5, w=np.array([1.0, 2.0, 0.5]))",
    "LEVEL = contextvars.ContextVar('level', default=1.5)",
    "ROWS = [np.array([1.0, 2.0, 3.0]), {'k': [0.5, 2.0]}]",
    "VIEW = types.MappingProxyType(TABLE)",
)
CHANGES = (
    "pass",
    "pass",
    "pass",
    "G = 2.25",
    "W = np.array([3.0, 1.0, 0.5])",
    "W[1] = 4.0",
    "W *= 0.5",
    "I = np.array([1, 0, 1])",
    "I[0] = 1",
    "TABLE['a'] = 1.7",
    "TABLE['b'][0] = -2.0",
    "TABLE = {'a': 0.1, 'b': np.array([0.5, 0.5, 1.0])}",
    "FLAGS[0] = not FLAGS[0]",
    "FLAGS.append(1)",
    "def helper(v):\n    return v + 1.0",
    "helper = np.sin",
    "box.w = np.array([2.0, 2.0, 1.0])",
    "box.w[2] = 9.0",
    "box.s = 3.0",
    "box.mode = 'down' if box.mode == 'up' else 'up'",
    "Box.scale = 0.75",
    "Box.apply = lambda self, v: v * 0.3",
    "set_k(0.5)",
    "scaled = make(3.0)[0]",
    "os.environ['FUZZED'] = str(float(os.environ.get('FUZZED', '1')) + 1)",
    "OPTIONS.rate += 0.25",
    "OPTIONS.w[1] = 5.0",
    "LEVEL.set(LEVEL.get() + 0.5)",
    "ROWS[0][1] += 1.0",
    "ROWS[1]['k'][0] = 3.0",
    "ROWS[1] = {'k': [1.5, 1.0, 2.0]}",
)
OUTSIDE = (
    "{v} * G",
    "{v3} * W",
    "{v} + W[0]",
    "{w} @ W",
    "{v} * TABLE['a']",
    "{v3} + TABLE['b']",
    "({v} if FLAGS[0] else {v} * 3.0)",
    "{v} * len(FLAGS)",
    "helper({v})",
    "box.apply({v})",
    "{v3} * box.w",
    "{v} * box.scale",
    "scaled({v})",
    "{v}[I]",
    "np.dot(W, W) * {v}",
    "np.interp(0.3, np.sort(W), W) * {v}",
    "{v} * float(os.environ.get('FUZZED', '1'))",
    "{v} * OPTIONS.rate",
    "{v3} * OPTIONS.w",
    "{v} + LEVEL.get()",
    "{v3} - ROWS[0]",
    "{v} * ROWS[1]['k'][0] + len(ROWS[1]['k'])",
    "{v} * VIEW['a']",
)
UNARY = (
    "np.sin({v})",
    "np.tanh({r})",
    "np.exp(-np.abs({v}))",
    "np.sqrt(1.0 + {r} * {r})",
    "np.square({v})",
    "-{v}",
    "abs({v})",
    "np.clip({r}, -0.5, 0.5)",
    "np.arctan({r})",
    "np.log1p({r} ** 2)",
    "np.conj({v})",
    "{v}.real",
    "{v}.imag",
    "{v} ** 2",
    "{v} ** 3",
    "{v} * 2.5",
    "1 - {v}",
    "{v} / 3",
    "2 ** {r}",
    "np.where({r} > 0, {v}, 0.5 * {v})",
    "np.maximum({r}, 0.1)",
    "np.nan_to_num({v})",
    "{v} * 1j",
    "{v}.astype('f4')",
    "{v}.astype(float) if {v}.dtype.kind != 'c' else {v}",
    "np.cumsum({v}, axis=-1)",
    "np.sort({r}, axis=-1)",
    "np.cumprod({v}, axis=0)",
    "np.sinh({r} * 0.3)",
    "np.sign({r}) * {v}",
    "np.ones_like({v}) * {v}.sum()",
)
BINARY = (
    "{v} + {w}",
    "{v} * {w}",
    "{v} - {w}",
    "{v} / (2.0 + abs({w}))",
    "np.maximum({r}, {q})",
    "np.minimum({r}, {q})",
    "np.hypot({r}, {q})",
    "np.arctan2({r}, 1.5 + abs({q}))",
    "np.where({r} > {q}, {v}, {w})",
    "np.where({r} > 0, {v}, {w} * 2)",
    "np.multiply({v}, {w}, where={r} > 0, out=np.zeros_like({v} * {w}))",
    "np.logaddexp({r}, {q})",
    "np.fmax({r}, {q})",
    "np.float_power(1.0 + abs({r}), {q})",
    "{v} @ {w}",
    "np.dot({v}, {w})",
    "np.outer({v}, {w})",
    "np.inner({v}, {w})",
    "np.einsum('i,i->i', {v}, {w})",
    "np.einsum('ij,j->i', {v}, {w})",
    "np.einsum('ij,kj->ik', {v}, {w})",
    "np.tensordot({v}, {w}, axes=1)",
    "np.concatenate([{v}, {w}])",
    "np.stack([{v}, {w}], axis=-1)",
    "np.append({v}, {w})",
    "np.cross({v}, {w})",
    "np.kron({v}, {w})",
    "np.convolve({v}, {w})",
    "np.vdot({v}, {w})",
    "np.interp({r}, np.sort({q}), {q})",
    "np.linalg.solve({v} @ {v}.T + 3 * np.eye(3), {w})",
)
REDUCE = (
    "{v}.sum()",
    "np.sum({v}, axis=0)",
    "np.sum({v}, axis=-1, keepdims=True)",
    "np.mean({v})",
    "{v}.mean(axis=0)",
    "np.max({r})",
    "{r}.min(axis=0)",
    "np.prod({v})",
    "np.linalg.norm({v})",
    "np.std({r})",
    "np.var({v}, axis=0)",
    "np.trace({v})",
    "np.median({r})",
    "np.ptp({r})",
    "np.quantile({r}, 0.3)",
    "np.linalg.det({v})",
    "sum(t * t for t in {v}.ravel())",
    "max({r}.ravel())",
    "sum([row.sum() for row in {v}])",
    "np.add.reduce({v})",
    "np.average({v}, weights=np.arange(1.0, 1 + {v}.size).reshape({v}.shape))",
)
VIEWS = (
    "{v}[::-1]",
    "{v}[1:]",
    "{v}[:-1]",
    "{v}[::2]",
    "{v}.T",
    "{v}.reshape(-1)",
    "{v}.ravel()",
    "np.ravel({v}, order='F')",
    "{v}.reshape(-1, order='F')",
    "{v}.reshape({v}.shape[::-1])",
    "{v}[None]",
    "{v}[..., 0]",
    "{v}[0]",
    "{v}[-1]",
    "{v}[:, 1]",
    "{v}[:, ::-1]",
    "{v}[1, 1:]",
    "{v}[0, 1]",
    "{v}[np.argmax({r})]",
    "{v}[np.int64(1)]",
    "{v}[np.array(1)]",
    "{v}[()]",
    "{v}[...]",
    "{v}.squeeze()",
    "np.swapaxes({v}, 0, -1)",
    "np.flip({v})",
    "np.moveaxis({v}, 0, -1)",
    "np.split({v}, [1])[1]",
    "np.atleast_1d({v})",
    "np.expand_dims({v}, 0)",
    "{v}.flat[0]",
    "{v}.flat[1:]",
    "{v}.diagonal()",
    "{v}[True]",
    "{v}.view()",
    "np.transpose({v})",
)
TAKES = (
    "{v}[[0, 0, 1]]",
    "{v}[[]]",
    "{v}[{r} > 0]",
    "{v}[{r} > 9]",
    "{v}[np.argsort({r})]",
    "np.take({v}, [1, 0, 1])",
    "np.take({v}, 1)",
    "np.take_along_axis({v}, np.argsort({r}, axis=-1), axis=-1)",
    "np.repeat({v}, 2)",
    "np.tile({v}, 2)",
    "np.roll({v}, 1)",
    "np.diff({v})",
    "{v}.copy()",
    "+{v}",
    "{v}[:, [1, 0, 1]]",
    "{v}[[0, 1], [1, 0]]",
    "np.triu({v})",
    "np.diag({v})",
    "np.pad({v}, 1)",
    "np.delete({v}, 0)",
    "np.broadcast_to({v}, (2, *{v}.shape)) * 1",
    "np.gradient({r})",
    "np.add.accumulate({v})",
    "np.compress([True, False, True], {v})",
    "np.choose([0, 1, 0], [{v}, 2 * {v}])",
    "np.select([{r} > 0.5, {r} > -0.5], [{v}, {v} * 2], 3.0)",
    "np.partition({r}, 1)",
)
WRITES = (
    "{v}[0] = 0.0",
    "{v}[0] = {s}",
    "{v}[...] = {w}",
    "{v}[-1] *= 0.5",
    "{v}[1:] = {v}[:-1]",
    "{v}[:-1] = {v}[1:] * 0.5",
    "{v}[:] = {v}[::-1]",
    "{v}[::2] += {s}",
    "{v} *= 0.5",
    "{v} += {w}",
    "{v} -= {v}",
    "{v} **= 2",
    "{v} /= 1.5",
    "{v}[[0, 0, 1]] = {s} * np.arange(1.0, 4.0)",
    "{v}[[0, 0, 1]] += {s}",
    "{v}[I] *= 2.0",
    "{v}[{r} > 0] = {s}",
    "{v}[{r} > 0] *= 2.0",
    "{v}[{r} > 9] = 1.0",
    "np.add.at({v}, [0, 0, 1], {s})",
    "np.multiply.at({v}, [0, 0], 1.5)",
    "np.copyto({v}, {w})",
    "np.copyto({v}, {w}, where={r} > 0)",
    "np.put({v}, [0, 0], {s})",
    "np.putmask({v}, {r} > 0, {w})",
    "{v}.fill({s})",
    "{v}.sort()",
    "np.sin({v}, out={v})",
    "np.add({v}, {w}, out={v})",
    "np.cumsum({v}, axis=0, out={v})",
    "{v}[0], {v}[1] = {v}[1], {v}[0]",
    "{v}[[0, 1]] = {v}[[1, 0]]",
    "{v}.T[0] = {s}",
    "{v}.reshape(-1)[0] = {s}",
    "{v}.ravel()[-1] += 1.0",
    "{v}.flat[0] = {s}",
    "{v}.flat = {s}",
    "{v}[:, 0] = {v}[:, 1]",
    "{v}[0, 1] = {s}",
    "{v}[:, 1] -= {v}[:, 0]",
    "{v}.real = {r} * 2",
    "np.fill_diagonal({v}, {s})",
    "np.put_along_axis({v}, np.argsort({r}, axis=-1)[:1], {s}, axis=-1)",
    "{v}[()] = {s}",
    "{v}[np.argmax({r})] = {s}",
    "{v}[False] = 9.0",
    "np.add({v}[1:], {v}[:-1], out={v}[1:])",
    "np.multiply({v}[::-1], 0.5, out={v})",
    "np.negative({v}, out={v}, where={r} > 0.5)",
    "np.maximum({r}, 0.2, out={v}[...]) if {v}.dtype.kind == 'f' else None",
    "np.cumsum({v}[::-1], axis=0, out={v})",
    "np.subtract({v}.T, {s}, out={v}.T)",
    "np.add({v}, {w}, out={v}, where=np.isfinite({r}))",
    "np.copyto({v}[1:], {v}[:-1])",
    "{v}[:-1], {v}[1:] = {v}[1:], {v}[:-1]",
    "{v}.T.reshape(-1)[0] = {s}",
    "{v}.reshape(-1, order='F')[-1] = {s}",
    "{v}.ravel('K')[0] = {s}",
    "{v}[..., ::-1][..., 0] += {s}",
    "np.add.at({v}, np.array([0, -1, 0]), {s})",
    "np.clip({v}.real, -1.0, 1.0, out={v}) if {v}.dtype.kind == 'f' else None",
    "np.matmul({v}, {v}.T, out={v})",
    "{v}.imag = {r}",
    "np.divmod({r}, 0.7, out=({v}, np.empty_like({v}))) if {v}.dtype == float else None",
    "np.multiply({v}, 2.0, out={v}, where={r} > 0)",
)
HANDS = (
    "k = np.argmax({r}); {n} = {v}[k]; {v}[k] = 0.0",
    "{n} = {v}; {n} *= 2.0",
    "{n} = {v}[0]; {n} = {n} * 3.0; {v}[0] = 1.0",
    "{n} = {v}[...]; {v}[0] = {s}",
    "lo, hi = {v}[0], {v}[-1]\n{v}[0] = hi\n{v}[-1] = lo\n{n} = lo - hi",
    "{n} = np.zeros_like({v})\nfor i, t in enumerate({v}):\n    {n}[-1 - i] = t * i",
    """parts = []
for t in {v}:
    parts.append(t * 2)
    if len(parts) > 2:
        parts.pop(0)
{n} = np.stack(parts)""",
    """seen = {{}}
for i, t in enumerate({v}):
    seen.setdefault(i % 2, []).append(t)
{n} = sum(seen[0])""",
    "{n} = {v}\nfor _ in range(n):\n    {n} = {n} * 0.5 + {s}",
    "{n} = {v}.copy()\nwhile np.sum(abs({n})) > 1.0:\n    {n} *= 0.4",
    "try:\n    {n} = {v}[7]\nexcept IndexError:\n    {n} = {v} * 2",
    "m = int(np.sum({r} > 0))\n{n} = {v} * m",
    "{n} = {v} * 2 if isinstance({v}, np.ndarray) else {v} * 3",
    "{n} = {v} * 2 if np.ndim({v}) else {v}[()]",
    "{n} = [t for t in {v}.ravel() if t.real > 0]\n{n} = sum({n}, 0.0 * {v}.sum())",
    "{n} = np.vectorize(lambda t: t)(np.arange(3.0)) + {s}",
    "import functools\n{n} = functools.reduce(lambda p, t: p * 0.5 + t, {v})",
    "first, *rest = {v}\n{n} = first * len(rest)",
    "def inner(t, scale=2.0):\n    t[0] = t[-1] * scale\n    return t\n{n} = inner({v})",
    "{n} = np.empty_like({v})\n{n}[...] = {s}\n{n}[0] = {v}[-1]",
    "{n} = np.array([{s}, 1.0, {s} * 2], like=x) if isinstance(x, np.ndarray) else {v}",
    "rows = list({v})\nrows[0] = rows[0] * 2\n{n} = rows[0]",
    "{n} = {v} if {v} is {w} else {v} + {w}",
    "{n} = {v} if {v}.flags.c_contiguous else {v} * 2",
    "{n} = {v} * 2 if np.shares_memory({v}, {w}) else {v}",
    "{n} = {v} * ({v}.ndim + {v}.size)",
    "for i in range(1, len({v})):\n    {v}[i] = {v}[i - 1] * 0.5 + {v}[i]\n{n} = {v} * 1.0",
    "for i in range(len({v}) - 1):\n    {v}[i + 1] += np.sin({v}[i].real)\n{n} = {v} * 1.0",
    "{n} = np.zeros_like({v})\nfor i in range(len({v})):\n    {n}[i] = {v}[-1 - i] * (i + 1)",
    "{n} = {s}\nfor i in range(9):\n    {n} = {n} * 0.5 + np.cos({s}.real) * i",
    "{n} = {v}\nfor i in range(8):\n    {n} = np.where({n}.real > 0, {n} * 0.9, -{n}) + 0.1",
    "{n} = sum({v}[i] * {v}[(i + 1) % len({v})] for i in range(len({v})))",
    "{n} = np.asarray({v}.sum(), like={v})[...]\n{n} += 1.0",
    "{n} = {v}[:1].reshape(-1)[:1].reshape(()) if {v}.size else {v}\n{n} *= 2.0",
    "{n} = np.empty((), like={v})\n{n}[()] = {s}",
    "{n} = {v}.reshape({v}.T.shape, order='F')\n{n}[0] = {s}",
    "{n} = {v}.T.copy(order='K').reshape(-1)",
    "{n} = np.stack([{v}.T, {v}.T]).ravel('K')",
    """class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b
pair = Pair({v}, {w})
pair.a = pair.a * 2
{n} = pair.a * 1.0""",
    "held = [{v}, ({w}, {{'k': {v}}})]\nheld[0] = held[0] + 1\n{n} = held[1][1]['k'] * held[0]",
    "def twice(f, t):\n    return f(f(t))\n{n} = twice(lambda t: t * 0.5 + {s}, {v})",
    "gen = (t * 2 for t in {v})\n{n} = next(gen) + sum(gen)",
    "try:\n    {n} = {v} @ {w}\nexcept ValueError:\n    {n} = {v} * 3",
    "{n} = {v}.astype('c8') * 1j",
    "{n} = ({v} * 10).real.astype(int) * {s}",
    "{n} = np.array({v}, like={v}, dtype='f4') if {v}.dtype.kind == 'f' else {v} * 2",
    "with np.errstate(all='ignore'):\n    {n} = {v} / np.where({r} > 0, {r}, 1.0)",
)
CONDITIONS = (
    "np.sum({r}) > {c}",
    "{r}.max() > {c}",
    "np.all({r} > {c})",
    "np.any({r} < {c})",
    "n > 1",
    "FLAGS[0]",
    "box.mode == 'up'",
    "{v}.ndim == 1",
    "{s}.real > {c}",
    "not np.isnan({r}).any() and {r}.min() < {c}",
)
KINDS = {
    "unary": (UNARY, 5),
    "binary": (BINARY, 6),
    "reduce": (REDUCE, 3),
    "view": (VIEWS, 7),
    "take": (TAKES, 4),
    "outside": (OUTSIDE, 3),
    "write": (WRITES, 9),
    "hand": (HANDS, 3),
    "branch": (CONDITIONS, 2),
    "loop": ((), 1),
}
WEIGHTS = [name for name, (_, weight) in KINDS.items() for _ in range(weight)]


def arrays(scope, names):
    return [name for name in names if isinstance(scope.get(name), np.ndarray | np.generic)]


class Writer:
    """One program, while it is being written.

    Parameters
    ----------
    rng : Generator
    length : int
        How many statements.
    changing : bool
        Whether what stands around the function changes between calls.
    """

    def __init__(self, rng, length, changing=True):
        self.rng, self.length, self.changing = rng, length, changing
        self.made = 0

    def choice(self, items):
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p):
        return self.rng.random() < p

    def program(self):
        names, points = self.arguments()
        around = AROUND
        self.scope = {"np": np, "values": values}
        for statement in around:
            exec(statement, self.scope)
        for name, expression in zip(names, points[0], strict=True):
            self.scope[name] = eval(expression, self.scope)
        body = []
        self.names = [n for n in names if n != "n"]
        if "box_of" in names:  # a container: taken apart first
            body.append("p, q = box_of['p'], box_of['q'][0]")
            exec(body[0], self.scope)
            self.names = [n for n in self.names if n != "box_of"] + ["p", "q"]
        for _ in range(6 * self.length):
            if len(body) >= self.length or not arrays(self.scope, self.names):
                break
            statement, fresh = self.statement()
            if statement and self.try_out(statement):
                body.append(statement)
                self.names += fresh
        changes = [self.choice(CHANGES) if self.changing else "pass" for _ in points[1:]]
        seed = int(self.rng.integers(2**31))
        return Program(around, tuple(body), self.result(), names, points, tuple(changes), seed)

    def arguments(self):
        shape = self.choice(SHAPES)
        other = shape if self.chance(0.5) else self.choice(SHAPES)
        dtypes = self.choice(DTYPES[:-1]), self.choice(DTYPES)
        kind = self.choice(["two", "two", "two", "number", "container", "numpy number"])
        layouts = [self.choice(LAYOUTS), self.choice(LAYOUTS)]
        n = int(self.rng.integers(0, 4))
        points = []
        for k in range(5):
            if k > 1:
                layouts = [self.choice(LAYOUTS), self.choice(LAYOUTS)]
                n = n if self.chance(0.7) else int(self.rng.integers(0, 4))
            seed = int(self.rng.integers(10**6))
            x = f"values({seed}, {shape}, {dtypes[0]!r}, {layouts[0]!r})"
            a = f"values({seed + 1}, {other}, {dtypes[1]!r}, {layouts[1]!r})"
            if kind == "number":
                a = repr(round(float(self.rng.uniform(-2, 2)), 3))
            elif kind == "numpy number":
                a = f"values({seed + 1}, (), {dtypes[1]!r})[()]"
            if kind == "container":
                q = x.replace(str(seed), str(seed + 2))
                points.append((x, f"{{'p': {a}, 'q': [{q}]}}", str(n)))
            else:
                points.append((x, a, str(n)))
        names = ("x", "box_of", "n") if kind == "container" else ("x", "a", "n")
        return names, tuple(points)

    def fill(self, template, target=None):
        found = arrays(self.scope, self.names)
        recent = found[-3:]
        v = target or self.choice(found + recent)
        w = self.choice(found + recent)
        three = [n for n in found if np.shape(self.scope[n])[-1:] == (3,)] or [v]
        numbers = [n for n in found if not np.ndim(self.scope[n])]
        s = self.choice(numbers) if numbers and self.chance(0.7) else f"{w}.sum()"
        return template.format(
            v=v,
            w=w,
            r=f"{v}.real",
            q=f"{w}.real",
            s=s,
            v3=self.choice(three),
            c=round(float(self.rng.uniform(-1, 1)), 2),
            n=f"t{self.made}",
        )

    def statement(self):
        kind = self.choice(WEIGHTS)
        self.made += 1
        fresh = f"t{self.made}"
        if kind == "write":
            return self.fill(self.choice(WRITES)), []
        if kind == "hand":
            return self.fill(self.choice(HANDS)), [fresh]
        if kind == "branch":
            condition = self.fill(self.choice(CONDITIONS))
            then, other = self.inside(), self.inside()
            if not then or not other:
                return None, []
            if self.chance(0.5):
                return f"if {condition}:\n    {then}", []
            return f"if {condition}:\n    {then}\nelse:\n    {other}", []
        if kind == "loop":
            inside = self.inside()
            return inside and f"for i in range({self.choice(['n', '2', '3'])}):\n    {inside}", []
        expression = self.fill(self.choice(KINDS[kind][0]))
        if kind not in ("view", "take") and self.chance(0.15):
            name = self.choice(arrays(self.scope, self.names))
            return f"{name} = {expression}", []
        return f"{fresh} = {expression}", [fresh]

    def inside(self):
        """A statement for a branch or a loop: nothing that follows needs it."""
        for _ in range(8):
            if self.chance(0.6):
                statement = self.fill(self.choice(WRITES))
            else:
                name = self.choice(arrays(self.scope, self.names))
                statement = f"{name} = {self.fill(self.choice(UNARY), name)}"
            if self.runs(statement, self.apart()):
                return statement
        return None

    def apart(self):
        """The scope, with copies of the variables."""
        return self.scope | copy.deepcopy({n: self.scope[n] for n in self.names})

    def runs(self, statement, scope):
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                exec(statement, scope)
        except Exception:  # no statement of a program, then
            return False
        return all(
            np.size(v) <= 40 and np.ndim(v) <= 3 and np.all(np.abs(v) < 1e6)
            for k, v in scope.items()
            if isinstance(v, np.ndarray | np.generic) and v.dtype.kind in "fcib"
        )

    def try_out(self, statement):
        return self.runs(statement, self.apart()) and self.runs(statement, self.scope)

    def result(self):
        found = arrays(self.scope, self.names)
        floating = [n for n in found if self.scope[n].dtype.kind in "fc"] or ["x"]
        last = floating[-1]
        forms = ["{a}", "{a}, {b}, {d}", "{{'u': {a}, 'v': ({b}, {c})}}", "[{a}, {c}, {d}]"]
        form = self.choice(forms)
        b, d = self.choice(floating), self.choice(floating)
        return form.format(a=last, b=b, c=self.choice(found), d=d)


def write(seed, changing=True):
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    return Writer(rng, int(rng.integers(2, 11)), changing).program()
