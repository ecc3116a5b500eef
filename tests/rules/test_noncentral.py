"""Noncentral distributions: rules against differences, numbers against 45 digits of the sums."""

import numpy as np
import pytest
import scipy.special as sp
from special_cases import special_case

import linad
from linad.rules.noncentral import (
    chi_density_wrt_freedom,
    chi_wrt_freedom,
    ratio_density_wrt_freedoms,
    ratio_wrt_freedoms,
    t_expectation,
)
from linad.testing.rule_checks import Case

X = np.array([-1.3, 0.3, 1.1])
P = np.array([0.8, 1.3, 1.9])
U = np.array([0.3, 0.6, 0.7])
V = np.array([3.5, 0.9, 12.0])


CASES = [
    special_case("chndtr", P, V, U),
    special_case("chndtr", P, 3.5, np.float64(0.6)),
    special_case("chndtrix", U, V, np.float64(0.6)),
    special_case("chndtrix", U, V, U[::-1]),
    special_case("ncx2_pdf", P, V, U),
    special_case("ncx2_sf", P, V, U),
    special_case("ncx2_isf", U, V, U[::-1]),
    Case(chi_wrt_freedom, P[:, None], V, U, nth=1),
    Case(chi_density_wrt_freedom, P[:, None], V, U, nth=1),
    special_case("ncfdtr", V, P, U, P),
    special_case("ncfdtri", V, P, U, U[::-1]),
    special_case("ncf_sf", P, V, P[::-1], U),
    special_case("ncf_isf", U, V, P, U[::-1]),
    special_case("ncf_pdf", P, V, P[::-1], U),
    Case(ratio_wrt_freedoms, V[:, None], P, U, U[::-1], orders=(1, 0)),
    Case(ratio_density_wrt_freedoms, V[:, None], P, U, U[::-1], orders=(1, 1)),
    special_case("nctdtr", V, U, X),
    special_case("nctdtrit", V, X, U),
    special_case("nct_sf", X, V, U),
    special_case("nct_isf", U, V, X),
    special_case("nct_pdf", X, V, U),
    Case(t_expectation, V[:, None], U, X, power=1, slope=0, nth=1),
]


# Of the sums and integrals, in 45 and 30 digits.

CHI = [
    (3.0, 2.0, 1.0, 1, -0.15183033432920795, 0.029988546134207589),
    (3.0, 2.0, 1.0, 2, -0.0070675433849036975, -0.019876161473104561),
    (0.01, 3.0, 5.0, 1, -6.567178279723271e-5, -0.008773125106375584),
    (0.01, 3.0, 5.0, 2, 0.0001944860194177128, 0.022663921391124741),
    (5.0, 1.0, 60.0, 1, -1.1607715688421127e-8, -1.3827661441851373e-8),
    (5.0, 1.0, 60.0, 2, 7.2461643823365412e-9, 8.0452474853450693e-9),
    (200.0, 3.0, 20.0, 1, -3.7045212807568048e-22, 1.2627166229918166e-22),
    (200.0, 3.0, 20.0, 2, -2.1057125609239127e-22, 7.130454812010949e-23),
    (900.0, 300.0, 500.0, 1, -0.0012162925110953456, 4.3047625730623316e-5),
    (900.0, 300.0, 500.0, 2, -4.420430752120591e-5, 1.1529997043383561e-6),
]
RATIO = [
    ((3.0, 5.0, 2.0, 0.3), (1, 0), -0.093241196538603225, -0.14521846442205214),
    ((3.0, 5.0, 2.0, 0.3), (0, 1), 0.053538852105742836, 0.22446252975162018),
    ((3.0, 5.0, 2.0, 0.3), (1, 1), -0.0090576879356321312, 0.03755019979660641),
    ((1.0, 20.0, 10.0, 0.05), (1, 0), -0.011497207895716298, -0.20808540226422319),
    ((1.0, 20.0, 10.0, 0.05), (0, 1), 0.0010798181735725322, 0.036366956733045918),
    ((1.0, 20.0, 10.0, 0.05), (1, 1), -0.00049022122617851246, -0.012064027214697666),
    ((7.0, 2.0, 30.0, 0.9), (1, 0), -0.0081293337148420989, -0.067823739509569271),
    ((7.0, 2.0, 30.0, 0.9), (0, 1), 0.11486907554180152, 1.6911804490428144),
    ((7.0, 2.0, 30.0, 0.9), (1, 1), -0.0044085549350382483, 0.00024186388589096919),
]
STUDENT = [
    ((5.0, 1.2, 0.7), (1, 0, 0), 0.33450098359223095),
    ((5.0, 1.2, 0.7), (0, -1, 1), 0.0015227573111881738),
    ((5.0, 1.2, 0.7), (2, 1, 0), 0.13852347491089724),
    ((5.0, 1.2, 0.7), (1, 0, 1), 0.0034257781219909088),
    ((1.0, 2.0, -3.0), (1, 0, 0), 0.0007270833256017784),
    ((1.0, 2.0, -3.0), (0, -1, 1), -0.0035796954223117298),
    ((1.0, 2.0, -3.0), (2, 1, 0), 0.00046835908078111855),
    ((1.0, 2.0, -3.0), (1, 0, 1), -0.0004609269091004436),
    ((200.0, 3.0, 3.1), (1, 0, 0), 0.39168237735799238),
    ((200.0, 3.0, 3.1), (0, -1, 1), 9.9178432056210338e-6),
    ((200.0, 3.0, 3.1), (2, 1, 0), -0.042674973512585509),
    ((200.0, 3.0, 3.1), (1, 0, 1), 2.585850359387975e-5),
    ((2.5, 5.0, 20.0), (1, 0, 0), 0.0044498899534040218),
    ((2.5, 5.0, 20.0), (0, -1, 1), 0.03791906088442181),
    ((2.5, 5.0, 20.0), (2, 1, 0), -0.00073629774423436473),
    ((2.5, 5.0, 20.0), (1, 0, 1), -0.0028065133752759483),
    ((30.0, -1.0, 4.0), (1, 0, 0), 1.333295846500263e-5),
    ((30.0, -1.0, 4.0), (0, -1, 1), 2.7602586833655804e-7),
    ((30.0, -1.0, 4.0), (2, 1, 0), -4.2657053130495724e-5),
    ((30.0, -1.0, 4.0), (1, 0, 1), -7.131654467261911e-7),
]


