"""Programs on a real GPU, compared with the CPU; and how fast they are.

    python tests/on_device.py [--dry] [--short]

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
import threading
import time
import tracemalloc

import numpy as np
from device_programs import CASES

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
    found, start = [], threading.Barrier(2)

    def work():
        start.wait()
        for _ in range(10):
            found.append(fetched(f(*there([x]))))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same = all([equal_bits(r, first) for r in found])
    say("two streams give the same bits", same and len(found) == 20)


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
        say(f"chain of {n:>9}: {1e6 * ours:10.1f} us, {copy / ours:.2f} of a copy's bandwidth")
        cupy = of_others("cupy")
        if cupy is not None and not dry:
            say(
                f"  CuPy {cupy.__version__}, fused: {chain_in_cupy(cupy, x) / ours:.2f} of our time"
            )


def chain_in_cupy(cupy, x):
    y = cupy.from_dlpack(x)
    fused = cupy.fuse(lambda x: cupy.sin(x) * cupy.exp(-x) + x)
    return seconds(lambda: fused(y), cupy.cuda.get_current_stream().synchronize)


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
        f"logistic {n} x 20": (
            linad.value_and_grad(logistic),
            "logistic",
            [RNG.normal(size=20), RNG.normal(size=(n, 20))],
        ),
        f"oscillators, {n // 100}": (
            linad.value_and_grad(oscillators),
            None,
            [RNG.normal(size=n // 100), np.abs(RNG.normal(size=n // 100))],
        ),
    }
    jax, torch = (None if dry else of_others(library) for library in ("jax", "torch"))
    for name, (f, function, args) in cases.items():
        g, moved = linad.jit(f), there(args)
        g(*moved)
        ours = seconds(lambda g=g, moved=moved: g(*moved), device_sync(device))
        say(f"{name:<24}{1e3 * ours:10.3f} ms")
        if jax is not None and function is not None:
            theirs = gradient_in_jax(jax, function, args)
            say(f"  JAX {jax.__version__}: {theirs / ours:.2f} of our time")
        if torch is not None and function is not None:
            theirs = gradient_in_torch(torch, function, args)
            say(f"  PyTorch {torch.__version__}: {theirs / ours:.2f} of our time")


def gradient_in_jax(jax, function, args):
    jax.config.update("jax_enable_x64", True)
    loss = losses_in(jax.numpy, lambda a, axis: jax.numpy.sum(a, axis))[function]
    f = jax.jit(jax.value_and_grad(loss))
    given = [jax.numpy.asarray(a) for a in args]
    return seconds(lambda: jax.block_until_ready(f(*given)), lambda: None)


def gradient_in_torch(torch, function, args):
    loss = losses_in(torch, torch.sum)[function]
    f = torch.compile(torch.func.grad_and_value(loss))
    given = [torch.from_numpy(a).cuda() for a in args]
    return seconds(lambda: f(*given), torch.cuda.synchronize)


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
    f = linad.jit(lambda x: np.cumsum(x) * 2 + np.roll(x, 1))
    x = linad.cuda.asarray(np.ones(8))
    f(x)
    say(f"a call of a small program: {1e6 * seconds(lambda: f(x), device_sync(device)):.1f} us")


def run(dry, short):
    device = target_here().device
    say(f"linad {linad.__version__} on {type(device).__name__}: equal to the CPU, to rounding?")
    for name, (f, *args) in programs().items():
        compare(name, f, args)
    two_streams()
    leaks(device, 20 if dry or short else 100_000)
    if not short:
        overhead(device)
        chain(device, dry)
        gradients(device, dry)
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
