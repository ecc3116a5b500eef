"""Functions of more packages for `run_packages`: fields, scores, signals, units, soils, robots."""

# ruff: noqa: B023 -- every lambda is called before the loop goes on
import numpy as np

WAVE = np.sin(0.17 * np.arange(64)) + 0.3 * np.cos(np.arange(64) ** 1.3)
RETURNS = list(0.01 * np.sin(np.arange(30) ** 1.4) + 0.001)
MEMBERS = [0.3, 1.2, -0.4, 0.8, 2.1]
WEIGHTS = list(0.1 + 0.8 * np.abs(np.sin(np.arange(10) ** 1.3)))


def fields_():
    import magpylib
    from magpylib import core

    at = np.array([[1.0, 2.0, 3.0]])
    yield (
        *("magpylib", "cuboid"),
        lambda x: core.magnet_cuboid_Bfield(x[:3].reshape(1, 3), x[3:].reshape(1, 3), at),
        [1.3, 1.5, 1.7, 0.5, 0.7, 0.9],
    )
    yield (
        *("magpylib", "turned"),
        lambda x: (
            magpylib.current.Circle(current=x[0], diameter=x[1])
            .rotate_from_angax(20, "x")
            .getH((0.3, 0.1, 0.5))
        ),
        [1.0, 0.9],
    )
    yield (
        *("magpylib", "dipole"),
        lambda x: core.dipole_Hfield(x.reshape(1, 3), at),
        [0.3, 0.5, 0.7],
    )


def scores_():
    import empyrical
    import scoringrules
    import similaritymeasures

    yield (
        *("scoringrules", "crps_gpd"),
        lambda x: scoringrules.crps_gpd(0.3, x[0], x[1], x[2]),
        [0.2, 0.1, 0.8],
    )
    yield (
        *("scoringrules", "crps_t"),
        lambda x: scoringrules.crps_t(0.3, x[0], x[1], x[2]),
        [5.0, 0.1, 0.8],
    )
    yield (
        *("scoringrules", "crps_ensemble"),
        lambda x: scoringrules.crps_ensemble(0.2, x),
        MEMBERS,
    )
    for name in ("sharpe_ratio", "max_drawdown", "conditional_value_at_risk"):
        yield "empyrical", name, lambda x: getattr(empyrical, name)(x), RETURNS
    curve = np.stack([np.linspace(0, 1, 6), np.linspace(0, 1, 6) ** 2 + 0.1], -1)
    for name in ("frechet_dist", "area_between_two_curves"):
        measure = getattr(similaritymeasures, name)
        yield (
            *("similaritymeasures", name),
            lambda x: measure(curve, np.stack([np.linspace(0.02, 1.1, 6), x], -1)),
            [0.0, 0.1, 0.15, 0.4, 0.6, 1.1],
        )


def waves_():
    import eqsig
    import pandas as pd
    import ta
    from eqsig import im, sdof

    yield "eqsig", "arias", lambda x: im.calc_arias_intensity(eqsig.AccSignal(x, 0.02)), WAVE
    yield (
        *("eqsig", "response"),
        lambda x: np.stack(sdof.response_series(x, 0.02, np.array([0.5, 1.0]), 0.05)),
        WAVE,
    )
    prices = 10 + np.cumsum(np.sin(np.arange(40) ** 1.3)) * 0.3
    indicators = {
        "macd": lambda s: ta.trend.MACD(s, 8, 4, 3).macd_diff(),
        "tsi": lambda s: ta.momentum.TSIIndicator(s, 8, 4).tsi(),
        "bollinger": lambda s: ta.volatility.BollingerBands(s, 5).bollinger_hband(),
    }
    for name, indicator in indicators.items():
        yield "ta", name, lambda x: indicator(pd.Series(x)).fillna(0.0).to_numpy(), prices


def soils_():
    import pedon
    import quantities as pq
    from lmoments3 import distr

    heads = np.array([1.0, 10.0, 100.0])
    yield (
        *("pedon", "Genuchten"),
        lambda x: pedon.Genuchten(x[0], 0.05, 0.4, x[1], x[2]).k(heads),
        [10.0, 0.04, 1.5],
    )
    yield (
        *("pedon", "Fredlund"),
        lambda x: pedon.Fredlund(10.0, x[0], x[1], x[2], 0.7).theta(heads),
        [0.4, 5.0, 1.4],
    )
    sample = list(np.abs(np.sin(1.3 * np.arange(12))) + 0.1 * np.arange(12))
    for name in ("gev", "pe3"):
        fitted = getattr(distr, name)
        yield "lmoments3", name, lambda x: np.stack([*fitted.lmom_fit(x).values()]), sample
    yield (
        *("lmoments3", "gev.ppf"),
        lambda x: distr.gev(c=x[0], loc=x[1], scale=x[2]).ppf(np.array([0.5, 0.9])),
        [0.1, 1.0, 0.5],
    )
    yield (
        *("quantities", "energy"),
        lambda x: (0.5 * (x[0] * pq.kg) * (x[1] * pq.m / pq.s) ** 2).rescale("J").magnitude,
        [1.0, 2.0],
    )
    yield (
        *("quantities", "product"),
        lambda x: ((x * pq.m) * (2 * pq.s)).rescale("cm*s").magnitude,
        [1.0, 2.0],
    )


def robots_():
    import modern_robotics as mr
    from pykalman import KalmanFilter

    home = np.array([[-1, 0, 0, 0], [0, 1, 0, 6], [0, 0, -1, 2], [0, 0, 0, 1.0]])
    screws = np.array([[0, 0, 1, 4, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, -1, -6, 0, -0.1]]).T
    angles = [0.3, 0.8, 0.5]
    yield "modern_robotics", "FKinSpace", lambda x: mr.FKinSpace(home, screws, x), angles
    yield "modern_robotics", "JacobianSpace", lambda x: mr.JacobianSpace(screws, x), angles
    observed = np.array([[0.1], [0.5], [0.9], [1.2]])

    def smoothed(x):
        model = KalmanFilter(
            transition_matrices=[[1, 1], [0, 1]],
            observation_matrices=[[1.0, 0]],
            transition_covariance=x[0] * np.eye(2),
            observation_covariance=np.array([[x[1]]]),
            initial_state_mean=[0.0, 0],
            initial_state_covariance=np.eye(2),
        )
        return model.smooth(observed)[0]

    yield "pykalman", "smooth", smoothed, [0.1, 0.5]


def networks_():
    import bct
    import pypower.api as pp

    def symmetric(x):
        matrix = np.zeros((5, 5))
        matrix[np.triu_indices(5, 1)] = x
        return matrix + matrix.T

    for name in ("mean_first_passage_time", "eigenvector_centrality_und"):
        yield "bct", name, lambda x: getattr(bct, name)(symmetric(x)), WEIGHTS
    net = pp.ext2int(pp.case9())

    def distribution(x):
        branch = net["branch"]
        scaled = np.concatenate([branch[:, :3], (branch[:, 3] * x)[:, None], branch[:, 4:]], 1)
        return pp.makePTDF(net["baseMVA"], net["bus"], scaled)

    yield "pypower", "makePTDF", distribution, list(1 + 0.01 * np.arange(9.0))


NEWER = [fields_, scores_, waves_, soils_, robots_, networks_]
