"""What structure saves: inverses in closed form beside dense ones; and what it costs to find."""

import numpy as np

import linad


class Solve:
    """One linear system with 1,000 unknowns; wanted: closed forms far below the dense matrix."""

    params = ["diagonal", "kronecker", "circulant", "low rank plus diagonal", "dense"]
    param_names = ["structure"]
    timeout = 120

    def setup(self, structure):
        rng = np.random.default_rng(0)
        A, B = rng.standard_normal((40, 40)), rng.standard_normal((25, 25))
        x = np.linspace(0.1, 1.0, 1000)
        self.b = np.ones(1000)
        functions = {
            "diagonal": np.exp,
            "kronecker": lambda x: A @ x.reshape(40, 25) @ B,
            "circulant": lambda x: np.roll(x, 1) - 3 * x + np.roll(x, -1),
            "low rank plus diagonal": lambda x: np.exp(x) + np.sum(x) * x[0] * np.ones(1000),
            "dense": lambda x: np.linalg.norm(x) * np.cumsum(np.sin(np.cumsum(x))) + x,
        }
        self.J = linad.linearize(functions[structure], x)[1]
        linad.solve_linear(self.J, self.b)

    def time_solve(self, structure):
        linad.solve_linear(self.J, self.b)

    def time_structure(self, structure):
        self.J.structure  # noqa: B018


class Compose:
    """What `@` and `+` cost where the table has something to say, and where it has not."""

    def setup(self):
        self.d = linad.linearize(np.exp, np.ones(3))[1].simplified()
        self.J = linad.linearize(np.cumsum, np.ones(3))[1]

    def time_diagonals(self):
        self.d @ self.d

    def time_others(self):
        self.J @ self.J
