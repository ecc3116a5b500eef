"""Branches of solutions: circles, Bratu's fold, ends and failures."""

import numpy as np
import pytest
from solve.problems import bratu

import linad
from linad.solve import Status, continuation


def circle(x, a):
    return x**2 + a**2 - 1.0


class TestAnswers:
    def test_round_the_circle(self):
        found = continuation(circle, np.array([1.0]), 0.0, folds=4)
        assert found.success, found.message
        np.testing.assert_allclose([f.parameter for f in found.folds], [1, -1, 1, -1], atol=1e-9)
        np.testing.assert_allclose([f.x[0] for f in found.folds], 0.0, atol=1e-4)
        path = np.concatenate(found.path)
        np.testing.assert_allclose(path**2 + found.parameters**2, 1.0, atol=1e-7)
        assert len(path) == len(found.slopes) == found.nit
        assert found.parameters.min() < -0.5

    @pytest.mark.parametrize("direction", [1, -1])
    def test_direction_and_bounds(self, direction):
        found = continuation(
            lambda x, a: x - a**2, 4.0, 2.0, direction=direction, bounds=(0.5, 3.0), max_step=0.5
        )
        assert found.success, found.message
        assert found.parameter == pytest.approx(3.0 if direction == 1 else 0.5, abs=1e-5)
        assert found.x == pytest.approx(found.parameter**2, abs=1e-5)
        assert found.parameters.max() <= 3.0 + 1e-5
        assert (np.diff(found.parameters) * direction > 0).all()

    @pytest.mark.parametrize("way", ["dense", "sparse", "krylov", "auto"])
    def test_fold_of_bratu(self, way):
        """On n points the fold is off 3.513830719 by O(1/n²)."""
        n = 40
        found = continuation(bratu, np.zeros(n), 0.0, folds=1, step=0.5, linear_solver=way)
        assert found.success, found.message
        fold = found.folds[0]
        assert fold.parameter == pytest.approx(3.513830719, abs=2e-3)
        assert abs(fold.slope) < 1e-6
        np.testing.assert_allclose(bratu(fold.x, fold.parameter), 0.0, atol=1e-8)
        # There the Jacobian in u is singular.
        J = linad.jacobian(lambda u: bratu(u, fold.parameter))(fold.x)
        assert np.linalg.svd(J, compute_uv=False)[-1] < 1e-6

    def test_fold_in_the_limit(self):
        """Richardson: from n = 50 and 101, whose spacings differ by a factor of two."""
        coarse, fine = (
            continuation(bratu, np.zeros(n), 0.0, folds=1, step=0.5).folds[0].parameter
            for n in (50, 101)
        )
        assert (4 * fine - coarse) / 3 == pytest.approx(3.513830719, abs=1e-6)

    def test_from_a_solution(self):
        """F is zero to rounding from the start; how large it may be follows from the steps."""
        n = 30
        start = linad.solve.newton(bratu, np.zeros(n), (0.5,), xtol=1e-15).x
        found = continuation(bratu, start, 0.5, step=0.5, bounds=(0.5, 9.0))
        assert found.success, found.message
        assert [f.parameter for f in found.folds] == pytest.approx([3.5138], abs=3e-3)
        assert found.parameter == pytest.approx(0.5, abs=1e-5)
        assert found.x.max() > 1.0

    def test_containers_arguments_and_single_precision(self):
        def f(x, a, shift):
            return {"u": x["u"] ** 2 + a**2 - 1.0, "v": x["v"] - shift * a}

        start = {"u": np.ones(2, np.float32), "v": np.float32(0.0)}
        found = continuation(f, start, 0.0, (np.float32(2.0),), folds=1)
        assert found.success, found.message
        fold = found.folds[0]
        assert fold.parameter == pytest.approx(1.0, abs=1e-3)
        np.testing.assert_allclose(fold.x["v"], 2.0, rtol=1e-3)


