"""Names of the user's, and what they stand for: numbers, arrays, parts of arrays, tuples."""

import ast
from typing import Any

from linad.errors import KernelError
from linad.kernels.array_windows import ArrayWindow, Computed, arrays_in, item_of
from linad.kernels.call_lowering import CallLowering
from linad.kernels.expressions import ArrayKind, Expr, dim, num, var
from linad.kernels.number_lists import NumberList
from linad.kernels.statements import Let, Put, Swap


class BindingLowering(CallLowering):
    """Writes assignments."""

    def on_Assign(self, s: ast.Assign) -> None:
        self.sole = s.value
        target = s.targets[0]
        if len(s.targets) == 1 and isinstance(target, ast.Tuple) and isinstance(s.value, ast.Tuple):
            if self.swap(target, s.value):
                return
            given = [self.value(v) for v in s.value.elts]
            given = [self.held(v) if isinstance(v, Expr) else v for v in given]
            self.assign(target, given, s)
            return
        value = self.value(s.value)
        if isinstance(value, ArrayWindow) and id(s) in self.frame.handed_over:
            value = self.copied(value)
        if len(s.targets) > 1 and isinstance(value, Expr):
            value = self.held(value)
        for t in s.targets:
            self.assign(t, value, s)

    def on_AnnAssign(self, s: ast.AnnAssign) -> None:
        if s.value is not None:
            self.on_Assign(ast.copy_location(ast.Assign([s.target], s.value), s))

    def swap(self, target: ast.Tuple, value: ast.Tuple) -> bool:
        """``u, v = v, u`` of arrays."""
        pairs = [*target.elts, *value.elts]
        if not all([isinstance(e, ast.Name) for e in pairs]):
            return False
        names = {e.id for e in pairs}  # type: ignore[attr-defined]
        bound = [self.frame.scope.get(e.id) for e in pairs]  # type: ignore[attr-defined]
        if not any([isinstance(b, ArrayWindow) for b in bound]):
            return False
        found = [b.array for b in bound if isinstance(b, ArrayWindow) and b.is_whole()]
        n = len(target.elts)
        before, given = [
            set().union(*[arrays_in(b) for b in part]) for part in (bound[:n], bound[n:])
        ]
        if not before & given:
            return False
        if len(found) != 2 * n or sorted(found[:n]) != sorted(found[n:]) or len({*found}) != n:
            raise self.error(
                target, "parts of arrays cannot be swapped", "copy them entry by entry"
            )
        if len({self.kinds[a] for a in found}) > 1:
            raise self.error(
                target, "arrays of different dtypes cannot be swapped", "use one dtype"
            )
        ndim = self.kinds[found[0]].ndim  # type: ignore[union-attr]
        for other in found[1:n]:
            self.check_dims(
                [dim(found[0], k) for k in range(ndim)],
                [dim(other, k) for k in range(ndim)],
            )
        self.rename_others(names, {*found}, target)
        self.emit(Swap(tuple(found[:n]), tuple(found[n:])))
        return True

    def rename_others(self, names: set[str], arrays: set[str], node: ast.AST) -> None:
        """Forget what else the arrays of an exchange are called: these names stay behind."""
        outside = bool(arrays & {*self.parameters})
        for frame in self.frames:
            for name, value in frame.scope.items():
                if (frame is self.frame and name in names) or not arrays & arrays_in(value):
                    continue
                outside = True
                if any([name in read for read in frame.read_in_loop]):
                    raise self.error(
                        node, f"an exchange of arrays that are read as {name} too", "use one name"
                    )
                frame.scope[name] = KernelError
        if outside and arrays & self.made_inside:
            raise self.error(
                node,
                "an array made within a loop or branch cannot be swapped",
                "make it before",
            )

    def assign(self, target: ast.expr, value: Any, s: ast.stmt) -> None:
        """Assign a value, of any sort, to a target."""
        if isinstance(target, (ast.Tuple, ast.List)):
            value = self.unpacked(value, len(target.elts), s)
            value = [self.held(v) if isinstance(v, Expr) else v for v in value]
            for t, v in zip(target.elts, value, strict=True):
                self.assign(t, v, s)
        elif isinstance(target, ast.Name):
            self.bind(target.id, value, s)
        elif isinstance(target, ast.Subscript):
            self.store(self.array_of(target.value), target.slice, value, s)
        else:
            raise self.error(s, "assigns to an attribute", "use arrays and scalars")

    def unpacked(self, value: Any, count: int, s: ast.stmt) -> list[Any]:
        """The parts of a tuple, or of an array along its first axis."""
        if isinstance(value, Computed):
            value = self.copied(value)
        if isinstance(value, ArrayWindow) and value.dims:
            self.check_dims([num(count)], value.dims[:1])
            return [item_of(value, num(k)) for k in range(count)]
        if not isinstance(value, list) or len(value) != count:
            raise self.error(s, "the numbers of values and of targets differ", "name each")
        return value

    def bind(self, name: str, value: Any, s: ast.stmt) -> None:
        """Give a name of the user's a value."""
        before = self.frame.scope.get(name)
        value = self.named_list(value, s)
        if isinstance(value, Expr):
            if before is None or not isinstance(before, Expr):
                if before is not None:
                    raise self.error(s, f"{name} was not a number before", "use another name")
                before = self.frame.scope[name] = var(self.fresh(name))
            self.emit(Let(before.parts[0], value))
        elif isinstance(before, Expr):
            raise self.error(s, f"{name} was a number before", "use another name")
        elif isinstance(value, NumberList):
            self.bind_list(name, value, s)
        elif isinstance(value, list):
            self.bind_tuple(name, value, s)
        elif isinstance(value, (ArrayWindow, Computed)):
            self.bind_array(name, value, s)
        else:
            if before is not None and before is not value:
                raise self.error(s, f"{name} means two things", "use a name for each")
            self.frame.scope[name] = value

    def bind_tuple(self, name: str, value: list[Any], s: ast.stmt) -> None:
        """Give a name a tuple; its numbers are scalars that are assigned again each time."""
        before = self.frame.scope.get(name)
        if before is None:
            self.frame.scope[name] = self.owned(value, name)
            return
        numbers = isinstance(before, list) and len(before) == len(value)
        if not numbers or not all([isinstance(v, Expr) for v in [*before, *value]]):
            raise self.error(s, f"{name} becomes a tuple of a different form", "use another name")
        held = [self.held(v) for v in value]
        for b, v in zip(before, held, strict=True):
            self.emit(Let(b.parts[0], v))

    def bind_list(self, name: str, value: NumberList, s: ast.stmt) -> None:
        """Give a name a list; in loops one list stands for those of all turns."""
        before = self.frame.scope.get(name)
        named = any([v is value for frame in self.frames for v in frame.scope.values()])
        if before is value:
            return
        if before is not None and not isinstance(before, NumberList):
            raise self.error(s, f"{name} was not a list before", "use another name")
        again = before is not None and self.depth > self.frame.depth
        if named and (again or value.depth) and id(s) not in self.frame.handed_over:
            raise self.error(
                s, "a list cannot have two names", f"write `{name} = list(...)`, a copy"
            )
        if before is not None and again:
            holders = [n for f in self.frames for n, v in f.scope.items() if v is before]
            if len(holders) > 1:
                raise self.error(s, f"{name} is a list that has two names", "use one name")
            self.refilled(before, value, s)
        elif named and id(s) in self.frame.handed_over:
            self.frame.scope[name] = self.listed(value, s)
        else:
            self.frame.scope[name] = value

    def bind_array(self, name: str, value: ArrayWindow | Computed, s: ast.stmt) -> None:
        """Give a name an array: new memory, or that of another name."""
        before = self.frame.scope.get(name)
        made = isinstance(value, Computed) or value.array in self.unnamed
        free = made or name in self.frame.values
        if self.depth > self.frame.depth and free and self.may_be_filled(before, name, value):
            self.unnamed.discard(getattr(value, "array", ""))
            self.fill(before, value, s)  # type: ignore[arg-type]  # it may be, so it is a window
            return
        if isinstance(value, Computed) or (free and not made):
            value = self.copied(value)
        self.unnamed.discard(value.array)
        value = self.pinned(value)
        if before is not None and any([name in read for read in self.frame.read_in_loop]):
            refusal = self.error(
                s,
                f"{name} becomes another array while a loop runs",
                f"write its entries, `{name}[:] = ...`, or exchange, `a, b = b, a`",
            )
            self.copy_or_refuse(self.frame, name, refusal)
        self.frame.scope[name] = value

    def may_be_filled(self, before: Any, name: str, value: ArrayWindow | Computed) -> bool:
        """Whether a name's array can take the entries of another, in the place of that."""
        if not isinstance(before, ArrayWindow) or not before.is_whole():
            return False
        if isinstance(value, ArrayWindow):
            kind = self.kinds[value.array]
            dtype = kind.dtype if isinstance(kind, ArrayKind) else ""
        else:
            dtype = self.dtype_of(value)
        alike = self.kinds[before.array] == ArrayKind(dtype, len(value.dims))
        return alike and not self.shared(before, name)

    def shared(self, window: ArrayWindow, name: str) -> bool:
        """Whether the array has other names, or is the caller's."""
        others = [
            n for n, v in self.frame.scope.items() if isinstance(v, ArrayWindow) and n != name
        ]
        return window.array in self.parameters or any(
            [self.frame.scope[n].array == window.array for n in others]
        )

    def store(self, base: Any, where: ast.expr, value: Any, s: ast.stmt) -> None:
        """``base[where] = value``."""
        if isinstance(base, NumberList) and not isinstance(where, ast.Slice):
            self.put(base, self.place_in(base, self.scalar(where), where), value, s)
            return
        if not isinstance(base, ArrayWindow):
            raise self.error(
                s,
                "writes through an expression that is not a name of an array",
                "write into the array",
            )
        window = self.subscripted(base, where)
        if not isinstance(window, ArrayWindow):
            raise self.error(
                s,
                "writes through an expression that is not a name of an array",
                "write into the array",
            )
        if not window.axes:
            self.emit(Put(window.array, window.index(()), self.number(value, s)))
        else:
            self.fill(window, value, s)
