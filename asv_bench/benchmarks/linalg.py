"""Matrix products and Kronecker products."""

from . import topics


class Times(topics.Times):
    topic = "linalg"


class Ratios(topics.Ratios):
    topic = "linalg"


class AgainstPeers(topics.AgainstPeers):
    topic = "linalg"


class OverSizes(topics.OverSizes):
    topic = "linalg"
