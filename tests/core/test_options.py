"""Wrong options of every public function: an error of linad's own that names both, at the door."""

import inspect
import re

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
    "explain": lambda **options: linad.explain(np.sin, **options),
    "newton_krylov": solver(linad.solve.newton_krylov),
    "gauss_newton": solver(linad.solve.gauss_newton),
    "levenberg_marquardt": solver(linad.solve.levenberg_marquardt),
    "curve_fit": lambda **options: linad.solve.curve_fit(lambda x, a: a * x, X, X, **options),
    "fit": solver(linad.solve.fit),
    "maximum_likelihood": lambda **options: linad.solve.maximum_likelihood(
        lambda p: -np.sum((p - X) ** 2), X, **options
    ),
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
    "sum_of": lambda **options: linad.sum_of(f, [1.0], **options),
    "normal_of": lambda **options: linad.normal_of(f, [1.0], **options),
    "scan": lambda **options: linad.scan(lambda c, _: (2 * c, c), X, **{"length": 3} | options),
    "while_loop": lambda **options: linad.while_loop(
        lambda x: x[0] < 9.0, lambda x: 2 * x, X, **options
    ),
    "fori_loop": lambda **options: linad.fori_loop(0, 3, lambda i, x: 2 * x, X, **options),
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

FITS = ("curve_fit", "fit", "maximum_likelihood")
TYPES = {"FitResult", "LikelihoodResult", "Propagated", "Status"}

FUNCTIONS = {
    **{name: getattr(linad.solve, name) for name in linad.solve.__all__ if name not in TYPES},
    **{name: getattr(linad, name) for name in CALLS if hasattr(linad, name)},
    **{name: getattr(type(J), name) for name in CALLS if hasattr(type(J), name)},
    "trace": type(J).trace,
    "check_rule": testing.check_rule,
}

ANYTHING = {"args", "xs"}
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
    ("scipy_args", "x0"): [-1, 2.5, np.zeros(3)],
    ("curve_fit", "p0"): [-1, 2.5],
    ("curve_fit", "sigma"): [2.5],
    ("curve_fit", "weights"): [2.5],
    **{(name, "bounds"): [None] for name in FITS},
    **{(name, "fixed"): [[]] for name in FITS},
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
    # A decorator's own function, and a container, which have tests of their own.
    public = {*linad.__all__, *linad.solve.__all__} - {"kernel", "onnx"}
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


@pytest.mark.parametrize("name", ["newton", "newton_cg", "lbfgs"])
def test_a_derivative_in_the_place_of_args(name):
    with pytest.raises(OptionError, match=f"^{name}: args must be a tuple .* leave a derivative"):
        getattr(linad.solve, name)(lambda x: x**2, X, lambda x: 2 * x)


@pytest.mark.parametrize("name", ["newton", "newton_cg", "lbfgs", "root", "minimum", "linear"])
def test_a_function_that_is_none(name):
    for value in (None, 3.0, "f"):
        with pytest.raises(OptionError, match=f"^{name}: [a-zA-Z]+ must be a function, got"):
            getattr(linad.solve, name)(value, X)
    with pytest.raises(OptionError, match="A must be a function, .* matrix M is lambda x: M @ x"):
        linad.solve.linear(np.eye(3), np.ones(3))
    with pytest.raises(ArgumentError, match="^explain: the first argument must be a function"):
        linad.explain(None)
    with pytest.raises(ArgumentError, match="^lower: the first argument must be a function"):
        linad.lower(None)


NOTHING = [None, "wrong", 2.5, np.nan, -1, object(), [], {"a": 1}, 1j]
"""Nothing of this is a function, an operator or a list of them."""

FIT = linad.solve.curve_fit(
    lambda t, a: a * t, np.arange(1.0, 5), np.arange(1.0, 5) ** 1.1, p0=[1.0]
)
MANDATORY = {
    "fori_loop: body": lambda v: linad.fori_loop(0, 3, v, 0.0),
    "while_loop: test": lambda v: linad.while_loop(v, lambda c: c + 1, 0.0),
    "while_loop: body": lambda v: linad.while_loop(lambda c: c < 3, v, 0.0),
    "scan: the first argument": lambda v: linad.scan(v, 0.0, X),
    "map: the first argument": lambda v: linad.map(v, X),
    "cond: yes": lambda v: linad.cond(True, v, np.sin, X),
    "cond: no": lambda v: linad.cond(True, np.sin, v, X),
    "switch: branches": lambda v: linad.switch(0, v, X),
    "solve_linear: J": lambda v: linad.solve_linear(v, X),
    "tag: J": lambda v: linad.tag(v, "symmetric"),
    "block_diag: ops[1]": lambda v: linad.block_diag([J, v]),
    "hstack: ops[1]": lambda v: linad.hstack([J, v]),
    "vstack: ops[1]": lambda v: linad.vstack([J, v]),
    "plot: axes": lambda v: FIT.plot(axes=v if v is not None else 3),
}


