"""Likelihoods: a Gaussian process, a log-normal sample, logistic regression."""

from . import topics

Times, Ratios, AgainstPeers, OverSizes = topics.measured("likelihoods")
