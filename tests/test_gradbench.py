"""The tool for GradBench in examples/gradbench/: its protocol, and every answer.

Answers are compared with values that GradBench states (`saddle`, `particle`), closed forms, NumPy
and SciPy, and gradients with differences. Compiled runs are `full`; by default the plain functions
run, as NumPy does.
"""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp, softmax
from scipy.stats import multivariate_normal, wishart

import linad

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "gradbench"


@pytest.fixture(autouse=True)
def _folder(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def module(name):
    return importlib.import_module(f"gradbench_{name}")


def lists(data):
    """An input as it comes: arrays as lists."""
    if isinstance(data, dict):
        return {name: lists(value) for name, value in data.items()}
    return data.tolist() if isinstance(data, np.ndarray) else data


def prepared(name, function, data):
    """The uncompiled function of a benchmark with its arguments, and what presents its result."""
    prepare, compute, present = module(name).FUNCTIONS[function]
    return getattr(compute, "function", compute), prepare(lists(data)), present


def output(name, function, data):
    f, args, present = prepared(name, function, data)
    found = present(f(*args))
    return json.loads(json.dumps(found))


def draw(name, rng):
    """A small input."""
    normal = rng.standard_normal
    match name:
        case "lse":
            return {"x": 100 * normal(6)}
        case "llsq":
            return {"x": normal(4), "n": 9}
        case "ode":
            return {"x": 1 + rng.random(4), "s": 3}
        case "det":
            return {"A": normal(25), "ell": 5}
        case "kmeans":
            points = normal((20, 3))
            return {"points": points, "centroids": points[:4]}
        case "gmm":
            d, k, n = 3, 2, 4
            parts = {"alpha": normal(k), "mu": normal((k, d)), "q": 0.3 * normal((k, d))}
            parts |= {"l": normal((k, d * (d - 1) // 2)), "x": normal((n, d))}
            return parts | {"d": d, "k": k, "n": n, "m": 2, "gamma": 1.3}
        case "lstm":
            parts = {"main_params": normal((4, 12)), "extra_params": normal((3, 3))}
            return parts | {"state": normal((4, 3)), "sequence": normal((5, 3))}
        case "ba":
            parts = {"cam": normal(11), "x": normal(3) + 5, "w": 0.4, "feat": normal(2)}
            return parts | {"n": 3, "m": 4, "p": 12}
        case "ht":
            return draw_hand(rng)


def draw_hand(rng, points=5):
    normal = rng.standard_normal
    bones, vertices = 22, 7
    model = {
        "bone_count": bones,
        "bone_names": [f"bone{k}" for k in range(bones)],
        "parents": [-1, *(max(k - 1, 0) if k % 4 != 1 else 0 for k in range(1, bones))],
        "base_relatives": normal((bones, 4, 4)),
        "inverse_base_absolutes": normal((bones, 4, 4)),
        "base_positions": np.concatenate([normal((vertices, 3)), np.ones((vertices, 1))], axis=1),
        "weights": rng.random((vertices, bones)),
        "triangles": rng.integers(0, vertices, (6, 3)),
        "is_mirrored": True,
    }
    found = rng.integers(0, 6, points)
    data = {"model": model, "correspondences": found, "points": normal((points, 3))}
    return {"theta": 0.5 * normal(26), "data": data, "us": rng.random((points, 2))}


@pytest.mark.rest
def test_the_protocol():
    """A session over pipes, as GradBench leads it."""
    messages = [
        {"id": 0, "kind": "start", "eval": "hello"},
        {"id": 1, "kind": "define", "module": "hello"},
        {"id": 2, "kind": "evaluate", "module": "hello", "function": "square", "input": 3.0},
        {"id": 3, "kind": "evaluate", "module": "hello", "function": "double", "input": 9},
        {"id": 4, "kind": "evaluate", "module": "hello", "function": "third", "input": 9.0},
        {"id": 5, "kind": "analysis", "of": 3, "valid": True},
        {"id": 6, "kind": "define", "module": "unheard-of"},
    ]
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", FOLDER / "tool.py"],
        input="".join(json.dumps(m) + "\n" for m in messages),
        capture_output=True,
        text=True,
        check=True,
    )
    start, defined, square, double, failed, analysis, unknown = map(
        json.loads, done.stdout.splitlines()
    )
    assert start == {"id": 0, "tool": "linad"}
    assert defined == {"id": 1, "success": True}
    assert (square["output"], double["output"]) == (9.0, 18.0)
    assert [t["name"] for t in double["timings"]] == ["evaluate"]
    assert not failed["success"]
    assert "KeyError" in failed["error"]
    assert (analysis, unknown) == ({"id": 5}, {"id": 6, "success": False})


def test_a_function_runs_as_often_as_is_asked():
    tool = importlib.import_module("tool")
    _, timings = tool.evaluate("hello", "double", 2.0)
    assert len(timings) == 1
    data = lists(draw("lse", np.random.default_rng(0)))
    _, timings = tool.evaluate("lse", "primal", data | {"min_runs": 5, "min_seconds": 0})
    assert len(timings) == 5
    _, timings = tool.evaluate("lse", "primal", data | {"min_runs": 1, "min_seconds": 0.01})
    assert sum(t["nanoseconds"] for t in timings) >= 1e7


def test_every_module_is_there():
    tool = importlib.import_module("tool")
    found = sorted(path.stem.removeprefix("gradbench_") for path in FOLDER.glob("gradbench_*.py"))
    assert sorted(tool.MODULES) == found


GRADIENTS = [
    *[("lse", "primal", "gradient"), ("llsq", "primal", "gradient"), ("ode", "primal", "gradient")],
    *[("det", "primal", "gradient"), ("gmm", "objective", "jacobian")],
    *[("lstm", "objective", "jacobian"), ("ht", "objective", "jacobian")],
]


@pytest.mark.parametrize("name, value, gradient", GRADIENTS)
def test_gradients_against_differences(name, value, gradient, rng, kernels):
    data = draw(name, rng)
    wrt = {
        **{key: ["x"] for key in ("lse", "llsq", "ode")},
        "det": ["A"],
        "gmm": ["alpha", "mu", "q", "l"],
        "lstm": ["main_params", "extra_params"],
        "ht": ["theta"],
    }[name]
    direction = {key: rng.standard_normal(np.shape(data[key])) for key in wrt}

    def at(t):
        moved = data | {key: data[key] + t * direction[key] for key in wrt}
        found = np.asarray(output(name, value, moved))
        return found[-1] if name == "ode" else found

    h = 1e-4
    slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    found = output(name, gradient, data)
    if name == "gmm":
        found = np.concatenate([np.ravel(found[key]) for key in wrt])
    flat = np.concatenate([direction[key].ravel() for key in wrt])
    if name == "ht":
        found = np.asarray(found)[:, 2:]
    np.testing.assert_allclose(np.asarray(found) @ flat, slope, rtol=1e-8, atol=1e-8)


def test_lse(rng):
    data = draw("lse", rng)
    assert output("lse", "primal", data) == pytest.approx(logsumexp(data["x"]), rel=1e-14)
    np.testing.assert_allclose(output("lse", "gradient", data), softmax(data["x"]), rtol=1e-12)


def test_llsq(rng):
    data = draw("llsq", rng)
    t = np.linspace(-1, 1, 9)
    expected = np.sum((np.sign(t) - np.polynomial.Polynomial(data["x"])(t)) ** 2) / 2
    assert output("llsq", "primal", data) == pytest.approx(expected, rel=1e-13)


def test_ode(rng):
    """y_i(2) = x_0 ... x_i 2^(i+1) / (i+1)!, and the method is exact for four powers of t."""
    data = draw("ode", rng)
    powers = 2.0 ** np.arange(1, 5) / np.array([1, 2, 6, 24])
    expected = np.cumprod(data["x"]) * powers
    np.testing.assert_allclose(output("ode", "primal", data), expected, rtol=1e-13)
    np.testing.assert_allclose(
        output("ode", "gradient", data), expected[-1] / data["x"], rtol=1e-12
    )


def test_det(rng):
    data = draw("det", rng)
    A = data["A"].reshape(5, 5)
    assert output("det", "primal", data) == pytest.approx(np.linalg.det(A), rel=1e-12)
    cofactors = np.linalg.det(A) * np.linalg.inv(A).T
    np.testing.assert_allclose(output("det", "gradient", data), cofactors.ravel(), rtol=1e-11)


def test_kmeans(rng):
    """Newton's step leads from the mean of a cluster to its centroid."""
    data = draw("kmeans", rng)
    squares = np.sum((data["points"][:, None] - data["centroids"]) ** 2, axis=2)
    assert output("kmeans", "cost", data) == pytest.approx(squares.min(1).sum(), rel=1e-12)
    mine = squares.argmin(1)
    means = np.stack([data["points"][mine == k].mean(0) for k in range(4)])
    expected = data["centroids"] - means
    np.testing.assert_allclose(output("kmeans", "dir", data), expected, atol=1e-14)


def test_gmm(rng):
    """Against the densities of SciPy."""
    data = draw("gmm", rng)
    d, k = data["d"], data["k"]
    total, weights = 0.0, softmax(data["alpha"])
    factors = module("gmm").factors(data["q"], data["l"])
    precisions = [Q.T @ Q for Q in factors]
    for x in data["x"]:
        parts = [
            weights[j] * multivariate_normal(data["mu"][j], np.linalg.inv(precisions[j])).pdf(x)
            for j in range(k)
        ]
        total += np.log(sum(parts))
    prior = wishart(df=d + data["m"] + 1, scale=np.eye(d) / data["gamma"] ** 2)
    total += sum(prior.logpdf(P) for P in precisions)
    assert output("gmm", "objective", data) == pytest.approx(total, rel=1e-11)
    assert factors[0][2, 0] == data["l"][0][1]  # column by column


def test_lstm(rng):
    """Against the recurrences, entry by entry."""
    data = draw("lstm", rng)
    main, extra = data["main_params"].reshape(2, 2, 4, 3), data["extra_params"]
    state, sequence = data["state"].reshape(2, 2, 3).copy(), data["sequence"]

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    total = 0.0
    for t in range(4):
        y = np.zeros(3)
        for i in range(3):
            below = sequence[t][i] * extra[0, i]
            for k in range(2):
                w, b = main[k, 0, :, i], main[k, 1, :, i]
                hidden, cell = state[k, :, i]
                cell = cell * sigmoid(below * w[0] + b[0]) + sigmoid(
                    hidden * w[1] + b[1]
                ) * np.tanh(hidden * w[3] + b[3])
                hidden = sigmoid(below * w[2] + b[2]) * np.tanh(cell)
                state[k, :, i] = hidden, cell
                below = hidden
            y[i] = below * extra[1, i] + extra[2, i]
        total += np.sum(sequence[t + 1] * (y - np.log(np.sum(np.exp(y)) + 2)))
    assert output("lstm", "objective", data) == pytest.approx(-total / 12, rel=1e-13)


class TestBundleAdjustment:
    def test_rotations(self, rng):
        from scipy.spatial.transform import Rotation

        points, turns = rng.standard_normal((2, 6, 3))
        turns[0] = 0
        expected = Rotation.from_rotvec(turns).apply(points)
        np.testing.assert_allclose(module("ba").rotate(points, turns), expected, atol=1e-14)

    def test_jacobian(self, rng):
        """The compressed rows, as a matrix, against linad's sparse Jacobian and differences."""
        from scipy.sparse import csr_array

        ba = module("ba")
        cameras, points, weights, where, features = ba.prepare(lists(draw("ba", rng)))

        def stacked(*variables):
            pixels, rest = ba.objective(*variables, where, features)
            return np.concatenate([pixels.ravel(), rest])

        variables = cameras, points, weights
        linad.check_derivatives(stacked, *variables)
        values = ba.jacobian(*variables, where, features)
        columns, rows = ba.indices(3, 4, 12, where)
        found = csr_array((values, columns, rows))
        expected = linad.sparse_jacobian(stacked, *variables, argnums=(0, 1, 2))
        np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-13, atol=1e-13)

    def test_what_is_sent(self, rng):
        data = draw("ba", rng)
        found = output("ba", "objective", data)
        assert found["reproj_error"]["repeated"] == found["w_err"]["repeated"] == 12
        assert found["w_err"]["element"] == pytest.approx(1 - 0.4**2)
        found = output("ba", "jacobian", data)
        assert [len(found[name]) for name in ("rows", "cols", "vals")] == [31, 31, 31]
        assert found["rows"][:3] == [0, 15, 30]
        assert (found["rows"][-1], found["cols"][-1]) == (12 * 31, 3 * 11 + 4 * 3 + 12 - 1)
        assert found["vals"][-1] == pytest.approx(-2 * 0.4)


class TestHandTracking:
    def test_bones(self, rng):
        """Rotations and the chain of bones against matrices made one by one."""
        from scipy.spatial.transform import Rotation

        ht = module("ht")
        u, theta, model, found, points = ht.prepare(lists(draw("ht", rng)))
        R = Rotation.from_rotvec(theta[:3]).as_matrix()
        np.testing.assert_allclose(ht.axis_rotation(theta[:3]), R, atol=1e-14)
        angles = ht.bends(theta, 22)
        np.testing.assert_array_equal(angles[2], theta[6:8])
        np.testing.assert_array_equal(angles[[3, 4, 0, 1, 5], 0], [*theta[8:10], 0, 0, 0])
        np.testing.assert_array_equal(angles[18], theta[22:24])
        absolute, hand = [], 0.0
        for k, parent in enumerate(model["parents"]):
            turn = np.eye(4)
            turn[:3, :3] = (
                Rotation.from_euler("z", angles[k, 1]) * Rotation.from_euler("x", angles[k, 0])
            ).as_matrix()
            mine = model["base_relatives"][k] @ turn
            absolute.append(mine if parent == -1 else absolute[parent] @ mine)
            moved = absolute[k] @ model["inverse_base_absolutes"][k] @ model["base_positions"].T
            hand = hand + model["weights"][:, k] * moved[:3]
        hand = (R @ (np.diag([-1.0, 1.0, 1.0]) @ hand)).T + theta[3:6]
        np.testing.assert_allclose(ht.vertices(theta, model), hand, rtol=1e-12)
        a, b, c = (hand[model["triangles"][found][:, k]] for k in range(3))
        place = u[:, :1] * a + u[:, 1:] * b + (1 - u.sum(1, keepdims=True)) * c
        np.testing.assert_allclose(
            ht.objective(u, theta, model, found, points), points - place, rtol=1e-12
        )

    def test_rows_have_their_own_coordinates_only(self, rng):
        ht = module("ht")
        args = ht.prepare(lists(draw("ht", rng)))
        found = ht.jacobian(*args)
        full, in_theta = linad.jacobian(lambda u, theta: ht.objective(u, theta, *args[2:]), (0, 1))(
            *args[:2]
        )
        own = np.stack([full[k, :, k] for k in range(5)]).reshape(15, 2)
        np.testing.assert_allclose(found[:, :2], own, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found[:, 2:], in_theta.reshape(15, 26), rtol=1e-12, atol=1e-12)

    def test_without_coordinates_a_point_belongs_to_a_vertex(self, rng):
        ht = module("ht")
        data = lists(draw("ht", rng)) | {"us": []}
        u, theta, *rest = ht.prepare(data)
        hand = ht.vertices(theta, rest[0])
        np.testing.assert_allclose(
            ht.objective(u, theta, *rest), rest[2] - hand[rest[1]], rtol=1e-14
        )
        assert ht.jacobian(u, theta, *rest).shape == (15, 26)


@pytest.mark.full
@pytest.mark.parametrize("function", ["ff", "fr", "rf", "rr"])
@pytest.mark.parametrize(
    "name, data, expected",
    [
        ("particle", {"w": 0.0}, 0.2071918746486116),
        ("saddle", {"start": np.ones(2)}, [8.246324826140356e-06] * 4),
    ],
)
def test_values_that_gradbench_states(name, data, expected, function):
    tool = importlib.import_module("tool")
    found, _ = tool.evaluate(name, function, lists(data))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.full
@pytest.mark.parametrize(
    "name, function",
    [(name, function) for name, *both in GRADIENTS for function in both]
    + [("ba", "objective"), ("ba", "jacobian"), ("kmeans", "cost"), ("kmeans", "dir")],
)
def test_compiled_answers_are_the_plain_ones(name, function, rng):
    data = draw(name, rng)
    tool = importlib.import_module("tool")
    found, _ = tool.evaluate(name, function, lists(data) | {"min_runs": 3, "min_seconds": 0})
    plain = output(name, function, data)
    for a, b in zip(flat(found), flat(plain), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


def flat(value):
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    return [np.asarray(value)]
