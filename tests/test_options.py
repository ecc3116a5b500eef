"""Wrong options of every public function: an error of linad's own that names both, at the door."""

import inspect

import numpy as np
import pytest
import scipy.optimize

import linad
import linad.solve
from linad import testing
from linad.errors import ArgumentError, LinadError, OptionError

X = np.array([0.5, 1.5])
_, J = linad.linearize(lambda x: np.sin(x) + 3 * x, X)
WRONG = [None, "x", -1, float("nan"), 2.5, [], object(), np.zeros(3)]


def g(x, *theta):
    return x**3 - 1.0


def f(x, *theta):
    return np.sum((x - 1.0) ** 2)


def solver(function, of=g):
    return lambda **options: function(of, X, **options)


CALLS = {
    "newton": solver(linad.solve.newton),
    "newton_krylov": solver(linad.solve.newton_krylov),
    "gauss_newton": solver(linad.solve.gauss_newton),
    "levenberg_marquardt": solver(linad.solve.levenberg_marquardt),
    "newton_cg": solver(linad.solve.newton_cg, f),
    "trust_region": solver(linad.solve.trust_region, f),
    "lbfgs": solver(linad.solve.lbfgs, f),
    "root": solver(linad.solve.root),
    "fixed_point": solver(linad.solve.fixed_point, lambda x: np.cos(x)),
    "minimum": solver(linad.solve.minimum, f),
    "least_squares": solver(linad.solve.least_squares),
    "linear": solver(linad.solve.linear, lambda x: 2 * x),
    "continuation": lambda **options: linad.solve.continuation(
        lambda x, a: x - a, np.zeros(1), 0.0, **{"maxiter": 3} | options
    ),
    "solve_linear": lambda **options: linad.solve_linear(J, X, **options),
    "scipy_args": lambda **options: linad.scipy_args(f, "minimize", **options),
    "grad": lambda **options: linad.grad(f, **options)(X),
    "value_and_grad": lambda **options: linad.value_and_grad(f, **options)(X),
    "hessian": lambda **options: linad.hessian(f, **options)(X),
    "jacobian": lambda **options: linad.jacobian(g, **options)(X),
    "derivative": lambda **options: linad.derivative(f, **options)(0.5),
    "linearize": lambda **options: linad.linearize(f, X, **options),
    "hessian_operator": lambda **options: linad.hessian_operator(f, X, **options),
    "jvp": lambda **options: linad.jvp(f, (X,), (X,), **options),
    "vjp": lambda **options: linad.vjp(f, X, **options),
    "sparse_jacobian": lambda **options: linad.sparse_jacobian(g, X, **options),
    "sparse_hessian": lambda **options: linad.sparse_hessian(f, X, **options),
    "jit": lambda **options: linad.jit(f, **options)(X),
    "primitive": lambda **options: linad.primitive(f, **options),
    "tag": lambda **options: linad.tag(J, "diagonal", **options),
    "eye": lambda **options: linad.eye(**{"n": 2} | options),
    "check_derivatives": lambda **options: linad.check_derivatives(f, X, **options),
    "check_rule": lambda **options: testing.check_rule(np.sin, X, **{"compiled": 0} | options),
    "tosparse": lambda **options: J.tosparse(**options),
    "diagonal": lambda **options: J.diagonal(**options),
    "trace": lambda **options: J.trace(**options),
    "norm_estimate": lambda **options: J.norm_estimate(**options),
    "column_norms": lambda **options: J.column_norms(**options),
}

FUNCTIONS = {
    **{name: getattr(linad.solve, name) for name in linad.solve.__all__ if name != "Status"},
    **{name: getattr(linad, name) for name in CALLS if hasattr(linad, name)},
    **{name: getattr(type(J), name) for name in CALLS if hasattr(type(J), name)},
    "trace": type(J).trace,
    "check_rule": testing.check_rule,
}

ANYTHING = {"args"}
"""Options that any value may be handed on by."""

