"""cuBLAS, cuSOLVER and cuFFT that are none: the same functions, computed by SciPy on the host.

A function here has the name and the arguments of the one in C: addresses, numbers for flags,
leading dimensions of matrices in columns. It checks what it is called with against its own list of
C types, and does its work in the order of the stream that its handle is set to. The functions of
cuSOLVER refuse a stream from which a graph is recorded.
"""

import ctypes
import itertools

import numpy as np
from kernels_in_python import elements
from scipy import linalg
from scipy.linalg import blas, lapack

P, N, LL = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
DTYPES = {"S": "f4", "D": "f8", "C": "c8", "Z": "c16"}
OPERATIONS = {0: lambda a: a, 1: lambda a: a.T, 2: lambda a: a.conj().T}
SUCCESS, NOT_RECORDED = 0, 16


def matrix(address, rows, columns, lead, dtype):
    """The matrix in columns at an address; what is between its columns must stay as it is."""
    assert lead >= max(rows, 1), f"columns of {rows} entries, {lead} from one to the next"
    if not rows * columns:
        return np.empty((rows, columns), dtype, order="F")
    memory = elements(address, lead * (columns - 1) + rows, np.dtype(dtype))
    item = np.dtype(dtype).itemsize
    return np.lib.stride_tricks.as_strided(memory, (rows, columns), (item, lead * item))


def vector(address, n, step, dtype):
    memory = elements(address, abs(step) * (n - 1) + 1, np.dtype(dtype))
    return memory[::step]


def number(address, dtype):
    return elements(address, 1, np.dtype(dtype))[0]


def pointers(address, count):
    return [int(a) for a in elements(address, count, np.dtype(np.int64))]


class Function:
    """A function of a library, as ctypes would make it."""

    def __init__(self, function, types):
        self.function, self.types = function, types
        self.argtypes = self.restype = None

    def __call__(self, *arguments):
        assert self.argtypes == list(self.types), (self.function, self.argtypes, self.types)
        assert self.restype is ctypes.c_int
        assert len(arguments) == len(self.types)
        plain = [kind(a).value for kind, a in zip(self.types, arguments, strict=True)]
        return self.function(*plain)


