"""Write random programs, statement by statement, each tried on values before it is kept."""

import copy
import textwrap
import warnings

import numpy as np

from fuzz.deep_words import AFTER, BEFORE
from fuzz.plain_words import PLAIN
from fuzz.program import LAYOUTS, Program, values


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
    words : Words
        What it is written with.
    """

    def __init__(self, rng, length, changing=True, words=PLAIN):
        self.rng, self.length, self.changing = rng, length, changing
        self.words, self.kinds = words, words.drawn()
        self.made = 0

    def choice(self, items):
        return items[int(self.rng.integers(len(items)))]

    def chance(self, p):
        return self.rng.random() < p

    def program(self):
        names, points = self.arguments()
        around = self.words.around
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
        changes = [self.choice(self.words.changes) if self.changing else "pass" for _ in points[1:]]
        seed = int(self.rng.integers(2**31))
        return Program(around, tuple(body), self.result(), names, points, tuple(changes), seed)

    def arguments(self):
        """The names of the arguments, and expressions for them at each call.

        The second call is like the first. If words move, the third is of other shapes and dtypes,
        the fourth like it, and the fifth like the first again.
        """
        kind = self.choice(["two", "two", "two", "number", "container", "numpy number"])
        forms = [self.form() for _ in range(2 if self.words.moving else 1)]
        layouts = [self.choice(LAYOUTS), self.choice(LAYOUTS)]
        n = int(self.rng.integers(0, 4))
        points = []
        for k in range(5):
            if k > 1:
                layouts = [self.choice(LAYOUTS), self.choice(LAYOUTS)]
                n = n if self.chance(0.7) else int(self.rng.integers(0, 4))
            shape, other, dtypes = forms[-1] if k in (2, 3) else forms[0]
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

    def form(self):
        """The shapes of both arguments, and their dtypes."""
        shape = self.choice(self.words.shapes)
        other = shape if self.chance(0.5) else self.choice(self.words.shapes)
        dtypes = self.choice(self.words.dtypes[:-1]), self.choice(self.words.dtypes)
        return shape, other, dtypes

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
        kind = self.choice(self.kinds)
        self.made += 1
        fresh = f"t{self.made}"
        if kind == "write":
            return self.fill(self.choice(self.words.of("write"))), []
        if kind == "hand":
            return self.fill(self.choice(self.words.of("hand"))), [fresh]
        if kind == "branch":
            condition = self.fill(self.choice(self.words.of("branch")))
            then, other = self.inside(), self.inside()
            if not then or not other:
                return None, []
            if self.chance(0.5):
                return f"if {condition}:\n    {then}", []
            return f"if {condition}:\n    {then}\nelse:\n    {other}", []
        if kind == "loop":
            inside = self.inside()
            return inside and f"for i in range({self.choice(['n', '2', '3'])}):\n    {inside}", []
        if kind == "block":
            parts = BEFORE, self.block(0), AFTER.replace("{n}", fresh)
            return "\n".join([self.fill(parts[0]), parts[1], self.fill(parts[2])]), [fresh]
        expression = self.fill(self.choice(self.words.of(kind)))
        if kind not in ("view", "take") and self.chance(0.15):
            name = self.choice(arrays(self.scope, self.names))
            return f"{name} = {expression}", []
        return f"{fresh} = {expression}", [fresh]

    def block(self, depth):
        """A compound statement, perhaps with others in it."""
        i = f"i{depth}"
        fixed = {
            "{i}": i,
            "{count}": self.choice(["n", "2", "3", "5", "14"][: 5 if depth == 0 else 3]),
            "{condition}": self.choice(self.words.of("branch")),
        }
        text = self.choice(self.words.of("block"))
        for hole, word in fixed.items():
            text = text.replace(hole, word)
        text = self.fill(text.replace("{body}", "{{body}}").replace("{other}", "{{other}}"))
        return text.format(body=self.lines(depth, i), other=self.lines(depth, i))

    def lines(self, depth, i):
        """One to three statements inside of a block."""
        found = []
        for _ in range(int(self.rng.integers(1, 4))):
            if depth < 2 and self.chance(0.3):
                found.append(self.block(depth + 1))
            else:
                kind = "inner" if self.chance(0.8) else "write"
                text = self.choice(self.words.of(kind)).replace("{i}", i)
                found.append(self.fill(text))
        return textwrap.indent("\n".join(found), "    ")

    def inside(self):
        """A statement for a branch or a loop: nothing that follows needs it."""
        for _ in range(8):
            if self.chance(0.6):
                statement = self.fill(self.choice(self.words.of("write")))
            else:
                name = self.choice(arrays(self.scope, self.names))
                statement = f"{name} = {self.fill(self.choice(self.words.of('unary')), name)}"
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
                return all(
                    np.size(v) <= 40 and np.ndim(v) <= 3 and np.all(np.abs(v) < 1e6)
                    for v in scope.values()
                    if isinstance(v, np.ndarray | np.generic) and v.dtype.kind in "fciub"
                )
        except Exception:  # no statement of a program, then
            return False

    def try_out(self, statement):
        return self.runs(statement, self.apart()) and self.runs(statement, self.scope)

    def result(self):
        found = arrays(self.scope, self.names) or ["x"]  # whatever a program has made of it
        floating = [n for n in found if np.asarray(self.scope[n]).dtype.kind in "fc"] or ["x"]
        last = floating[-1]
        forms = ["{a}", "{a}, {b}, {d}", "{{'u': {a}, 'v': ({b}, {c})}}", "[{a}, {c}, {d}]"]
        form = self.choice(forms)
        b, d = self.choice(floating), self.choice(floating)
        return form.format(a=last, b=b, c=self.choice(found), d=d)


def write(seed, changing=True, words=PLAIN):
    """The program of a seed."""
    rng = np.random.default_rng(seed)
    return Writer(rng, int(rng.integers(2, 11)), changing, words).program()
