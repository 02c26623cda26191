"""The settings of the site: ``sphinx-build -W --keep-going docs docs/_build``.

Needs ``pip install -e '.[docs]'``. With ``-D plot_gallery=0`` the examples are shown, not run. What
needs a library that is not installed is named in the output, and on its page.
"""

import ast
import importlib
import sys
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.errors import ConfigError
from sphinx.util.docutils import SphinxDirective
from sphinx.util.logging import getLogger

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
log = getLogger(__name__)

# What is imported, by the name it is installed by.
NEEDED = {
    "myst_parser": "myst-parser", "numpydoc": "numpydoc",
    "pydata_sphinx_theme": "pydata-sphinx-theme", "sphinx_gallery": "sphinx-gallery",
    "matplotlib": "matplotlib", "scipy": "scipy", "trio": "trio",
}  # fmt: skip
if absent := [name for library, name in NEEDED.items() if not find_spec(library)]:
    raise ConfigError(f"the site needs {', '.join(absent)}: pip install -e '.[docs]'")

import zyg  # noqa: E402

project, author, copyright = "zyg", "The zyg developers", "The zyg developers"
version = release = zyg.__version__

extensions = [
    "myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery",
]  # fmt: skip
exclude_patterns = ["_build"]
default_role = "py:obj"  # `name` in a docstring is a link where there is such a name

myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the tables of parameters say it in words
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = f"zyg {release}"
html_static_path = ["_static"]
html_css_files = ["zyg.css"]
html_favicon = "_static/zyg.svg"
html_show_sourcelink = html_copy_source = False
html_show_search_summary = False  # a page opened as a file cannot read others
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": "zyg", "image_light": "_static/zyg.svg", "image_dark": "_static/zyg.svg"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def is_for_the_gallery(path):
    """Whether a program's docstring begins as the gallery wants it: with an underlined title."""
    lines = (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()
    return len(lines) > 1 and {*lines[1]} in ({"="}, {"-"})


def imported_by(path):
    """The libraries that a program imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]
            if node.module == "zyg":  # of a drop-in, what it needs
                yield from filter(None, (zyg._MODULES.get(a.name) for a in node.names))


def can_run(path):
    """Whether the libraries are installed that a program imports; says so if not."""
    missing = sorted({name for name in imported_by(path) if not find_spec(name)})
    if missing:
        log.info("examples/%s is shown, not run: it needs %s", path.name, ", ".join(missing))
    return not missing


examples = sorted((ROOT / "examples").glob("*.py"))
shown = [path for path in examples if is_for_the_gallery(path)]
run = "|".join(path.stem for path in shown if can_run(path))
others = "|".join(path.stem for path in examples if path not in shown)

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/({run})\.py$",
    "ignore_pattern": rf"^({others})\.py$",
    "capture_repr": (),
    "default_thumb_file": str(ROOT / "docs" / "_static" / "zyg.png"),  # of those that are not run
    "download_all_examples": False,
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
}


class Bridge(SphinxDirective):
    """The functions of a module that needs a library, or a line that says which it needs."""

    required_arguments = 1
    has_content = True

    def run(self):
        module = self.arguments[0]
        try:
            importlib.import_module(module)
        except ImportError as error:
            log.info("%s is described without its functions: %s", module, error)
            text = f"{module} could not be imported where this page was made: {error}."
            return [nodes.note("", nodes.paragraph("", text))]
        functions = [f".. autofunction:: {module}.{name}\n" for name in self.content]
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *functions, "```"]))


def without_arguments(app, what, name, obj, options, signature, returns):
    """No signature for exceptions, which only zyg makes."""
    return ("", "") if what == "exception" and signature else None


def without_last_lines(app, page, source):
    """A page whose blocks do not end in the empty line that ends a doctest."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")


def setup(app):
    app.add_directive("bridge", Bridge)
    app.connect("source-read", without_last_lines)
    app.connect("autodoc-process-signature", without_arguments)
