"""The same task in other libraries, each as it is meant to be used.

`prepared` returns a function of no arguments: compiled where the library compiles, with its
inputs converted beforehand, so that what is timed is the derivative and the library's own
result. A workload's function runs with a module in the place of NumPy.
"""

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .workload import Workload

PEERS = ("jax", "enzyme", "autograd", "casadi", "pytensor", "torch", "torch.compile")

PACKAGES = {"enzyme": "enzyme_ad", "torch.compile": "torch"}
"""What a peer is part of, where that has another name."""


def package_of(peer: str) -> str:
    return PACKAGES.get(peer, peer)


def installed(peer: str) -> bool:
    return importlib.util.find_spec(package_of(peer)) is not None


def prepared(peer: str, workload: Workload, task: str) -> Callable[[], Any] | None:
    """The task in a library, ready to be called; None where it is not to be had."""
    if peer in workload.without or not installed(peer):
        return None
    if (peer, task) in UNABLE:
        return None
    f = workload.forms.get(BASES.get(peer, peer), workload.function)
    return MAKERS[peer](f, task, workload.inputs(task), workload)


def _split(inputs: tuple[Any, ...], workload: Workload) -> tuple[Any, Any, Any]:
    """Active arguments, data, and tangents or a cotangent."""
    count, k = workload.function.__code__.co_argcount - 1, workload.active
    return inputs[:k], inputs[k:count], inputs[count:]


def _jax(f: Any, task: str, inputs: Any, workload: Workload) -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    f = partial(f, numpy=jax.numpy)
    inputs = tuple([jax.numpy.asarray(x) for x in inputs])
    active, data, more = _split(inputs, workload)
    numbers = tuple(range(workload.active))

    def of_active(data: Any) -> Any:
        return lambda *active: f(*active, *data)

    if task == "value":
        run = jax.jit(f)
        return lambda: jax.block_until_ready(run(*inputs))
    if task in ("gradient", "value_and_grad"):
        derive = jax.grad if task == "gradient" else jax.value_and_grad
        run = jax.jit(derive(f, argnums=numbers))
        return lambda: jax.block_until_ready(run(*inputs))
    if task == "jvp":
        run = jax.jit(lambda a, d, m: jax.jvp(of_active(d), a, m)[1])
    elif task == "vjp":
        run = jax.jit(lambda a, d, m: jax.vjp(of_active(d), *a)[1](*m))
    elif task == "hvp":
        run = jax.jit(lambda a, d, m: jax.jvp(jax.grad(of_active(d), argnums=numbers), a, m)[1])
    else:
        run = jax.jit(lambda a, d, m: jax.vmap(jax.vjp(of_active(d), *a)[1])(*m))
    return lambda: jax.block_until_ready(run(active, data, more))


def _enzyme(f: Any, task: str, inputs: Any, workload: Workload) -> Any:
    """JAX's program, differentiated by Enzyme in LLVM."""
    import jax
    from enzyme_ad.jax import enzyme_jax_ir

    jax.config.update("jax_enable_x64", True)
    inputs = tuple([jax.numpy.asarray(x) for x in inputs])
    active, data, more = _split(inputs, workload)
    count = len(active)

    @enzyme_jax_ir()
    def program(*given: Any) -> Any:
        return f(*given, numpy=jax.numpy)

    def of_active(data: Any) -> Any:
        return lambda *active: program(*active, *data)

    if task == "jvp":
        run = jax.jit(lambda a, d, m: jax.jvp(of_active(d), a, m)[1])
        return lambda: jax.block_until_ready(run(active, data, more))

    def pulled(a: Any, d: Any, m: Any) -> Any:
        y, pull = jax.vjp(of_active(d), *a)
        slopes = pull(*m) if m else pull(jax.numpy.ones_like(y))
        return (y, slopes) if task == "value_and_grad" else slopes[:count]

    run = jax.jit(pulled)
    return lambda: jax.block_until_ready(run(active, data, more))


def _autograd(f: Any, task: str, inputs: Any, workload: Workload) -> Any:
    import autograd
    import autograd.numpy

    f = partial(f, numpy=autograd.numpy)
    active, data, more = _split(inputs, workload)
    numbers = list(range(workload.active))

    def together(active: Any) -> Any:
        return f(*active, *data)

    if task == "value":
        return lambda: f(*inputs)
    if task == "gradient":
        run = autograd.grad(f, numbers)
        return lambda: run(*inputs)
    if task == "value_and_grad":
        both = autograd.value_and_grad(together)
        return lambda: both(active)
    if task == "jvp":
        forward = autograd.make_jvp(together)
        return lambda: forward(active)(more)[1]
    if task == "vjp":
        return lambda: autograd.make_vjp(together)(active)[0](*more)
    if task == "hvp":
        forward = autograd.make_jvp(autograd.grad(together))
        return lambda: forward(active)(more)[1]

    def blocks() -> Any:
        pull = autograd.make_vjp(together)(active)[0]
        return np.stack([pull(w)[0] for w in more[0]])

    return blocks


