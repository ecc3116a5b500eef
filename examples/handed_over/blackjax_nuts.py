"""blackjax: its No-U-Turn sampler on a log-density in NumPy."""

import blackjax
import jax
import numpy as np

import linad

jax.config.update("jax_enable_x64", True)
precision = np.array([[2.0, 0.6], [0.6, 1.0]])
mean = np.array([1.0, -2.0])


def log_density(x):
    return -0.5 * (x - mean) @ precision @ (x - mean)


target = linad.interop.jax(log_density, result=jax.ShapeDtypeStruct((), float))
nuts = blackjax.nuts(target, step_size=0.8, inverse_mass_matrix=np.ones(2))
state = nuts.init(jax.numpy.zeros(2))


def one_step(state, key):
    state, _ = nuts.step(key, state)
    return state, state.position


_, drawn = jax.lax.scan(one_step, state, jax.random.split(jax.random.key(6), 4000))
drawn = np.asarray(drawn[200:])
print("mean", np.array2string(drawn.mean(axis=0), precision=1, suppress_small=True))
print(
    "covariance agrees within 0.15:",
    np.allclose(np.cov(drawn.T), np.linalg.inv(precision), atol=0.15),
)
