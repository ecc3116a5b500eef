"""What is written around NumPy less often: texts and sets that decide, iterators over entries,
structured, masked and object arrays, caches, descriptors, ufunc methods with all their keywords."""

from fuzz.people_words import ONLY, PEOPLE
from fuzz.words import Words, joined

AROUND = (
    "import contextlib, copy, datetime, json, textwrap",
    "@functools.cache\ndef table(k):\n    return np.arange(3.0) * k",
    "@functools.cache\ndef factor(k):\n    return 1.0 + k * RATE",
    "RATE = 0.25",
    """class Lazy:
    made = 0
    def __init__(self, w):
        self.w = w
    @functools.cached_property
    def total(self):
        type(self).made += 1
        return float(np.sum(self.w))
    @property
    def now(self):
        return float(np.sum(self.w))
    @now.setter
    def now(self, value):
        self.w = np.full(3, value)""",
    "lazy = Lazy(np.array([1.0, 2.0, 0.5]))",
    """class Meta(type):
    def __getitem__(cls, k):
        return cls.scale * k
class Scaled(metaclass=Meta):
    scale = 0.5""",
    """class Below(Scaled):
    def __init_subclass__(cls):
        cls.scale = 2.0""",
    """@contextlib.contextmanager
def scaled_by(k):
    global RATE
    before, RATE = RATE, k
    try:
        yield k
    finally:
        RATE = before""",
    "KEYS = {1.0, 2.5}",
    "NAMES = frozenset(['up', 'down'])",
    "REC = np.array([(1.0, 2), (3.0, 4)], dtype=[('u', 'f8'), ('k', 'i4')])",
    "MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])",
    "OBJECTS = np.array([1.0, 2, 'up'], dtype=object)",
    "DAYS = np.array(['2026-01-01', '2026-01-03', '2026-02-01'], 'M8[D]')",
    "START = datetime.date(2026, 1, 1)",
    'TEXT = \'{"k": 1.5, "w": [1.0, 2.0, 3.0]}\'',
    "LETTERS = np.array(['a', 'b', 'a'])",
    """def stream(v, k=0.5):
    total = 0.0
    try:
        for t in v:
            total = total * k + t
            sent = yield total
            if sent is not None:
                total = total + sent
    finally:
        total = 0.0""",
    "def nested(v):\n    yield from stream(v)\n    yield from (t * 2 for t in v)",
)
CHANGES = (
    "RATE = 0.75",
    "factor.cache_clear()",
    "table.cache_clear()",
    "lazy = Lazy(np.array([0.5, 0.5, 1.0]))",
    "lazy.w = np.ones(3)",
    "lazy.now = 2.0",
    "lazy.w[1] += 1.0",
    "Scaled.scale += 0.25",
    "KEYS.add(0.5)",
    "KEYS = {7.0}",
    "NAMES = NAMES | {'left'}",
    "REC['u'][0] = 5.0",
    "REC = REC[::-1]",
    "MASKED[0] = np.ma.masked",
    "MASKED = np.ma.array([3.0, 2.0, 1.0])",
    "OBJECTS[0] = 4.0",
    "OBJECTS[2] = 'down'",
    "DAYS += np.timedelta64(1, 'D')",
    "START = datetime.date(2026, 2, 1)",
    "TEXT = TEXT.replace('1.5', '2.5')",
    "LETTERS[0] = 'b'",
)
USES = (
    "{v} * table(2)[1]",
    "{v3} * table(n)",
    "{v} * factor(n)",
    "{v} * lazy.total",
    "{v} * lazy.now",
    "{v} * Scaled[2]",
    "{v} * Below[1]",
    "{v} * len(KEYS)",
    "{v} * (2 if 2.5 in KEYS else 3)",
    "{v} * (2 if 'left' in NAMES else 3)",
    "{v} * REC['u'][0] + REC[1]['k']",
    "{v} * REC['u'].sum()",
    "{v3} * MASKED.filled(0.5)",
    "{v} * float(MASKED.mean())",
    "{v} * OBJECTS[0]",
    "({v} if OBJECTS[2] == 'up' else -{v})",
    "{v} * (DAYS[1] - DAYS[0]).astype(int)",
    "{v3} * (DAYS - np.datetime64('2026-01-01')).astype(float)",
    "{v} * START.month",
    "{v} * (datetime.date(2026, 3, 1) - START).days",
    "{v} * json.loads(TEXT)['k']",
    "{v3} + np.array(json.loads(TEXT)['w'])",
    "{v3} * (LETTERS == 'a')",
    "{v} * np.char.count(LETTERS, 'a').sum()",
    "{v3} * np.unique(LETTERS, return_inverse=True)[1]",
)
OPTIONS = (
    "np.einsum('ii->i', {v})",
    "np.einsum('ii', {v})",
    "np.einsum('ij,ij->j', {v}, {w})",
    "np.einsum('ij,ji', {v}, {w})",
    "np.einsum('ii,ij->j', {v}, {w})",
    "np.einsum('i,j,i->j', {v}, {w}, {v})",
    "np.einsum('...i,...i', {v}, {w})",
    "np.einsum('i...->...', {v})",
    "np.einsum({v}, [0, 1], {w}, [1, 2], [0, 2])",
    "np.einsum('ij,jk,kl->il', {v}, {v}, {w}, optimize=True)",
    "np.add.reduce({v}, axis=0, keepdims=True, initial=1.5)",
    "np.add.reduce({v}, axis=-1, where={r} > 0)",
    "np.multiply.reduce({v}, axis=None)",
    "np.maximum.reduce({r}, axis=0, initial=0.25)",
    "np.minimum.accumulate({r}, axis=-1)",
    "np.multiply.accumulate({v}, axis=0)",
    "np.add.reduceat({v}, [0, 1], axis=0)",
    "np.subtract.outer({v}, {w})",
    "np.maximum.outer({r}, {q})",
    "np.hypot({r}, {q}, where={r} > 0, out=np.ones_like({r} * {q}))",
    "np.sqrt({r}, where={r} > 0, out=np.zeros_like({r} * 1.0))",
    "np.sum({v}, where={r} > {c})",
    "np.mean({v}, where=np.isfinite({r}))",
    "np.max({r}, initial=-1.0, where={r} < 1)",
    "np.std({v}, ddof=1, axis=0, keepdims=True)",
    "np.lib.stride_tricks.sliding_window_view({v}, 2, axis=0).sum(axis=-1)",
    "np.lib.stride_tricks.sliding_window_view({v}, 2, axis=-1)[..., 0]",
    "np.broadcast_to({v}, (2, *{v}.shape)).mean(axis=0)",
    "np.broadcast_arrays({v}, {w})[0] * 2",
    "np.apply_along_axis(lambda t: t * t.sum(), 0, {v})",
    "np.apply_over_axes(np.sum, {v}, [0])",
    "np.fromiter((t * 2 for t in {r}.ravel()), float, {v}.size, like={v})",
    "np.searchsorted(np.sort({r}.ravel()), {c}) * {v}",
    "np.digitize({c}, np.sort({r}.ravel())) * {v}",
    "np.bincount([0, 1, 0], weights={v3})",
    "np.histogram({r}, bins=3, range=(-2, 2))[0] * {s}",
    "np.lexsort([{r}.ravel()]) * {s}",
    "np.piecewise({r} * 1.0, [{r} > 0], [lambda t: t * 2, lambda t: -t])",
    "np.trapezoid({v}, axis=-1)",
    "np.cov({r})",
    "np.corrcoef({r})",
    "np.polyval({v}, {w})",
    "np.block([[{v}, {v}], [{v}, {v}]])",
    "np.r_[{v}, {w}]",
    "np.nanmean(np.where({r} > 0, {r}, np.nan), axis=0)",
    "np.nancumsum(np.where({r} > 0, {r}, np.nan), axis=0)",
    "np.ma.getdata({v}) * 2",
    "np.packbits({r} > 0).sum() * {s}",
    "np.isin(np.round({r}), [0.0, 1.0]) * {v}",
    "np.setdiff1d(np.round({r}), [0.0]).size * {v}",
    "np.linalg.norm({v}, axis=-1, keepdims=True)",
    "np.linalg.matrix_power({v}, 2)",
    "np.linalg.multi_dot([{v}, {w}, {v}])",
    "np.nan_to_num({v} / {w}, posinf=2.0, neginf=-2.0)",
    "np.frexp({r})[0]",
    "np.modf({r})[0]",
    "np.ldexp({r}, n)",
    "np.remainder({r}, 0.75)",
    "np.copysign({r}, {q})",
    "np.nextafter({r}, {q})",
    "np.heaviside({r}, 0.5) * {v}",
)
WRITES = (
    "np.add.at({v}, ([0, 0], [1, 1]), {s})",
    "np.subtract.at({v}, [0, 1, 0], {w}[0])",
    "np.maximum.at({v}, N, {s})",
    "np.divide.at({v}, [0, 0], 2.0)",
    "np.add.at(np.asarray({v}), [0, -1], {s})",
    "np.subtract.at(np.require({v}, requirements='W'), [0, 0], {s})",
    "np.add({v}, 1, out={v}, where={r} > {c})",
    "np.sqrt(np.abs({r}), out={v}, where={r} > 0) if {v}.dtype == float else None",
    "np.add.accumulate({v}, out={v})",
    "np.add.reduce({v}, axis=0, out={v}[0])",
    "np.copyto({v}, {w}, where={r} > 0, casting='unsafe')",
    "np.put({v}, [0, -1], [{s}, {s} * 2], mode='wrap')",
    "{v}.put([7, 0], [{s}], mode='clip')",
    "np.place({v}, {r} > 0, [{s}])",
    "np.putmask({v}, {r} > 0, [{s}.real, 1.0])",
    "{v}.flat[1:] = [{s}, 0.5]",
    "{v}.flat[{r}.ravel() > 0] = {s}",
    "{v}[...] = [[{s}] * 3] * 2",
    "{v}[:2] = ({s}, 1.5)",
    "{v}[-1:] = [{s}]",
    "for i in np.ndindex(*{v}.shape[:1]): {v}[i] = {v}[i] * 0.5",
    "for i, t in np.ndenumerate({v}): {v}[i] += t * (1 + sum(i))",
    "for t in {v}.flat: {v}.flat[0] += t * 0.1",
    "{v}[np.ix_([0, 1], [1, 0])] *= 2.0",
    "{v}[np.unravel_index(1, {v}.shape)] = {s}",
    "{v}[np.nonzero({r} > 0)] -= {s}",
    "{v}[np.where({r} < 0)] = 0.0",
    "{v}[np.array([0, 0])] = [{s}, {s} * 2]",
    "{v}[..., -1:] = {v}[..., :1]",
    "{v}[::-1][0] = {s}",
    "np.einsum('ii->i', {v})[...] = {s}",
    "np.einsum('ij->ji', {v})[0] *= 3.0",
    "np.lib.stride_tricks.as_strided({v})[0] = {s}",
    "{v}[1:], {v}[:-1] = {v}[:-1].copy(), {v}[1:].copy()",
    "np.swapaxes({v}, 0, -1)[...] *= 0.5",
    "np.roll({v}, 1)[0] = 9.0",
    "{v}.byteswap(inplace=False)[...].fill(1)",
    "{v}.setfield(1.0, {v}.dtype)",
    "np.random.default_rng(3).shuffle({v})",
    "np.fill_diagonal({v}[:, ::-1], {s})",
    "np.ldexp({v}, 1, out={v}) if {v}.dtype == float else None",
    "operator.iadd({v}, {w})",
    "operator.setitem({v}, 0, {s})",
    "setattr({v}, 'flat', {s})",
)
HANDS = (
    "label = f'{{{s}.real:.1f}}'\n{n} = {v} * (2 if label.startswith('-') else 3)",
    "label = '%.2f' % {s}.real\n{n} = {v} * len(label)",
    "label = str({r}.max())[:3]\n{n} = {v} * (1 + ('0.' in label))",
    "label = format({s}.real, '.0f')\n{n} = {v} * {{'0': 2.0, '1': 3.0}}.get(label, 0.5)",
    "label = repr(np.round({r}).tolist())\n{n} = {v} * label.count('-')",
    "key = round(float({s}.real))\nseen = {{0: 0.5, 1: 2.0}}\n{n} = {v} * seen.get(key, 3.0)",
    """key = int({s}.real > 0)
seen = {{}}
seen[key] = {v}
{n} = seen.get(1, {v} * 2) + seen.get(0, 0)""",
    "seen = set(np.sign({r}).ravel().tolist())\n{n} = {v} * len(seen)",
    "seen = {{float(t) for t in np.round({r}).ravel()}}\n{n} = {v} * (2 if 1.0 in seen else 3)",
    """groups = {{}}
for t in {r}.ravel():
    groups.setdefault(bool(t > 0), []).append(t)
{n} = {v} * sum(groups.get(True, [1.0]))""",
    """count = collections.Counter(np.round({r}).astype(int).ravel().tolist())
{n} = {v} * count.most_common(1)[0][1]""",
    "g_ = stream({v})\nfirst = next(g_)\nsecond = g_.send({s})\ng_.close()\n{n} = first - second",
    "{n} = sum(nested({v}))",
    "{n} = max(nested({r}.ravel()))",
    """try:
    {n} = {v} * 2
    if {s}.real > {c}:
        raise OwnError('large')
except OwnError:
    {n} = {v} * 3
else:
    {n} = {n} + 1
finally:
    {n} = {n} * 0.5""",
    """def leave():
    try:
        return {v} * 2
    finally:
        {v}[...] = {v} * 0.5
{n} = leave()""",
    """{n} = {v} * 1.0
with contextlib.suppress(IndexError, ValueError):
    {n}[0] = {s}
    {n}[9] = 1.0
    {n}[0] = 7.0""",
    """with scaled_by(float(n)) as k:
    {n} = {v} * RATE + k""",
    """with contextlib.ExitStack() as stack:
    stack.callback(lambda: {v}.fill(0.5))
    {n} = {v} * 2""",
    "{n} = copy.copy({v})\n{n} *= 2\n{n} = {n} + {v}",
    "{n} = copy.deepcopy([{v}, {v}])\n{n}[0] *= 2\n{n} = {n}[1] + {v}",
    "{n} = np.zeros(3, dtype=[('a', 'f8'), ('b', 'i4')])['a'] + {s}.real",
    "{n} = np.empty(2, object)\n{n}[0], {n}[1] = {v}, {w}\n{n} = {n}[0] * {n}[1]",
    "{n} = np.array([t for t in {v}.flat])\n{n}[0] *= 2",
    """it = np.nditer(np.arange(3), flags=['f_index'])
{n} = sum({v}.ravel()[it.index % {v}.size] * int(t) for t in it)""",
    "{n} = sum(t * (1 + sum(i)) for i, t in np.ndenumerate({v}))",
    "{n} = np.array([{v}[i] * 2 for i in np.ndindex({v}.shape)])",
    "m_ = np.ma.masked_less({r}, 0.0)\n{n} = m_.filled(0.25) * 2",
    "m_ = np.ma.masked_array({r}, {r} > {c})\n{n} = np.ma.sum(m_) * 2",
    "{n} = np.frompyfunc(lambda t: t * 2, 1, 1)({v})\n{n} = {n}.astype({v}.dtype)",
    "{n} = np.vectorize(lambda t: t * t if t > 0 else -t)({r})",
    "{n} = {v}.tolist()\n{n} = np.array({n}, like={v}) * 2",
    "{n} = {v} * {v}.dtype.itemsize + np.dtype({v}.dtype).alignment",
    "{n} = {v} * memoryview(np.arange(3)).nbytes",
    "{n} = {v}.view({v}.dtype) * 2",
    "u_ = {r}.view('u1') if {v}.dtype == 'u1' else {r}\n{n} = u_ * 2",
    "{n} = {v}.astype(int).astype({v}.dtype) + {v}",
    "{n} = {r}.astype('i1') * {v}",
    "{n} = ({r} > 0).view('u1') * {v}",
    "{n} = ({r} * 4).astype('u1') + {v}",
    """z_ = np.zeros({v}.shape, int)
z_[...] = [int(t) for t in {r}.ravel()] if {v}.ndim == 1 else 1
{n} = z_ * {v}""",
    "z_ = np.zeros_like({v}, dtype=int)\nz_[{r} > 0] = 3\n{n} = z_ * {v}",
    "z_ = np.zeros_like({v}, dtype=np.int8)\nz_ += ({r} * 10).astype(np.int8)\n{n} = z_ * {v}",
    "z_ = np.arange({v}.size).reshape({v}.shape)\nz_ //= 2\n{n} = {v}.ravel()[z_]",
    "order = sorted(range({v}.size), key=lambda i: {r}.ravel()[i])\n{n} = {v}.ravel()[order]",
    "{n} = functools.reduce(np.maximum, [{r}, {q}, {r} * {q}])",
    """pairs = list(zip({r}.ravel(), {q}.ravel()))
{n} = sum(p * q for p, q in pairs if p > q) * {v}""",
    "{n} = {v}\nfor name in ('real', 'imag'):\n    {n} = {n} + getattr({v}, name)",
    "{n} = {v}.__class__.__name__ == 'ndarray'\n{n} = {v} * (2 if {n} else 3)",
    "{n} = getattr(np, 'sin' if {s}.real > 0 else 'cos')({r})",
    "{n} = eval('t * 2 + 1', {{'t': {v}}})",
    "d_ = {{'a': {v}}}\nd_ |= {{'b': {w}}}\n{n} = d_['a'] * d_['b']",
    "d_ = vars(OPTIONS) | {{'v': {v}}}\n{n} = d_['v'] * d_['rate']",
    "a_ = b_ = {v} * 1.0\na_ += 1\n{n} = b_ * 2",
    "a_ = {v} * 1.0\nb_ = a_[::-1]\na_[0] = {s}\nb_[0] = 3.0\n{n} = a_ * b_",
    "a_ = {v} * 1.0\nb_ = a_.T.reshape(-1)\nb_[0] = {s}\n{n} = a_ + b_.sum()",
    "a_ = {v}.copy(order='F')\nb_ = a_.reshape(-1, order='A')\nb_[-1] = {s}\n{n} = a_",
    "a_ = np.asarray({v} * 1.0, order='F')\na_.ravel(order='A')[0] = {s}\n{n} = a_",
    "a_ = np.concatenate([{v}.T, {v}.T], axis=-1)\na_.reshape(-1)[0] = {s}\n{n} = a_",
    "a_ = np.broadcast_to({s}, {v}.shape) + {v}\na_.reshape(-1)[0] = 5.0\n{n} = a_",
    "a_ = np.where({r} > 0, {v}, W[0])\na_.reshape(-1)[-1] = 5.0\n{n} = a_",
    "a_ = np.take({v}, [1, 0], axis=-1)\na_.reshape(-1)[0] = 5.0\n{n} = a_",
    "a_ = {v}[..., [1, 0]]\na_.reshape(-1)[0] = 5.0\n{n} = a_",
    "a_ = np.sort({r}, axis=0)\na_.reshape(-1)[0] = 5.0\n{n} = a_",
    "a_ = np.fft.fft({v}, 4, axis=-1)\na_.reshape(-1)[0] = 5.0\n{n} = a_",
    "a_ = np.repeat({v}, 2, axis=0)\na_.reshape(-1)[0] = 5.0\n{n} = a_",
    "a_ = np.pad({v}, 1)\na_.reshape(-1)[0] = 5.0\n{n} = a_",
    "a_ = np.einsum('...i->i...', {v}) * 1.0\na_.reshape(-1)[1] = 5.0\n{n} = a_",
    "a_ = np.add.outer({v}, {w}).T\na_.reshape(-1)[0] = 5.0\n{n} = a_",
    "a_ = np.clip({r}, -1, 1)\na_.reshape(-1)[0] = 5.0\n{n} = a_",
)
ROUTINES = (
    "np.sort({n}, axis=-1)[..., ::-1] * 0.5 + np.sin({n})",
    "np.take_along_axis({n}, np.argsort({n}, axis=-1, kind='stable'), -1) * 0.9",
    "{n} - 0.5 * np.median({n}, axis=-1, keepdims=True)",
    "{n} * 0.5 + np.quantile({n}, 0.3)",
    "np.interp({n}, [-1.0, 0.5, 2.0], W) + 0.1 * {n}",
    "np.interp({n}, np.sort({n}.ravel()), {n}.ravel()[::-1])",
    "{n} * 0.5 + 0.1 * np.searchsorted(np.sort({n}.ravel()), 0.4)",
    "np.convolve({n}, [0.25, 0.5, 0.25], mode='same')",
    "np.correlate({n}, {n}, mode='same') / (1 + np.sum({n} ** 2))",
    "np.fft.irfft(np.fft.rfft({n}, axis=-1), n={n}.shape[-1], axis=-1) * 0.9",
    "np.abs(np.fft.fft({n}, norm='ortho')) * 0.7",
    "np.fft.ifft(np.fft.fft({n}, axis=0) * 0.5, axis=0).real",
    "np.linalg.solve({n} @ {n}.T + 3 * np.eye({n}.shape[0]), {n})",
    "np.linalg.inv({n} + 4 * np.eye({n}.shape[-1]))",
    "{n} / (2 + np.linalg.det({n} @ {n}.T))",
    "np.linalg.cholesky({n} @ {n}.T + np.eye({n}.shape[0])) @ {n} * 0.5",
    "np.linalg.qr({n} + np.eye(*{n}.shape) * 3)[0] + 0.1 * {n}",
    "{n} / (1 + np.linalg.svd({n}, compute_uv=False)[0])",
    "{n} / (1 + np.linalg.eigvalsh({n} @ {n}.T)[-1])",
    "{n} * 0.5 + np.linalg.norm({n}, axis=-1, keepdims=True)",
    "np.maximum.accumulate({n}, axis=-1) * 0.5 + np.cumsum({n}, axis=-1) * 0.1",
    "np.roll({n}, 1, axis=-1) * 0.5 + np.diff({n}, axis=-1, append=0.0)",
    "{n} * 0.5 + {n}[..., np.argmax({n}.ravel()[:2])][..., None]",
    "np.unique(np.round({n}, 1))[0] + {n} * 0.5",
    "np.partition({n}, 1, axis=-1)[..., 1:2] + {n} * 0.5",
)
"""Calls that are kernels or libraries' code; the same number of entries come out."""

