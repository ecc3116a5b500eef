"""Programs that run tile by tile: by force, and where they pay."""

import numpy as np
import pytest
from hypothesis import given
from kernels_in_python import kernels_in_python
from programs_over_rows import PROGRAMS, SCALAR, arguments, layers, mixture, network, written
from random_programs import assert_same, near_a_jump, programs, rounding
from sweeps_of_examples import examples, inexact
from tiles_by_force import poison_tiles, tiles_in, tiles_of_rows

import linad
from linad.core import tree
from linad.core.settings import settings
from linad.sweeps.cpu import tile_programs
from linad.sweeps.cpu.target import CPU
from linad.transforms.simplify import simplify


def compiled(f, args, length):
    """The results of a function, and its program in tiles of a length."""
    y, tape = linad.trace(f, *args)
    with tiles_of_rows(length):
        program = CPU.compile(simplify(tape, for_programs=True))
        program.give_back(program.borrow())
    return tree.flatten(y)[0], program


def check(f, args, length, eps=2.3e-16):
    expected, program = compiled(f, args, length)
    with np.errstate(all="ignore"):
        for _ in range(2):
            poison_tiles(program)
            assert_same(program.run([np.array(a) for a in args]), expected, eps)
    return program


def gradient(f):
    return linad.value_and_grad(f, argnums=(0, 1, 2))


@pytest.mark.parametrize("f", PROGRAMS)
def test_tiles_by_force(f):
    with kernels_in_python():
        for n in (3, 4, 7, 8) if f is written else (4, 8):
            program = check(f, arguments(n), 3)
            assert tiles_in(program) or n < 4
        if f in SCALAR:
            assert tiles_in(check(gradient(f), arguments(7), 3))


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_other_dtypes(dtype):
    args = [a.astype(dtype) for a in arguments(9)]
    if dtype == "c16":
        args[2] = args[2] * (1 + 0.5j)

    def f(m, q, x):
        z = np.tanh(x @ q[0]) * m[0]
        return np.sum(z * np.conj(z), axis=1), np.sum(z, axis=0), z.T @ x

    with kernels_in_python():
        program = check(f, args, 4, np.finfo(dtype).eps)
    assert tiles_in(program)


FLOATS = programs(dtypes=["f8", "f8", "c16", "f4"], most=20)


def check_random(program, length):
    f, inputs = program
    with np.errstate(all="ignore"), linad.config(disconnected="ignore"):
        if near_a_jump(f, inputs) or not inexact(f(*inputs)):
            return

        def pulled(*given):
            y, pullback = linad.vjp(lambda *x: inexact(f(*x)), *given)
            return y, pullback([np.ones_like(v) * (1 + k) for k, v in enumerate(y)])

        _, tape = linad.trace(pulled, *inputs)
        check(pulled, inputs, length, rounding(tape))


@examples(15)
@given(FLOATS)
def test_random_programs(program):
    with kernels_in_python():
        check_random(program, 2)


@pytest.mark.full
@pytest.mark.parametrize("length", [1, 2, 3])
@examples(150)
@given(FLOATS)
def test_many_random_programs(length, program):
    with kernels_in_python():
        check_random(program, length)


def test_tiles_in_the_body_of_a_loop():
    def f(w, x):
        step = lambda k, w: w - 0.1 * (x.T @ (np.tanh(x @ w) * x))  # noqa: E731
        return np.sum(linad.fori_loop(0, 3, step, w) ** 2)

    _, q, x = arguments(9)
    with kernels_in_python(), tiles_of_rows(4):
        g = linad.jit(linad.value_and_grad(f, argnums=(0, 1)))
        for _ in range(2):
            found = g(q[0], x)
    expected = linad.value_and_grad(f, argnums=(0, 1))(q[0], x)
    assert_same(tree.flatten(found)[0], tree.flatten(expected)[0], 2.3e-16)


ROWS = 60_000


@pytest.fixture(scope="module")
def large():
    """A program that gains by tiles, and its arguments."""
    args = arguments(ROWS)
    f = linad.jit(gradient(layers))
    for _ in range(2):
        f(*args)
    [[variant]] = f.variants.values()
    return f, args, variant.compiled.program


def test_large_groups_run_tile_by_tile(large):
    f, args, program = large
    [call] = tiles_in(program)
    tiles = call.words[0].programs
    lengths = [p.tape.inputs[0].shape[0] for p in tiles]
    assert lengths[0] % tile_programs.UNIT == 0
    assert lengths[0] * (call.extent - 1) + lengths[1] == ROWS
    # All that is as long as the data is in the caller's arrays.
    assert program.lowering.arena_size < ROWS
    assert max([p.lowering.arena_size for p in tiles]) <= 2 * tile_programs.TILE_BYTES
    y, (dm, dq, dx) = f(*args)
    value, slopes = gradient(layers)(*args)
    assert y == pytest.approx(value, rel=1e-13)
    for a, b in zip((dm, dq, dx), slopes, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.max(np.abs(b)))


