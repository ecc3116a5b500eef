"""Random Python loops, written as text: entries, rows, loops in loops."""

import linecache
import random

import numpy as np

SCOPE = {"np": np, "M": np.array([[0.3, -0.5, 0.2], [0.1, 0.4, -0.3], [-0.2, 0.6, 0.5]])}


class RowsWriter:
    """Writes loops over i, with loops over j in them: what they read and write are entries and
    rows of vectors ``x y z`` and of matrices ``m w``, a number ``s`` and a vector ``v``."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.inner = False
        self.names = ["0.7"]

    def pick(self, text, of_inner=""):
        return self.random.choice(
            (text + (f" | {of_inner}" if self.inner and of_inner else "")).split(" | ")
        )

    def index(self):
        return self.pick("i | i | i | i + 1 | i + 2 | P[i] | 2", "j | i + j | P[i] - j | 2 * j")

    def column(self):
        return self.pick("0 | 1 | -1", "j | j | 2 - j")

    def number(self, depth=2):
        r = self.random.random()
        if depth == 0 or r < 0.35:
            if r < 0.2:
                return f"{self.pick('x | x | y | z')}[{self.index()}]"
            if r < 0.28:
                return f"{self.pick('m | w')}[{self.index()}, {self.column()}]"
            return self.random.choice([*self.names, "(i * 0.1)", "s", "v[1]", "x[i] ** 2"])
        if r < 0.6:
            return f"({self.number(depth - 1)} {self.pick('+ | - | *')} {self.number(depth - 1)})"
        if r < 0.7:
            return f"np.where({self.number(0)} > 0.45, {self.number(1)}, {self.number(1)})"
        if r < 0.78:
            return f"({self.vector(1)} @ {self.vector(0)})"
        return f"np.{self.pick('sin | cos | tanh')}({self.number(depth - 1)})"

    def vector(self, depth=1):
        r = self.random.random()
        if depth == 0 or r < 0.5:
            rows = f"m[{self.index()}] | w[{self.index()}] | w[i:i + 3, {self.column()}]"
            return self.pick(f"{rows} | v | x[i:i + 3] | y[i:i + 3][::-1]")
        if r < 0.7:
            return f"({self.vector(0)} {self.pick('+ | - | *')} {self.vector(0)})"
        return self.pick(f"(M @ {self.vector(0)}) | np.sin({self.vector(0)} * {self.number(0)})")

    def statement(self):
        r, sign = self.random.random(), self.pick("= | = | += | -=")
        if r < 0.12:
            line = f"t = {self.number()}"
            self.names.append("t")
            return [line]
        if r < 0.4:
            return [f"{self.pick('y | y | z')}[{self.index()}] {sign} {self.number()}"]
        if r < 0.54:
            return [f"m[{self.index()}] {sign} {self.vector()}"]
        if r < 0.62:
            return [f"m[{self.index()}, {self.column()}] {sign} {self.number()}"]
        if r < 0.68:
            return [f"y[i:i + 3] {sign} {self.vector()}"]
        if r < 0.8:
            return [f"s = s + 0.3 * {self.number()}"]
        if r < 0.9:
            return [f"v = 0.5 * v - 0.2 * {self.vector()}"]
        return [f"kept.append({self.number()})"] if self.inner or r < 0.94 else self.loop()

    def loop(self):
        self.inner = True
        body = [line for _ in range(self.random.randint(1, 2)) for line in self.statement()]
        self.inner = False
        return ["for j in range(3):", *["    " + line for line in body]]

    def program(self):
        """The text, the function, and a point."""
        n = self.random.choice([5, 6, 7])
        body = [line for _ in range(self.random.randint(1, 4)) for line in self.statement()]
        body += self.loop() if self.random.random() < 0.3 else []
        order = self.random.sample(range(n + 4), n + 4)
        lines = [
            "def f(x):",
            f"    P, y, z = {order}, x * 0.5, x + 1.0",
            "    m, w = np.stack([x, x * x, 0.0 * x], 1), np.outer(x, M[0])",
            "    s, kept, v = 0.0 * x[0], [], x[:3] * 1.0",
            f"    for i in {self.pick(f'range({n}) | range({n - 1}, -1, -1) | range(1, {n})')}:",
            *["        " + line for line in body],
            "    s = s + np.sum(np.stack(kept) ** 2) if kept else s",
            "    return np.sum(y**3) + s * s + s + np.sum(z**2) + np.sum(np.sin(m) * M[1]) + v @ v",
        ]
        text = "\n".join(lines)
        name = f"<random loop {id(text)}>"  # where linad looks up the lines it names
        linecache.cache[name] = len(text), None, [line + "\n" for line in lines], name
        scope = dict(SCOPE)
        exec(compile(text, name, "exec"), scope)
        return text, scope["f"], np.array([self.random.uniform(0.1, 0.8) for _ in range(n + 4)])
