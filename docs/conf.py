"""Sphinx configuration."""

import os
import re
import sys
from pathlib import Path

# Pages show what programs print, not how long their kernels took to compile here.
os.environ["LINAD_PROGRESS"] = "0"

from docutils.nodes import literal_block

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
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**.ipynb_checkpoints", "gallery/**.ipynb"]
nitpicky = False
default_role = "obj"  # a name in single backticks is a link where the reference has it

# Pages are Markdown; a page that starts with a notebook header runs its {code-cell} blocks.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 120
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True

GALLERY_PARTS = ["fits", "statistics", "physics", "design"]

# The reference lists what linad exports, no more: autosummary reads __all__.
autosummary_generate = True
autosummary_generate_overwrite = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the types stand in the numpydoc sections
autodoc_inherit_docstrings = False
toc_object_entries_show_parents = "hide"  # the contents at the right are narrow
numpydoc_show_class_members = False

# Each script below examples/gallery/ is a page. It prints what it wants to show.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py",
    "subsection_order": [f"../examples/gallery/{part}" for part in GALLERY_PARTS],
    "within_subsection_order": "FileNameSortKey",
    "capture_repr": ("_repr_html_",),
    "image_srcset": ["2x"],
    "doc_module": ("linad",),
    "backreferences_dir": "generated/backreferences",
    "write_computation_times": False,
}
# Where the pages are hosted from a repository's branch gh-pages, LINAD_PAGES=OWNER/REPOSITORY makes
# buttons that open the gallery's notebooks on Binder, and links into other libraries' pages.
if pages := os.environ.get("LINAD_PAGES"):
    owner, _, repository = pages.partition("/")
    # Names of other libraries link to their pages; that takes a network.
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
    }
    sphinx_gallery_conf["binder"] = {
        "org": owner,
        "repo": repository,
        "branch": "gh-pages",
        "binderhub_url": "https://mybinder.org",
        "dependencies": "requirements.txt",
        "use_jupyter_lab": True,
    }

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
html_sidebars = {page: [] for page in ("index", "genindex", "search")}


def write_coverage(app):
    """Make the table that coverage.md includes, from the libraries that are installed."""
    table = Path(app.srcdir) / "generated" / "coverage.txt"
    table.parent.mkdir(exist_ok=True)
    table.write_text(coverage.markdown(coverage.table()), encoding="utf-8")


ROWS = re.compile(r"\n[ \t]+\S|\S {3,}\S")
"""What is printed in rows and columns: a line that is indented, or a gap within one."""


def mark_rows(app, doctree, page):
    """Outputs in rows get a class of their own: they are never broken, while prose is."""
    for block in doctree.findall(literal_block):
        if block.get("language") in ("myst-ansi", "none") and ROWS.search(block.astext()):
            block["classes"].append("rows")


def setup(app):
    """Sphinx calls it once the configuration is read."""
    app.connect("builder-inited", write_coverage)
    app.connect("doctree-resolved", mark_rows)
