"""Benchmarks of linad: times, and ratios that do not depend on the machine.

A ``track_`` ratio divides two medians that were taken in turn in the same process, so a slow or
busy machine changes both. Ratios against HIPS autograd are skipped where it is not installed.
"""

import time
from statistics import median


def median_seconds(*functions, seconds=0.3, warmup=2):
    """Median seconds a call of each function takes; their calls are interleaved."""
    for function in functions:
        for _ in range(warmup):
            function()
    samples = [[] for _ in functions]
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end or len(samples[0]) < 5:
        for function, times in zip(functions, samples, strict=True):
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
    return [median(times) for times in samples]


def ratio(numerator, denominator, **options):
    """Time of one function over the time of another."""
    above, below = median_seconds(numerator, denominator, **options)
    return above / below