class FakeLibraries:
    def __init__(self, device):
        self.device = device
        self.handles, self.plans, self.calls = {}, {}, []
        self.numbers = itertools.count(77)
        self.functions = {}
        for add in (self._common, self._products, self._factors, self._spectra, self._transforms):
            add()

    def library(self, name):
        found = {n: f for n, f in self.functions.items() if n.startswith(name)}
        return type(name, (), found)

    def _add(self, name, function, *types):
        self.functions[name] = Function(function, types)

    def _stream(self, handle):
        return self.device.streams[self.handles[handle]]

    def _later(self, name, handle, work, recorded=True):
        self.calls.append(name)
        stream = self._stream(handle)
        if not recorded and type(stream).__name__ == "Recording":
            return NOT_RECORDED
        stream.add(work)
        return SUCCESS

    # Handles.

    def _common(self):
        def create(at):
            assert not self.device.is_recording
            handle = next(self.numbers)
            self.handles[handle] = None
            elements(at, 1, np.dtype(np.int64))[0] = handle
            return SUCCESS

        def choose(handle, stream):
            assert stream in self.device.streams
            self.handles[handle] = stream
            return SUCCESS

        def destroy(handle):
            del self.handles[handle]
            return SUCCESS

        for names in (
            ("cublasCreate_v2", "cublasSetStream_v2", "cublasDestroy_v2"),
            ("cusolverDnCreate", "cusolverDnSetStream", "cusolverDnDestroy"),
        ):
            self._add(names[0], create, P)
            self._add(names[1], choose, P, P)
            self._add(names[2], destroy, P)

        def scratch(handle, address, size):
            self.device.check(address, size)
            return SUCCESS

        self._add("cublasSetWorkspace_v2", scratch, P, P, ctypes.c_size_t)

    # cuBLAS.

    def _products(self):
        for letter, d in DTYPES.items():
            self._gemm(letter, d)
            self._triangular(letter, d)
            self._vectors(letter, d)

    def _gemm(self, letter, d):
        def product(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
            x = OPERATIONS[ta](matrix(a, *((m, k) if ta == 0 else (k, m)), lda, d))
            y = OPERATIONS[tb](matrix(b, *((k, n) if tb == 0 else (n, k)), ldb, d))
            z = matrix(c, m, n, ldc, d)
            before = beta * z if beta else 0
            z[...] = alpha * (x @ y) + before

        def gemm(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc):
            f, g = number(alpha, d), number(beta, d)
            return self._later(
                "gemm", handle, lambda: product(ta, tb, m, n, k, f, a, lda, b, ldb, g, c, ldc)
            )

        def strided(
            handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, count
        ):
            f, g, item = number(alpha, d), number(beta, d), np.dtype(d).itemsize

            def work():
                for e in range(count):
                    at = [x + e * s * item for x, s in ((a, sa), (b, sb), (c, sc))]
                    product(ta, tb, m, n, k, f, at[0], lda, at[1], ldb, g, at[2], ldc)

            return self._later("gemmStridedBatched", handle, work)

        def batched(handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count):
            f, g = number(alpha, d), number(beta, d)

            def work():
                for x, y, z in zip(*[pointers(p, count) for p in (a, b, c)], strict=True):
                    product(ta, tb, m, n, k, f, x, lda, y, ldb, g, z, ldc)

            return self._later("gemmBatched", handle, work)

        head = [P, N, N, N, N, N, P]
        self._add(f"cublas{letter}gemm_v2", gemm, *head, P, N, P, N, P, P, N)
        self._add(
            f"cublas{letter}gemmStridedBatched",
            strided,
            *head,
            P,
            N,
            LL,
            P,
            N,
            LL,
            P,
            P,
            N,
            LL,
            N,
        )
        self._add(f"cublas{letter}gemmBatched", batched, *head, P, N, P, N, P, P, N, N)

    def _triangular(self, letter, d):
        solver = getattr(blas, f"{letter.lower()}trsm")

        def system(side, upper, o, unit, m, n, f, a, lda, b, ldb):
            size = n if side else m
            x = matrix(b, m, n, ldb, d)
            t = np.array(matrix(a, size, size, lda, d), order="F")
            x[...] = solver(f, t, x, side, not upper, o, unit)

        def trsm(handle, side, upper, o, unit, m, n, alpha, a, lda, b, ldb):
            f = number(alpha, d)
            return self._later(
                "trsm", handle, lambda: system(side, upper, o, unit, m, n, f, a, lda, b, ldb)
            )

        def batched(handle, side, upper, o, unit, m, n, alpha, a, lda, b, ldb, count):
            f = number(alpha, d)

            def work():
                for x, y in zip(pointers(a, count), pointers(b, count), strict=True):
                    system(side, upper, o, unit, m, n, f, x, lda, y, ldb)

            return self._later("trsmBatched", handle, work)

        def trsv(handle, upper, o, unit, n, a, lda, x, step):
            def work():
                values = vector(x, n, step, d)
                t = matrix(a, n, n, lda, d)
                values[...] = linalg.solve_triangular(
                    t, values, trans=o, lower=not upper, unit_diagonal=bool(unit)
                )

            return self._later("trsv", handle, work)

        head = [P, N, N, N, N, N, N, P, P, N, P, N]
        self._add(f"cublas{letter}trsm_v2", trsm, *head)
        self._add(f"cublas{letter}trsmBatched", batched, *head, N)
        self._add(f"cublas{letter}trsv_v2", trsv, P, N, N, N, N, P, N, P, N)

    def _vectors(self, letter, d):
        def gemv(handle, o, m, n, alpha, a, lda, x, step_x, beta, y, step_y):
            f, g = number(alpha, d), number(beta, d)

            def work():
                t = OPERATIONS[o](matrix(a, m, n, lda, d))
                out = vector(y, t.shape[0], step_y, d)
                before = g * out if g else 0
                out[...] = f * (t @ vector(x, t.shape[1], step_x, d)) + before

            return self._later("gemv", handle, work)

        def syrk(handle, upper, o, n, k, alpha, a, lda, beta, c, ldc):
            f, g = number(alpha, d), number(beta, d)

            def work():
                t = OPERATIONS[o](matrix(a, *((n, k) if o == 0 else (k, n)), lda, d))
                out = matrix(c, n, n, ldc, d)
                which = np.triu_indices(n) if upper else np.tril_indices(n)
                before = g * out[which] if g else 0
                out[which] = (f * (t @ t.T))[which] + before

            return self._later("syrk", handle, work)

        self._add(
            f"cublas{letter}gemv_v2",
            gemv,
            P,
            N,
            N,
            N,
            P,
            P,
            N,
            P,
            N,
            P,
            P,
            N,
        )
        self._add(f"cublas{letter}syrk_v2", syrk, P, N, N, N, N, P, P, N, P, P, N)

    # cuSOLVER, and the batched factorisations of cuBLAS.

    def _factors(self):
        for letter, d in DTYPES.items():
            self._lu(letter, d)
            self._cholesky(letter, d)
            self._reflections(letter, d)

    def _size(self, name, size, *types):
        def told(handle, *arguments):
            elements(arguments[-1], 1, np.dtype(np.int32))[0] = size
            return SUCCESS

        self._add(name, told, P, *types, P)

    def _scratch(self, address, size, d):
        self.device.check(address, size * np.dtype(d).itemsize)
        elements(address, size, np.dtype(d))[...] = np.nan

    def _lu(self, letter, d):
        factorise = getattr(lapack, f"{letter.lower()}getrf")
        solve = getattr(lapack, f"{letter.lower()}getrs")

        def factors(n, a, lda, pivots, info):
            t = matrix(a, n, n, lda, d)
            lu, exchanges, found = factorise(np.array(t, order="F"))
            t[...] = lu
            elements(pivots, n, np.dtype(np.int32))[...] = exchanges + 1
            elements(info, 1, np.dtype(np.int32))[0] = found

        def getrf(handle, m, n, a, lda, scratch, pivots, info):
            assert m == n

            def work():
                self._scratch(scratch, 5, d)
                factors(n, a, lda, pivots, info)

            return self._later("getrf", handle, work, recorded=False)

        def batched(handle, n, a, lda, pivots, info, count):
            def work():
                for e, x in enumerate(pointers(a, count)):
                    factors(n, x, lda, pivots + 4 * n * e, info + 4 * e)

            return self._later("getrfBatched", handle, work, recorded=False)

        def getrs(handle, o, n, k, a, lda, pivots, b, ldb, info):
            def work():
                lu = np.array(matrix(a, n, n, lda, d), order="F")
                exchanges = elements(pivots, n, np.dtype(np.int32)) - 1
                x = matrix(b, n, k, ldb, d)
                x[...], found = solve(lu, exchanges, np.array(x, order="F"), trans=o)
                elements(info, 1, np.dtype(np.int32))[0] = found

            return self._later("getrs", handle, work, recorded=False)

        self._size(f"cusolverDn{letter}getrf_bufferSize", 5, N, N, P, N)
        self._add(f"cusolverDn{letter}getrf", getrf, P, N, N, P, N, P, P, P)
        self._add(f"cublas{letter}getrfBatched", batched, P, N, P, N, P, P, N)
        self._add(f"cusolverDn{letter}getrs", getrs, P, N, N, N, P, N, P, P, N, P)

    def _reflections(self, letter, d):
        factorise = getattr(lapack, f"{letter.lower()}geqrf")
        name = "orgqr" if letter in "SD" else "ungqr"
        collect = getattr(lapack, f"{letter.lower()}{name}")

        def geqrf(handle, m, n, a, lda, tau, scratch, size, info):
            def work():
                self._scratch(scratch, size, d)
                t = matrix(a, m, n, lda, d)
                t[...], found, _, word = factorise(np.array(t, order="F"))
                elements(tau, min(m, n), np.dtype(d))[...] = found
                elements(info, 1, np.dtype(np.int32))[0] = word

            return self._later("geqrf", handle, work, recorded=False)

        def orgqr(handle, m, n, k, a, lda, tau, scratch, size, info):
            assert m >= n >= k

            def work():
                self._scratch(scratch, size, d)
                t = matrix(a, m, n, lda, d)
                reflections = np.array(t[:, :k], order="F")
                t[...], _, word = collect(reflections, elements(tau, k, np.dtype(d)))
                elements(info, 1, np.dtype(np.int32))[0] = word

            return self._later(name, handle, work, recorded=False)

        self._size(f"cusolverDn{letter}geqrf_bufferSize", 6, N, N, P, N)
        self._add(f"cusolverDn{letter}geqrf", geqrf, P, N, N, P, N, P, P, N, P)
        self._size(f"cusolverDn{letter}{name}_bufferSize", 4, N, N, N, P, N, P)
        self._add(f"cusolverDn{letter}{name}", orgqr, P, N, N, N, P, N, P, P, N, P)

    def _cholesky(self, letter, d):
        factorise = getattr(lapack, f"{letter.lower()}potrf")

        def factor(upper, n, a, lda, info):
            t = matrix(a, n, n, lda, d)
            found, word = factorise(np.array(t, order="F"), lower=not upper, clean=False)
            t[...] = found
            elements(info, 1, np.dtype(np.int32))[0] = word

        def potrf(handle, upper, n, a, lda, scratch, size, info):
            def work():
                self._scratch(scratch, size, d)
                factor(upper, n, a, lda, info)

            return self._later("potrf", handle, work, recorded=False)

        def batched(handle, upper, n, a, lda, info, count):
            def work():
                for e, x in enumerate(pointers(a, count)):
                    factor(upper, n, x, lda, info + 4 * e)

            return self._later("potrfBatched", handle, work, recorded=False)

        self._size(f"cusolverDn{letter}potrf_bufferSize", 7, N, N, P, N)
        self._add(f"cusolverDn{letter}potrf", potrf, P, N, N, P, N, P, N, P)
        self._add(f"cusolverDn{letter}potrfBatched", batched, P, N, N, P, N, P, N)

    def _spectra(self):
        for letter, d in DTYPES.items():
            self._evd(letter, d)
            self._svd(letter, d)

    def _evd(self, letter, d):
        def evd(handle, vectors, upper, n, a, lda, w, scratch, size, info):
            assert vectors == 1

            def work():
                self._scratch(scratch, size, d)
                t = matrix(a, n, n, lda, d)
                values, found = linalg.eigh(t, lower=not upper, driver="evd")
                t[...] = found
                elements(w, n, values.dtype)[...] = values
                elements(info, 1, np.dtype(np.int32))[0] = 0

            return self._later("evd", handle, work, recorded=False)

        name = f"cusolverDn{letter}{'syevd' if letter in 'SD' else 'heevd'}"
        self._size(f"{name}_bufferSize", 6, N, N, N, P, N, P)
        self._add(name, evd, P, N, N, N, P, N, P, P, N, P)

    def _svd(self, letter, d):
        def gesvd(handle, *given):
            jobs, (m, n, a, lda, s, u, ldu, v, ldv, scratch, size, more, info) = (
                given[:2],
                given[2:],
            )
            assert jobs == (83, 83)
            assert m >= n
            assert more is None

            def work():
                self._scratch(scratch, size, d)
                left, values, right = linalg.svd(
                    matrix(a, m, n, lda, d), full_matrices=False, lapack_driver="gesvd"
                )
                matrix(u, m, n, ldu, d)[...] = left
                matrix(v, n, n, ldv, d)[...] = right
                elements(s, n, values.dtype)[...] = values
                matrix(a, m, n, lda, d)[...] = np.nan
                elements(info, 1, np.dtype(np.int32))[0] = 0

            return self._later("gesvd", handle, work, recorded=False)

        B = ctypes.c_byte
        self._size(f"cusolverDn{letter}gesvd_bufferSize", 9, N, N)
        types = [P, B, B, N, N, P, N, P, P, N, P, N, P, N, P, P]
        self._add(f"cusolverDn{letter}gesvd", gesvd, *types)

    # cuFFT.

    def _transforms(self):
        def create(at):
            plan = next(self.numbers)
            self.plans[plan] = None
            elements(at, 1, np.dtype(np.int32))[0] = plan
            return SUCCESS

        def make(
            plan, rank, n, inembed, istride, idist, onembed, ostride, odist, kind, count, size
        ):
            assert inembed is None
            assert onembed is None
            lengths = tuple(int(k) for k in elements(n, rank, np.dtype(np.int64)))
            self.plans[plan] = lengths, kind, count
            elements(size, 1, np.dtype(np.int64))[0] = 0
            return SUCCESS

        def choose(plan, stream):
            self.handles["plan", plan] = stream
            return SUCCESS

        def destroy(plan):
            del self.plans[plan]
            self.handles.pop(("plan", plan), None)
            return SUCCESS

        def execute(name, plan, x, y, direction=None):
            lengths, kind, count = self.plans[plan]
            assert NAMES[kind] == name
            narrow = name in ("C2C", "R2C", "C2R")
            real, whole = ("f4", "c8") if narrow else ("f8", "c16")
            half = (*lengths[:-1], lengths[-1] // 2 + 1)
            axes = tuple(range(1, len(lengths) + 1))

            def at(address, d, shape):
                flat = elements(address, count * int(np.prod(shape)), np.dtype(d))
                return flat.reshape(count, *shape)

            def work():
                if name in ("C2C", "Z2Z"):
                    given, made = at(x, whole, lengths), at(y, whole, lengths)
                    if direction == -1:
                        made[...] = np.fft.fftn(given, axes=axes)
                    else:
                        assert direction == 1
                        made[...] = np.fft.ifftn(given, axes=axes, norm="forward")
                elif name in ("R2C", "D2Z"):
                    at(y, whole, half)[...] = np.fft.rfftn(at(x, real, lengths), axes=axes)
                else:
                    given = at(x, whole, half)
                    found = np.fft.irfftn(given, lengths, axes=axes, norm="forward")
                    at(y, real, lengths)[...] = found
                    given[...] = np.nan  # it may be overwritten

            return self._later(f"fft{name}", ("plan", plan), work, recorded=False)

        self._add("cufftCreate", create, P)
        types = [N, N, P, P, LL, LL, P, LL, LL, N, LL, P]
        self._add("cufftMakePlanMany64", make, *types)
        self._add("cufftSetStream", choose, N, P)
        self._add("cufftDestroy", destroy, N)
        for name in NAMES.values():
            more = [N] if name in ("C2C", "Z2Z") else []
            self._add(f"cufftExec{name}", lambda *a, name=name: execute(name, *a), N, P, P, *more)


NAMES = {0x29: "C2C", 0x69: "Z2Z", 0x2A: "R2C", 0x6A: "D2Z", 0x2C: "C2R", 0x6C: "Z2D"}