def test_the_number_of_threads_does_not_change_a_bit(large):
    f, args, program = large
    assert program.shared
    one = tree.flatten(f(*args))[0]
    for count in (2, 7, 1):
        with linad.config(threads=count):
            for a, b in zip(tree.flatten(f(*args))[0], one, strict=True):
                np.testing.assert_array_equal(a, b)
        # Each thread has a seat, and nobody has left one taken.
        [workspace] = program.pool
        assert workspace.threads >= count
        seats = workspace.inner[-1]
        assert seats[0] == workspace.threads
        assert not seats[3::8].any()


def test_a_report_has_the_steps_of_a_tile(large):
    f, args, program = large
    report = linad.explain(f)(*args)
    [step] = [s for s in report.steps if s.inner]
    [call] = tiles_in(program)
    assert [s.name for s in step.inner] == [
        i.label for i in call.words[0].programs[0].lowering.instructions
    ]
    assert f"{call.extent} tiles of " in str(report)
    assert "gemm" in str(report)
    # The data are read once, and a gradient as long is written.
    assert report.moved_bytes < 3 * args[2].nbytes


def plan(f, *args):
    _, tape = linad.trace(f, *args)
    return CPU.tiled(simplify(tape, for_programs=True), settings())


def normalised(x):
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.sum(np.tanh(z) * x)


WITHOUT = {
    "small": (gradient(mixture), lambda: arguments(1000)),
    "one loop": (lambda x: np.sum(np.exp(x) * np.sin(x)), lambda: (np.ones(2_000_000),)),
    "a product": (lambda a, b: np.tanh(a @ b), lambda: (np.ones((2000, 800)), np.ones((800, 800)))),
    "large totals": (
        lambda w, x: np.sum(np.tanh(x @ w) ** 2),
        lambda: (np.ones((700, 700)), np.ones((3000, 700))),
    ),
    "more kept than spared": (
        lambda x: tuple([np.exp(x * k) @ np.ones((2, 4)) for k in range(1, 5)]),
        lambda: (np.ones((100_000, 2)),),
    ),
    "copies alone": (
        linad.grad(normalised),
        lambda: (np.sin(np.arange(500_000.0)).reshape(-1, 10),),
    ),
    "small matrices read twice": (
        linad.grad(lambda a, b: np.sum(np.tanh(a @ b)), argnums=(0, 1)),
        lambda: (np.ones((9000, 5, 6)), np.ones((9000, 6, 3))),
    ),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_no_tiles_where_they_do_not_pay(name):
    f, make = WITHOUT[name]
    args = make()
    if name == "large totals":
        f = linad.grad(f)
    assert "tiles" not in [e.primitive.name for e in plan(f, *args).equations]


def turned(rows):
    """Points turned about axes, and seen by cameras: many short steps over narrow rows."""
    axis, point, lens = rows[:, :3], rows[:, 3:6], rows[:, 6:8]
    angle = np.sqrt(np.sum(axis * axis, axis=1, keepdims=True))
    k = axis / angle
    across = np.stack([k[:, i] * point[:, j] - k[:, j] * point[:, i] for i, j in CYCLE], axis=1)
    along = k * np.sum(k * point, axis=1, keepdims=True)
    seen = point * np.cos(angle) + across * np.sin(angle) + along * (1 - np.cos(angle))
    image = seen[:, :2] / seen[:, 2:3]
    return lens[:, :1] * image * (1 + lens[:, 1:] * np.sum(image * image, axis=1, keepdims=True))


CYCLE = ((1, 2), (2, 0), (0, 1))


def test_jacobians_of_narrow_rows_run_tile_by_tile():
    def blocks(rows, seeds):
        return linad.linearize(turned, rows)[1].pullback(seeds)

    seeds = np.zeros((2, 40_000, 2))
    seeds[0, :, 0] = seeds[1, :, 1] = 1
    rows = 2 + np.sin(np.arange(320_000.0)).reshape(40_000, 8)
    [tiles] = [e for e in plan(blocks, rows, seeds).equations if e.primitive.name == "tiles"]
    assert tiles.primitive.tiling.length % tile_programs.UNIT == 0


def test_networks_of_narrow_layers_run_tile_by_tile():
    assert "tiles" in [
        e.primitive.name for e in plan(gradient(network), *arguments(60_000)).equations
    ]


def test_a_tile_that_numpy_has_to_run_is_left_to_it():
    """What no kernel computes is not in a group; the groups around it are right."""

    def f(m, q, x):
        return np.sum(np.sort(np.exp(x @ q[0]), axis=1) * m[0], axis=1)

    with kernels_in_python():
        check(f, arguments(9), 4)


@pytest.mark.parametrize(
    "row, rows",
    [(4, 4096), (1024, 512), (4096, 128), (6000, 128), (8192, 128), (8200, 64), (16400, 0)],
)
def test_rows_of_a_tile(row, rows):
    """Half of a megabyte, and up to a megabyte for no more than 128 rows."""
    assert tile_programs.rows_that_fit(row * tile_programs.UNIT) == rows
