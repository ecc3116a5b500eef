"""Second and third derivatives of a jitted function against those of the function itself."""

import numpy as np

import linad


def hessians(f, v):
    """The Hessian of ``f`` by each way in which something is compiled, and products with ``v``.

    Returns
    -------
    matrices, products : dict of functions of the point
    """
    jit, g = linad.jit, linad.grad(f)
    compiled, slopes = jit(f), jit(g)

    def eye(x):
        return np.eye(x.size, dtype=x.dtype).reshape(-1, *x.shape)

    def pushed(x):
        return np.moveaxis(linad.linearize(slopes, x)[1].pushforward(eye(x)), 0, -1)

    def pulled(x):
        twice = np.stack([eye(x), 2 * eye(x)], axis=1)  # two axes of seeds
        return linad.linearize(slopes, x)[1].pullback(twice)[:, 0]

    matrices = {
        "hessian(jit)": linad.hessian(compiled),
        "jit(hessian)": jit(linad.hessian(f)),
        "jacobian(jit(grad))": linad.jacobian(slopes),
        "seeds pulled": pulled,
        "seeds pushed": pushed,
        "jacobian(grad(jit))": linad.jacobian(linad.grad(compiled)),
        "jit(jacobian(grad(jit)))": jit(linad.jacobian(linad.grad(compiled))),
    }

    def along(function):
        """The slope of a function along v."""
        return lambda x: linad.jvp(function, (x,), (v,))[1]

    products = {
        "hvp(jit)": lambda x: linad.hvp(compiled, (x,), (v,)),
        "jvp(jit(grad))": along(slopes),
        "jit(jvp(grad))": jit(along(g)),
        "grad(jvp(jit))": linad.grad(along(compiled)),
        "jit(grad(jvp))": jit(linad.grad(along(f))),
        "grad(grad(jit))": linad.grad(lambda x: np.sum(linad.grad(compiled)(x) * v)),
    }
    return matrices, products


def agree(f, x, *, expected=None, ways=None, third=False, tolerance=1e-9, **said):
    """Check that compiled derivatives of a real function of ``x`` are those of ``expected``.

    Parameters
    ----------
    expected : callable, optional
        ``f`` by Python; by default ``f`` itself, with nothing of it jitted.
    ways : list of str, optional
        Of `hessians`; by default all.
    third : bool
        Whether to compare third derivatives, too.
    tolerance : float
        Relative to the largest entry.
    said
        ``err_msg``, of NumPy's comparison.
    """
    expected = expected or f
    v = np.cos(np.arange(x.size)).astype(x.dtype).reshape(x.shape)
    matrices, products = hessians(f, v)
    if ways is not None:
        matrices, products = ({k: d[k] for k in ways if k in d} for d in (matrices, products))
    thirds = {}
    if third:
        thirds = {
            "jacobian(jit(hessian))": linad.jacobian(linad.jit(linad.hessian(f))),
            "jacobian(hessian(jit))": linad.jacobian(linad.hessian(linad.jit(f))),
        }

    def check(wanted, found):
        size = 1 + np.max(np.abs(wanted), initial=0.0)
        np.testing.assert_allclose(
            found.reshape(wanted.shape), wanted, rtol=0, atol=tolerance * size, **said
        )

    for way in (*matrices.values(), *products.values(), *thirds.values()):
        way(x)  # recorded here, and run with other data
    for at in (1.03 * x + 0.01, 0.97 * x):
        at = at.astype(x.dtype)
        H = linad.hessian(expected)(at).reshape(x.size, x.size)
        for way in matrices.values():
            check(H, way(at))
        for way in products.values():
            check(H @ v.ravel(), way(at))
        if third:
            T = linad.jacobian(linad.hessian(expected))(at)
            for way in thirds.values():
                check(T, way(at))
