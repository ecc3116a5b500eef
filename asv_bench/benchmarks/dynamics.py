"""A differential equation, stepped a thousand times in Python."""

from . import topics

Times, Ratios, AgainstPeers, OverSizes = topics.measured("dynamics")
