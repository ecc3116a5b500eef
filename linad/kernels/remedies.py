"""What to write in the place of functions that the language of kernels does not have."""

LOOP = "write the loop"

RANDOM = "draw the numbers outside of the kernel and pass them as an array"
OUTSIDE = "compute it outside of the kernel and pass the result"
COPY_INTO = "make the array with np.empty and fill it in a loop"
BY_INDEX = "fill an array of np.zeros, with an integer that counts"
SORTING = "use np.sort or np.argsort"
RESHAPED = "use reshape or transpose, outside of the kernel or within"

_WORDS: dict[str, tuple[str, ...]] = {
    "leave it out, or print outside of the kernel": ("print",),
    "leave the test out: a kernel is made for the types of its arguments": (
        "isinstance",
        "type",
        "hasattr",
    ),
    "use two arrays, of the parts": ("complex", "complex64", "complex128"),
    "count downward, range(n - 1, -1, -1)": ("reversed",),
    "leave it out; numbers are computed in double precision": ("float32", "float16", "longdouble"),
    "use x * 2.0**n": ("ldexp",),
    "compare abs(x - y) with a tolerance": ("isclose", "allclose"),
    "write x - y * np.trunc(x / y)": ("fmod",),
    "write x - y * np.rint(x / y), or np.remainder for Python's x % y": ("remainder",),
    BY_INDEX: ("append", "extend", "insert", "pop", "list", "dict", "set"),
    SORTING: ("sorted", "partition", "argpartition", "lexsort"),
    RESHAPED: ("squeeze", "expand_dims", "swapaxes", "moveaxis"),
    COPY_INTO: (
        "tile",
        "repeat",
    ),
}

_BY_NAME = {name: remedy for remedy, names in _WORDS.items() for name in names}


def remedy_for(function: str) -> str:
    """What to write instead of a call of a function, of which the dotted name is given.

    A method is given with a dot before its name.
    """
    module, _, name = function.rpartition(".")
    if "random" in module.split("."):
        return RANDOM
    if name == "append" and module:  # a list's; np.append makes an array
        return COPY_INTO if module in ("np", "numpy") else BY_INDEX
    found = _BY_NAME.get(name)
    if found is None and any([part in module for part in ("scipy", "special", "fft", "linalg")]):
        found = OUTSIDE
    if found is None and name in ("gamma", "lgamma"):
        found = OUTSIDE
    return found or LOOP
