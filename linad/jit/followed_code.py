"""The instructions of a function, gone through with a state in the place of each value.

A state is ``TRACED``, `KnownValue` or ``OTHER``. Where something is made of a value that stands
outside, other than by an operation with a traced value, the proof (`linad.jit.direct_arrays`) is
told. An instruction that is not known uses all that it takes.
"""

import dis
import sys
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from linad.core.callers import defining_package
from linad.core.stand_ins import memory_of
from linad.jit.code_reads import reads_of
from linad.jit.traced_results import (
    AT_POINTS,
    AT_TUPLES,
    GIVING,
    MEETING,
    METHODS,
    NUMBERS_OF,
    OF_ARRAYS,
    PAIRS,
    PASSED,
    TRANSFORMS,
    gives_one,
    is_in,
    is_jitted,
    is_linads,
)
from linad.jit.value_states import NULL, OTHER, TRACED, UNKNOWN, HeldContainer, KnownValue
from linad.operators.stored_matrices import parts_of

if TYPE_CHECKING:
    from linad.jit.direct_arrays import ArrayProof


class FollowedCode:
    """One function's instructions.

    Parameters
    ----------
    proof : ArrayProof
        Which arrays are used, and what other functions give.
    f : function
    states : dict
        Of its parameters, by name.
    """

    def __init__(self, proof: "ArrayProof", f: types.FunctionType, states: dict[str, Any]) -> None:
        self.proof, self.f = proof, f
        self.locals = dict(states)
        self.given = dict(states)
        self.returned: Any = UNKNOWN
        self.steps = list(dis.get_instructions(f.__code__))
        self.cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))

    def result(self) -> Any:
        """What it returns."""
        for _ in range(20):
            before = dict(self.locals)
            self._pass()
            if self.locals == before:
                return self.returned if self.returned is not UNKNOWN else OTHER
        self.proof.used |= set(self.proof.found)
        return OTHER

    def _pass(self) -> None:
        self.stack: list[Any] = []
        self.keywords = 0
        for step in self.steps:
            if step.is_jump_target:
                self._forget()
            handler = getattr(self, f"_{step.opname.lower()}", None)
            if handler is not None:
                handler(step)
            else:
                self._any(step)
            if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
                for state in self.stack:
                    self.proof.use(state)

    def _forget(self) -> None:
        for state in self.stack:
            self.proof.use(state)
        self.stack = []

    def pop(self) -> Any:
        return self.stack.pop() if self.stack else OTHER

    def _any(self, step: Any) -> None:
        """An instruction that is not followed: what it takes is used."""
        effect = dis.stack_effect(step.opcode, step.arg, jump=False)
        self._forget()
        self.stack = [OTHER] * max(effect, 0)

    def _nothing(self, step: Any) -> None:
        pass

    _resume = _cache = _nop = _precall = _extended_arg = _make_cell = _copy_free_vars = _nothing
    _return_generator = _end_for = _nothing

    def _kw_names(self, step: Any) -> None:
        self.keywords = len(step.argval if isinstance(step.argval, tuple) else (1,))

    def _pop_top(self, step: Any) -> None:
        self.pop()

    def _push_null(self, step: Any) -> None:
        self.stack.append(NULL)

    def _load_const(self, step: Any) -> None:
        value = step.argval
        if isinstance(value, types.CodeType):
            self._inner(value)
            self.stack.append(OTHER)
        else:
            self.stack.append(KnownValue(value))

    def _return_const(self, step: Any) -> None:
        self.returned = self.proof.join(self.returned, OTHER)

    def _inner(self, code: types.CodeType) -> None:
        """A function made here may be called by anybody, with anything."""
        reads = reads_of(code)
        scope = self.f.__globals__
        for name in reads.names:
            if name in scope:
                self.proof.use_value(scope[name])
        for name in reads.cells:
            if name in self.cells:
                self.proof.use(self._cell(name))
            else:
                self.proof.use(self.locals.get(name, OTHER))
                self.locals[name] = self.proof.join(self.locals.get(name, UNKNOWN), OTHER)
        for name in reads.attributes:
            self.proof.use_name(name)

    # Variables.

    def _load_fast(self, step: Any) -> None:
        names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
        self.stack += [self.locals.get(name, UNKNOWN) for name in names]

    _load_fast_check = _load_fast_load_fast = _load_fast_borrow = _load_fast

    def _store(self, name: str) -> None:
        state = self.pop()
        if isinstance(state, KnownValue) and id(state.value) in self.proof.found:
            known = self.locals.get(name)
            if isinstance(known, KnownValue) and known.value is state.value:
                return
        self.locals[name] = self.proof.join(self.locals.get(name, UNKNOWN), state)

    def _store_fast(self, step: Any) -> None:
        self._store(step.argval)

    _store_deref = _store_fast

    def _store_fast_store_fast(self, step: Any) -> None:
        for name in step.argval:
            self._store(name)

    def _store_fast_load_fast(self, step: Any) -> None:
        first, second = step.argval
        self._store(first)
        self.stack.append(self.locals.get(second, UNKNOWN))

    def _cell(self, name: str) -> Any:
        try:
            return KnownValue(self.cells[name].cell_contents)
        except ValueError:
            return OTHER

    def _load_deref(self, step: Any) -> None:
        name = step.argval
        inside = name in self.cells
        self.stack.append(self._cell(name) if inside else self.locals.get(name, UNKNOWN))

    def _load_closure(self, step: Any) -> None:
        self.stack.append(OTHER)

    def _load_global(self, step: Any) -> None:
        scope = self.f.__globals__
        name = step.argval
        inner = scope.get("__builtins__", {})
        inner = inner if isinstance(inner, dict) else vars(inner)
        value = scope[name] if name in scope else inner.get(name, OTHER)
        pushed = [value if value is OTHER else KnownValue(value)]
        if step.arg & 1:
            # Since 3.13 the place of the object of a method comes after the function.
            pushed.insert(len(pushed) if sys.version_info >= (3, 13) else 0, NULL)
        self.stack += pushed

    # Parts.

    def _load_attr(self, step: Any) -> None:
        held, name = self.pop(), step.argval
        pushes = dis.stack_effect(step.opcode, step.arg, jump=False)
        self.stack.append(self._attribute(held, name, bool(pushes)))
        if pushes:
            self.stack.append(NULL)

    _load_method = _load_attr

    def _attribute(self, held: Any, name: str, called: bool) -> Any:
        if held is UNKNOWN:
            return UNKNOWN
        if held is TRACED:
            if name in OF_ARRAYS:
                return TRACED
            return ("method", name) if name in METHODS else OTHER
        if not isinstance(held, KnownValue):
            self.proof.use(held)
            self.proof.use_name(name)
            return OTHER
        value = held.value
        if isinstance(value, np.ndarray):
            if name not in NUMBERS_OF:
                self.proof.use(held)
            return OTHER
        if isinstance(value, types.ModuleType):
            return KnownValue(vars(value)[name]) if name in vars(value) else OTHER
        if self._is_matrix(value) and defining_package(type(value)) == "scipy":
            if name == "dot":
                return KnownValue(value.dot)
            if name == "T" and shares_parts(value, value.T):
                return held  # the same arrays, of which products alone are made
        if id(value) in self.proof.look.objects:
            found = _attribute_of_object(value, name)
            if found is not None:
                return found
        self.proof.use(held)
        self.proof.use_name(name)
        return OTHER

    def _binary_subscr(self, step: Any) -> None:
        key, held = self.pop(), self.pop()
        self.stack.append(self._item(held, key))

    def _item(self, held: Any, key: Any) -> Any:
        if UNKNOWN in (held, key):
            return UNKNOWN
        if held is TRACED:
            self.proof.use(key)
            return TRACED
        if isinstance(key, KnownValue) and type(key.value) in (str, int):
            if isinstance(held, HeldContainer):
                return held.parts.get(key.value, OTHER)
            if isinstance(held, KnownValue) and type(held.value) in (dict, list, tuple):
                try:
                    return KnownValue(held.value[key.value])
                except LookupError:
                    return OTHER
        self.proof.use(held)
        self.proof.use(key)
        return OTHER

    def _build_tuple(self, step: Any) -> None:
        count = step.arg
        parts = [self.pop() for _ in range(count)][::-1]
        self.stack.append(HeldContainer(dict(enumerate(parts))))

    def _unpack_sequence(self, step: Any) -> None:
        held = self.pop()
        if isinstance(held, HeldContainer) and list(held.parts) == list(range(step.arg)):
            self.stack += list(held.parts.values())[::-1]
        else:
            self.proof.use(held)
            self.stack += [OTHER] * step.arg

    # Arithmetic.

    def _binary_op(self, step: Any) -> None:
        b, a = self.pop(), self.pop()
        if step.argrepr == "[]":
            self.stack.append(self._item(a, b))
            return
        if step.argrepr == "@" and (self._is_product(a, b) or self._is_product(b, a)):
            self.stack.append(TRACED)
            return
        self.stack.append(self._met([a, b], step.argrepr in MEETING, step.argrepr.endswith("=")))

    def _compare_op(self, step: Any) -> None:
        b, a = self.pop(), self.pop()
        self.stack.append(self._met([a, b], False))

    def _met(self, states: list[Any], meeting: bool, writes: bool = False) -> Any:
        """Operands of an operation that is traced if one of them is."""
        if UNKNOWN in states:
            return UNKNOWN
        traced = TRACED in states
        if not (traced and meeting) or (writes and states[0] is not TRACED):
            for state in states:
                self.proof.use(state)
        else:
            for state in states:
                if not (isinstance(state, KnownValue) and isinstance(state.value, np.ndarray)):
                    self.proof.use(state)
        return TRACED if traced else OTHER

    def _is_product(self, a: Any, b: Any) -> bool:
        """Whether a sparse matrix multiplies a traced value."""
        return b is TRACED and isinstance(a, KnownValue) and self._is_matrix(a.value)

    def _is_matrix(self, value: Any) -> bool:
        return id(value) in self.proof.look.matrices

    def _unary_negative(self, step: Any) -> None:
        self.stack.append(self._met([self.pop()], False))

    # Calls.

    def _call(self, step: Any) -> None:
        self._called(step.arg, self.keywords)
        self.keywords = 0

    def _call_kw(self, step: Any) -> None:
        names = self.pop()
        count = len(names.value) if isinstance(names, KnownValue) else step.arg
        self._called(step.arg, count)

    def _called(self, count: int, keywords: int) -> None:
        args = [self.pop() for _ in range(count)][::-1]
        head = [self.pop(), self.pop()]
        named = [h for h in head if h is not NULL]
        if len(named) != 1:
            for state in (*args, *named):
                self.proof.use(state)
            self.stack.append(OTHER)
            return
        self.stack.append(self._result(named[0], args, keywords))

    def _result(self, f: Any, args: list[Any], keywords: int) -> Any:
        if UNKNOWN in args or f is UNKNOWN:
            return UNKNOWN
        if isinstance(f, tuple) and f[0] == "method":
            meets = f[1] == "dot" and not keywords
            return self._met([TRACED, *args], meets)
        if isinstance(f, tuple):
            return self.proof.enter(f[1], args, {}) if not keywords else self._lost(args, f[1])
        if not isinstance(f, KnownValue):
            return self._lost(args)
        value = f.value
        giving = gives_one(value) or is_in(value, GIVING)
        if giving:
            pair = len(args) == 2 and is_in(value, PAIRS) and not keywords
            return self._met(list(args), pair)
        if isinstance(value, types.FunctionType) and is_linads(value):
            return self._transform(value, args, keywords)
        of_matrix = isinstance(value, types.MethodType) and self._is_matrix(value.__self__)
        if of_matrix and args == [TRACED] and not keywords:
            return TRACED  # ``A.dot(x)``
        follows = isinstance(value, PASSED) or is_jitted(value)
        if (follows or id(value) in self.proof.look.objects) and not keywords:
            return self.proof.enter(value, args, {})
        self.proof.use(f)
        return self._lost(args)

    def _transform(self, value: Callable[..., Any], args: list[Any], keywords: int) -> Any:
        first = args[0] if args else OTHER
        if isinstance(first, KnownValue) and not keywords:
            rest = args[1:]
            if value.__name__ in TRANSFORMS and not rest:
                return ("made", first.value)
            if value.__name__ in AT_TUPLES and rest and isinstance(rest[0], HeldContainer):
                self.proof.enter(first.value, list(rest[0].parts.values()), {})
                return self._lost(rest[1:])
            if value.__name__ in AT_POINTS:
                self.proof.enter(first.value, rest, {})
                return OTHER
        return self._lost(args)

    def _lost(self, states: list[Any], *values: Any) -> Any:
        for state in states:
            self.proof.use(state)
        for value in values:
            self.proof.use_value(value)
        return OTHER

    def _return_value(self, step: Any) -> None:
        state = self.pop()
        self.proof.use(state)
        self.returned = self.proof.join(self.returned, state)


def shares_parts(A: Any, B: Any) -> bool:
    """Whether two sparse matrices are made of the same memory."""
    theirs = set(map(memory_of, parts_of(B)))
    return bool(theirs) and set(map(memory_of, parts_of(A))) == theirs


def _attribute_of_object(value: Any, name: str) -> KnownValue | None:
    """An attribute that an object or its class has as it is; None where code gives it."""
    inside = getattr(value, "__dict__", None)
    if not isinstance(inside, dict):
        return None
    if name in inside:
        return KnownValue(inside[name])
    for base in type(value).__mro__:
        if name in vars(base):
            found = vars(base)[name]
            if isinstance(found, types.FunctionType):
                return KnownValue(types.MethodType(found, value))
            return None if hasattr(type(found), "__get__") else KnownValue(found)
    return None
