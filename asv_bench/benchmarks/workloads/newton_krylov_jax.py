"""The method of `newton_krylov` by JAX: loops of `lax`, one program for the whole solution.

A basis of fixed size is carried through the loop, since shapes may not depend on values.
"""

import jax
import jax.numpy as jnp
from jax import lax


def residual(u, lam):
    n = u.shape[0]
    v = jnp.pad(u, 1)
    around = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
    return around - 4.0 * u + lam / (n + 1) ** 2 * jnp.exp(u)


def size_of(v):
    return jnp.sqrt(jnp.vdot(v, v))


def gmres(product, b, rtol, restart, most):
    """What GMRES finds for A x = b, the relative residual of it, and the products it took."""
    size = size_of(b)

    def larger(space):
        k, V, R, cosines, sines, g, left = space

        def orthogonal(i, carry):
            w, h = carry
            part = jnp.vdot(V[i], w)
            return w - part * V[i], h.at[i].set(part)

        def rotated(i, h):
            top, below = h[i], h[i + 1]
            h = h.at[i].set(cosines[i] * top + sines[i] * below)
            return h.at[i + 1].set(cosines[i] * below - sines[i] * top)

        w, h = lax.fori_loop(0, k + 1, orthogonal, (product(V[k]), jnp.zeros(restart + 1)))
        length = size_of(w)
        h = lax.fori_loop(0, k, rotated, h)
        hypotenuse = jnp.hypot(h[k], length)
        cosine, sine = h[k] / hypotenuse, length / hypotenuse
        R = R.at[:, k].set(h.at[k].set(hypotenuse)[:restart])
        return (
            k + 1,
            V.at[k + 1].set(w / length),
            R,
            cosines.at[k].set(cosine),
            sines.at[k].set(sine),
            g.at[k].set(cosine * left),
            -sine * left,
        )

    def cycle(state):
        x, r, reached, products, _ = state
        left = size_of(r)
        V = jnp.zeros((restart + 1, b.size)).at[0].set(r / left)
        none = jnp.zeros(restart)
        first = 0, V, jnp.zeros((restart, restart)), none, none, none, left

        def goes_on(space):
            k, left = space[0], space[-1]
            return (k < restart) & (products + k < most) & (jnp.abs(left) > rtol * size)

        k, V, R, _, _, g, _ = lax.while_loop(goes_on, larger, first)
        used = jnp.arange(restart) < k
        R = jnp.where(used[:, None] & used, R, jnp.eye(restart))
        y = jax.scipy.linalg.solve_triangular(R, jnp.where(used, g, 0.0))
        x = x + y @ V[:restart]
        r = b - product(x)
        after = size_of(r) / size
        return x, r, after, products + k + 1, after < reached

    def goes_on(state):
        return (state[2] > rtol) & (state[3] < most) & state[4]

    start = jnp.zeros_like(b), b, jnp.array(1.0), 0, jnp.array(True)
    x, _, reached, products, _ = lax.while_loop(goes_on, cycle, start)
    return x, reached, products


def bratu_root(n, ftol, restart, most):
    """λ -> the solution from zero and the number of products, as one program."""

    def solution(lam):
        def F(u):
            return residual(u.reshape((n, n)), lam).ravel()

        def step(state):
            u, r, before, eta, total = state
            size = size_of(r)
            least = 0.9 * eta * eta
            following = 0.9 * (size / jnp.where(before > 0.0, before, 1.0)) ** 2
            following = jnp.where(least > 0.1, jnp.maximum(following, least), following)
            eta = jnp.where(before > 0.0, jnp.minimum(following, 0.9), eta)
            eta = jnp.maximum(eta, jnp.minimum(0.9, 0.5 * ftol / size))
            p, reached, products = gmres(jax.linearize(F, u)[1], -r, eta, restart, most)

            def too_high(trial):
                alpha, _, r = trial
                return jnp.vdot(r, r) > size**2 * (1.0 - 2e-4 * alpha)

            def shorter(trial):
                alpha = 0.5 * trial[0]
                return alpha, u + alpha * p, F(u + alpha * p)

            _, u, r = lax.while_loop(too_high, shorter, (1.0, u + p, F(u + p)))
            return u, r, size, jnp.maximum(eta, reached), total + products

        u = jnp.zeros(n * n)
        start = u, F(u), 0.0, 0.5, 0
        found = lax.while_loop(lambda s: jnp.abs(s[1]).max() > ftol, step, start)
        return found[0].reshape((n, n)), found[-1]

    return jax.jit(solution)
