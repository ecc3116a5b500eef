"""Benchmarks of linad: times, and ratios that do not depend on the machine.

A ``track_`` ratio divides two medians that were taken in turn in the same process, so a slow or
busy machine changes both. Ratios against other libraries are skipped where they are not installed.
"""

import time
from statistics import median, quantiles

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


def quartiles_of_ratio(numerator, denominator, seconds=1.0, pairs=25):
    """How much longer one function takes than another: the quartiles of pairs of short runs.

    The runs alternate. They are timed by the processor's time of this thread, so that what else
    the machine does counts only as far as it takes caches and memory; both functions have to do
    their work in this thread.

    Returns
    -------
    list of float
        The lower quartile, the median, and the upper one.
    float
        Seconds that a call of the first function takes: the median.
    """
    counts = []
    for function in (numerator, denominator):
        for _ in range(3):
            function()
        start = time.perf_counter()
        function()
        counts.append(max(1, int(5 * SAMPLE / (time.perf_counter() - start + 1e-9))))
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < pairs or (time.perf_counter() < end and len(samples) < 10 * pairs):
        pair = []
        for function, count in zip((numerator, denominator), counts, strict=True):
            repeats = range(count)
            start = time.thread_time()
            for _ in repeats:
                function()
            pair.append((time.thread_time() - start) / count)
        samples.append(pair)
    return quantiles([a / b for a, b in samples], n=4), median([a for a, _ in samples])


def ratio(numerator, denominator, **options):
    """Time of one function over the time of another."""
    above, below = median_seconds(numerator, denominator, **options)
    return above / below
