"""What is written in loops of loops: compound statements in each other, with states that move.

Of a block, ``{body}`` and ``{other}`` are statements, ``{i}`` is the variable of its loop, and
``{count}`` how often it repeats itself. All blocks of a program share a number ``k_``, a
dictionary ``d_``, a list ``l_`` and an object ``o_``, which statements in them change.
"""

from fuzz.people_words import PEOPLE
from fuzz.words import Words, joined

BEFORE = "k_, d_, l_, o_ = 1, {{'a': {s}}}, [{s}], Acc()"
AFTER = "{n} = {v} * 0.5 + k_ + sum(l_) + sum(d_.values()) + o_.total"

BLOCKS = (
    "for {i} in range({count}):\n{body}",
    "for {i} in range({count}):\n{body}",
    "for {i} in range({count}, 0, -1):\n{body}\nelse:\n{other}",
    "{i} = 0\nwhile {i} < {count}:\n    {i} += 1\n{body}",
    "{i} = 0\nwhile {i} < {count} and abs({s}) < 50:\n    {i} += 1\n{body}\nelse:\n{other}",
    "for {i}, t_ in enumerate({v}):\n{body}",
    "for {i}, (t_, u_) in enumerate(zip({r}.ravel(), {q}.ravel())):\n    k_ += t_ > u_\n{body}",
    "for {i}, key_ in enumerate(list(d_)):\n{body}\n    d_[key_] = d_[key_] * 0.5",
    "for {i} in np.argsort({r}, axis=None)[:3]:\n{body}",
    "for {i} in (t % 3 for t in range({count})):\n{body}",
    "{i} = k_\nif {condition}:\n{body}\nelse:\n{other}",
    "{i} = 1\nif {s}.real > {c}:\n{body}\nelif {condition}:\n    k_ = -k_\nelse:\n{other}",
    """{i} = 2
try:
{body}
    if {condition}:
        raise OwnError('no')
except OwnError:
{other}
finally:
    k_ += 1""",
    "{i} = 0\ntry:\n{body}\n    l_[k_]\nexcept (IndexError, KeyError):\n{other}",
    "{i} = k_\ntry:\n    d_['a'] = d_['a'] / (k_ % 2)\nexcept ZeroDivisionError:\n{body}",
    "{i} = 1\nwith np.errstate(all='ignore'):\n{body}",
    "{i} = 0\nwith o_ as p_:\n    p_ += {s}\n{body}\n    l_[0] = l_[0] / (k_ % 2)",
    "def part_({v}, {i}=2):\n{body}\n    return {v}\n{v} = part_({v})",
    "def part_({i}, t=1.0):\n{body}\n    return t * {s}\nl_.append(part_(1) + part_(k_))",
)

INNER = (
    "k_ += {i} % 2",
    "k_ = (k_ * 3 + {i}) % 7",
    "k_ = -k_ if {s}.real > {c} else k_ + 1",
    "k_ ^= {i}",
    "k_ = (k_ << 1) & 5",
    "k_ = int(np.argmax({r})) + k_ // 2",
    "d_['a'] = d_['a'] * 0.5 + {s}",
    "d_[{i} % 2] = {s} * 0.5",
    "d_.setdefault(k_ % 3, {s})",
    "d_.pop({i}, None)",
    "d_['a'], d_['b'] = d_.get('b', 0.5), d_['a']",
    "d_ = {{**d_, {i}: {s}}}",
    "for key in list(d_): d_[key] = d_[key] * 0.5",
    "d_ |= {{k: t * 0.5 for k, t in d_.items() if k != 'a'}}",
    "l_.append({s})",
    "l_[0] += {s}",
    "l_[-1] = l_[0] * l_[-1]",
    "l_.insert(0, {s} * {i})",
    "l_.reverse()",
    "l_ = l_[-2:] + [{s}]",
    "l_[:] = [t * 0.5 for t in l_]",
    "l_.sort(key=lambda t: t.real)",
    "l_.pop() if len(l_) > 1 else None",
    "o_ += {s} * 0.5",
    "o_.total = o_.total * 0.5 + len(o_.seen)",
    "if {i} == 1: continue",
    "if {s}.real > {c}: break",
    "if k_ > 4: break",
    "if np.any({r} > {c}): continue",
    "{v}[{i} % len({v})] = {s}",
    "{v}[k_ % len({v})] *= 0.5",
    "{v}[{i} % len({v}):] += {s} * 0.1",
    "row_ = {v}[{i} % len({v})]; row_ *= 0.5",
    "row_ = {v}[::-1]; row_[0] = {s}; row_[1:] -= 0.25",
    "{v}.T[..., 0] += {v}.T[..., -1]",
    "{v} = {v} + ({i} + 1) * 0.1",
    "{v} = 0.5 * ({v} + {w})",
    "{v} = np.roll({v}, k_)",
    "{v} = np.sort({r}, axis=-1)",
    "{v} = {v}[[k_ % len({v}), 0, -1]]",
    "{v} = {v}[np.argsort({r}[..., 0], axis=0)] if {v}.ndim > 1 else {v}[::-1]",
    "{v} = np.where({r} > {c}, {v} * 0.5, {s})",
    "{v} = {v} * 0.5 if {s}.real > {c} else np.cos({r})",
    "{v} = np.tanh({r}) * {s}",
    "{v} = ({v} * np.exp(0.3j * k_)).real",
    "z_ = {s} + 1j * {i}; {v} = {v} * abs(z_) / (1 + abs(z_))",
    "z_ = np.fft.fft({v}, axis=0); {v} = np.abs(z_ + 1) * 0.5",
    "f_ = lambda t, m={i}: t * m * 0.5 + k_; {v} = f_({v}) - f_(1.0)",
    "{v} = next(t * 0.5 for t in [{w}, {v}] if t.shape == {v}.shape)",
    "{v} = {v} * 0.5 + tree({w}, {i} % 3)",
    "{v} = counter()({v}) * weight({i})",
    "{v} = model({v}) * slots[{i} % 3] * 0.25",
    "{v} = {v} / (1 + np.linalg.norm({v}))",
    "{v} = {v} - np.cumsum({v}, axis=0)[-1] * 0.1",
    "{v}, {w} = {w} * 0.5, {v} * 0.5",
    "{v} = np.concatenate([{v}[1:], {v}[:1]])",
    "{v} = {v}.copy(); {v} += {i} * 0.1",
    "m_ = {r} > {c}; {v}[m_] *= 0.5",
    "m_ = {r} > {c}; k_ += int(m_.sum())",
    "{v}.sort(axis=0)",
)
DEEP = joined(
    PEOPLE,
    Words(
        (),
        (),
        {"inner": (INNER, 0), "block": (BLOCKS, 25)},
        PEOPLE.shapes,
        PEOPLE.dtypes,
        moving=True,
    ),
)
