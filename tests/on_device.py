"""Programs on a real GPU, compared with the CPU; and how fast they are.

    python tests/on_device.py [--dry] [--short]

It takes some minutes; each of its parts says how long it took.

Run it on a machine with a GPU and ``pip install 'linad[cuda,cuda-libs]'``, from this repository.
``--short`` leaves the times out, for NVIDIA's checkers, which are then to say nothing:

    compute-sanitizer --tool memcheck python tests/on_device.py --short
    compute-sanitizer --tool initcheck python tests/on_device.py --short

``--dry`` runs the same on the device of the tests, which is the host, with small sizes: it shows
that the script is sound, and no more. This script has never run on a GPU.
"""

import contextlib
import gc
import importlib
import sys
import time
import tracemalloc

import numpy as np
from device_programs import CASES
from grid_examples import A, B, C, gradient as gradient_on_a_grid
from together import together

import linad
from linad.core import tree
from linad.sweeps.cuda.opening import target_here

DRY, SHORT = "--dry", "--short"
RNG = np.random.default_rng(0)
FAILED = []


def say(text, sound=True):
    print(f"{'   ' if sound else '!! '}{text}", flush=True)
    if not sound:
        FAILED.append(text)


def fetched(y):
    return [np.asarray(a.numpy() if hasattr(a, "numpy") else a) for a in tree.flatten(y)[0]]


def environment(device):
    """What the figures are of."""
    say(f"linad {linad.__version__}, NumPy {np.__version__}, on {device_name(device)}")
    for name in ("cupy", "jax", "torch"):
        library = of_others(name)
        say(f"{name}: {'not installed' if library is None else library.__version__}")


def device_name(device):
    known = getattr(device, "device", None)
    if known is None:
        return f"{type(device).__name__}, which is the host"
    return f"{known.name}, compute capability {'.'.join(map(str, device.capability))}"


def there(args):
    return [linad.cuda.asarray(a) for a in args]


def distance(found, expected):
    """The largest error, in units of rounding of the largest entry."""
    worst = 0.0
    for a, b in zip(found, expected, strict=True):
        b = np.asarray(b)
        if a.dtype.kind in "fc" and a.size:
            scale = np.max(np.abs(b)) or 1.0
            worst = max(worst, np.max(np.abs(a - b)) / scale / np.finfo(a.dtype).eps)
        elif not np.array_equal(a, b):
            return np.inf
    return worst


def equal_bits(a, b):
    return [x.tobytes() for x in a] == [x.tobytes() for x in b]


def narrow(a):
    return a.astype({"f": np.float32, "c": np.complex64}.get(a.dtype.kind, a.dtype))


# Programs.


def network(w, v, x):
    return np.mean((np.tanh(np.tanh(x @ w) @ v)) ** 2)


def mixture(m, s, x):
    d = (x[:, None] - m) * np.exp(-s)
    return -np.sum(np.log(np.sum(np.exp(-0.5 * d * d - s), axis=1)))


def logistic(w, x):
    return np.sum(np.log1p(np.exp(-(x @ w))))


def logistic_product(w, x):
    """A Hessian times a vector, as the gradient of a slope."""
    return linad.grad(lambda w: np.vdot(linad.grad(logistic)(w, x), w[::-1]))(w)


def likelihood(a, b):
    k = a @ a.T + 3 * np.eye(len(a), dtype=a.dtype)
    return 0.5 * b @ np.linalg.solve(k, b) + np.sum(np.log(np.diagonal(np.linalg.cholesky(k))))


def oscillators(u, mu, steps=200):
    """An ensemble of van der Pol oscillators by Runge's midpoint rule, one a lane."""

    def rate(x, v):
        return v, mu * (1 - x * x) * v - x

    def step(_, state):
        x, v = state
        h = x.dtype.type(0.01)
        dx, dv = rate(x, v)
        dx, dv = rate(x + h / 2 * dx, v + h / 2 * dv)
        return x + h * dx, v + h * dv

    x, _ = linad.fori_loop(0, steps, step, (u, u * 0))
    return np.sum(x * x)


