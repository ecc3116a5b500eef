"""A differential equation, stepped a thousand times in Python."""

from . import topics


class Times(topics.Times):
    topic = "dynamics"


class Ratios(topics.Ratios):
    topic = "dynamics"


class AgainstPeers(topics.AgainstPeers):
    topic = "dynamics"


class OverSizes(topics.OverSizes):
    topic = "dynamics"
