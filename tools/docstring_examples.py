"""Lets the documentation site show the part `Example:` of a docstring as the code that it is (an extension of griffe)."""

import re

import griffe


class DocstringExamples(griffe.Extension):
    """Gives the part `Example:` the name that griffe's Google style knows."""

    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = re.sub(r"^( *)Example:$", r"\1Examples:", obj.docstring.value, flags=re.MULTILINE)
