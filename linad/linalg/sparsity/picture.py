"""A picture of a pattern for notebooks: a small SVG, darker where more entries are."""

import html as text

import numpy as np

from linad.core.settings import config
from linad.errors import DensifyError
from linad.linalg.sparsity.assemble import knowledge_of
from linad.linalg.sparsity.sparse_products import touched
from linad.operators.base import JacobianOperator
from linad.operators.relations import Relation

CELLS = 64
"""Most cells along a side."""

LARGEST = 2e6
"""Entries that one sweep touches, or a pattern has, up to which a picture is drawn unasked."""


def html(op: JacobianOperator) -> str:
    """The picture with a caption; of a large operator, the caption alone."""
    op = op.flat
    caption = f"<code>{text.escape(repr(op))}</code>"
    pattern = _small_pattern(op)
    if pattern is None:
        return caption
    m, n = op.shape
    share = ""
    if m * n:
        percent = 100 * pattern.nnz / (m * n)
        share = f", {np.format_float_positional(percent, 2, fractional=False, trim='-')} %"
    return f"<div>{svg(pattern)}<br>{caption}<br>{pattern.nnz} entries{share}</div>"


def _small_pattern(op: JacobianOperator) -> Relation | None:
    """The pattern, where it is quickly found."""
    if touched(op) > LARGEST:
        return None
    try:
        with config(densify_limit=int(LARGEST)):
            return knowledge_of(op).pattern
    except DensifyError:
        return None


def svg(pattern: Relation) -> str:
    """The pattern as an SVG, at most `CELLS` cells a side."""
    m, n = pattern.m, pattern.n
    height, width = min(m, CELLS), min(n, CELLS)
    cells = np.zeros((height, width))
    if pattern.nnz:
        rows = pattern.rows.astype(np.int64) * height // m
        columns = pattern.indices.astype(np.int64) * width // n
        np.add.at(cells, (rows, columns), 1)
        # Shares of what a cell could hold, seen on a scale on which one diagonal is visible.
        full = np.outer(
            np.bincount(np.arange(m) * height // m), np.bincount(np.arange(n) * width // n)
        )
        cells = (cells / full) ** 0.25
    scale = 160 / max(height, width, 1)
    squares = [
        f'<rect x="{j}" y="{i}" width="1" height="1" fill-opacity="{cells[i, j]:.2f}"/>'
        for i, j in np.argwhere(cells).tolist()
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="pattern of the matrix" '
        f'width="{scale * width:.0f}" height="{scale * height:.0f}" '
        f'viewBox="0 0 {max(width, 1)} {max(height, 1)}" fill="#1f77b4" '
        f'style="background:#ffffff;border:1px solid #888888;box-sizing:content-box" '
        f'shape-rendering="crispEdges">'
        f"{''.join(squares)}</svg>"
    )
