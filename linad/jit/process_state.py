"""What a function reads of the process around it, beside variables: environment, clock, files.

What can be looked at again costs a line at each call, as variables do (`LOOKED_AT`): the
environment, the working folder, NumPy's print options. What is another each time, or cannot be
looked at for nothing, is a constant of the program, and a warning says so (`GIVEN_ONCE`): clocks,
fresh random numbers, files, other processes. Functions are known by their names, through
whatever variable the code reaches them.
"""

import os
import sys
import types
from typing import Any

import numpy as np

from linad.core.callers import warn_user
from linad.core.shapes import name_of

LOOKED_AT = {
    "os.getenv": "os.environ._data.copy()",
    "os.getenvb": "os.environ._data.copy()",
    "posix.getcwd": "os.getcwd()",
    "posix.getcwdb": "os.getcwd()",
    "nt.getcwd": "os.getcwd()",
    "pathlib.Path.cwd": "os.getcwd()",
    "posix.getpid": "os.getpid()",
    "nt.getpid": "os.getpid()",
    "numpy.get_printoptions": "numpy.get_printoptions()",
    "numpy.geterr": "numpy.geterr()",
    "sys.getrecursionlimit": "sys.getrecursionlimit()",
    "threading.current_thread": "threading.get_ident(), threading.current_thread().name",
    "threading.get_ident": "threading.get_ident()",
    "_thread.get_ident": "threading.get_ident()",
    "decimal.getcontext": "repr(decimal.getcontext())",
    "decimal.Decimal": "repr(decimal.getcontext())",
}
"""Functions, and expressions that are equal as long as their answer is the same."""

_MODULES = {
    "time": "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time"
    " process_time_ns thread_time thread_time_ns localtime gmtime ctime asctime strftime"
    " clock_gettime clock_gettime_ns",
    "datetime": "datetime.now datetime.utcnow datetime.today date.today",
    "timeit": "default_timer",
    "uuid": "uuid1 uuid4",
    "secrets": "randbits randbelow choice token_bytes token_hex token_urlsafe",
    "random": "SystemRandom.random SystemRandom.getrandbits Random.getstate",
    "numpy.random": "RandomState.get_state Generator.bit_generator BitGenerator.state",
    "os": "popen system walk getloadavg fdopen",
    "posix": "urandom getrandom open read listdir scandir stat lstat getloadavg times",
    "nt": "urandom open read listdir scandir stat lstat times",
    "genericpath": "exists lexists isfile isdir getsize getmtime getatime getctime",
    "posixpath": "lexists islink ismount",
    "io": "open open_code FileIO",
    "_io": "open open_code FileIO",
    "codecs": "open",
    "builtins": "input",
    "glob": "glob iglob",
    "pathlib.Path": "open read_text read_bytes exists is_file is_dir stat iterdir glob rglob",
    "subprocess": "run call check_call check_output getoutput getstatusoutput Popen",
    "socket": "gethostname create_connection socket.recv",
    "urllib.request": "urlopen urlretrieve",
    "shutil": "disk_usage which",
    "numpy": "load loadtxt genfromtxt fromfile fromregex memmap",
    "scipy.io": "loadmat mmread readsav",
    "pickle": "load",
    "_pickle": "load",
    "json": "load",
    "tomllib": "load",
    "importlib": "reload",
}
GIVEN_ONCE = {f"{module}.{name}" for module, names in _MODULES.items() for name in names.split()}
"""Functions whose answer is another at each call, or stands in a file or another process."""

_GENERATORS = "default_rng RandomState SeedSequence PCG64 PCG64DXSM MT19937 Philox SFC64"
WITHOUT_SEED = {f"numpy.random.{name}" for name in _GENERATORS.split()} | {"random.Random"}
"""Those that start from fresh random numbers unless they are given a seed."""

LASTING = {"numpy", "scipy", "math", "cmath", "numba", "linad"}
"""Packages whose own numbers (`numpy.pi`) nobody changes."""

DATA_CLASSES = {
    "argparse.Namespace",
    *[f"collections.{name}" for name in ("ChainMap", "UserDict", "UserList", "UserString")],
    *[f"configparser.{name}" for name in ("RawConfigParser", "SectionProxy")],
    *[f"queue.{name}" for name in ("Queue", "LifoQueue", "PriorityQueue")],
    "threading.Event",
    "string.Template",
    "multiprocessing.sharedctypes.SynchronizedBase",
    "multiprocessing.shared_memory.SharedMemory",
    *[f"weakref.{name}" for name in ("WeakValueDictionary", "WeakKeyDictionary", "WeakSet")],
    "_weakrefset.WeakSet",
    "numpy.poly1d",
    "numpy.polynomial._polybase.ABCPolyBase",
}
"""Classes of Python and NumPy whose objects are their attributes, and may change."""

