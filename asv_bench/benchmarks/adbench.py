"""The objectives of ADBench and GradBench."""

from . import topics


class Times(topics.Times):
    topic = "adbench"


class Ratios(topics.Ratios):
    topic = "adbench"


class AgainstPeers(topics.AgainstPeers):
    topic = "adbench"


class OverSizes(topics.OverSizes):
    topic = "adbench"
