from importlib.metadata import version as installed_version

project = "neuroveil"
author = "the neuroveil developers"
copyright = "the neuroveil developers, Apache License 2.0"
release = installed_version("neuroveil")
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
]
exclude_patterns = ["_build"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # types, shapes and units stand in the docstrings
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = f"neuroveil {release}"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


# Formulas become MathML when the pages are built: they can be read without a network, and by
# screen readers.
html_math_renderer = "mathml"


def _mathml(latex, display):
    from latex2mathml.converter import convert

    # The converter knows arrays, and aligned formulas are one.
    latex = latex.replace(r"\begin{aligned}", r"\begin{array}{rl}")
    return convert(latex.replace(r"\end{aligned}", r"\end{array}"), display=display)


def _visit_inline(translator, node):
    from docutils.nodes import SkipNode

    translator.body.append(_mathml(node.astext(), "inline"))
    raise SkipNode


def _visit_block(translator, node):
    from docutils.nodes import SkipNode

    formula = _mathml(node.astext(), "block")
    translator.body.append(f'<div style="margin: 1em 0; overflow-x: auto">{formula}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
