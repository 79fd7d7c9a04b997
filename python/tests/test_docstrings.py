"""Runs the examples in the docstrings."""

import doctest
import importlib
import pkgutil

import pytest

import sing
from sing.rules import CLASSES

MODULES = sorted(each.name for each in pkgutil.iter_modules(sing.__path__) if each.name != "_operators")


@pytest.mark.parametrize("name", MODULES)
def test_module(name):
    assert doctest.testmod(importlib.import_module(f"sing.{name}")).failed == 0


@pytest.mark.parametrize("name", CLASSES)
def test_class(name):
    found = doctest.DocTestFinder(recurse=False).find(CLASSES[name], name)
    assert sum(len(each.examples) for each in found) > 2
    assert all(doctest.DocTestRunner().run(each).failed == 0 for each in found)