class _CasadiNumpy:
    """NumPy's names for CasADi's functions, as far as the workloads use them."""

    def __init__(self) -> None:
        import casadi

        self.casadi = casadi
        for name in ("sin", "cos", "exp", "log", "tanh", "sqrt"):
            setattr(self, name, getattr(casadi, name))
        self.maximum = casadi.fmax
        self.kron = casadi.kron

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        if axis == 1 and keepdims:
            return self.casadi.sum2(x)
        if axis is None:
            return self.casadi.sum1(self.casadi.vec(x))
        raise NotImplementedError("sum over an axis")

    def stack(self, rows: Any, axis: int = 0) -> Any:
        return self.casadi.vertcat(*rows) if axis == 0 else self.casadi.horzcat(*rows)


def _casadi(f: Any, task: str, inputs: Any, workload: Workload) -> Any:
    """A function of CasADi's, called through its buffers, which is its shortest way from NumPy."""
    import casadi

    f = partial(f, numpy=_CasadiNumpy())
    if task == "blocks":
        return _casadi_blocks(f, inputs)
    given = [np.asarray(x, float) for x in inputs]
    symbols = [casadi.MX.sym(f"x{k}", *x.shape) for k, x in enumerate(given)]
    active, data, more = _split(tuple(symbols), workload)
    y = f(*active, *data)
    if task == "value":
        results = [y]
    elif task in ("gradient", "value_and_grad"):
        results = [casadi.gradient(y, x) for x in active]
        results = [y, *results] if task == "value_and_grad" else results
    elif task == "jvp":
        results = [sum(casadi.jtimes(y, x, v) for x, v in zip(active, more, strict=True))]
    elif task == "vjp":
        results = [casadi.jtimes(y, x, more[0], True) for x in active]
    else:
        results = [casadi.jtimes(casadi.gradient(y, active[0]), active[0], more[0])]
    return _casadi_call(casadi.Function("derivative", symbols, results), given)


def _casadi_call(function: Any, given: list[np.ndarray]) -> Any:
    buffer, run = function.buffer()
    kept = [np.array(x, order="F") for x in given]
    for k, x in enumerate(kept):
        buffer.set_arg(k, memoryview(x.ravel("K")))
    out = [np.zeros(function.size_out(k), order="F") for k in range(function.n_out())]
    if any(function.sparsity_out(k).nnz() != x.size for k, x in enumerate(out)):
        raise NotImplementedError("a sparse result")
    for k, x in enumerate(out):
        buffer.set_res(k, memoryview(x.ravel("K")))

    # The other libraries take new numbers and return arrays of their own: so must this one.
    # CasADi does not keep the buffer alive for `run`: the default argument does.
    pairs = list(zip(kept, given, strict=True))

    def call(alive: Any = buffer) -> Any:
        for target, source in pairs:
            target[...] = source
        run()
        return [x.copy() for x in out]

    return call


def _casadi_blocks(f: Any, inputs: Any) -> Any:
    """One observation's block as a scalar program, mapped over all."""
    import casadi

    rows, data, seeds = inputs
    x, d = casadi.SX.sym("x", 1, rows.shape[1]), casadi.SX.sym("d", 1, data.shape[1])
    y = f(x, d)
    one = casadi.Function("block", [x.T, d.T], [casadi.densify(casadi.jacobian(y.T, x.T))])
    call = _casadi_call(one.map(len(rows)), [rows.T, data.T])
    shape = (len(rows), rows.shape[1], len(seeds))
    return lambda: call()[0].T.reshape(shape).transpose(2, 0, 1)


class _PytensorNumpy:
    """NumPy's names for PyTensor's functions, as far as the workloads use them."""

    def __init__(self) -> None:
        import pytensor.tensor as pt

        self.pt = pt
        self.linalg = pt.linalg
        self.kron = pt.linalg.kron

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pt, name)

    def logaddexp(self, a: Any, b: Any) -> Any:
        return self.pt.softplus(b - a) + a


def _pytensor(f: Any, task: str, inputs: Any, workload: Workload) -> Any:
    import pytensor
    import pytensor.tensor as pt

    f = partial(f, numpy=_PytensorNumpy())
    given = [np.asarray(x) for x in inputs]
    symbols = [pt.tensor(f"x{k}", dtype=x.dtype, shape=x.shape) for k, x in enumerate(given)]
    active, data, more = _split(tuple(symbols), workload)
    y = f(*active, *data)
    active, more = list(active), list(more)
    if task == "value":
        results = [y]
    elif task in ("gradient", "value_and_grad"):
        results = pytensor.grad(y, active)
        results = [y, *results] if task == "value_and_grad" else results
    elif task == "jvp":
        results = [pytensor.gradient.pushforward(y, active, more)]
    elif task == "vjp":
        results = pytensor.gradient.pullback(y, active, more[0])
    elif task == "hvp":
        slopes = pytensor.grad(y, active)
        inner = sum([pt.sum(g * v) for g, v in zip(slopes, more, strict=True)])
        results = pytensor.grad(inner, active)
    else:
        rows = [pytensor.gradient.pullback(y, active, more[0][k])[0] for k in range(len(given[-1]))]
        results = [pt.stack(rows)]
    results = results if isinstance(results, list) else [results]
    run = pytensor.function(symbols, results, trust_input=True, on_unused_input="ignore")
    return lambda: run(*given)


