"""Rosenbrock's function and the Bratu problem: each entry depends on its neighbours."""

from . import topics


class Times(topics.Times):
    topic = "fields"


class Ratios(topics.Ratios):
    topic = "fields"


class AgainstPeers(topics.AgainstPeers):
    topic = "fields"


class OverSizes(topics.OverSizes):
    topic = "fields"
