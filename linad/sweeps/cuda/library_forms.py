"""How routines of BLAS and LAPACK are called in CUDA's libraries.

A function of cuBLAS has the arguments of BLAS in BLAS's order, behind a handle, with numbers for
flags; so its row says what they are, and that is the whole call. For a stack there is a *batched*
function, which reads the addresses of its arrays from memory of the device, and for products a
*strided* one, where arrays follow each other in equal steps. A function of cuSOLVER is called once
for each entry of a stack, with working memory, and leaves word in ``info`` on the device.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linad.sweeps.cuda.libraries import Operands

if TYPE_CHECKING:
    from linad.sweeps.cuda.device_sweep import DeviceSweep
    from linad.sweeps.cuda.libraries import Libraries
    from linad.sweeps.cuda.library_calls import LibraryCall

BLAS = {
    "gemm": "o o i i i a p i p i a p i",
    "gemv": "o i i a p i p i a p i",
    "syrk": "u o i i a p i a p i",
    "trsm": "s u o d i i a p i p i",
    "trsv": "u o d i p i p i",
}
"""Arguments by the letters of `linad.sweeps.cuda.libraries.KINDS`, without the handle."""

OTHERS: dict[str, Callable[[Operands], None]] = {}
"""What the rest is called by."""


def issue(libraries: "Libraries", call: "LibraryCall", sweep: "DeviceSweep", stream: Any) -> None:
    """Put a call on a stream, or into the graph that is recorded in place of one."""
    operands = Operands(libraries, call, sweep, stream)
    if operands.name in OTHERS:
        OTHERS[operands.name](operands)
    elif call.extent == 1:
        form = BLAS[operands.name]
        given = [operands.given(k, kind) for k, kind in enumerate(form.split())]
        function = operands.function(f"cublas?{operands.name}_v2", f"h {form}")
        function(operands.handle("cublas"), *given)
    elif operands.name == "gemm" and all(operands.step(k) is not None for k in call.tables):
        _strided(operands)
    else:
        _batched(operands)


def _strided(operands: Operands) -> None:
    """A stack of products in equal steps."""
    call, form, given = operands.call, [], []
    moving = None
    for k, kind in enumerate(BLAS["gemm"].split()):
        form.append(kind)
        given.append(operands.given(k, kind))
        if kind == "p":
            moving = k
        elif moving is not None:  # behind an array its leading dimension, and here the step
            form.append("l")
            given.append((operands.step(moving) or 0) // operands.dtype.itemsize)
            moving = None
    function = operands.function("cublas?gemmStridedBatched", f"h {' '.join(form)} i")
    function(operands.handle("cublas"), *given, call.extent)


def _batched(operands: Operands) -> None:
    """A stack of products, or of triangular systems."""
    call, name = operands.call, operands.name
    pairs = list(enumerate(BLAS[name].split()))
    given = [operands.table(k) if kind == "p" else operands.given(k, kind) for k, kind in pairs]
    if name == "trsv":  # there is no such function: a system is several with one right side
        u, o, d, n, a, lead, x, step = given
        assert step == 1, "the vectors of a stack have no gaps"
        given = [0, u, o, d, n, 1, operands.number(1), a, lead, x, n]
        name = "trsm"
    function = operands.function(f"cublas?{name}Batched", f"h {BLAS[name]} i")
    function(operands.handle("cublas"), *given, call.extent)


def other(name: str) -> Callable[[Callable[[Operands], None]], Callable[[Operands], None]]:
    """Register how a routine is called; a decorator."""

    def register(function: Callable[[Operands], None]) -> Callable[[Operands], None]:
        OTHERS[name] = function
        return function

    return register


def _follow(operands: Operands, position: int, size: int) -> bool:
    """Whether the arrays of a stack, each of this many bytes, lie one behind the other."""
    return operands.step(position) == size


@other("getrf")
def getrf(operands: Operands) -> None:
    """P A = L U         arguments: m n A lda pivots info"""
    call = operands.call
    n, lead = int(call.arguments[0]), int(call.arguments[3])
    if call.extent > 1 and _follow(operands, 4, 4 * n) and _follow(operands, 5, 4):
        function = operands.function("cublas?getrfBatched", "h i p i p p i")
        pivots, info = operands.address(4), operands.address(5)
        handle = operands.handle("cublas")
        function(handle, n, operands.table(2), lead, pivots, info, call.extent)
        return
    handle = operands.handle("cusolver")
    for e in range(call.extent):
        a, pivots, info = [operands.address(k, e) for k in (2, 4, 5)]
        shape = n, n, a, lead
        sizes = "cusolverDn?getrf_bufferSize", "h i i p i a"
        scratch, _ = operands.scratch(*sizes, handle, *shape)
        function = operands.function("cusolverDn?getrf", "h i i p i p p p")
        function(handle, *shape, scratch.address, pivots, info)


@other("getrs")
def getrs(operands: Operands) -> None:
    """A X = B         arguments: transposed? n k A lda pivots B ldb info"""
    call = operands.call
    o, n, k = [operands.given(i, kind) for i, kind in enumerate("oii")]
    lead, lead_b = int(call.arguments[4]), int(call.arguments[7])
    handle = operands.handle("cusolver")
    function = operands.function("cusolverDn?getrs", "h o i i p i p p i p")
    for e in range(call.extent):
        a, pivots, b, info = [operands.address(i, e) for i in (3, 5, 6, 8)]
        function(handle, o, n, k, a, lead, pivots, b, lead_b, info)


@other("potrf")
def potrf(operands: Operands) -> None:
    """A = L L^H         arguments: triangle n A lda info"""
    call = operands.call
    u, n, lead = operands.given(0, "u"), int(call.arguments[1]), int(call.arguments[3])
    handle = operands.handle("cusolver")
    if call.extent > 1 and _follow(operands, 4, 4):
        function = operands.function("cusolverDn?potrfBatched", "h u i p i p i")
        function(handle, u, n, operands.table(2), lead, operands.address(4), call.extent)
        return
    for e in range(call.extent):
        a, info = operands.address(2, e), operands.address(4, e)
        sizes = "cusolverDn?potrf_bufferSize", "h u i p i a"
        scratch, count = operands.scratch(*sizes, handle, u, n, a, lead)
        function = operands.function("cusolverDn?potrf", "h u i p i p i p")
        function(handle, u, n, a, lead, scratch.address, count, info)


@other("evd")
def evd(operands: Operands) -> None:
    """A V = V diag(w), V in place of A         arguments: triangle n A lda w info"""
    call = operands.call
    u, n, lead = operands.given(0, "u"), int(call.arguments[1]), int(call.arguments[3])
    name = "cusolverDn?syevd" if operands.dtype.kind == "f" else "cusolverDn?heevd"
    handle = operands.handle("cusolver")
    for e in range(call.extent):
        a, w, info = [operands.address(k, e) for k in (2, 4, 5)]
        shape = 1, u, n, a, lead, w  # 1 asks for the vectors
        sizes = f"{name}_bufferSize", "h i u i p i p a"
        scratch, count = operands.scratch(*sizes, handle, *shape)
        function = operands.function(name, "h i u i p i p p i p")
        function(handle, *shape, scratch.address, count, info)


@other("gesvd")
def gesvd(operands: Operands) -> None:
    """A = U diag(s) V^H, m >= n         arguments: m n A lda s U ldu VH ldv info"""
    call = operands.call
    m, n, lead = (int(call.arguments[k]) for k in (0, 1, 3))
    lead_u, lead_v = int(call.arguments[6]), int(call.arguments[8])
    handle, some = operands.handle("cusolver"), ord("S")
    for e in range(call.extent):
        a, s, u, v, info = [operands.address(k, e) for k in (2, 4, 5, 7, 9)]
        scratch, count = operands.scratch("cusolverDn?gesvd_bufferSize", "h i i a", handle, m, n)
        function = operands.function("cusolverDn?gesvd", "h b b i i p i p p i p i p i p p")
        function(
            handle, some, some, m, n, a, lead, s, u, lead_u, v, lead_v, scratch.address, count,
            None, info,
        )  # fmt: skip


@other("geqrf")
def geqrf(operands: Operands) -> None:
    """A = Q R, reflections below R         arguments: m n A lda tau info"""
    call = operands.call
    m, n, lead = (int(call.arguments[k]) for k in (0, 1, 3))
    handle = operands.handle("cusolver")
    for e in range(call.extent):
        a, tau, info = [operands.address(k, e) for k in (2, 4, 5)]
        sizes = "cusolverDn?geqrf_bufferSize", "h i i p i a"
        scratch, count = operands.scratch(*sizes, handle, m, n, a, lead)
        function = operands.function("cusolverDn?geqrf", "h i i p i p p i p")
        function(handle, m, n, a, lead, tau, scratch.address, count, info)


@other("orgqr")
def orgqr(operands: Operands) -> None:
    """Q of its reflections         arguments: m n k A lda tau info"""
    call = operands.call
    m, n, k, lead = (int(call.arguments[j]) for j in (0, 1, 2, 4))
    name = "cusolverDn?orgqr" if operands.dtype.kind == "f" else "cusolverDn?ungqr"
    handle = operands.handle("cusolver")
    for e in range(call.extent):
        a, tau, info = [operands.address(j, e) for j in (3, 5, 6)]
        shape = m, n, k, a, lead, tau
        scratch, count = operands.scratch(f"{name}_bufferSize", "h i i i p i p a", handle, *shape)
        function = operands.function(name, "h i i i p i p p i p")
        function(handle, *shape, scratch.address, count, info)


TRANSFORMS = {  # by the letter of the routine: cuFFT's number, and the name of the function
    ("fft", "c"): (0x29, "C2C"),
    ("fft", "z"): (0x69, "Z2Z"),
    ("rfft", "s"): (0x2A, "R2C"),
    ("rfft", "d"): (0x6A, "D2Z"),
    ("irfft", "s"): (0x2C, "C2R"),
    ("irfft", "d"): (0x6C, "Z2D"),
}


@other("fft")
@other("rfft")
@other("irfft")
def fft(operands: Operands) -> None:
    """Transforms of arrays in C order, without a factor.

    Arguments: lengths, how many, x, y, and for complex ones whether it is the inverse.
    """
    lengths, batch = operands.call.arguments[:2]
    kind, name = TRANSFORMS[operands.name, operands.letter]
    plan = operands.libraries.plan(operands.sweep, lengths, kind, batch, operands.stream)
    given: list[Any] = [operands.address(2), operands.address(3)]
    if operands.name == "fft":
        given.append(1 if operands.call.arguments[4] else -1)
    form = "i p p i" if operands.name == "fft" else "i p p"
    operands.libraries.function(f"cufftExec{name}", form)(plan, *given)
