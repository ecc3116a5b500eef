"""What a sum has done: the later of two counts of a process holds."""

from linad.shards.report import Counts, Report


def test_counts_add_up():
    report = Report("F", 4, "threads")
    counts = Counts(shards=2, linearized=1, seconds=3.0)
    told = counts.copy()
    counts.shards = 9
    report.note({"a-1": told, "b-2": Counts(shards=2, seconds=1.0)})
    assert report.latest == 1.0
    report.note({"a-1": Counts(shards=1, seconds=9.0)})  # an older one, that came late
    assert report.workers["a-1"] is told
    assert report.latest == 1.0
    report.note({"a-1": Counts(shards=4, linearized=2, found=1, kept_bytes=2**21, seconds=4.0)})
    assert report.latest == 0.5
    lines = str(report).splitlines()
    assert lines[0] == "F: 4 shards, threads"
    assert lines[1] == "0 calls, 0 tasks, 0.00 s; busy 5.00 s"
    assert lines[2].startswith("  a-1: 4 terms, 2 derivatives made and 1 found")
    assert "2.0 MiB kept" in lines[2]
