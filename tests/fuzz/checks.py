"""What is asked of a program: that linad computes what plain NumPy does, and its derivatives.

For each point of a program, with the changes between them: the values, types and written
arguments of `linad.jit(f)`; the value and the derivative of ``f``, forward and reverse against
each other and against central differences; and the derivatives of the compiled function and the
compiled derivatives against those. An error of linad's own that says what it refuses is not a
difference, if nothing was computed.
"""

import contextlib
import contextvars
import sys
import threading
import warnings

import numpy as np

import linad
from linad.core import tree
from linad.core.memory_layouts import layout_of
from linad.errors import InternalError, LinadError

REFUSED = "refused"
NEIGHBOURS = 32
"""How many arguments beside a point are tried, where a jump may lie at it."""


class DifferenceError(AssertionError):
    """A program for which linad and NumPy disagree."""


def leaves(value):
    return tree.flatten(value)[0]


def copied(args):
    """Copies that lie in memory as the arguments do."""
    found, structure = tree.flatten(args)
    return tree.unflatten(structure, [_copied(x) for x in found])


def _copied(x, entries=None):
    """An array that lies in memory as ``x`` does, with its entries or others."""
    if not isinstance(x, np.ndarray):
        return x
    entries = x if entries is None else entries
    sizes = [abs(s) // x.itemsize for s in x.strides]
    extent = 1 + sum([(n - 1) * s for n, s in zip(x.shape, sizes, strict=True)]) if x.size else 0
    if extent < x.size:
        return np.array(entries, x.dtype)
    base = np.zeros(max(extent, 1), x.dtype)
    start = sum([(n - 1) * s for n, s, t in zip(x.shape, sizes, x.strides, strict=True) if t < 0])
    found = np.lib.stride_tricks.as_strided(base[start if x.size else 0 :], x.shape, x.strides)
    found[...] = entries
    if not x.flags.writeable:
        found.flags.writeable = False
    return found


def plain(function, args):
    """What NumPy makes of it: the result or the exception, and the arguments afterwards."""
    with np.errstate(all="ignore"):
        try:
            return function(*args), args
        except Exception as problem:  # any: linad has to raise there, too
            return problem, args


def scale_of(x):
    return float(np.max(np.abs(x), initial=0.0))


def tolerance(*dtypes):
    if any(np.dtype(d) == np.float16 for d in dtypes):  # arctan of int8 is of half precision
        return 2e-3
    single = any(np.dtype(d) in (np.float32, np.complex64) for d in dtypes)
    return 2e-4 if single else 1e-8


def close(found, expected, single=False, slack=0.0):
    expected, found = np.asarray(expected), np.asarray(found)
    if found.shape != expected.shape:
        return False
    if expected.dtype.kind not in "fc":
        return np.array_equal(found, expected)
    scale = scale_of(expected[np.isfinite(expected)])
    rtol = max(2e-4 if single else 0.0, tolerance(expected.dtype))
    least = 1e-5 if single else 1e-12  # what cancels leaves this much
    with np.errstate(all="ignore"):
        atol = rtol * scale + least + slack
        return np.allclose(found, expected, rtol=rtol, atol=atol, equal_nan=True)


def same(found, expected, where, single=False, types=True, slack=None):
    """Raise unless two containers hold the same, up to ``slack`` more for each leaf."""
    a, b = tree.flatten(found), tree.flatten(expected)
    if a[1] != b[1]:
        raise DifferenceError(f"{where}: containers {a[1]} and {b[1]}")
    for k, (u, v) in enumerate(zip(a[0], b[0], strict=True)):
        if types and isinstance(v, np.ndarray) != isinstance(u, np.ndarray):
            raise DifferenceError(f"{where}: leaf {k} is a {type(u)}, expected {type(v)}")
        if types and isinstance(v, np.ndarray | np.generic) and np.asarray(u).dtype != v.dtype:
            raise DifferenceError(f"{where}: leaf {k} is of {np.asarray(u).dtype}, not {v.dtype}")
        if not close(u, v, single, 0.0 if slack is None else slack[k]):
            raise DifferenceError(f"{where}: leaf {k} is\n{u!r}, expected\n{v!r}")


def lie_alike(found, expected, where):
    """Raise unless arrays lie in memory in the same order of their axes."""
    for k, (u, v) in enumerate(zip(leaves(found), leaves(expected), strict=True)):
        if np.ndim(v) < 2 or not np.size(v) or 0 in np.asarray(v).strides:
            continue
        a, b = (layout_of(np.copy(w, order="K")) for w in (u, v))
        if a != b:
            raise DifferenceError(f"{where}: leaf {k} lies in memory as {a}, expected {b}")


def close_leaves(a, b):
    return all(close(u, v) for u, v in zip(leaves(a), leaves(b), strict=True))


def one_infinity(value):
    """The same, with one infinity for complex numbers, as in C (C11, G.3)."""
    found, structure = tree.flatten(value)
    return tree.unflatten(structure, [_one_infinity(v) for v in found])


def _one_infinity(v):
    if np.asarray(v).dtype.kind != "c":
        return v
    entries = np.where(np.isinf(v), complex(np.inf, 0), v).astype(np.asarray(v).dtype)
    return entries if isinstance(v, np.ndarray) else type(v)(entries[()])


def is_single(args, result):
    """Whether single or half precision takes part."""
    low = (np.float16, np.float32, np.complex64)
    return any(np.asarray(v).dtype in low for v in [*leaves(args), *leaves(result)])


class Trial:
    """A program and its module, with counts of what was asked of it."""

    def __init__(self, program, derivatives=True):
        self.program, self.derivatives = program, derivatives
        self.module = program.module()
        self.rng = np.random.default_rng(program.seed)
        self.refused, self.asked = [], 0
        text = program.source() + repr(program.points)
        self.derives = "linad." in program.result + " ".join(program.body)
        self.single = "'f4'" in text or "'c8'" in text

    def attempt(self, where, function, *args):
        """A call, or REFUSED where linad says that it cannot."""
        self.asked += 1
        try:
            with np.errstate(all="ignore"):
                return function(*args)
        except InternalError as problem:
            raise DifferenceError(f"{where}: {type(problem).__name__}: {problem}") from problem
        except LinadError as problem:
            self.refused.append((where, problem))
            return REFUSED
        except ValueError as problem:
            # NumPy lets `ufunc.at` write into read-only arrays, and copyto of an array to itself;
            # what a plain array's `flat` is refused, it says in its own words; and the diagonal
            # of two rows in an array of shape (0, 2) is memory that is not the array's.
            known = ("read-only", "single item of", "'ii->i' does not fit [(0, ")
            if not any(words in str(problem) for words in known):
                raise DifferenceError(f"{where}: ValueError: {problem}") from problem
            self.refused.append((where, problem))
            return REFUSED
        except OverflowError as problem:
            # A traced integer that is written into a plain array is asked for by int(), and the
            # array is not known: NumPy's own integers wrap there, Python's are refused by NumPy.
            if "out of bounds for uint" not in str(problem):
                raise DifferenceError(f"{where}: OverflowError: {problem}") from problem
            self.refused.append((where, problem))
            return REFUSED
        except Exception as problem:
            raise DifferenceError(f"{where}: {type(problem).__name__}: {problem}") from problem

    def run(self):
        f = self.module.f
        jitted = linad.jit(f)
        kept = {}  # derivatives that are compiled once and called at every point
        for k, point in enumerate(self.program.points):
            if k:
                exec(self.program.changes[k - 1], self.module.__dict__)
            args = self.arguments(point)
            expected, after = plain(f, copied(args))
            if isinstance(expected, Exception):
                self.raises(jitted, args, expected, after, k)
                continue
            given = copied(args)
            where = f"call {k} of jit(f)"
            found = self.attempt(where, jitted, *given)
            if found is not REFUSED:
                self.computes(f, args, (expected, after), (found, given), where)
                if not self.derives:
                    lie_alike(found, expected, where)
            if self.derivatives and k != 1:
                self.differentiate(f, args, expected, kept, k)
        if self.program.seed % 8 == 0:
            self.threads(f, jitted)

    def computes(self, f, args, expected, found, where):
        """Raise unless a call gave, and made of its arguments, what NumPy does."""
        names = (where, f"arguments after {where}")

        def again(moved):
            return dict(zip(names, plain(f, moved), strict=True))

        outcome, wanted = (dict(zip(names, v, strict=True)) for v in (found, expected))
        self.agree(outcome, wanted, again, args)

    def agree(self, found, expected, again, point):
        """Raise unless two dicts of what was found, by where, hold the same.

        A sum that is taken in another order differs in its last place, and a histogram, a rounding
        or a comparison right at an edge makes a jump of that. So what NumPy (``again``) itself
        makes of some neighbour of the arguments counts as the same, if it is that as a whole; and
        all complex infinities, whose signs are those of sin and cos of huge numbers, count as one.
        """
        try:
            for where, value in expected.items():
                same(found[where], value, where, self.single)
        except DifferenceError:
            rng = np.random.default_rng(self.program.seed)
            for _ in range(NEIGHBOURS):
                other = again(neighbours(point, rng))
                with contextlib.suppress(DifferenceError):
                    for where, value in other.items():
                        same(one_infinity(found[where]), one_infinity(value), where, self.single)
                    return
            raise

    def arguments(self, point):
        return tuple([eval(e, self.module.__dict__) for e in point])

    def raises(self, jitted, args, problem, after, k):
        given = copied(args)
        try:
            with np.errstate(all="ignore"):
                found = jitted(*given)
        except Exception as own:
            if isinstance(own, InternalError):
                raise DifferenceError(f"call {k}: {own}") from own
            if isinstance(own, LinadError) or "read-only" in str(own):
                return
            # Of a list with a number that integers lack, NumPy writes what comes before it, or not.
            if not isinstance(problem, OverflowError) and "NaN to integer" not in str(problem):
                same(given, after, f"arguments after call {k}, which raised", self.single)
        else:
            if "read-only" in str(problem) and close_leaves(given, args):
                return  # NumPy refuses a write that changes nothing
            if isinstance(problem, OverflowError):
                return  # of a NumPy integer too large for a signed array, not for an unsigned one
            if "__array_function__" in str(problem):
                return  # like=s of a number s: linad's message asks for it, NumPy's numbers refuse
            raise DifferenceError(f"call {k} gave {found!r}, where NumPy raises {problem!r}")

    def differentiate(self, f, args, expected, kept, k):
        rest, structure = tree.flatten(args)
        moving = [i for i, v in enumerate(rest) if np.asarray(v).dtype.kind in "fc"]
        moving = [i for i in moving if type(rest[i]) is not float] or moving
        moving = [i for i in moving if isinstance(rest[i], np.ndarray | np.generic | float)]
        floating = [v for v in leaves(expected) if np.asarray(v).dtype.kind in "fc"]
        if not moving or not floating:
            return

        def chosen(function):
            def g(*values):
                all_of = list(leaves(copied(args)))
                for i, v in zip(moving, values, strict=True):
                    all_of[i] = v
                found = leaves(function(*tree.unflatten(structure, all_of)))
                return [v for v in found if np.asarray(_value(v)).dtype.kind in "fc"]

            return g

        g = chosen(f)
        point = [rest[i] for i in moving]
        dx = [self.like(v) for v in point]
        ct = [self.like(v) for v in floating]

        def fresh():
            return [_copied(v) for v in point]

        forward = self.attempt(f"jvp {k}", linad.jvp, g, fresh(), dx)
        reverse = self.attempt(f"vjp {k}", lambda: linad.vjp(g, *fresh()))
        if reverse is REFUSED or forward is REFUSED:
            if (reverse is REFUSED) != (forward is REFUSED):
                self.refused.append((f"only one of jvp and vjp {k}", None))
            return

        def values(found, of):
            where = f"value of {of}"
            self.agree(
                {where: found},
                {where: floating},
                lambda moved: {where: plain(g, moved)[0]},
                fresh(),
            )

        values(forward[0], f"jvp {k}")
        values(reverse[0], f"vjp {k}")
        back = self.attempt(f"pullback {k}", reverse[1], ct)
        if back is REFUSED:
            return
        self.dot_test(dx, forward[1], ct, back, f"jvp and vjp {k}")
        self.central(g, fresh, dx, forward[1], floating, k)
        if not all(np.isfinite(v).all() for v in [*forward[1], *floating]):
            return
        # Compiled forms; those in `kept` were made at other points.
        if "jit" not in kept:
            kept["jit"] = linad.jit(f)
        h = chosen(kept["jit"])
        found = self.attempt(f"jvp {k} of jit(f)", linad.jvp, h, fresh(), dx)
        if found is not REFUSED:
            self.rounded(
                found,
                forward,
                f"jvp {k} of jit(f)",
                lambda moved: linad.jvp(g, moved, dx),
                fresh,
            )
        found = self.attempt(f"linearize {k} of jit(f)", lambda: linad.linearize(h, *fresh()))
        if found is not REFUSED:
            values(found[0], f"linearize {k} of jit(f)")
            pulled = self.attempt(f"vjp {k} of jit(f)", lambda: linad.vjp(h, *fresh())[1](ct))
            if pulled is not REFUSED:
                self.rounded(
                    pulled,
                    back,
                    f"vjp {k} of jit(f)",
                    lambda moved: linad.vjp(g, *moved)[1](ct),
                    fresh,
                )

        def scalar(function):
            def total(*arguments):
                found = leaves(function(*arguments))
                found = [v for v in found if np.asarray(_value(v)).dtype.kind in "fc"]
                return sum([np.sum(v.real * (1.0 + j)) for j, v in enumerate(found)], 0.0)

            return total

        if len(args) != len(leaves(args)) or not moving:
            return
        numbers = tuple(moving)
        if numbers not in kept:
            kept[numbers] = linad.jit(linad.grad(scalar(f), numbers))
        gradient = linad.grad(scalar(f), numbers)
        expected = self.attempt(f"grad {k}", gradient, *copied(args))
        if expected is REFUSED:
            return
        for name, function in (
            ("jit(grad(f))", kept[numbers]),
            ("grad(jit(f))", linad.grad(scalar(kept["jit"]), numbers)),
        ):
            found = self.attempt(f"{name} {k}", function, *copied(args))
            if found is not REFUSED:
                self.rounded(
                    found,
                    expected,
                    f"{name} {k}",
                    lambda moved: gradient(*moved),
                    lambda: copied(args),
                )
        if self.program.seed % 3 == 0 and k in (0, 3):
            self.second(scalar, f, kept, args, moving, dx, k)

    def second(self, scalar, f, kept, args, moving, dx, k):
        def partial(function):
            def g(*values):
                all_of = list(copied(args))
                for i, v in zip(moving, values, strict=True):
                    all_of[i] = v
                return scalar(function)(*all_of)

            return g

        def point():
            return [_copied(args[i]) for i in moving]

        reference = self.attempt(f"hvp {k}", linad.hvp, partial(f), point(), dx)
        if reference is REFUSED or not all(np.isfinite(v).all() for v in leaves(reference)):
            return
        gradient = linad.grad(partial(f), tuple(range(len(moving))))
        mixed = self.attempt(
            f"vjp of grad {k}", lambda: linad.vjp(gradient, *point())[1](tuple(dx))
        )

        def again(moved):
            return linad.hvp(partial(f), moved, dx)

        if mixed is not REFUSED and not any(np.iscomplexobj(v) for v in dx):
            self.rounded(leaves(mixed), leaves(reference), f"vjp of grad and hvp {k}", again, point)
        found = self.attempt(f"hvp {k} of jit(f)", linad.hvp, partial(kept["jit"]), point(), dx)
        if found is not REFUSED:
            self.rounded(found, reference, f"hvp {k} of jit(f)", again, point)

    def rounded(self, found, reference, where, again, point):
        """As `same`, for what may cancel in single precision.

        What is left of large terms is their rounding errors, and two forms make different ones.
        How large they are, the reference itself says: by as much it changes, entry by entry, where
        its arguments move by a unit in their last place (Monte Carlo arithmetic: Parker, "Monte
        Carlo Arithmetic", UCLA, 1997). Of what does not cancel that is a part of the tolerance.
        """
        try:
            same(found, reference, where, self.single)
        except DifferenceError:
            if not self.single:
                raise
            rng = np.random.default_rng(self.program.seed)
            moved = [leaves(again(neighbours(point(), rng))) for _ in range(8)]
            errors = [
                4 * np.max([np.abs(np.subtract(m[i], v)) for m in moved], axis=0)
                for i, v in enumerate(leaves(reference))
            ]
            same(found, reference, where, self.single, slack=errors)

    def like(self, v):
        x = self.rng.standard_normal(np.shape(v))
        if np.iscomplexobj(v):
            x = x + 1j * self.rng.standard_normal(np.shape(v))
        dtype = np.asarray(v).dtype
        return np.asarray(x, dtype) if isinstance(v, np.ndarray) else dtype.type(x)

    def dot_test(self, dx, dy, ct, back, where):
        products = []
        for left, right in ((ct, dy), (back, dx)):
            pairs = zip(left, right, strict=True)
            products.append([np.sum((np.conj(u) * v).real, dtype="f8") for u, v in pairs])
        if not all(np.isfinite(products[0])) or not all(np.isfinite(products[1])):
            return
        scale = 1 + max(
            scale_of(np.asarray(u)) * scale_of(np.asarray(v)) * np.size(v)
            for u, v in [*zip(ct, dy, strict=True), *zip(back, dx, strict=True)]
        )
        tol = 1e-3 if self.single or is_single(dx, dy) else 1e-9
        if abs(sum(products[0]) - sum(products[1])) > tol * scale:
            raise DifferenceError(
                f"{where}: <ct, J dx> = {sum(products[0])}, <J.H ct, dx> = {sum(products[1])}"
            )

    def central(self, g, fresh, dx, dy, y, k):
        """Central differences, where they agree with one-sided ones at two steps."""
        if self.single or is_single(dx, y):
            return

        def at(step):
            moved = [_moved(v, step * d) for v, d in zip(fresh(), dx, strict=True)]
            return plain(g, moved)[0]

        slopes = []
        for h in (1e-6, 4e-6):
            ahead, behind = at(h), at(-h)
            for found in (ahead, behind):
                if isinstance(found, Exception) or len(found) != len(y):
                    return
                if any(np.shape(u) != np.shape(v) for u, v in zip(found, y, strict=True)):
                    return
            with np.errstate(all="ignore"):
                slopes.append([(a - c) / h for a, c in zip(ahead, y, strict=True)])
                slopes.append([(c - b) / h for b, c in zip(behind, y, strict=True)])
        for j, d in enumerate(dy):
            found = [s[j] for s in slopes]
            scale = 1 + scale_of(d) + scale_of(y[j])
            if not all(np.isfinite(s).all() for s in found) or scale > 1e6:
                continue
            if max(scale_of(s - found[0]) for s in found) > 2e-3 * scale:
                continue  # a kink or a jump
            if scale_of((found[0] + found[1]) / 2 - d) > 5e-3 * scale:
                raise DifferenceError(
                    f"leaf {j} of jvp {k} is\n{d!r}, by differences\n{found[0]!r}"
                )

    def threads(self, f, jitted):
        """Calls from four threads at once: each gets what plain NumPy makes of its arguments."""
        wanted = []
        for point in self.program.points:
            args = self.arguments(point)
            expected, after = plain(f, copied(args))
            if not isinstance(expected, Exception):
                wanted.append((args, expected, after))
        problems = []

        def work(k):
            for j in range(len(wanted)):
                args, expected, after = wanted[(j + k) % len(wanted)]
                given = copied(args)
                try:
                    found = self.attempt("a call in a thread", jitted, *given)
                    if found is not REFUSED:
                        outcomes = (expected, after), (found, given)
                        self.computes(f, args, *outcomes, "a call in a thread")
                except DifferenceError as problem:
                    problems.append(problem)

        # In the context of this thread, in which the expected results were computed.
        contexts = [contextvars.copy_context() for _ in range(4)]
        running = [
            threading.Thread(target=context.run, args=(work, k))
            for k, context in enumerate(contexts)
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        if problems:
            raise problems[0]


def _value(v):
    return getattr(v, "concrete", v)


def neighbours(values, rng):
    """The same but for the last place of each number, as they lie in memory."""
    found, structure = tree.flatten(copied(values))
    return tree.unflatten(structure, [_neighbour(v, rng) for v in found])


def _neighbour(v, rng):
    dtype = np.asarray(v).dtype
    if dtype.kind not in "fc":
        return v
    parts = [
        part * (1 + rng.integers(-1, 2, np.shape(v)) * np.finfo(dtype).eps)
        for part in ([v.real, v.imag] if dtype.kind == "c" else [v])
    ]
    moved = parts[0] if dtype.kind == "f" else _complex(*parts)
    return _copied(v, moved) if isinstance(v, np.ndarray) else type(v)(moved)


def _complex(real, imaginary):
    """A complex number of its parts: ``1j * inf`` would have NaN for its real one."""
    found = np.empty(np.shape(real), np.result_type(real, np.complex64))
    found.real, found.imag = real, imaginary
    return found[()]


def _moved(v, step):
    if isinstance(v, np.ndarray) and v.ndim:
        found = _copied(v + step)
        if not v.flags.writeable:
            found.flags.writeable = False
        return found
    return np.array(v + step) if isinstance(v, np.ndarray) else v + step


@contextlib.contextmanager
def quietly():
    with warnings.catch_warnings(), np.errstate():  # programs set it, too
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message=".*[Rr]eport.*", category=RuntimeWarning)
        yield


def check(program, derivatives=True):
    """Run a program in all forms.

    Returns
    -------
    Trial

    Raises
    ------
    DifferenceError
        Where two forms disagree.
    """
    trial = Trial(program, derivatives)
    try:
        with quietly():
            trial.run()
    finally:
        program.forget(trial.module)
    return trial


def difference(program):
    """What goes wrong with a program, in words, or None."""
    try:
        check(program)
    except DifferenceError as found:
        return str(found)
    except Exception as found:  # the check itself could not go on: a finding too
        return f"{type(found).__name__}: {found} ({sys.exc_info()[2].tb_lineno})"
    return None
