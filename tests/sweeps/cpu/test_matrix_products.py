"""Matrix products by BLAS against NumPy: every layout, dtype and stack, in poisoned memory."""

import numpy as np
import pytest
from compiled_runs import check_compiled

DTYPES = {"d": 1e-12, "f": 1e-4, "D": 1e-12, "F": 1e-4}
SHAPES = [
    ((16, 32), (32, 8)),
    ((2, 3), (3, 4)),
    ((5, 7), (7,)),
    ((7,), (7, 5)),
    ((50, 9), (9,)),
    ((70,), (70,)),
    ((1, 40), (40, 5)),
    ((40, 3), (3, 1)),
    ((50, 1), (1, 50)),
    ((1, 1), (1, 1)),
    ((3, 40, 5), (5, 40)),
    ((40, 5), (3, 5, 1)),
    ((2, 1, 9, 8), (3, 8, 7)),
    ((2, 3, 9, 8), (8, 1)),
    ((1, 9, 8), (8, 7)),
    ((3, 9, 8), (1, 8, 7)),
    ((6, 2, 2), (6, 2, 1)),
    ((2, 2), (5, 2, 3)),
    ((20, 3, 3), (20, 3, 3)),
    ((2, 9, 4, 2), (9, 2, 5)),
    ((20, 1, 8), (20, 8, 1)),
    ((4, 0), (0, 3)),
    ((0, 4), (4, 3)),
    ((2, 0, 4), (4, 3)),
    ((0,), (0,)),
]
LAYOUTS = {
    "transposed first": lambda a: a.T @ a,
    "by itself": lambda a: a @ a.T,
    "transposed by itself": lambda a: a[:, ::-1].T @ a[:, ::-1],
    "with gaps": lambda a: a[::2, ::3] @ a[::2, ::3].T,
    "upside down": lambda a: a[::-1].T @ a,
    "backward": lambda a: a[:, ::-1] @ a.T,
    "row of a matrix": lambda a: a @ a[0],
    "backward vector": lambda a: a @ a[1, ::-1],
    "column": lambda a: a.T @ a[::-1, 3],
    "vector with gaps": lambda a: a[3, ::2] @ a[:, 1::2].T,
    "block": lambda a: a[5:25, 3:9] @ a[2:8, 4:14],
    "small block": lambda a: a[:2, :3] @ a[:3, 5:7],
    "stack, transposed": lambda a: a.reshape(5, 6, 20).swapaxes(1, 2) @ a.reshape(5, 6, 20),
    "stack, permuted": lambda a: a.reshape(5, 6, 20).transpose(1, 0, 2) @ a.T,
    "small stack": lambda a: a.reshape(150, 2, 2)[::3] @ a.reshape(150, 2, 2)[::-3, :, ::-1],
    "small stack of products": lambda a: (
        a.reshape(150, 2, 2).swapaxes(1, 2) @ a.reshape(150, 4)[:, :2, None]
    ),
    "row": lambda a: a[:1] @ a.T,
    "repeated row": lambda a: np.broadcast_to(a[0], (30, 20)) @ a.T,
    "repeated number": lambda a: a @ np.broadcast_to(a[0, 0], (20,)),
    "repeated matrix": lambda a: np.broadcast_to(a, (3, 30, 20)) @ a.T,
}


def normal(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


@pytest.mark.parametrize(
    "dtype", [d if d in "fD" else pytest.param(d, marks=pytest.mark.full) for d in DTYPES]
)
def test_shapes(dtype):
    for a, b in SHAPES:
        check_compiled(np.matmul, normal(a, dtype), normal(b, dtype), rtol=DTYPES[dtype])


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_are_flags_or_copies(layout, dtype):
    done = check_compiled(LAYOUTS[layout], normal((30, 20), dtype), rtol=DTYPES[dtype])
    if layout in ("transposed first", "row of a matrix", "block", "column", "row"):
        assert len(done) == 1


def test_dtypes_meet():
    a, b = normal((6, 7), "f"), normal((7, 5), "D")
    check_compiled(lambda a, b: [a @ b, a @ b.real, b.T @ a.T, (a > 0) @ b], a, b, rtol=1e-5)


def test_half_the_work_for_a_product_with_itself():
    a = normal((40, 30), "d")
    assert check_compiled(lambda a: a @ a.T, a) == ["syrk", "mirror"]
    assert check_compiled(lambda a: a.T @ a, a) == ["syrk", "mirror"]


def test_a_stack_times_a_matrix_is_one_product():
    a, b = normal((3, 40, 5), "d"), normal((5, 40), "d")
    assert check_compiled(np.matmul, a, b) == ["gemm"]
    assert check_compiled(lambda a, v: a @ v[..., None], b, normal((9, 40), "d")) == ["gemm"]


def test_special_values_pass_through():
    a = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, 0.0]] * 9)
    b = np.array([[1.0, 2.0], [0.0, 1.0], [np.inf, 3.0]])
    check_compiled(np.matmul, a, b)
    check_compiled(np.matmul, a, b[:, 0])