@pytest.mark.parametrize("place", MANDATORY)
def test_what_must_be_given_is_named(place):
    for value in NOTHING:
        if value == [] and place == "switch: branches":
            continue  # no branches: the index is none of them
        with pytest.raises(linad.errors.LinadError) as caught:
            MANDATORY[place](value)
        assert str(caught.value).startswith(place), caught.value


@pytest.mark.parametrize("value", [None, "wrong", object(), {"a": 1}, 1j])
def test_a_condition_is_a_boolean(value):
    with pytest.raises(ArgumentError, match="^cond: the condition must be one boolean, got"):
        linad.cond(value, np.sin, np.cos, X)
    assert linad.cond(1, np.sin, np.cos, 0.0) == 0.0


@pytest.mark.parametrize(
    "bounds",
    [
        np.ones((2, 3)),
        "ab",
        5,
        (np.nan, 1.0),
        [(0, 1), 2],
        [(0, 1), (1, 0)],
        [(0, 1), ("a", "b")],
        [(0, np.nan), (0, 1)],
        ((1.0, 1.0), np.zeros(2) - 1, 3),
        scipy.optimize.Bounds([1.0, 0.0], [0.0, 1.0]),
    ],
    ids=repr,
)
def test_bounds_of_lbfgs(bounds):
    with pytest.raises(OptionError, match=r"^lbfgs: (the lower )?bounds(\[\d\])? must"):
        linad.solve.lbfgs(f, X, bounds=bounds)


def test_bounds_that_hold_everything():
    found = linad.solve.lbfgs(f, X, bounds=[(1.0, 1.0), (2.0, 2.0)])
    assert found.success
    np.testing.assert_array_equal(found.x, [1.0, 2.0])
    np.testing.assert_array_equal(found.jac, linad.grad(f)(np.array([1.0, 2.0])))


def test_bounds_that_are_none_on_a_side():
    found = linad.solve.lbfgs(lambda x: np.sum((x - 3) ** 2), X, bounds=[(None, 2), (0, None)])
    np.testing.assert_allclose(found.x, [2.0, 3.0], atol=1e-5)


def test_options_of_a_fit():
    for names in (2.5, [1], object(), {"a": 1}):
        with pytest.raises(OptionError, match="^profile_intervals: names must be"):
            FIT.profile_intervals(names=names)
    for correlations in ("a", -1, np.nan, None):
        with pytest.raises(OptionError, match="^report: correlations must be"):
            FIT.report(correlations)


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


# Points.

POINTS = {
    "newton": lambda x0: linad.solve.newton(g, x0).x,
    "newton_krylov": lambda x0: linad.solve.newton_krylov(g, x0).x,
    "gauss_newton": lambda x0: linad.solve.gauss_newton(g, x0).x,
    "levenberg_marquardt": lambda x0: linad.solve.levenberg_marquardt(g, x0).x,
    "newton_cg": lambda x0: linad.solve.newton_cg(f, x0).x,
    "trust_region": lambda x0: linad.solve.trust_region(f, x0).x,
    "lbfgs": lambda x0: linad.solve.lbfgs(f, x0, bounds=[(0.0, 9.0)] * 2).x,
    "continuation": lambda x0: linad.solve.continuation(g, x0, 0.0, maxiter=2).x,
    "root": lambda x0: linad.solve.root(g, x0),
    "fixed_point": lambda x0: linad.solve.fixed_point(lambda x: 0.5 * x + 0.5, x0),
    "minimum": lambda x0: linad.solve.minimum(f, x0),
    "least_squares": lambda x0: linad.solve.least_squares(g, x0),
    "linear": lambda b: 0.5 * linad.solve.linear(lambda x: x / b[0], b),
    "minimize": lambda x0: scipy.optimize.minimize(x0=x0, **linad.scipy_args(f, "minimize")).x,
    "method": lambda x0: scipy.optimize.minimize(f, x0, method=linad.solve.newton_cg).x,
}


