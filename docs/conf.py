"""Configuration of the site."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from trueup import __version__

project = "trueup"
author = "The trueup authors"
copyright = "The trueup authors, Apache-2.0"
version = release = __version__

extensions = [
    "attribute_texts",
    "executed_examples",
    "generated_reference",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "_extensions", "_static"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
python_use_unqualified_type_names = True
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["print.css"]
html_title = f"trueup {release}"
