"""An extension of griffe that adapts docstrings for the documentation site."""

import re

import griffe


class DocstringExamples(griffe.Extension):
    """Names the part `Example:` as griffe's Google style does, so that it is shown as code; leaves out who wrote a module."""

    def on_object(self, *, obj, **_):
        if obj.docstring:
            text = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = re.sub(r", made by tools/\S+: do not edit", "", text)