class _TorchNumpy:
    """NumPy's names for PyTorch's functions, as far as the workloads use them."""

    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.linalg = torch.linalg
        self.swapaxes = torch.swapaxes

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def eye(self, n: int) -> Any:
        return self.torch.eye(n, dtype=self.torch.float64)

    def max(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return x.max() if axis is None else self.torch.amax(x, axis, keepdims)

    def sum(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return x.sum() if axis is None else x.sum(axis, keepdims)

    def maximum(self, x: Any, y: float) -> Any:
        return self.torch.clamp(x, min=y)

    def logaddexp(self, a: float, b: Any) -> Any:
        return self.torch.logaddexp(self.torch.full_like(b, a), b)

    def pad(self, x: Any, width: int, mode: str) -> Any:
        return self.torch.nn.functional.pad(x, (width,) * 4, mode)

    def concatenate(self, parts: Any, axis: int = 0) -> Any:
        return self.torch.cat([self.torch.as_tensor(p) for p in parts], dim=axis)

    def stack(self, parts: Any, axis: int = 0) -> Any:
        return self.torch.stack(list(parts), dim=axis)


def _torch(f: Any, task: str, inputs: Any, workload: Workload) -> Any:
    """Eager, on one thread, as everything here."""
    import torch

    torch.set_num_threads(1)
    f = partial(f, numpy=_TorchNumpy())
    inputs = tuple([torch.as_tensor(x) for x in inputs])
    active, data, more = _split(inputs, workload)

    def fresh() -> Any:
        return [a.detach().requires_grad_() for a in active]

    if task == "value":
        return lambda: f(*inputs)
    if task in ("gradient", "value_and_grad"):

        def gradient() -> Any:
            leaves = fresh()
            y = f(*leaves, *data)
            slopes = torch.autograd.grad(y, leaves)
            return slopes if task == "gradient" else (y.detach(), slopes)

        return gradient
    if task == "jvp":
        return lambda: torch.func.jvp(lambda *a: f(*a, *data), active, more)[1]
    if task == "vjp":

        def vjp() -> Any:
            leaves = fresh()
            return torch.autograd.grad(f(*leaves, *data), leaves, more[0])

        return vjp
    if task == "hvp":

        def hvp() -> Any:
            leaves = fresh()
            slopes = torch.autograd.grad(f(*leaves, *data), leaves, create_graph=True)
            return torch.autograd.grad(slopes, leaves, more)

        return hvp

    def blocks() -> Any:
        leaves = fresh()
        y = f(*leaves, *data)
        rows = [torch.autograd.grad(y, leaves, w, retain_graph=True)[0] for w in more[0]]
        return torch.stack(rows)

    return blocks


def _torch_compiled(f: Any, task: str, inputs: Any, workload: Workload) -> Any:
    """The derivative by `torch.func` as one program of `torch.compile`."""
    import torch
    from torch import func

    torch.set_num_threads(1)
    torch.compiler.reset()  # it counts how often a line is compiled, for all workloads together
    f = partial(f, numpy=_TorchNumpy())
    given = _split(tuple([torch.as_tensor(x) for x in inputs]), workload)
    numbers = tuple(range(workload.active))

    def of_active(data: Any) -> Any:
        return lambda *active: f(*active, *data)

    def value_and_grad(a: Any, d: Any, m: Any) -> Any:
        slopes, y = func.grad_and_value(of_active(d), numbers)(*a)
        return y, slopes

    derivatives = {
        "value": lambda a, d, m: f(*a, *d),
        "gradient": lambda a, d, m: func.grad(of_active(d), numbers)(*a),
        "value_and_grad": value_and_grad,
        "jvp": lambda a, d, m: func.jvp(of_active(d), a, m)[1],
        "vjp": lambda a, d, m: func.vjp(of_active(d), *a)[1](*m),
        "hvp": lambda a, d, m: func.jvp(func.grad(of_active(d), numbers), a, m)[1],
        "blocks": lambda a, d, m: torch.vmap(func.vjp(of_active(d), *a)[1])(*m)[0],
    }
    run = torch.compile(derivatives[task], fullgraph=True, dynamic=False)
    return lambda: run(*given)


MAKERS = {
    "jax": _jax,
    "enzyme": _enzyme,
    "autograd": _autograd,
    "casadi": _casadi,
    "pytensor": _pytensor,
    "torch": _torch,
    "torch.compile": _torch_compiled,
}

BASES = {"enzyme": "jax", "torch.compile": "torch"}
"""Peers that take the function as another one does."""

UNABLE = {("enzyme", "hvp"), ("enzyme", "blocks")}
"""What a peer has not: Enzyme's primitive is neither differentiated twice nor batched."""
