"""What the derivatives of the programs are compared with."""

import numpy as np

import linad
from linad.core import tree
from linad.core.vectors import difference, inner, random_like


def complex_step(f, *point):
    """Gradient of a scalar function, one run an entry: Im f(x + i h e) / h with h = 1e-30.

    Exact to rounding, for code that is analytic in its arguments.
    """
    leaves, structure = tree.flatten(point)
    gradient = []
    for k, leaf in enumerate(leaves):
        slopes = np.zeros(np.shape(leaf))
        for at in np.ndindex(slopes.shape):
            moved = np.array(leaf, complex)
            moved[at] += 1e-30j
            value = f(*tree.unflatten(structure, [*leaves[:k], moved, *leaves[k + 1 :]]))
            slopes[at] = value.imag / 1e-30
        gradient.append(slopes)
    gradient = tree.unflatten(structure, gradient)
    return gradient[0] if len(point) == 1 else gradient


def assert_close(found, expected, rtol):
    """Leaves equal up to a fraction of the largest entry of each."""
    pairs = zip(tree.flatten(found)[0], tree.flatten(expected)[0], strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=0, atol=rtol * np.max(np.abs(b), initial=1e-300))


def check_compiled(f, argnums, point, direction):
    """Compare compiled values, gradients and Hessian-vector products with linad's own."""

    def product(point, direction):
        return linad.jvp(linad.grad(f, argnums), point, direction)[1]

    gradient = linad.value_and_grad(f, argnums)
    expected, turned = gradient(*point), product(point, direction)
    compiled, compiled_product = linad.jit(gradient), linad.jit(product)
    inner = linad.value_and_grad(linad.jit(f), argnums)
    for _ in range(3):
        assert_close(compiled(*point), expected, 1e-11)
        assert_close(inner(*point), expected, 1e-11)
        assert_close(compiled_product(point, direction), turned, 1e-10)


def check_program(f, gradient, *point, rtol=1e-10, step=1.0):
    """Compare gradient and Hessian-vector product of a scalar program with a reference.

    Parameters
    ----------
    f : callable
        The program, which linad differentiates.
    gradient : callable
        Reference gradient in all arguments: a formula, or another way to compute it. Its
        differences (fourth order, error near 1e-10) are the reference for the products.
    *point
        The point.
    step : float
        Factor on the step of the differences, for points whose entries differ much in size.
    """
    argnums = 0 if len(point) == 1 else tuple(range(len(point)))
    leaves, structure = tree.flatten(point)
    kept = tree.unflatten(structure, [np.array(leaf) for leaf in leaves])
    value, found = linad.value_and_grad(f, argnums)(*point)
    expected = gradient(*point)
    assert_close(found, expected, rtol)

    direction = random_like(point, np.random.default_rng(7))
    check_compiled(f, argnums, point, direction)
    np.testing.assert_allclose(
        linad.jvp(f, point, direction)[1],
        inner(expected, direction[0] if len(point) == 1 else direction),
        rtol=1e-8,
    )
    product = linad.hvp(f, point, direction)
    assert_close(product, difference(gradient, point, direction, step)[0], 1e-7)

    # A program may overwrite its arguments; the caller's arrays stay as they were.
    assert_close(point, kept, 0)
    np.testing.assert_array_equal(value, f(*kept))