VALID = {
    # Values of WRONG that are right there, and what else is not wrong of its kind.
    ("continuation", "folds"): [None],
    ("continuation", "direction"): [-1],
    ("primitive", "name"): ["x"],
    ("primitive", "writes"): ["x", -1],
    **{(name, "argnums"): [-1] for name in CALLS},
    ("linearize", "argnums"): [None, -1],
    ("jit", "static_argnums"): [-1, []],
    ("jit", "static_argnames"): ["x", []],
    ("check_rule", "wrt"): [None],
    # What scipy.optimize.minimize hands on where there are none.
    **{(name, "constraints"): [None, []] for name in ("newton_cg", "trust_region", "lbfgs")},
}


def options_of(name):
    parameters = inspect.signature(FUNCTIONS[name]).parameters.values()
    found = [p for p in parameters if p.default is not p.empty and p.name not in ANYTHING]
    return [p for p in found if (name, p.name) not in {("jit", "f"), ("primitive", "function")}]


CASES = [(name, p.name) for name in CALLS for p in options_of(name)]


def fits(name, option, value):
    """Whether a value is one that the option may have."""
    default = inspect.signature(FUNCTIONS[name]).parameters[option].default
    if repr(value) in map(repr, VALID.get((name, option), [])):
        return True
    return value is None and default is None


@pytest.mark.parametrize("name, option", CASES, ids=[".".join(case) for case in CASES])
def test_wrong_options(name, option):
    for value in WRONG:
        if fits(name, option, value):
            continue
        if option == "max_trust_radius" and isinstance(value, float) and value == 2.5:
            continue
        kind = getattr(FUNCTIONS[name], "__options__", {}).get(option)
        if kind is not None and kind.fits(value):
            continue  # right where a number, a text or an array is meant
        with pytest.raises(LinadError) as caught:
            CALLS[name](**{option: value})
        said = str(caught.value)
        assert said.startswith(f"{name}: "), said
        assert option in said, said
        assert isinstance(caught.value, ArgumentError | TypeError), type(caught.value)


def test_each_function_with_options_is_swept():
    public = [*linad.__all__, *linad.solve.__all__]
    for name in public:
        function = getattr(linad.solve, name, None) or getattr(linad, name)
        if not inspect.isfunction(function):
            continue
        keywords = [
            p
            for p in inspect.signature(function).parameters.values()
            if p.default is not p.empty or p.kind is p.KEYWORD_ONLY
        ]
        assert not keywords or name in CALLS, name


@pytest.mark.parametrize("name", ["newton", "newton_cg", "lbfgs", "root", "minimum", "linear"])
def test_a_function_that_is_none(name):
    for value in (None, 3.0, "f"):
        with pytest.raises(OptionError, match=f"^{name}: [a-zA-Z]+ must be a function, got"):
            getattr(linad.solve, name)(value, X)
    with pytest.raises(ArgumentError, match="^explain: the first argument must be a function"):
        linad.explain(None)
    with pytest.raises(ArgumentError, match="^lower: the first argument must be a function"):
        linad.lower(None)


def test_numbers_of_every_kind_are_taken():
    for one in (np.float32(1e-3), np.float64(1e-3), np.array(1e-3), 0):
        assert linad.solve.newton(g, X, ftol=one).success
    for n in (np.int64(9), np.uint8(9), 9):
        assert linad.solve.newton(g, X, maxiter=n).success
    for rng in (None, 3, np.int64(3), np.random.default_rng(3), np.random.SeedSequence(3)):
        J.diagonal(rng=rng)
    assert J.diagonal(exact=np.True_).exact


def test_scipy_hands_its_options_on():
    for method in (linad.solve.newton_cg, linad.solve.trust_region, linad.solve.lbfgs):
        found = scipy.optimize.minimize(
            f, X, method=method, tol=1e-6, options={"disp": False, "maxiter": 50}
        )
        assert found.success
    with pytest.raises(OptionError, match="^newton_cg: bounds must be None"):
        scipy.optimize.minimize(f, X, method=linad.solve.newton_cg, bounds=[(0, 1)] * 2)