def test_numbers():
    for *point, nth, function, density in CHI:
        x, v, nc = map(np.float64, point)
        assert chi_wrt_freedom(x, v, nc, nth=nth) == pytest.approx(function, rel=2e-12)
        assert chi_density_wrt_freedom(x, v, nc, nth=nth) == pytest.approx(density, rel=2e-12)
    for point, orders, function, density in RATIO:
        m, n, nc, z = map(np.float64, point)
        found = ratio_wrt_freedoms(m, n, nc, z, orders=orders)
        assert found == pytest.approx(function, rel=2e-12)
        found = ratio_density_wrt_freedoms(m, n, nc, z, orders=orders)
        assert found == pytest.approx(density, rel=2e-12)
    for point, (power, slope, nth), expected in STUDENT:
        found = t_expectation(*map(np.float64, point), power=power, slope=slope, nth=nth)
        assert found == pytest.approx(expected, rel=2e-12)


def test_without_shift_they_are_the_central_ones():
    for f, central in (
        (lambda v, x: sp.chndtr(x, v, 0.0), sp.chdtr),
        (lambda v, x: sp.nctdtr(v, 0.0, x), sp.stdtr),
    ):
        found = linad.grad(f, (0, 1))(3.5, 0.8)
        assert found == pytest.approx(linad.grad(central, (0, 1))(3.5, 0.8), rel=1e-11)
    found = linad.grad(lambda m, n, x: sp.ncfdtr(m, n, 0.0, x), (0, 1, 2))(3.5, 7.0, 0.8)
    assert found == pytest.approx(linad.grad(sp.fdtr, (0, 1, 2))(3.5, 7.0, 0.8), rel=1e-11)


def test_ends_and_arguments_that_make_no_distribution():
    with np.errstate(all="ignore"):
        for x in (0.0, np.inf):
            assert chi_wrt_freedom(np.float64(x), 3.0, 1.0, nth=1) == 0
            assert t_expectation(3.0, 1.0, np.float64(np.inf), power=0, slope=-1, nth=1) == 0
        for z in (0.0, 1.0):
            assert ratio_wrt_freedoms(3.0, 2.0, 1.0, np.float64(z), orders=(1, 0)) == 0
        assert np.isnan(chi_wrt_freedom(1.0, np.float64(-1.0), 1.0, nth=1))
        assert np.isnan(ratio_wrt_freedoms(3.0, 2.0, np.float64(-1.0), 0.5, orders=(0, 1)))
        assert np.isnan(t_expectation(np.float64(0.0), 1.0, 1.0, power=1, slope=0, nth=0))
    assert chi_wrt_freedom(np.ones((0, 3)), np.ones(3), 1.0, nth=1).shape == (0, 3)
