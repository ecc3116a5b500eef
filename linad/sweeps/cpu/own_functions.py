"""linad's own machine code: what runs programs, kept on disk beside their kernels.

These functions are Python that is part of the language of kernels, and compiled as that is. Numba
would compile and keep them as well, but before it loads the first of them it registers all that it
knows of Python and NumPy: a quarter of a second in each process. What a file here says takes a
millisecond.

    address_of(f)                 of the machine code of a function of at most three words
    callable_on_objects(f)        the same for Python to call: it gets the addresses of objects
    callable_on_words(f)          the same on integers, without the interpreter's lock

Where the number that comes out is `PYTHON_ERROR`, what is called raises the error that Python has.
"""

import ctypes
import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from linad.core.compiler_lock import compiling
from linad.sweeps.cpu import kernel_cache as cache, object_code
from linad.sweeps.cpu.kernel_expressions import tree_of
from linad.sweeps.cpu.kernel_language import written
from linad.sweeps.instructions import PYTHON_ERROR

WORD = ir.IntType(64)
OBJECT = ir.IntType(8).as_pointer()
WORDS = 3
"""What a function takes: kernels, too, have so many parameters."""

FAST_CALL = 0x0080
"""Python's name for functions that get their arguments one after the other, in memory."""


class _Definition(ctypes.Structure):
    """Python's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


def address_of(function: Callable[..., Any]) -> int:
    """Where the machine code of a function is that takes and returns 64-bit integers."""
    return _loaded(function, "words")


def callable_on_words(function: Callable[..., int]) -> Callable[..., int]:
    """A function of integers, as one that lets go of the interpreter while it runs."""
    return _python_function(function, "word of numbers without the lock")


def callable_on_objects(
    function: Callable[..., int], releases: bool = False, gives: str = "word"
) -> Callable[..., Any]:
    """A function of addresses of objects, as one of Python's that takes the objects.

    Parameters
    ----------
    function : function
        Of at most three parameters.
    releases : bool
        Whether it lets go of the interpreter while it runs.
    gives : {"word", "object"}
        What it returns: a number, or the address of an object, whose reference goes to the
        caller, and 0 after an error.
    """
    return _python_function(function, f"{gives}{' without the lock' if releases else ''}")


def _python_function(function: Callable[..., int], called: str) -> Callable[..., Any]:
    address = _loaded(function, called)
    definition = _Definition(function.__name__.encode(), address, FAST_CALL, None)
    _definitions.append(definition)
    python = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_void_p] * 3)
    make: Any = python(("PyCFunction_NewEx", ctypes.pythonapi))
    return make(ctypes.addressof(definition), None, None)  # type: ignore[no-any-return]


_definitions: list[_Definition] = []
"""The functions have their addresses."""


def _loaded(function: Callable[..., Any], called: str) -> int:
    """The address of a function, or of the one around it that is called on objects."""
    with compiling:
        _name_python()
        name = f"f{key_of(function, called)}"
        code, _ = cache.found_or_made(
            f"{name}.o", lambda: object_code.compiled(text_of(function, name, called))
        )
        _kept.append(object_code.loaded(code, name))
        return int(_kept[-1])


_kept: list[object_code.Loaded] = []
"""They stay in memory: Python types and objects have their addresses."""


def key_of(function: Callable[..., Any], called: str) -> str:
    """The name under which a function is kept: all that its machine code depends on."""
    modules, numbers = written_with(function)
    parts = [cache.toolchain(), function.__qualname__, called, *sorted(numbers)]
    files = [sys.modules[m] for m in (*sorted(modules), __name__)]
    return cache.digest_of(parts, files)[:24]


def written_with(function: Any) -> tuple[set[str], set[str]]:
    """The modules of all functions that one calls, and the numbers that they read.

    Numbers may say how objects lie in memory, which differs from one build of Python to another.
    """
    seen: set[Any] = set()
    modules: set[str] = set()
    numbers: set[str] = set()
    left = [function]
    while left:
        f = left.pop()
        if f in seen:
            continue
        seen.add(f)
        modules.add(f.__module__)
        for name in f.__code__.co_names:
            value = f.__globals__.get(name)
            if isinstance(value, int):
                numbers.add(f"{f.__module__}.{name} = {int(value)}")
            elif isinstance(value, FunctionType):
                left.append(value)
            elif hasattr(value, "_defn"):  # instructions that a function of linad's writes
                modules.add(value._defn.__module__)
    return modules, numbers


def text_of(function: Callable[..., Any], name: str, called: str = "words") -> str:
    """The text of a module with a function; see `callable_on_objects` for what it is called on."""
    inner = name if called == "words" else f"{name}_on_words"
    count = len(inspect.signature(function).parameters)

    module = written(tree_of(function), inner, function.__globals__)
    if called != "words":
        _write_call(module.get_global(inner), name, count, called)
    return str(module)


def _write_call(inner: Any, name: str, count: int, called: str) -> None:
    """Write what Python calls, by its C interface: ``f(self, arguments, how many)``."""
    kind = ir.FunctionType(OBJECT, [OBJECT, OBJECT.as_pointer(), WORD])
    function = ir.Function(inner.module, kind, name)
    _, arguments, given = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))

    def python(called: str, result: Any, *kinds: Any) -> Any:
        return ir.Function(inner.module, ir.FunctionType(result, kinds), PREFIX + called)

    with builder.if_then(builder.icmp_signed("!=", given, ir.Constant(WORD, count))):
        builder.call(python("PyErr_BadArgument", ir.IntType(32)), [])
        builder.ret(ir.Constant(OBJECT, None))
    objects = [builder.load(builder.gep(arguments, [ir.Constant(WORD, k)])) for k in range(count)]
    if " of numbers" in called:
        number = python("PyLong_AsLongLong", WORD, OBJECT)
        words = [builder.call(number, [x]) for x in objects]
        error = builder.call(python("PyErr_Occurred", OBJECT), [])
        with builder.if_then(builder.icmp_unsigned("!=", error, ir.Constant(OBJECT, None))):
            builder.ret(ir.Constant(OBJECT, None))
    else:
        words = [builder.ptrtoint(x, WORD) for x in objects]
    words += [ir.Constant(WORD, 0)] * (WORDS - count)
    if called.endswith(" without the lock"):
        state = builder.call(python("PyEval_SaveThread", OBJECT), [])
        result = builder.call(inner, words)
        builder.call(python("PyEval_RestoreThread", ir.VoidType(), OBJECT), [state])
    else:
        result = builder.call(inner, words)
    if called.startswith("object"):
        builder.ret(builder.inttoptr(result, OBJECT))
    else:
        failed = builder.icmp_signed("==", result, ir.Constant(WORD, PYTHON_ERROR))
        with builder.if_then(failed):
            builder.ret(ir.Constant(OBJECT, None))
        builder.ret(builder.call(python("PyLong_FromLongLong", OBJECT, WORD), [result]))


PREFIX = "linad_"
CALLED = (
    *("PyErr_BadArgument", "PyErr_Occurred", "PyEval_SaveThread", "PyEval_RestoreThread"),
    *("PyLong_FromLongLong", "PyLong_AsLongLong"),
)


def _name_python() -> None:
    """Let machine code call these Python functions, by names of linad's."""
    for name in CALLED:
        address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        llvm.add_symbol(PREFIX + name, address)
