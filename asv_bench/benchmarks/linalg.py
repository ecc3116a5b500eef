"""Matrix products and Kronecker products."""

from . import topics

Times, Ratios, AgainstPeers, OverSizes = topics.measured("linalg")
