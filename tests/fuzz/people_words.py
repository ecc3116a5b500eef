"""What people write around NumPy: states, closures, options, loops, derivatives inside."""

from fuzz.plain_words import DTYPES, PLAIN, SHAPES
from fuzz.words import Words, joined

STATES = (
    "import collections, dataclasses, functools, itertools, math, operator, typing",
    "import linad",
    """@dataclasses.dataclass
class State:
    pos: typing.Any
    vel: typing.Any
    count: int = 0
    def step(self, h):
        self.pos = self.pos + h * self.vel
        self.count += 1
        return self""",
    """@dataclasses.dataclass(frozen=True)
class Model:
    rate: float
    bias: typing.Any = 0.5
    def __call__(self, v):
        return self.rate * v + self.bias
    @property
    def twice(self):
        return 2 * self.rate
    @staticmethod
    def half(v):
        return v / 2
    @classmethod
    def named(cls, rate):
        return cls(rate)""",
    "model = Model(0.75)",
    "Point = collections.namedtuple('Point', 'a b', defaults=[0.5])",
    "class Typed(typing.NamedTuple):\n    u: typing.Any\n    k: int = 2",
    """class Acc:
    def __init__(self):
        self.total, self.seen = 0.0, []
    def __iadd__(self, v):
        self.total = self.total + v
        self.seen.append(v)
        return self
    def __enter__(self):
        return self
    def __exit__(self, *problem):
        self.total = self.total * 2
        return problem[0] is ZeroDivisionError""",
    """class Slots:
    __slots__ = ('w', 'k')
    def __init__(self, w, k):
        self.w, self.k = w, k
    def __getitem__(self, i):
        return self.w * (i + self.k)
    def __len__(self):
        return 3""",
    "slots = Slots(1.5, 1.0)",
    """class OwnError(Exception):
    pass""",
    "LIMIT = 2.0",
    """def checked(v):
    if np.any(v > LIMIT):
        raise OwnError('too large')
    return v * 0.5""",
    """def tree(v, depth):
    if depth == 0 or np.size(v) < 2:
        return np.sum(v) * 1.5
    k = np.size(v) // 2
    return tree(v.ravel()[:k], depth - 1) * G - tree(v.ravel()[k:], depth - 1)""",
    """def windows(v, k):
    for i in range(len(v) - k + 1):
        yield v[i : i + k]""",
    """def counter():
    count = 0
    def up(v):
        nonlocal count
        count += 1
        return v * count
    return up""",
    "from functools import lru_cache, partial, singledispatch",
    "@lru_cache(maxsize=None)\ndef weight(k):\n    return 1.0 / (1 + k)",
    "@singledispatch\ndef kind(v):\n    return 1.0\n@kind.register\ndef _(v: int):\n    return 2.0",
    """@functools.wraps(helper)
def wrapped(*args, **kwargs):
    return helper(*args, **kwargs) * 1.5""",
    "shift = partial(np.add, 0.25)",
    "ACTIVE = {'f': np.tanh, 'g': lambda v: v * v}",
    "ORDER = collections.OrderedDict(first=1.0, second=np.array([2.0, 0.5, 1.0]))",
    "QUEUE = collections.deque([1.0, 2.0], maxlen=2)",
    "MASK = np.array([True, False, True])",
    "N = np.array([2, 0, 1])",
    "SINGLE = np.array([0.5, 1.5, -1.0], 'f4')",
    "COMPLEX = np.array([1j, 1.0, -0.5j])",
    "ZERO = np.array(0.75)",
    "GRID = np.arange(6.0).reshape(2, 3).T",
    "BACK = np.arange(3.0)[::-1]",
)
STATE_CHANGES = (
    "model = Model(1.25, np.array([0.5, 1.0, 2.0]))",
    "model = Model(0.75)",
    "Model.half = staticmethod(lambda v: v / 4)",
    "slots.w = 0.25",
    "slots = Slots(np.array([1.0, 2.0, 3.0]), 2.0)",
    "LIMIT = 0.5",
    "LIMIT = 9.0",
    "ACTIVE['f'] = np.sin",
    "ACTIVE['g'] = ACTIVE['f']",
    "ORDER['first'] = 3.0",
    "ORDER['second'] *= 2.0",
    "QUEUE.append(5.0)",
    "MASK = ~MASK",
    "MASK[0] = not MASK[0]",
    "N = np.array([0, 1, 2])",
    "N[[0, 1]] = N[[1, 0]]",
    "SINGLE += 1",
    "COMPLEX = COMPLEX.conj()",
    "ZERO[...] = 1.5",
    "ZERO = np.array(0.25)",
    "GRID = np.ascontiguousarray(GRID)",
    "GRID[0, 1] = 9.0",
    "BACK = np.array([1.0, 0.5, 0.25])",
    "BACK *= 0.5",
    "def tree(v, depth):\n    return np.sum(v) * depth",
    "shift = partial(np.multiply, 2.0)",
    "SINGLE = SINGLE.astype('f8')",
    "W = W.astype('f4')",
    "W = W[::-1]",
    "State.step = lambda self, h: (setattr(self, 'pos', self.pos * h), self)[1]",
    "weight.cache_clear()",
    "G = np.float32(1.5)",
    "G = 2",
    "G = np.array(0.5)",
    "np.seterr(divide='warn')",
)
STATE_USES = (
    "model({v})",
    "{v} * model.twice",
    "model.half({v})",
    "Model.named(0.3)({v})",
    "{v} * slots[1]",
    "sum(s for s in itertools.islice(slots, 2)) * {v}",
    "tree({v}, 2) * {v}",
    "ACTIVE['f']({r})",
    "ACTIVE.get('g', np.sin)({v})",
    "{v} * ORDER['first']",
    "{v3} * ORDER['second']",
    "{v} * sum(QUEUE)",
    "{v3} * MASK",
    "{v3}[..., MASK]",
    "{v3}[..., N]",
    "{v3} * N",
    "{v3} + SINGLE",
    "{v3} * COMPLEX",
    "{v} * ZERO",
    "{v} - ZERO[()]",
    "{v3} @ GRID",
    "{v3} * BACK",
    "np.where(MASK, {v3}, BACK)",
    "shift({v})",
    "weight(n) * {v}",
    "kind(n) * {v}",
    "wrapped({v})",
    "counter()({v})",
    "Point({v}, {w})._replace(a={s})[0] * {w}",
    "np.power({r} ** 2 + 0.5, ZERO)",
    "{v} * (1 if G is W else 2)",
    "np.dot({v3}, W)",
    "{v} * math.exp(-abs(G))",
    "{v} * np.float32(G)",
    "SINGLE[:2].sum() * {v}",
)
NUMPY_OPTIONS = (
    "np.einsum('...i,...i', {v}, {w})",
    "np.einsum('ij->ji', {v})",
    "np.einsum('ii', {v})",
    "np.einsum('ii->i', {v}) * 2",
    "np.einsum({v}, [0, 1], {w}, [1, 2], [0, 2])",
    "np.einsum('i,j->ij', {v}, {w}, optimize=True)",
    "np.einsum('ij,jk,k->i', {v}, {w}, {v3})",
    "np.tensordot({v}, {w}, axes=([-1], [0]))",
    "np.tensordot({v}, {w}, axes=0)",
    "np.where(MASK, {v}, {s})",
    "np.where({r} > {q}, {v}, {w}).astype({v}.dtype)",
    "np.select([{r} > 1, {r} < 0], [{v} * 2, {w}], default={s})",
    "np.piecewise({r}, [{r} < 0, {r} >= 0], [lambda t: t * 2, lambda t: t ** 2])",
    "np.take_along_axis({v}, np.argsort({r}, axis=0), 0)",
    "np.take_along_axis({v}, np.argmax({r}, axis=-1, keepdims=True), -1)",
    "np.take({v}, [[0, 1], [1, 0]], axis=-1, mode='wrap')",
    "np.take({v}, [5, -7], mode='clip')",
    "{v}.take([0, 0], axis=0)",
    "{v}.choose([{w}, {w}]) if {v}.dtype.kind == 'i' else {v}",
    "np.add.reduceat({v}, [0, 1])",
    "np.add.reduceat({v}, [0, 2, 1], axis=-1)",
    "np.maximum.reduceat({r}, [0, 1], axis=0)",
    "np.maximum.accumulate({r}, axis=-1)",
    "np.multiply.outer({v}, {w}).sum(axis=0)",
    "np.logaddexp.reduce({r}, axis=-1)",
    "np.subtract.accumulate({v})",
    "np.sort({r}, axis=0)[::-1]",
    "np.sort({r}, axis=None)",
    "{r}[np.argsort({r}, kind='stable', axis=None)] if {v}.ndim == 1 else {v}",
    "np.partition({r}, -1, axis=-1)[..., -1]",
    "{r}.ravel()[np.argpartition({r}.ravel(), 0)[:1]]",
    "np.unique(np.round({r}))[0] * {v}",
    "np.bincount(np.abs({r}.ravel()).astype(int), weights={r}.ravel())",
    "np.searchsorted(np.sort({r}.ravel()), {q}) * {w}",
    "np.digitize({r}, [-1.0, 0.0, 1.0]) * {v}",
    "np.interp({r}, [-1.0, 0.0, 1.5], np.sort({q}.ravel())[:3])",
    "np.interp({r}, np.sort({q}.ravel()), {q}.ravel(), left=0.0, right={s}.real)",
    "np.interp({r}.ravel(), W, BACK, period=2.5)",
    "np.histogram({r}, bins=3)[0] * {s}",
    "np.sum({v}, where={r} > 0)",
    "np.max({r}, where={r} < 1, initial=-5.0)",
    "np.sum({v}, dtype='f4')",
    "np.mean({v}, dtype=complex)",
    "np.sum({v}, axis=(0, -1), keepdims=True)",
    "{v}.sum(0, keepdims=True) * {v}",
    "np.nansum(np.where({r} > 1, np.nan, {v}))",
    "np.nanmax(np.where({r} > 1, np.nan, {r}), axis=-1)",
    "np.std({r}, ddof=1)",
    "np.var({v}, axis=-1, keepdims=True)",
    "np.cov({v})",
    "np.corrcoef({r})",
    "np.percentile({r}, [25, 75], axis=-1)",
    "np.average({v}, axis=-1, weights=np.abs({r}) + 1)",
    "np.linalg.norm({v}, axis=-1)",
    "np.linalg.norm({r}, ord=1)",
    "np.linalg.norm({r}, np.inf, axis=0)",
    "np.linalg.inv({v} @ np.conj({v}.T) + 3 * np.eye({v}.shape[0]))",
    "np.linalg.cholesky({r} @ {r}.T + 2 * np.eye({v}.shape[0]))",
    "np.linalg.eigvalsh({r} + {r}.T)",
    "np.linalg.svd({r}, compute_uv=False)",
    "np.linalg.slogdet({r} + 4 * np.eye(3))[1]",
    "np.linalg.multi_dot([{v}, {w}, {v}.T])",
    "np.linalg.matrix_power({v}, 2)",
    "np.linalg.qr({r} + 3 * np.eye(3))[1]",
    "np.add({v}, {w}, dtype=complex)",
    "np.multiply({v}, {w}, dtype='f4', casting='same_kind')",
    "np.add({v}, 1, dtype='i8', casting='unsafe') * {s}",
    "np.multiply({v}, {w}, dtype='f8', casting='unsafe')",
    "np.sin({r}, dtype='f4', casting='unsafe')",
    "np.exp({r}, where={r} < 1, out=np.ones({v}.shape))",
    "np.divide({v}, {w}, out=np.zeros_like({v} * {w} * 1.0), where=np.abs({w}) > 0.5)",
    "np.modf({r})[0]",
    "np.frexp({r})[0]",
    "np.divmod({r}, 0.8)[1]",
    "np.fmod({r}, 0.7)",
    "{r} % 0.6",
    "{r} // 0.6 * {v}",
    "np.ldexp({r}, 2)",
    "np.copysign({r}, {q})",
    "np.heaviside({r}, 0.5) * {v}",
    "np.round({v}, 1) + {v}",
    "np.trunc({r}) * {v}",
    "np.angle({v} + 2j)",
    "np.abs({v} + 1j)",
    "np.real_if_close({v} * 1.0)",
    "np.sinc({v})",
    "np.unwrap({r} * 3)",
    "np.trapezoid({v}, dx=0.5)",
    "np.ediff1d({v})",
    "np.cumsum({v})",
    "np.cumsum({v}, axis=0, dtype=complex)",
    "np.diff({v}, n=2, axis=0, prepend={s})",
    "np.gradient({r}, 0.5, axis=-1)",
    "np.rot90({v})",
    "np.block([[{v}], [{v}]])",
    "np.block([[{v}, {v}], [{w}, {w}]])",
    "np.hstack([{v}, {w}])",
    "np.vstack((t for t in [{v}, {w}]))",
    "np.vstack([{v}, 2 * {v}])",
    "np.column_stack([{v}, {w}])",
    "np.r_[{v}, {s}, 0:2]",
    "np.c_[{v}, {v}]",
    "np.array([{s}, 2.0, {s}])",
    "np.array([{v}, {v} * 2])",
    "np.array([[{s}, 0], [0, {s}]])",
    "np.asarray([t for t in {v}])",
    "np.fromiter(({s} for _ in range(3)), float) if {s}.dtype == float else {v}",
    "np.full((2, 3), {s})",
    "np.full_like({v}, {s})",
    "np.linspace({s}, 1.0, 4)",
    "np.arange(3) * {s}",
    "np.meshgrid({v}, {w})[0]",
    "np.broadcast_arrays({v}, {w})[1] * 1.0",
    "np.ix_([0, 1], [0])[0] * {s}",
    "{v}[np.ix_([0, 1], [1, 0])]",
    "{v}[np.nonzero({r} > 0)]",
    "{v}[np.triu_indices(2)]",
    "{v}[np.unravel_index(np.argmax({r}), {v}.shape)]",
    "{v}[np.newaxis, ..., ::-1]",
    "{v}[-1:0:-1]",
    "{v}[{r} == {r}.max()]",
    "{v}[np.abs({r}) < 1, ...]",
    "{v}[N]",
    "{v}[N % {v}.shape[0], ...]",
    "np.lib.stride_tricks.sliding_window_view({v}, 2, axis=0).sum(axis=-1)",
    "np.apply_along_axis(lambda t: t * t.sum(), 0, {v})",
    "np.vectorize(lambda t: t * t)({v})",
    "np.insert({v}, 1, {s}, axis=0)",
    "np.delete({v}, [0], axis=-1)",
    "np.resize({v}, (2, 2))",
    "np.extract({r} > 0, {v})",
    "np.flatnonzero({r} > 0).size * {v}",
    "np.count_nonzero({r} > 0) * {v}",
    "np.polyval([{s}, 1.0, 2.0], {v})",
    "np.polynomial.polynomial.polyval({v}, [1.0, {s}])",
    "np.convolve({v}, [1.0, 0.5], mode='same')",
    "np.correlate({v}, {w})",
    "np.fft.fft({v}).real",
    "np.fft.rfft({r})",
    "np.fft.ifft({v}, n=4)",
    "np.pad({v}, (1, 2), mode='edge')",
    "np.pad({v}, 1, mode='reflect')",
    "np.pad({v}, 1, constant_values={s})",
    "np.clip({r}, None, {s}.real)",
    "{r}.clip(min=-0.25)",
    "np.round({r}).astype(bool) * {v}",
    "np.isfinite({v}) * {v}",
    "np.logical_and({r} > 0, {q} < 1) * {v}",
    "({r} > 0) & ({r} < 1)",
    "~({r} > 0) * {s}",
    "np.int64(3) * {v}",
    "{v} * np.array(2, 'i1')",
    "np.True_ * {v}",
    "True * {v} + False",
    "{v} ** -1.0",
    "{v} ** np.array([1, 2, 3])",
    "({r} ** 2) ** 0.5",
    "2.0 ** np.arange(3) * {v3}",
    "{v}.dot({w})",
    "{v}.prod(axis=-1)",
    "{v}.mean()",
    "{r}.max(axis=0, keepdims=True) - {r}",
    "{v}.cumprod()",
    "{v}.repeat([1, 2, 1], axis=0)",
    "{v}.item() * 2.0 if {v}.size == 1 and not isinstance({v}, np.ndarray) else {v}",
    "{v}.astype({w}.dtype)",
    "np.asarray({v}, order='F')",
    "np.ascontiguousarray({v}) * 2",
    "np.array({v}, copy=True, ndmin=3)",
    "np.require({v}, requirements='C')",
    "np.squeeze({v}, axis=0)",
    "np.tril({v}, -1)",
    "np.vander({v}, 3)",
    "np.trace({v}, offset=1)",
    "np.diagonal({v}, axis1=0, axis2=-1).sum(-1)",
    "np.cross({v3}, {v3}[..., ::-1])",
    "np.nanmean(np.where({r} > 1.5, np.nan, {r}), axis=0)",
    "np.ptp({r}, axis=-1)",
    "np.argmin({r}) * {v}",
    "np.max({r}, axis=-1, keepdims=True) * {v}",
    "abs({v}) ** 1.5",
    "np.hypot({r}, 0.0)",
    "np.exp(1j * {r})",
    "({v} * (1 + 2j)).imag",
    "np.conj({v}) @ {v}",
    "{v}.T @ {v}",
    "np.matvec({v}, {w})",
    "np.vecdot({v}, {w})",
    "np.linalg.outer({v}, {w})",
    "np.astype({v}, np.float32)",
    "np.unstack({v})[0]",
    "np.concat([{v}, {w}], axis=-1)",
    "np.stack([{v}, {w}], axis=1)",
)
PEOPLES_WRITES = (
    "{v}[np.triu_indices({v}.shape[0])] = {s}",
    "{v}[np.diag_indices(2)] *= 3.0",
    "np.put_along_axis({v}, np.argmax({r}, axis=0)[None], {s}, axis=0)",
    "np.put({v}, [-1, 0], 1.5 * {s})",
    "np.place({v}, {r} > 0, [{s}, 2.0])",
    "{v}.put([0, 1], {s})",
    "{v}.partition(0); {v}[..., 1:].sort()",  # NumPy leaves the order of the others open
    "{v}[...] = np.sort({v}, axis=0)",
    "np.subtract.at({v}, N, {s})",
    "np.maximum.at({v}, [0, 0], {s})",
    "np.add.at({v}, ([0, 1], [1, 0]), {w})",
    "{v}[{r} < 0] = -{v}[{r} < 0]",
    "{v}[np.isnan({v})] = 0.0",
    "{v}[MASK] = {s}",
    "{v}[~MASK] += {w}[~MASK]",
    "{v}[N] = {v}[N[::-1]]",
    "{v}[::-1][1:] *= 2",
    "{v}[1:][::2][:1] = {s}",
    "{v}.T[..., 0] += 1",
    "{v}.reshape(-1)[::2] *= 0.5",
    "{v}.swapaxes(0, -1)[0] = {s}",
    "t = {v}[1:]; t -= {v}[:-1]",
    "t = {v}.T; t[...] = t[::-1]",
    "row = {v}[0]; row += {s}; row *= 2",
    "for row in {v}: row *= 0.5",
    "for i, row in enumerate({v}): row[...] = row * i",
    "for i in np.ndindex({v}.shape): {v}[i] *= 0.5",
    "for i, t in np.ndenumerate({v}): {v}[i] = t * 2",
    "with np.errstate(divide='ignore', invalid='ignore'): {v} /= {w}",
    "with np.errstate(all='raise'): {v} *= 0.5",
    "np.multiply({v}, {w}, {v})",
    "np.add({v}, {w}, out=({v},))",
    "np.add({v}[::-1], {v}, out={v})",
    "np.einsum('i,i->i', {v}, {w}, out={v})",
    "np.dot({v}, {w}, out={v})",
    "np.clip({v}, -1, 1, out={v})",
    "np.cumsum({v}, axis=-1, out={v})",
    "np.take({v}, [0, 0, 0], out={v}, mode='clip')",
    "np.sum({v}, axis=0, out={v}[0])",
    "np.max({v}, axis=0, out={v}[0])",
    "np.mean({v}, axis=-1, out={v}[..., 0])",
    "np.concatenate([{v}[1:], {v}[:1]], out={v}.copy())",
    "np.copyto({v}, {s}, where=MASK)",
    "np.copyto({v}.T, {w}.T, casting='same_kind')",
    "np.floor_divide({v}, 0.5, out={v})",
    "np.power({v}, 2, out={v})",
    "np.matmul({v}, np.eye({v}.shape[-1]), out={v})",
    "np.nan_to_num({v}, copy=False, nan=0.5)",
    "{v} //= 1",
    "{v} %= 0.7",
    "{v} @= np.eye({v}.shape[-1]) * 2",
    "{v} **= 3",
    "{v} -= {v}.mean()",
    "{v} /= np.linalg.norm({v}) + 1",
    "{v}[0] -= {v}[0]",
    "{v}[-1], {v}[0] = {s}, {v}[-1]",
    "{v}[0], {v}[1] = {v}[1] * 2, {v}[0] * 3",
    "{v}[1:], {v}[0] = {v}[:-1], {s}",
    "{v}[:, 0], {v}[:, 1] = {v}[:, 1], {v}[:, 0].copy()",
    "{v}[slice(None, None, -1)] += np.arange({v}.shape[0]).reshape(-1, *[1] * ({v}.ndim - 1))",
    "{v}[..., None][..., 0] += 1.0",
    "{v}.flat[::2] = {s}",
    "{v}.flat[[0, -1]] = [{s}, {s}]",
    "{v}.shape = {v}.shape[::-1]",
    "{v}.resize({v}.shape)",
    "np.moveaxis({v}, 0, -1)[0] *= 2",
    "np.diagonal({v}).sum()",
    "np.split({v}, [1])[0][...] = {s}",
    "np.broadcast_to({v}, (2, *{v}.shape)).sum()",
    "{v}.real[0] = 1.0",
    "{v}.imag[...] = {w}.real",
    "{v}.conj()[0] = 4.0",
    "{v}.view()[0] = {s}",
    "np.asarray({v})[0] = {s}",
    "np.atleast_2d({v})[0] = {s}",
    "np.ravel({v})[0] = {s}",
    "np.squeeze({v})[...] = {s}",
    "np.swapaxes({v}, 0, 1)[1] = {s}",
    "np.flip({v})[0] = {s}",
    "np.rot90({v})[0] *= 2.0",
    "np.reshape({v}, -1)[1:2] = {s}",
    "np.expand_dims({v}, 0)[0, 0] = {s}",
)
PEOPLES_HANDS = (
    "st = State({v}, {w})\nfor _ in range(3):\n    st = st.step(0.1)\n{n} = st.pos * st.count",
    "st = dataclasses.replace(State({v}, {s}), vel={w})\n{n} = st.step(0.5).pos",
    "st = State({v}, {s})\nst.pos += 1.0\n{n} = dataclasses.astuple(Model(0.5))[0] * st.pos",
    "p = Point({v}, {w})\na, b = p\n{n} = a * p.b if p.a is a else b",
    "p = Point(a={v})\n{n} = p.a * p.b + p._asdict()['b']",
    "u, k = Typed({v})\n{n} = u ** k",
    "acc = Acc()\nfor t in {v}:\n    acc += t * 2\n{n} = acc.total + len(acc.seen)",
    "with Acc() as acc:\n    acc += {v}\n    if n > 1:\n        1 / 0\n{n} = acc.total",
    "try:\n    {n} = checked({r})\nexcept OwnError as problem:\n    {n} = {v} * len(str(problem))",
    """try:
    {n} = {v}[:, 5]
except (IndexError, ValueError):
    {n} = {v} - 1
else:
    {n} = {v} + 1
finally:
    {n} = {n} * 2""",
    """try:
    if np.sum({r}) > {c}:
        raise OwnError
    {n} = {v} * 2
except OwnError:
    {n} = {v} / 2""",
    "if np.sum({r}) > 4.0:\n    raise OwnError('sum')\n{n} = {v} * 1.0",
    "assert np.all(np.isfinite({v})), 'finite'\n{n} = {v} * 1.5",
    "assert {v}.max() < 1.9, 'large'\n{n} = {v} * 1.5",
    """with np.errstate(all='raise'):
    try:
        {n} = {v} / ({w} - {w})
    except FloatingPointError:
        {n} = {v} * 3""",
    """with np.errstate(divide='raise'):
    try:
        {n} = 1.0 / np.round({r})
    except FloatingPointError:
        {n} = {v} * 3""",
    """with np.errstate(invalid='ignore', divide='ignore'):
    {n} = np.where({r} > 0, np.log({r}), 0.0)""",
    "{n} = sum(w.sum() * 0.5 for w in windows({v}, 2))",
    "{n} = np.array([w.max() for w in windows({r}, 2)])",
    "{n} = np.stack(list(itertools.accumulate({v}, lambda p, t: 0.5 * p + t)))",
    "{n} = {v}\nfor a_, b_ in zip({v}, {w}):\n    {n} = {n} + a_ * b_",
    "{n} = functools.reduce(operator.mul, {v}.ravel(), 1.0) * {w}",
    "{n} = max({r}.ravel(), key=abs) * {v}",
    "{n} = sorted({r}.ravel())[0] * {v}",
    "{n} = min((t * t, i) for i, t in enumerate({r}.ravel()))[0] * {v}",
    """best = None
for t in {r}.ravel():
    if best is None or t > best:
        best = t
{n} = {v} if best is None else best * {v}""",
    """memo = {{}}
def fib(k):
    if k not in memo:
        memo[k] = {s} if k < 2 else fib(k - 1) + 0.5 * fib(k - 2)
    return memo[k]
{n} = fib(6)""",
    "fs = [lambda t, k=k: t * k for k in range(1, 4)]\n{n} = sum(g({v}) for g in fs)",
    "fs = [lambda t: t * k for k in range(1, 4)]\n{n} = sum(g({v}) for g in fs)",
    "up = counter()\n{n} = up({v}) + up({w})",
    """total = 0.0
def add(t):
    nonlocal_ = t * 2
    return nonlocal_
for t in {v}:
    total += add(t)
{n} = total""",
    "d = dict(enumerate({v}))\nd.update(last={s})\n{n} = d.pop('last') + sum(d.values())",
    """dd = collections.defaultdict(float)
for i, t in enumerate({v}):
    dd[i % 2] += t
{n} = dd[0] - dd[1]""",
    "q_ = collections.deque({v}, maxlen=2)\nq_.append({s})\n{n} = q_[0] * q_[-1]",
    "a_, *_, z_ = {v}\n{n} = a_ - z_",
    "{n} = (lambda *args, **kw: args[0] * kw.get('k', 2))({v}, k={s})",
    """match {v}.ndim:
    case 1:
        {n} = {v} * 2
    case 2:
        {n} = {v}.T * 3
    case _:
        {n} = {v} + {s}""",
    """i = 0
while True:
    i += 1
    if i > n:
        break
    if i == 2:
        continue
    last = i
{n} = {v} * i""",
    """for t in {r}.ravel():
    if t > 0.5:
        {n} = t * {v}
        break
else:
    {n} = {v} - 1""",
    "{n} = {v}\nif (m := {r}.max()) > {c}:\n    {n} = {n} * m",
    "{n} = {v} * 1.0\nbig = {r} > {c}\nif big.any():\n    {n}[big] *= 2\nelse:\n    {n} += 1",
    "{n} = {v} * 1.0\n{n}[{n}.real > {c}] = {s}\n{n} = {n} + {v}",
    """buf = np.zeros((3, *{v}.shape), {v}.dtype)
for i in range(3):
    buf[i] = {v} * i
{n} = buf.sum(axis=0)""",
    """buf = np.empty(4, {v}.dtype)
buf[0] = {s}
for i in range(1, 4):
    buf[i] = buf[i - 1] * 0.5 + i
{n} = buf[::-1]""",
    """hist = [{v}]
for _ in range(4):
    hist.append(hist[-1] * 0.5 + hist[0])
{n} = hist[-1] - hist[-2]""",
    "view = {v}[...]\nview2 = view[::-1]\nview2[0] = {s}\n{n} = {v} + view",
    "view = {v}.reshape(-1)[1:]\nview *= 2\n{n} = {v} * 1.0",
    "c_ = {v}.copy()\nc_.T[0] = {s}\n{n} = c_ - {v}",
    "c_ = np.asfortranarray({v})\n{n} = c_.ravel('K') * 2",
    "c_ = np.array({v}, order='F')\nc_ *= 2\n{n} = c_.reshape(-1)",
    """z_ = np.zeros({v}.shape, order='F')
z_ += {r}
{n} = z_.T.ravel() if z_.flags.f_contiguous else z_""",
    "z_ = np.zeros({v}.shape, int)\nz_[...] = ({r} * 2).astype(int)\n{n} = z_ * {s}",
    "z_ = np.zeros({v}.shape, bool)\nz_[{r} > {c}] = True\n{n} = {v}[z_]",
    """idx = np.argsort({r}, axis=None)
flat = {v}.ravel()[idx]
{n} = np.empty_like(flat)
{n}[idx] = flat * np.arange(flat.size)""",
    """vals, inv = np.unique(np.round({r}), return_inverse=True)
{n} = {v} * (inv.reshape({v}.shape) + vals.size)""",
    "lo_, hi_ = np.quantile({r}, [0.1, 0.9])\n{n} = np.clip({r}, lo_, hi_)",
    "q_, r_ = np.divmod({r}, 0.75)\n{n} = q_ + r_",
    "q_, r_ = np.linalg.qr({r} + 2 * np.eye(*{v}.shape))\n{n} = q_ @ r_",
    "w_, V_ = np.linalg.eigh({r} @ {r}.T)\n{n} = (V_ * w_) @ V_.T",
    "u_, s_, vt_ = np.linalg.svd({r}, full_matrices=False)\n{n} = (u_ * s_) @ vt_",
    "{n} = np.zeros(())\n{n} += {s}.real\n{n} = {n} * {v}",
    "{n} = np.array({s})\n{n} *= 2\n{n} = {n}[()] + {v}",
    "{n} = 0.0\n{n} += {v}\n{n} -= {w}",
    "{n} = 1\n{n} *= {v}",
    "{n} = {v}[None][0]\n{n} = {n} + 0",
    "k = int(np.argmin({r}))\n{n} = {v}.ravel()[k] * k",
    "k = {r}.argmax().item()\n{n} = {v}.ravel()[: k + 1].sum()",
    "m = ({r} > {c}).sum()\n{n} = {v} / (m + 1)",
    "m = len(np.flatnonzero({r} > {c}))\n{n} = np.zeros(m + 1, {v}.dtype) + {s}",
    "{n} = {v} * (str({v}.dtype) == 'float64') + {v}.shape[0]",
    "{n} = {v} * {v}.itemsize / {v}.nbytes",
    "{n} = {v} if {v}.dtype == np.float64 else {v} * 2",
    "{n} = {v} if np.iscomplexobj({v}) else {v} * 2",
    "{n} = {v} if np.issubdtype({v}.dtype, np.floating) else {v} * 2",
    "{n} = np.zeros_like({v}, shape=(2,)) + {s}",
    "{n} = np.result_type({v}, {w}).type(2) * {v}",
    "dt = np.promote_types({v}.dtype, 'f4')\n{n} = {v}.astype(dt) * 2",
    "eps = np.finfo(float).eps\n{n} = {v} / (np.abs({v}) + eps + 1)",
    "{n} = np.array(list(map(lambda t: t * 2, {v})))",
    "{n} = np.array([[t * i for t in {v}.ravel()] for i in range(2)])",
    "{n} = np.array([t for t in {r}.ravel() if t > {c}] + [{s}.real])",
    "{n} = np.concatenate([np.atleast_1d(t) for t in ({s}, {v}.ravel(), 1.0)])",
    "parts = np.array_split({v}, 2)\n{n} = parts[0].sum() - parts[1].sum()",
    "rows_, cols_ = np.nonzero({r} > {c})\n{n} = {v}[rows_, cols_].sum() + rows_.size",
    "xx, yy = np.meshgrid({v}, {w}, indexing='ij')\n{n} = xx * yy",
    "cs = np.cumsum({v}, axis=0)\n{n} = cs[1:] - cs[:-1]",
    "gx = np.gradient({r})\n{n} = gx if isinstance(gx, np.ndarray) else gx[0]",
    # Loops that are compiled once.
    "{n} = linad.fori_loop(0, 4, lambda i, t: t * 0.5 + i, {v})",
    "{n} = linad.fori_loop(0, n, lambda i, t: np.sin(t.real) + {s}.real, {r})",
    "{n}, ys = linad.scan(lambda t, e: (t * 0.5 + e, t * e), {s}, {v})\n{n} = {n} + ys",
    "{n} = linad.scan(lambda t, _: (t * 0.5, t), {v}, length=3)[1]",
    "{n} = linad.while_loop(lambda t: np.sum(np.abs(t)) > 1.0, lambda t: t * 0.4, {v})",
    "{n} = linad.cond(np.sum({r}) > {c}, lambda t: t * 2, lambda t: t * 0.5, {v})",
    "{n} = linad.switch(n, [lambda t: t * 2, lambda t: t + 1, lambda t: -t, lambda t: t], {v})",
    "{n} = linad.map(lambda t: t * t, {v})",
    """p, _ = linad.scan(
    lambda p, e: (Point(p.a + e, p.b * 0.9), None), Point({s}, {s} * 1.0), {v}
)
{n} = p.a * p.b""",
    "{n} = linad.fori_loop(0, 3, lambda i, c: (c[1], c[0] * 0.5 + i), ({v}, {v} * 1.0))[0]",
    """def body(i, t):
    t[0] = t[-1] * 0.5
    return t
{n} = linad.fori_loop(0, 3, body, {v} * 1.0)""",
    "{n} = linad.jit(lambda t: t * 2 + {s})({v})",
    # Derivatives inside.
    "{n} = linad.grad(lambda t: np.sum(np.sin(t) * {r}))({r} * 1.0)",
    "{n} = linad.grad(lambda t: t ** 3 * {s}.real)({s}.real * 1.0)",
    "{n} = linad.jvp(lambda t: t ** 2, ({r} * 1.0,), ({r} + 1.0,))[1]",
    "{n} = linad.value_and_grad(lambda t: np.sum(t ** 2))({r} * 1.0)[1]",
    "{n} = linad.jacobian(lambda t: np.tanh(t) * {s}.real)({r}.ravel() * 1.0) @ {r}.ravel()",
    "{n} = linad.stop_gradient({v}) * {v}",
    "out, J_ = linad.linearize(lambda t: t * t, {r} * 1.0)\n{n} = J_.pullback({r} + 0.5) + out",
    "{n} = linad.hvp(lambda t: np.sum(t ** 3), ({r} * 1.0,), ({r} * 0.5,))",
)
PEOPLES_CONDITIONS = (
    "np.isclose({s}, {c})",
    "{r}.sum() > G",
    "MASK.any() and {r}.mean() > {c}",
    "bool(({r} > {c}).all())",
    "{r}.argmax() == 0",
    "len({v}) > 2 and {r}[0].sum() > {c}",
    "np.array_equal({v}, {w})",
    "np.allclose({v}, {w})",
    "isinstance({v}, np.ndarray) and {v}.size > 2",
    "{v}.dtype.kind == 'f'",
    "{c} < {s}.real < 1.0",
    "model.rate > 1",
    "hasattr({v}, 'ndim') and {v}.ndim > 1",
    "np.count_nonzero({r} > {c}) > 1",
    "{s}",
    "not {r}.any()",
    "n in (1, 2)",
    "LIMIT > 1 and {r}.max() < LIMIT",
)
ONLY = Words(
    STATES,
    STATE_CHANGES,
    {
        "outside": (STATE_USES, 6),
        "option": (NUMPY_OPTIONS, 14),
        "write": (PEOPLES_WRITES, 8),
        "hand": (PEOPLES_HANDS, 10),
        "branch": (PEOPLES_CONDITIONS, 2),
    },
    [*SHAPES, (1, 1), (3, 3), (2, 2), (3, 1), (4, 3), (5,)],
    [*DTYPES[:6], "f4", "c16", "c8", "i4", "i1", "u2", "b1"],
    moving=True,
)
PEOPLE = joined(PLAIN, ONLY)
