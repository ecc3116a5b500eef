"""A step of training as an ONNX model, run where there is no linad.

The step is plain NumPy and one gradient: a network that tells two spirals apart, and Nesterov's
momentum. linad writes all of it, gradient and update, as one model with a batch of any length. A
second process, in which linad cannot be imported, trains with it: with ONNX Runtime where that is
installed, otherwise with the reference evaluator of the onnx package.

    python examples/training_as_onnx.py [--steps 200] [--plot FILE]
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import linad

RATE, MOMENTUM = 0.1, 0.9


def spirals(n, rng):
    """Points (n, 2) on two spirals, and which of them, 0 or 1 (n,)."""
    label = np.arange(n) % 2
    turn = np.sqrt(rng.random(n)) * 3.0
    angle = 2.0 * turn + np.pi * label
    points = turn[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return points + 0.05 * rng.standard_normal((n, 2)), label.astype(float)


def score(weights, x):
    """Positive where a point belongs to the second spiral."""
    for layer in weights[:-1]:
        x = np.tanh(x @ layer["W"] + layer["b"])
    last = weights[-1]
    return (x @ last["W"] + last["b"])[:, 0]


def loss(weights, x, label):
    """The mean cross-entropy."""
    s = score(weights, x)
    return np.mean(np.logaddexp(0.0, s) - label * s)


def step(weights, velocity, x, label):
    """One step: the loss before it, and new weights and velocities."""
    value, slope = linad.value_and_grad(loss)(weights, x, label)
    moved = [
        {k: MOMENTUM * v[k] - RATE * g[k] for k in v} for v, g in zip(velocity, slope, strict=True)
    ]
    new = [
        {k: w[k] + MOMENTUM * v[k] - RATE * g[k] for k in w}
        for w, v, g in zip(weights, moved, slope, strict=True)
    ]
    return {"loss": value, "weights": new, "velocity": moved}


def start(rng, sizes=(2, 24, 24, 1)):
    """Weights to start from, and velocities of zero."""
    weights = [
        {"W": rng.standard_normal((m, n)) / np.sqrt(m), "b": 0.1 * rng.standard_normal(n)}
        for m, n in itertools.pairwise(sizes)
    ]
    return weights, [{k: np.zeros_like(v) for k, v in layer.items()} for layer in weights]


TRAINER = """
import sys

import numpy as np

sys.modules["linad"] = None  # whatever is installed: an import fails from here on

model, data, result, steps = sys.argv[1:]
try:
    import onnxruntime

    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
except ImportError:
    from onnx.reference import ReferenceEvaluator

    session = ReferenceEvaluator(model)
    names = session.output_names

values = dict(np.load(data))
state = {name: values[name] for name in values if name.startswith(("weights", "velocity"))}
losses = []
for k in range(int(steps)):
    batch = np.arange(k * 50, (k + 1) * 50) % len(values["x"])
    feed = {**state, "x": values["x"][batch], "label": values["label"][batch]}
    found = dict(zip(names, session.run(None, feed)))
    losses.append(found["loss"])
    state = {name: found[f"{name}_"] for name in state}
np.savez(result, losses=losses, **state)
"""


def export(weights, velocity):
    """The step as a model for batches of any length."""
    step_as_model = linad.onnx(step, axes={"x": {0: "batch"}, "label": {0: "batch"}})
    return step_as_model(weights, velocity, np.ones((4, 2)), np.ones(4))


def train_elsewhere(exported, weights, velocity, x, label, steps):
    """Train in a process without linad; return the losses and the weights, by name."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        exported.save(home / "step.onnx")
        np.savez(home / "data.npz", **exported.feed(weights, velocity, x, label))
        (home / "train.py").write_text(TRAINER, encoding="utf-8")
        command = [sys.executable, "train.py", "step.onnx", "data.npz", "result.npz", str(steps)]
        # ONNX Runtime writes into the folder of its user.
        subprocess.run(command, check=True, cwd=home, env=os.environ | {"HOME": folder})
        with np.load(home / "result.npz") as found:
            return found["losses"], {k: found[k] for k in found if k != "losses"}


def train_here(weights, velocity, x, label, steps):
    """The same steps in this process."""
    losses = []
    for k in range(steps):
        batch = np.arange(k * 50, (k + 1) * 50) % len(x)
        found = step(weights, velocity, x[batch], label[batch])
        weights, velocity = found["weights"], found["velocity"]
        losses.append(found["loss"])
    return np.array(losses), weights


def save_plot(losses, path):
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot(title="Two spirals", xlabel="step", ylabel="loss", yscale="log")
    axes.plot(losses)
    figure.savefig(path)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Train a network by a model of its step.")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--plot", metavar="FILE", help="draw the losses with Matplotlib")
    options = parser.parse_args(arguments)
    rng = np.random.default_rng(5)
    x, label = spirals(400, rng)
    weights, velocity = start(rng)
    exported = export(weights, velocity)
    print(f"{len(exported.model.graph.node)} nodes, {exported.model.ByteSize()} bytes")
    losses, found = train_elsewhere(exported, weights, velocity, x, label, options.steps)
    here, final = train_here(weights, velocity, x, label, options.steps)
    print(f"loss of the first batch {losses[0]:.4f}, of the last {losses[-1]:.4f}")
    print(f"largest difference from training here: {np.max(np.abs(losses - here)):.1e}")
    if options.plot:
        save_plot(losses, options.plot)
    return losses, here, found, final


if __name__ == "__main__":
    main()