class TestTheSameBranch:
    """Other branches pass near; a step never ends on one of them, however long it is."""

    @pytest.mark.parametrize("step", [0.1, 0.3, 1.0])
    @pytest.mark.parametrize(
        "f, x0, ends, x1",
        [
            # two branches that come as near as 2e-1, 2e-3; crossing ones are gone straight over
            (lambda x, a: x**2 - a**2 - 1e-2, 2.0, (-2.0, 2.0), 2.0),
            (lambda x, a: x**2 - a**2 - 1e-6, 2.0, (-2.0, 2.0), 2.0),
            (lambda x, a: x**2 - a**2, 2.0, (-2.0, 2.0), -2.0),
            # pitchforks, x (a - x²) + ε = 0, from the straight side and from the branches
            (lambda x, a: x * (a - x**2), 0.0, (-2.0, 2.0), 0.0),
            (lambda x, a: x * (a - x**2) + 1e-4, 0.0, (-2.0, 2.0), 2**0.5),
            (lambda x, a: x * (a - x**2) - 1e-3, 0.0, (-2.0, 2.0), -(2**0.5)),
            (lambda x, a: x * (a - x**2), 2**0.5, (2.0, 2.0), -(2**0.5)),
            (lambda x, a: x * (a - x**2) + 1e-4, 2**0.5, (2.0, -2.0), 0.0),
            # a cusp, whose branches lie above each other
            (lambda x, a: a + 0.1 * x - x**3, -1.4, (-2.5, 2.5), 1.4),
        ],
    )
    def test_end(self, f, x0, ends, x1, step):
        found = continuation(
            f,
            np.array([x0]),
            ends[0],
            step=step,
            max_step=step,
            direction=1 if ends[1] > ends[0] else -1,
            bounds=(min(-2.0, *ends), max(ends)),
        )
        assert found.success, found.message
        assert found.parameter == pytest.approx(ends[1], abs=1e-5)
        assert found.x[0] == pytest.approx(x1, abs=0.02)

    def test_branch_points(self):
        """Of a matrix A as x -> A x - a x + x³: the trivial branch meets one at each eigenvalue."""
        A = np.diag([0.3, 1.1, 1.7]) + 0.1

        def f(x, a):
            return A @ x - a * x + x**3

        found = continuation(f, np.zeros(3), 0.0, bounds=(0.0, 2.0))
        assert found.success, found.message
        np.testing.assert_allclose(
            [at.parameter for at in found.branch_points], np.linalg.eigvalsh(A), atol=1e-6
        )
        np.testing.assert_allclose(found.x, 0.0, atol=1e-12)

    @pytest.mark.parametrize("step", [0.2, 1.0])
    def test_isola(self, step):
        """Two closed branches: one is followed round, the other, 0.14 away, never entered."""
        found = continuation(
            lambda x, a: (x**2 + a**2) ** 2 - 2 * (a**2 - x**2) + 0.01,
            np.array([0.3]),
            1.2,
            max_step=step,
            folds=2,
        )
        ends = np.sqrt(1 + np.array([1, -1]) * np.sqrt(0.99))
        folds = [fold.parameter for fold in found.folds]
        np.testing.assert_allclose(folds, ends, rtol=1e-9)

    @pytest.mark.rest
    @pytest.mark.parametrize("step", [0.2, 0.5, 1.0])
    def test_folds_of_bratu_close_together(self, step):
        """On 33 by 33 points the upper branch turns twice, near 0.27 and 0.31, and is crossed by
        none; a step may not go over both turns."""

        def plane(u, lam):
            v = np.pad(u, 1)
            around = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:]
            return around - 4 * u + lam / 34**2 * np.exp(u)

        found = continuation(
            plane, np.zeros((33, 33)), 0.0, step=step, max_step=step, folds=3, ftol=1e-11
        )
        folds = [fold.parameter for fold in found.folds]
        np.testing.assert_allclose(folds, [6.8068213, 0.2698836, 0.3134967], rtol=1e-6)
        assert not found.branch_points


class TestEnds:
    def test_out_of_points(self):
        found = continuation(lambda x, a: x - a, 0.0, 0.0, maxiter=5)
        assert found.success
        assert found.nit == 5
        found = continuation(lambda x, a: x - a, 0.0, 0.0, maxiter=5, folds=1)
        assert found.status == Status.MAXITER
        assert not found.success

    def test_no_solution_at_the_start(self):
        found = continuation(lambda x, a: x**2 + a**2 + 1.0, np.array([1.0]), 0.0)
        assert not found.success
        assert found.status in (Status.STAGNATED, Status.SINGULAR)
        assert found.nit == 0

    def test_a_branch_that_ends(self):
        """x = sqrt(a) has no points at a < 0, and its slope there has no bound."""
        found = continuation(
            lambda x, a: x - np.sqrt(a), np.array([1.0]), 1.0, direction=-1, min_step=1e-3
        )
        assert not found.success
        assert found.parameter >= 0.0
        assert found.parameter < 0.1

    def test_stopped(self):
        def callback(intermediate_result):
            if intermediate_result.nit == 3:
                raise StopIteration

        found = continuation(circle, np.array([1.0]), 0.0, callback=callback)
        assert found.status == Status.STOPPED
        assert found.nit == 3

    @pytest.mark.parametrize(
        "options, words",
        [
            ({"step": 0.0}, "step must be a number > 0, got 0.0"),
            ({"step": 2.0}, "expected min_step <= step <= max_step"),
            ({"direction": 2}, "direction must be 1 or -1, got 2"),
            ({"bounds": (1.0, 2.0)}, "must be within bounds"),
            ({"linear_solver": "qr"}, "linear_solver must be .*, got 'qr'"),
        ],
    )
    def test_options_that_cannot_be_meant(self, options, words):
        with pytest.raises(ValueError, match=words):
            continuation(circle, np.array([1.0]), 0.0, **options)

    def test_wrong_sizes(self):
        with pytest.raises(linad.errors.ShapeError, match="for 1 unknowns beside .* returned 2"):
            continuation(lambda x, a: np.stack([x[0], a]), np.ones(1), 0.0)
        with pytest.raises(linad.errors.DTypeError, match="complex"):
            continuation(lambda x, a: x - a, np.ones(1) + 1j, 0.0)
