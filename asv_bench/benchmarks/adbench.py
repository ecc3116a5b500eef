"""The objectives of ADBench and GradBench."""

from . import topics

Times, Ratios, AgainstPeers, OverSizes = topics.measured("adbench")
