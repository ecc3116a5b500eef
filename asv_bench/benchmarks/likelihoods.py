"""Likelihoods: a Gaussian process, a log-normal sample, logistic regression."""

from . import topics


class Times(topics.Times):
    topic = "likelihoods"


class Ratios(topics.Ratios):
    topic = "likelihoods"


class AgainstPeers(topics.AgainstPeers):
    topic = "likelihoods"


class OverSizes(topics.OverSizes):
    topic = "likelihoods"
