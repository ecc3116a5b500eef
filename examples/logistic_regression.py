"""Which digit is it? Multinomial logistic regression by Newton's method and conjugate gradients.

    minimise  sum_i [log sum_k exp(z_ik) - z_i,label(i)] + strength/2 |W|²,    z = X W + b

on scikit-learn's 1797 pictures of 8 x 8 pixels. The loss is plain NumPy. Its Hessian, 650 x 650,
is never formed: conjugate gradients see products with it, each a sweep over the gradient.

    python examples/logistic_regression.py [--plot FILE]

Needs scikit-learn: pip install 'linad[examples]'.
"""

import argparse

import numpy as np

import linad

STRENGTH = 1.0
CLASSES = 10


def load_digits():
    """Pictures (1797, 64), with pixels from 0 to 1, and their labels (1797,)."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.data / 16, digits.target


def loss(weights, X, chosen):
    """Minus log-likelihood and penalty; ``weights`` are W (64, 10) and b (10,).

    ``chosen`` (n, 10) is 1 at the label of each picture and else 0.
    """
    W, b = weights
    z = X @ W + b
    z = z - z.max(axis=1, keepdims=True)
    misfit = np.sum(np.log(np.sum(np.exp(z), axis=1))) - np.sum(chosen * z)
    return misfit + 0.5 * STRENGTH * np.sum(W**2)


def fit(X, labels, **options):
    """The weights, in ``found.x``, with a gradient below 1e-10."""
    chosen = np.eye(CLASSES)[labels]
    start = np.zeros((X.shape[1], CLASSES)), np.zeros(CLASSES)
    return linad.solve.newton_cg(loss, start, (X, chosen), gtol=1e-10, **options)


def predict(weights, X):
    """Labels (n,) of pictures (n, 64)."""
    W, b = weights
    return np.argmax(X @ W + b, axis=1)


def save_plot(weights, path):
    from matplotlib.figure import Figure

    W, _ = weights
    figure = Figure(figsize=(8, 3.4), layout="constrained")
    limit = np.abs(W).max()
    for digit, axes in enumerate(figure.subplots(2, 5).flat):
        axes.imshow(W[:, digit].reshape(8, 8), cmap="RdBu_r", vmin=-limit, vmax=limit)
        axes.set(title=str(digit), xticks=[], yticks=[])
    figure.suptitle("pixels that speak for a digit, and against it")
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Logistic regression on pictures of digits.")
    parser.add_argument("--plot", metavar="FILE", help="draw the weights with Matplotlib")
    options = parser.parse_args(arguments)
    X, labels = load_digits()
    train, test = slice(None, None, 2), slice(1, None, 2)

    found = fit(X[train], labels[train], disp=True)
    print(f"  {found.njvp} products with the Hessian, {found.nvjp} gradients")
    right = np.mean(predict(found.x, X[test]) == labels[test])
    print(f"  {right:.1%} right, of pictures that it has not seen")
    if options.plot:
        save_plot(found.x, options.plot)


if __name__ == "__main__":
    main()