def spectrum(a, x):
    w, v = np.linalg.eigh(a + a.T)
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return w, np.abs(v), s, np.abs(np.fft.fft(x)), np.fft.irfft(np.fft.rfft(x))


def programs():
    n = lambda *shape: RNG.normal(size=shape)  # noqa: E731
    grad = linad.grad
    found = dict(CASES)
    found |= {
        "network, gradient": (grad(network, argnums=(0, 1)), n(8, 16), n(16, 3), n(50, 8)),
        "mixture, gradient": (grad(mixture, argnums=(0, 1)), n(5), 0.1 * n(5), n(500)),
        "logistic, product": (logistic_product, n(4), n(300, 4)),
        "likelihood, gradient": (grad(likelihood, argnums=(0, 1)), n(12, 12), n(12)),
        "oscillators, gradient": (grad(oscillators), n(64), np.abs(n(64))),
        "spectrum": (spectrum, n(6, 6), n(6, 8)),
    }
    return found


def compare(name, f, args):
    for dtype in ("f8", "f4"):
        given = args if dtype == "f8" else [narrow(a) for a in args]
        with np.errstate(all="ignore"):
            expected = [np.asarray(a) for a in tree.flatten(linad.jit(f)(*given))[0]]
        g = linad.jit(f)
        moved = there(given)
        runs = [fetched(g(*moved)) for _ in range(3)]
        error = distance(runs[0], expected)
        say(f"{name:<24}{dtype}  {error:9.1f} units of rounding", error < 2e4)
        same = all(
            a.tobytes() == b.tobytes() for r in runs for a, b in zip(r, runs[0], strict=True)
        )
        if not same:
            say(f"{name:<24}{dtype}  two runs differ", sound=False)


def two_streams():
    """Two threads have a workspace, and a stream, each."""
    f = linad.jit(lambda x: (np.sin(x) @ np.cos(x).T, np.sum(x)))
    x = RNG.normal(size=(40, 40))
    first = fetched(f(*there([x])))
    found = together(2, lambda _: [fetched(f(*there([x]))) for _ in range(10)])
    same = all([equal_bits(r, first) for results in found for r in results])
    say("two streams give the same bits", same)


def one_thread_and_many(device):
    """The same kernels as one thread, and as many as there are."""

    def f(x):
        return (
            np.sum(np.sin(x) * x),
            np.cumsum(x[:100]),
            linad.grad(lambda x: x[[0, 0, 1]] @ x[:3])(x),
        )

    x = RNG.normal(size=300 if hasattr(device, "live") else 50_000)
    many = fetched(linad.jit(f)(*there([x])))
    with alone(device):
        one = fetched(linad.jit(lambda x: f(x))(*there([x])))
    say("one thread and many give the same bits", equal_bits(one, many))


@contextlib.contextmanager
def alone(device):
    """Within, kernels are made for one thread, and launched as one."""
    names = ("threads",) if hasattr(device, "live") else ("blocks", "block")
    before = {name: getattr(device, name) for name in names}
    for name in names:
        setattr(device, name, 1)
    try:
        yield
    finally:
        for name in names:
            setattr(device, name, before[name])


def in_place(device):
    """A kernel of numba.cuda's and its rules: right, and no new memory after the first call."""
    expected = fetched(gradient_on_a_grid("sums")(C, A, B))
    f, moved = linad.jit(gradient_on_a_grid("sums")), there([C, A, B])
    error = distance(fetched(f(*moved)), expected)
    allocated = []
    allocate = device.allocate

    def counted(size, stream):
        allocated.append(size)
        return allocate(size, stream)

    device.allocate = counted
    try:
        for _ in range(3):
            f(*moved)
    finally:
        device.allocate = allocate
    say(f"kernels of numba.cuda {error:17.1f} units of rounding", error < 2e4)
    more = len(allocated) - 3 * 3  # three results a call
    say(f"in-place rules: {more} allocations beside results, after the first call", more == 0)


def bytes_of_the_device(device):
    if hasattr(device, "live"):
        from fake_device import bytes_in_use

        return bytes_in_use(device)
    attributes = device.device.memory_resource.attributes
    return attributes.used_mem_current


