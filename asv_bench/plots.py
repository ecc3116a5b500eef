"""Write the table and the plots of docs/performance.md from its results.json.

    python asv_bench/plots.py docs/performance

`asv_bench/table.py --write` calls it after measuring; alone it measures nothing.
"""

import argparse
import json
import math
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

COLOURS = ["0.55", "#1f6f8b", "#d1495b", "#edae49", "#66a182", "#8d6a9f", "#2e4057"]

CURVES = {
    "size": ("entries of x", "seconds a call", "sum(tanh(x) sin(x) + x²), its gradient"),
    "length": ("operations on 3 numbers", "seconds", "A chain of elementwise functions"),
    "seeds": ("seeds", "seconds for all", "Pullbacks of a network, 200 to 100"),
}


def curves(results, name, path):
    """One line a contestant, both axes logarithmic."""
    x_label, y_label, title = CURVES[name]
    data = dict(results["growth"][name])
    x = data.pop("x")
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    for (label, y), colour in zip(data.items(), COLOURS, strict=False):
        dashed = "--" if label.startswith(("first", "second")) else "-"
        axes.loglog(x, y, dashed, marker="o", markersize=3, color=colour, label=label)
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    axes.grid(alpha=0.3)
    figure.legend(frameon=False, fontsize=8, ncols=3, loc="outside lower center")
    _save(figure, path)


def ratios(results, path):
    """A row a workload: linad's time over each other's; left of 1 linad is faster."""
    rows = results["rows"]
    others = results["peers"]
    figure, axes = plt.subplots(figsize=(7.2, 0.27 * len(rows) + 1.2), layout="constrained")
    for other, marker, colour in zip(others, "osv^<>", COLOURS[1:], strict=False):
        found = [(r["seconds"], k) for k, r in enumerate(rows) if other in r["seconds"]]
        axes.plot(
            [t["compiled"] / t[other] for t, _ in found],
            [k for _, k in found],
            marker,
            markersize=4,
            color=colour,
            label=other,
        )
    axes.axvline(1.0, color="0.4", linewidth=1)
    axes.set(xscale="log", xlabel="linad's compiled time over the other's (left of 1: faster)")
    axes.set_yticks(range(len(rows)), [f"{r['name']}, {r['task']}" for r in rows], fontsize=7)
    axes.invert_yaxis()
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.4, 1.0))
    _save(figure, path)


def _save(figure, path):
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([x.rstrip() for x in lines]) + "\n", encoding="utf-8")


def markdown(results):
    """The table of the page, and what it was measured with."""
    from table import columns, heads

    peers = results["peers"]
    lines = [heads(peers), ["---"] * 2 + ["--:"] * (len(heads(peers)) - 2)]
    lines += [columns(row, peers) for row in results["rows"]]
    made = ["| " + " | ".join(line) + " |" for line in lines]
    about = results["machine"]
    versions = ", ".join(f"{k} {v}" for k, v in about["versions"].items())
    made += ["", f"{about['processor']}, one thread; Python {about['python']}, {versions}."]
    return "\n".join(made) + "\n"


def first_calls(results):
    """What compiling takes, as a table."""
    found = results["first calls"]
    lines = ["| what | time |", "| --- | --: |"]
    for what in ("a new kernel", "a program of known kernels", "a program from disk"):
        lines.append(f"| {what} | {1e3 * found[what]:.1f} ms |")
    compiled = found["kernels compiled by the second process"]
    lines += ["", f"Kernels compiled by the second process: {compiled}."]
    slowest = sorted(results["rows"], key=lambda row: row["first"]["compile"])[-3:]
    named = [
        f"{row['name']}, {row['task']} ({row['first']['compile']:.1f} s)" for row in slowest[::-1]
    ]
    lines += ["", f"The longest second calls of the workloads below: {'; '.join(named)}."]
    return "\n".join(lines) + "\n"


def behind(results):
    """Where a peer is faster, as a list."""
    lines = []
    for row in results["rows"]:
        t = row["seconds"]
        for peer in results["peers"]:
            factor = t["compiled"] / t.get(peer, math.inf)
            if factor >= 1.005:  # to two decimals
                lines.append(f"- {peer}, {row['name']} ({row['task']}): {factor:.2f} times faster")
    lines = lines or ["- nowhere in this table"]
    lines += ["", "Of the networks 784-512-512-10 nearly all is matrix products:", ""]
    for precision, t in results["products"].items():
        share = f"in {precision} they alone, by the BLAS that linad calls, take "
        share += f"{t['products'] / t['linad']:.2f} of linad's time"
        if "products of torch" in t:
            share += f"; by PyTorch's {t['products of torch'] / t['linad']:.2f}"
        lines.append(f"- {share}")
    return "\n".join(lines) + "\n"


def write_all(folder):
    """Table and plots of ``folder/results.json``."""
    mpl.rcParams |= {"svg.hashsalt": "linad", "svg.fonttype": "none", "font.size": 9}
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    for name in CURVES:
        curves(results, name, folder / f"{name}.svg")
    ratios(results, folder / "ratios.svg")
    (folder / "table.txt").write_text(markdown(results), encoding="utf-8")
    (folder / "first.txt").write_text(first_calls(results), encoding="utf-8")
    (folder / "behind.txt").write_text(behind(results), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    write_all(parser.parse_args().folder)
