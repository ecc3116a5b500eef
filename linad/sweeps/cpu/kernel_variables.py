"""Variables of kernels: values of LLVM's where they can be, else memory.

A variable has one type. Where it is given numbers of several types, the kernel is written again
with the type that holds them all. LLVM finds registers for what lies in memory.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from numba.core import cgutils
from numba.core.types.misc import unliteral

from linad.sweeps.cpu.array_marks import ArrayMarks, statements_of
from linad.sweeps.cpu.kernel_arrays import Array
from linad.sweeps.cpu.kernel_numbers import Number, contexts


class Wider(Exception):
    """A variable is given a number that its type does not hold."""


def names_set_once(tree: ast.FunctionDef) -> set[str]:
    """The names that are set at one place, and read only after it, in the block that it is in.

    Where a block ends, another may begin that does not know the value: after a loop of no turns,
    say.
    """
    count = Counter([a.arg for a in tree.args.args])
    reads: dict[str, list[ast.Name]] = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                count[node.id] += 1
            else:
                reads[node.id].append(node)
    found = {a.arg for a in tree.args.args if count[a.arg] == 1}
    for block, names in _blocks(tree):
        once = [(name, set_at) for name, set_at in names if count[name] == 1]
        if once:
            end: Any = block[-1].end_lineno, block[-1].end_col_offset
            found |= {
                name
                for name, set_at in once
                if all([set_at <= (r.lineno, r.col_offset) < end for r in reads[name]])
            }
    return found


def _blocks(tree: ast.FunctionDef) -> Iterator[tuple[list[ast.stmt], list[tuple[str, Any]]]]:
    """The lists of statements in a function, the names that each sets, and where that is done."""
    for node in statements_of(tree):
        for part in ("body", "orelse"):
            block = getattr(node, part, None)
            if not isinstance(block, list) or not block:
                continue
            setting: list[tuple[ast.expr, ast.AST]] = [
                (s.targets[0], s) for s in block if isinstance(s, ast.Assign)
            ]
            if isinstance(node, ast.For):
                setting.append((node.target, node.iter))
            yield (
                block,
                [
                    (name.id, (by.end_lineno, by.end_col_offset))  # type: ignore[attr-defined]
                    for target, by in setting
                    for name in ((target,) if isinstance(target, ast.Name) else ast.walk(target))
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
                ],
            )


class Variables:
    """The variables of a function.

    Parameters
    ----------
    kernel : Kernel
    tree : ast.FunctionDef
    namespace : dict
        What its other names stand for.
    """

    def __init__(self, kernel: Any, tree: ast.FunctionDef, namespace: dict[str, Any]) -> None:
        self.kernel, self.namespace = kernel, namespace
        self.number = kernel.scopes = kernel.scopes + 1
        self.set_once = names_set_once(tree)
        self.values: dict[str, Number | Array] = {}
        self.arrays: dict[str, Array] = {}
        self.slots: dict[str, Any] = {}
        self.marks = ArrayMarks(kernel.builder.module, tree)

    def set(self, name: str, number: Number | Array) -> None:
        if isinstance(number, Array):
            self._set_array(name, number)
            return
        if name in self.set_once:
            self.values[name] = Number(number.value, unliteral(number.type))
            return
        kernel, key = self.kernel, (self.number, name)
        kind = unliteral(number.type)
        known = kernel.kinds.setdefault(key, kind)
        if known != kind:
            wide = contexts()[0].unify_types(known, kind)
            if wide is None:
                raise TypeError(f"{name} is {known} and {kind}")
            if wide != known:
                kernel.kinds[key] = wide
                raise Wider
        if name not in self.slots:
            space = kernel.context.get_value_type(known)
            self.slots[name] = cgutils.alloca_once(kernel.builder, space)
        kernel.builder.store(kernel.cast(number, known).value, self.slots[name])

    def _set_array(self, name: str, array: Array) -> None:
        array = array._replace(mark=self.marks.of(name))
        if name in self.set_once:
            self.values[name] = array
            return
        builder = self.kernel.builder
        parts = (array.address, *array.shape)
        if name not in self.arrays:
            slots = [cgutils.alloca_once(builder, part.type) for part in parts]
            self.arrays[name] = Array(slots[0], tuple(slots[1:]), array.kind, array.mark)
        slots = [self.arrays[name].address, *self.arrays[name].shape]
        for slot, part in zip(slots, parts, strict=True):
            builder.store(part, slot)

    def _array(self, name: str) -> Array:
        load, slots = self.kernel.builder.load, self.arrays[name]
        return Array(load(slots.address), tuple(map(load, slots.shape)), slots.kind, slots.mark)

    def get(self, name: str) -> Number:
        value = self.kernel.builder.load(self.slots[name])
        return Number(value, self.kernel.kinds[self.number, name])
