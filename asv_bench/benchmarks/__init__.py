"""Benchmarks of linad: times, and ratios that do not depend on the machine.

A ``track_`` ratio divides two medians that were taken in turn in the same process, so a slow or
busy machine changes both. Ratios against other libraries are skipped where they are not installed.
"""

import time
from statistics import median

SAMPLE = 2e-4
"""Seconds that one sample takes at least: a short call is repeated, so that the clock's own
cost does not count."""


def median_seconds(*functions, seconds=0.3, warmup=2):
    """Median seconds a call of each function takes; their calls are interleaved."""
    counts = []
    for function in functions:
        for _ in range(warmup):
            function()
        start = time.perf_counter()
        function()
        counts.append(max(1, int(SAMPLE / (time.perf_counter() - start + 1e-9))))
    samples = [[] for _ in functions]
    end = time.perf_counter() + seconds * len(functions)
    while time.perf_counter() < end or len(samples[0]) < 5:
        for function, count, times in zip(functions, counts, samples, strict=True):
            repeats = range(count)
            start = time.perf_counter()
            for _ in repeats:
                function()
            times.append((time.perf_counter() - start) / count)
    return [median(times) for times in samples]


def ratio(numerator, denominator, **options):
    """Time of one function over the time of another."""
    above, below = median_seconds(numerator, denominator, **options)
    return above / below
