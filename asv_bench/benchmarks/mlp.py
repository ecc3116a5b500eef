"""Neural networks: value and gradient in all weights, in double and single precision."""

from . import topics


class Times(topics.Times):
    topic = "mlp"


class Ratios(topics.Ratios):
    topic = "mlp"


class AgainstPeers(topics.AgainstPeers):
    topic = "mlp"


class OverSizes(topics.OverSizes):
    topic = "mlp"