DISTRIBUTIONS = {
    "scipy.stats._distn_infrastructure.rv_generic",
    "scipy.stats._distribution_infrastructure.UnivariateDistribution",
    "scipy.stats._multivariate.multi_rv_generic",
}
"""SciPy classes whose objects stay what they are; those of all others are data as well."""

MISSING: Any = object()


def qualified(x: Any) -> str:
    """The name of a function or class: ``time.time``. A method is one of its object's class."""
    owner = getattr(x, "__self__", None) if isinstance(x, _BOUND) else None
    if owner is not None and not isinstance(owner, (type, types.ModuleType)):
        x = _Method(type(owner), x.__name__)  # `random.getstate` is one
    if not isinstance(x, (type, _Method, *_FUNCTIONS)):
        return ""
    module = getattr(x, "__module__", None)
    name = getattr(x, "__qualname__", None) or getattr(x, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return ""
    if module.startswith("numpy.random."):
        module = "numpy.random"
    if module.startswith("pathlib."):
        module, name = "pathlib", name.replace("PathBase.", "Path.")
    if module.startswith("scipy.io."):
        module = "scipy.io"
    return f"{module}.{name}"


def is_data(kind: type) -> bool:
    """Whether objects of a class that is not the user's are what their attributes are."""
    found = _data.get(kind)
    if found is None:
        names = {qualified(base) for base in kind.__mro__}
        scipys = kind.__module__.partition(".")[0] == "scipy" and not names & DISTRIBUTIONS
        found = bool(names & DATA_CLASSES or (scipys and kind.__dictoffset__))
        _data[kind] = found
    return found


_data: dict[type, bool] = {}


def is_environment(x: Any) -> bool:
    """Whether it is ``os.environ``, or the same as bytes."""
    return x is os.environ or x is getattr(os, "environb", None)


def is_given_once(x: Any, bare: bool) -> bool:
    """Whether a function that the code names has another answer at the next call.

    Parameters
    ----------
    x : object
    bare : bool
        Whether it is called without arguments.
    """
    name = qualified(x)
    if name in GIVEN_ONCE or (bare and name in WITHOUT_SEED):
        return True
    return name.startswith("pandas.") and name.rpartition(".")[2].startswith("read_")


def answer(expression: str) -> Any:
    """What an expression of `LOOKED_AT` is now."""
    modules: dict[str, Any] = {"os": os, "sys": sys, "numpy": np}
    modules |= {n: sys.modules[n] for n in ("decimal", "threading") if n in sys.modules}
    return eval(expression, modules)


def steps_of(value: Any, attributes: tuple[str, ...]) -> list[tuple[Any, str, Any]]:
    """Where attributes lead from a module or class: owner, name and value, one after the other.

    Objects are asked for what their class has; nothing of theirs runs.
    """
    found = []
    for name in attributes:
        owner = value
        if isinstance(owner, types.ModuleType):
            value = vars(owner).get(name, MISSING)
        else:
            kind = owner if isinstance(owner, type) else type(owner)
            held = next((b for b in kind.__mro__ if name in vars(b)), None)
            if held is None:
                break
            value = _Method(held, name)
        if value is MISSING:
            break
        found.append((owner, name, value))
        if isinstance(value, _Method):
            break
    return found


class _Method:
    """A method by the class that has it and its name: ``datetime.datetime.now``."""

    def __init__(self, owner: type, name: str) -> None:
        self.__module__ = owner.__module__
        self.__qualname__ = f"{owner.__qualname__}.{name}"


_BOUND = (types.MethodType, types.BuiltinFunctionType)
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    type(np.load),
    type(np.random.default_rng),
)


def warn_of_process_state(f: Any, names: list[str]) -> None:
    """Warn of what a function has called whose answer is now part of a program."""
    if not names:
        return
    what = " and ".join(dict.fromkeys(names))
    warn_user(
        f"linad.jit: {name_of(f)} uses {what} while it is traced; later calls do not, "
        f"and go on with what it gave. Do it outside, and pass the result as an argument"
    )
