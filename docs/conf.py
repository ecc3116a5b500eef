"""Sphinx configuration."""

import sys
from pathlib import Path

import linad

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from survey import table as coverage

project = "linad"
author = "The linad developers"
copyright = "2026, The linad developers"
release = linad.__version__
version = ".".join(release.split(".")[:2])

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_nb",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
nitpicky = False

# Pages are Markdown; a page that starts with a notebook header runs its {code-cell} blocks.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

# The reference lists what linad exports, no more: autosummary reads __all__.
autosummary_generate = True
autosummary_generate_overwrite = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the types stand in the numpydoc sections
autodoc_inherit_docstrings = False
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "linad"
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["linad.css"]
html_theme_options = {
    "navigation_with_keys": False,
    # The table of times has twelve columns, and needs the width.
    "secondary_sidebar_items": {"**": ["page-toc"], "performance": []},
    "show_toc_level": 2,
    "header_links_before_dropdown": 4,
    "show_prev_next": True,
}
html_sidebars = {page: [] for page in ("index", "changelog", "genindex", "search")}


def write_coverage(app):
    """Make the table that coverage.md includes, from the libraries that are installed."""
    table = Path(app.srcdir) / "generated" / "coverage.txt"
    table.parent.mkdir(exist_ok=True)
    table.write_text(coverage.markdown(coverage.table()), encoding="utf-8")


def setup(app):
    """Sphinx calls it once the configuration is read."""
    app.connect("builder-inited", write_coverage)