def leaks(device, calls):
    f = linad.jit(lambda x: (np.sin(x) * 2, np.sum(x)))
    x = linad.cuda.asarray(RNG.normal(size=1000))
    for _ in range(10):
        f(x)
    gc.collect()
    device.synchronize(target_here().door)
    before = bytes_of_the_device(device)
    tracemalloc.start()
    held = tracemalloc.get_traced_memory()[0]
    for _ in range(calls):
        f(x)
    gc.collect()
    device.synchronize(target_here().door)
    grown = bytes_of_the_device(device) - before
    more = tracemalloc.get_traced_memory()[0] - held
    tracemalloc.stop()
    say(f"{calls} calls: {grown} bytes of the device more, {more} of the host", grown <= 0)


# Times.


def seconds(do, wait):
    """Of one call, the best of five rounds."""
    do()
    wait()
    best, count = np.inf, 1
    while True:
        start = time.perf_counter()
        for _ in range(count):
            do()
        wait()
        spent = time.perf_counter() - start
        if spent > 0.05:
            break
        count *= 2
    for _ in range(4):
        start = time.perf_counter()
        for _ in range(count):
            do()
        wait()
        best = min(best, (time.perf_counter() - start) / count, spent / count)
    return best


def of_others(name):
    """A library that is installed, or None."""
    with contextlib.suppress(ImportError):
        return importlib.import_module(name)
    return None


def chain(device, dry):
    """Against a copy within the device; a chain reads and writes as much."""
    door = target_here().door
    for n in [1000] if dry else [10**k for k in range(3, 9)]:
        x = linad.cuda.asarray(RNG.normal(size=n))
        f = linad.jit(lambda x: np.sin(x) * np.exp(-x) + x)
        f(x)
        memory = device.allocate(x.nbytes, door)
        ours = seconds(lambda f=f, x=x: f(x), device_sync(device))
        copy = seconds(
            lambda m=memory, x=x: device.copy(m.address, x._memory.address, x.nbytes, door),
            device_sync(device),
        )
        share = copy / ours
        text = f"chain of {n:>9}: {1e6 * ours:10.1f} us, {share:.2f} of a copy's bandwidth"
        say(text, n < 10**7 or share >= 0.8)
        compare_times(ours, CHAINS, dry, x)


def chain_in_cupy(cupy, x):
    y = cupy.from_dlpack(x)
    fused = cupy.fuse(lambda x: cupy.sin(x) * cupy.exp(-x) + x)
    return seconds(lambda: fused(y), cupy.cuda.get_current_stream().synchronize)


def chain_in_jax(jax, x):
    jax.config.update("jax_enable_x64", True)
    y = jax.dlpack.from_dlpack(x)
    f = jax.jit(lambda x: jax.numpy.sin(x) * jax.numpy.exp(-x) + x)
    return seconds(lambda: f(y), lambda: jax.block_until_ready(f(y)))


def chain_in_torch(torch, x):
    y = torch.from_dlpack(x)
    f = torch.compile(lambda x: torch.sin(x) * torch.exp(-x) + x)
    return seconds(lambda: f(y), torch.cuda.synchronize)


CHAINS = {"cupy": chain_in_cupy, "jax": chain_in_jax, "torch": chain_in_torch}


def device_sync(device):
    def wait():
        if hasattr(device, "device"):
            device.device.sync()
        else:
            for stream in list(device.streams.values()):
                stream.run_until(stream.asked)

    return wait