AROUND_ROUTINES = (
    "{n} = {r} * 1.0\nfor k in range(12):\n    {n} = BODY",
    "{n} = {r} * 1.0\nfor k in range(12):\n    {n} = np.where({n} > {c}, BODY, {n} + 0.1)",
    """{n} = {r} * 1.0
for k in range(12):
    if {n}.ravel()[0] > 0:
        {n} = BODY
    else:
        {n} = 0.1 * k - {n}""",
    "{n} = {r}\n{n} = BODY\n{n} = {n}[{n} > {c}]",
    """{n} = {r} * 1.0
while np.sum({n} ** 2) > 0.3 and n < 9:
    n += 1
    {n} = 0.7 * (BODY)""",
)
ROUTINES_IN_LOOPS = tuple(
    around.replace("BODY", body) for around in AROUND_ROUTINES for body in ROUTINES
)
CONDITIONS = (
    "f'{{{s}.real:.0f}}' == '1'",
    "str({r}.shape) == '(3,)'",
    "{s} in (0.0, 1.0)",
    "round({s}.real, 1) in KEYS",
    "{r}.tolist() == sorted({r}.tolist())",
    "np.sign({s}.real) in {{1.0}}",
    "set(np.round({r}).ravel()) <= {{0.0, 1.0, -1.0}}",
    "len({{*np.sign({r}).ravel().tolist()}}) > 1",
    "np.isclose({r}, {q}).all() if {v}.shape == {w}.shape else {r}.any()",
    "{v}.flags.f_contiguous",
    "np.may_share_memory({v}, {w})",
    "lazy.total > 3",
    "REC['k'][0] == 2",
    "START.month == 1",
    "isinstance({s}, np.floating)",
    "{v}.strides == {w}.strides",
    "max(map(abs, {r}.ravel()), default=0) > 1",
    "any(t > {c} for t in {r}.flat)",
    "all(t > {c} for t in {r}.ravel())",
)
ODD = joined(
    PEOPLE,
    Words(
        AROUND,
        CHANGES,
        {
            "outside": (USES, 5),
            "option": (OPTIONS, 12),
            "write": (WRITES, 9),
            "hand": (HANDS + ROUTINES_IN_LOOPS, 20),
            "branch": (CONDITIONS, 3),
        },
        ONLY.shapes,
        ONLY.dtypes,
        moving=True,
    ),
)
