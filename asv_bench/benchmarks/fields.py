"""Rosenbrock's function and the Bratu problem: each entry depends on its neighbours."""

from . import topics

Times, Ratios, AgainstPeers, OverSizes = topics.measured("fields")