@pytest.mark.parametrize("name", POINTS)
def test_lists_of_numbers_are_points(name):
    expected = POINTS[name](np.array([1.5, 1.5]))
    for x0 in ([1.5, 1.5], (1.5, 1.5), [np.float64(1.5), 1.5]):
        found = POINTS[name](x0)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_what_stays_a_container():
    found = linad.solve.newton(lambda p: [p[0] - 1.0, p[1] - 2.0], [np.zeros(2), 0.0]).x
    assert isinstance(found, list)
    rows = linad.solve.newton(lambda x: x - 1.0, [[0, 0], [0, 0], [0, 0]]).x
    np.testing.assert_array_equal(rows, np.ones((3, 2)))
    slopes = linad.grad(lambda p: p[0] ** 2 + p[1] ** 2)([1.0, 2.0])
    assert slopes == [2.0, 4.0]
    assert {type(v) for v in slopes} == {np.float64}


def test_the_argument_that_is_wrong_is_named():
    def h(a, b, c):
        return np.sum(a * b * c)

    for args, said in [
        ((X, X, np.arange(2)), "^h: argument 2 has dtype int64"),
        ((X, "k", X), "^h: argument 1 has dtype <U1"),
        ((X, {"k": [X, 1]}, X), r"^h: argument 1\['k'\]\[1\] has dtype int64"),
    ]:
        with pytest.raises(LinadError, match=said):
            linad.grad(h, argnums=(1, 2))(*args)
    with pytest.raises(OptionError, match="argnums must be .*, got 'k'; .* by its position"):
        linad.grad(h, argnums="k")
    for call, name in (
        (lambda: linad.linearize(h), "linearize"),
        (lambda: linad.vjp(h), "vjp"),
        (lambda: linad.hessian_operator(h), "hessian_operator"),
        (lambda: linad.sparse_jacobian(h), "sparse_jacobian"),
        (lambda: linad.sparse_hessian(h), "sparse_hessian"),
        (lambda: linad.check_derivatives(h), "check_derivatives"),
        (lambda: linad.jvp(h, (), ()), "jvp"),
        (lambda: linad.hvp(h, (), ()), "hvp"),
    ):
        with pytest.raises(ArgumentError, match=rf"^{name}: expected a point .*linad.{name}\(h, "):
            call()


def test_what_an_operator_cannot_meet():
    for x in ({"a": X}, None, "abc", object()):
        with pytest.raises(LinadError, match="@ x: x must be a vector.*J.pushforward"):
            J @ x
        with pytest.raises(LinadError, match="/ x: x must be a number"):
            J / x
    for p in (2.5, None, "x"):
        with pytest.raises(LinadError, match=r"\*\* p: p must be an integer"):
            J**p


def test_labels_are_gone():
    with pytest.raises(IndexError, match="no labels"):
        linad.grad(lambda s: s["a"] ** 2)(X)


PLACES = {
    "newton": (linad.solve.newton, "jac", "leave it out"),
    "lbfgs": (linad.solve.lbfgs, "maxiters", "maxiter?"),
    "root": (linad.solve.root, "args", "one by one behind x0"),
    "least_squares": (linad.solve.least_squares, "args", "one by one behind x0"),
    "fixed_point": (linad.solve.fixed_point, "options", "keyword of its own"),
    "minimum": (linad.solve.minimum, "method", "functions of their own"),
    "linear": (linad.solve.linear, "tol", "rtol?"),
    "fit": (linad.solve.fit, "x_scale", "expected options among"),
}


@pytest.mark.parametrize("name", PLACES)
def test_options_that_there_are_not(name):
    function, option, words = PLACES[name]
    with pytest.raises(OptionError, match=re.escape(words)) as error:
        function(lambda x: np.sum(x * x) if name == "lbfgs" else x, np.ones(2), **{option: ()})
    assert option in str(error.value)


def test_frames_of_a_checked_function_are_left_out():
    """A model that raises in a solver is a few lines of a traceback."""

    def model(t, a):
        y = np.zeros(len(t))
        y[0] = a
        return y

    with pytest.raises(linad.errors.TracerError) as raised:
        linad.solve.curve_fit(model, np.arange(3.0), np.arange(3.0), [1.0])
    files = [entry.path.name for entry in raised.traceback]
    assert files == ["test_options.py", "options.py", "test_options.py"]


def test_too_many_arguments_by_place_are_told():
    from linad.solve import fit, newton

    with pytest.raises(TypeError, match=r"fit\(f, x0, args\) was given 4 .*curve_fit\(f, xdata"):
        fit(lambda x: x, 1, 2, 3)
    with pytest.raises(TypeError, match=r"newton\(.*\) was given 9 arguments by their places"):
        newton(np.sin, *range(8))