def gradients(device, dry):
    n = 200 if dry else 10_000_000
    size = 32 if dry else 1024
    cases = {
        f"network, {size} wide": (
            linad.value_and_grad(network),
            "network",
            [RNG.normal(size=s) for s in ((size, size), (size, 10), (4 * size, size))],
        ),
        f"mixture of {n // 10}": (
            linad.value_and_grad(mixture),
            "mixture",
            [RNG.normal(size=10), 0.1 * RNG.normal(size=10), RNG.normal(size=n // 10)],
        ),
        f"logistic, {n} x 20": (
            linad.value_and_grad(logistic),
            "logistic",
            [RNG.normal(size=20), RNG.normal(size=(n, 20))],
        ),
        f"its Hessian, {n} x 20": (
            logistic_product,
            "product",
            [RNG.normal(size=20), RNG.normal(size=(n, 20))],
        ),
        f"oscillators, {n // 100}": (
            linad.value_and_grad(oscillators),
            None,
            [RNG.normal(size=n // 100), np.abs(RNG.normal(size=n // 100))],
        ),
    }
    for name, (f, function, args) in cases.items():
        g, moved = linad.jit(f), there(args)
        g(*moved)
        ours = seconds(lambda g=g, moved=moved: g(*moved), device_sync(device))
        say(f"{name:<24}{1e3 * ours:10.3f} ms")
        if function is not None:
            compare_times(ours, OTHERS, dry, function, args)


def compare_times(ours, others, dry, *what):
    """Say what the same takes in the libraries that are installed, in units of our time."""
    for library, measure in others.items():
        module = None if dry else of_others(library)
        if module is not None:
            theirs = measure(module, *what)
            say(f"  {library} {module.__version__}: {theirs / ours:.2f} of our time")


def time_in_jax(jax, function, args):
    jax.config.update("jax_enable_x64", True)
    given = [jax.numpy.asarray(a) for a in args]
    losses = losses_in(jax.numpy, lambda a, axis: jax.numpy.sum(a, axis))
    if function == "product":
        slope = jax.grad(losses["logistic"])
        f = jax.jit(lambda w, x: jax.jvp(lambda w: slope(w, x), (w,), (w[::-1],))[1])
    else:
        f = jax.jit(jax.value_and_grad(losses[function]))
    return seconds(lambda: jax.block_until_ready(f(*given)), lambda: None)


def time_in_torch(torch, function, args):
    given = [torch.from_numpy(a).cuda() for a in args]
    losses = losses_in(torch, torch.sum)
    if function == "product":
        slope = torch.func.grad(losses["logistic"])
        f = torch.compile(lambda w, x: torch.func.jvp(lambda w: slope(w, x), (w,), (w.flip(0),))[1])
    else:
        f = torch.compile(torch.func.grad_and_value(losses[function]))
    return seconds(lambda: f(*given), torch.cuda.synchronize)


OTHERS = {"jax": time_in_jax, "torch": time_in_torch}


def losses_in(library, sum_along):
    """The losses of this file in the functions of another library."""

    def network(w, v, x):
        return library.mean(library.tanh(library.tanh(x @ w) @ v) ** 2)

    def mixture(m, s, x):
        d = (x[:, None] - m) * library.exp(-s)
        return -library.sum(library.log(sum_along(library.exp(-0.5 * d * d - s), 1)))

    def logistic(w, x):
        return library.sum(library.log1p(library.exp(-(x @ w))))

    return {"network": network, "mixture": mixture, "logistic": logistic}


def overhead(device):
    """Of a program of three kernels: a running sum, an order, and what is made of them."""
    f = linad.jit(lambda x: np.cumsum(x) * 2 + np.roll(x, 1))
    x = linad.cuda.asarray(np.ones(8))
    f(x)
    took = 1e6 * seconds(lambda: f(x), device_sync(device))
    say(f"a call of a small program: {took:.1f} us (at most 15 are wanted)")


def run(dry, short):
    device = target_here().device
    environment(device)
    parts = {
        "programs, equal to the CPU": lambda: [
            compare(name, f, args) for name, (f, *args) in programs().items()
        ],
        "streams": two_streams,
        "threads": lambda: one_thread_and_many(device),
        "rules in place": lambda: in_place(device),
        "calls": lambda: leaks(device, 20 if dry or short else 100_000),
    }
    if not short:
        parts |= {
            "overhead": lambda: overhead(device),
            "chains": lambda: chain(device, dry),
            "derivatives": lambda: gradients(device, dry),
        }
    for name, part in parts.items():
        started = time.perf_counter()
        part()
        say(f"{name}: {time.perf_counter() - started:.0f} s")
    say(f"{len(FAILED)} failed", not FAILED)
    return len(FAILED)


def main(options):
    if DRY not in options:
        return run(False, SHORT in options)
    from fake_device import fake_gpu

    with fake_gpu():
        return run(True, SHORT in options)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
