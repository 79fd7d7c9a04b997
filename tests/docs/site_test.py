"""Builds the documentation site as ./dev docs does and looks into its pages.

Exit status: 77 where the packages of tools/requirements-docs.txt are not installed: neither in this Python nor by ./dev docs.
"""

import ast
import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
NEEDED = "mkdocs, material, mkdocstrings_handlers.python"


def python_with_mkdocs():
    """Returns a Python that can build the site, or None."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"), "sing")
    for python in (sys.executable, *sorted(map(str, cache.glob("docs-*/bin/python")))):
        if subprocess.run([python, "-c", f"import {NEEDED}"], capture_output=True).returncode == 0:
            return python
    return None


def names_exported_by(path):
    """Returns the strings of a module's __all__."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return {each.value for each in node.value.elts if isinstance(each, ast.Constant)}
    raise ValueError(f"[site_test] wanted __all__ in {path}, got none")


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.folder = pathlib.Path(cls.scratch.name)
        done = subprocess.run(
            [PYTHON, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", cls.scratch.name],
            cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        )  # fmt: skip
        if done.returncode != 0:
            raise AssertionError(f"wanted a site without warnings, got\n{done.stdout}{done.stderr}")

    def page(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def test_every_page_of_the_repository_is_a_page_of_the_site(self):
        for page in (ROOT / "docs").rglob("*.md"):
            self.assertTrue((self.folder / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file(), page)

    def test_the_first_page_is_the_readme(self):
        self.assertIn("sing.PlugSING", re.sub(r"<[^>]*>", "", self.page("index.html")))
        self.assertIn('href="tutorials/from_adamw.html"', self.page("index.html"))

    def test_no_page_asks_another_machine_for_anything(self):
        for page in self.folder.rglob("*.html"):
            loaded = re.findall(r'<(?:script|img|link)\b[^>]*(?:src|href)="(https?:[^"]*)"', page.read_text(encoding="utf-8"))
            self.assertEqual(loaded, [], page)

    def test_every_public_name_of_the_package_is_on_the_reference_page(self):
        shown = set(re.findall(r'id="sing(?:\.[a-z_]+)*\.(\w+)"', self.page("reference/python.html")))
        wanted = names_exported_by(ROOT / "python/sing/__init__.py") | names_exported_by(ROOT / "python/sing/rules.py")
        self.assertEqual(wanted - {"schedules"} - shown, set())
        self.assertIn("WarmupCosine", shown)

    def test_every_function_of_the_c_header_is_on_the_reference_page(self):
        header = (ROOT / "sing/c_api/sing.h").read_text(encoding="utf-8")
        functions = set(re.findall(r"^\w[\w *]*\b(sing_\w+)\(", header, re.MULTILINE))
        shown = html.unescape(re.sub(r"<[^>]*>", "", self.page("reference/c.html")))
        self.assertGreater(len(functions), 30)
        self.assertEqual({name for name in functions if f"{name}(" not in shown}, set())

    def test_the_search_finds_references_and_tutorials(self):
        entries = json.loads(self.page("search/search_index.json"))["docs"]
        places = {place for place in (entry["location"].split("#")[0] for entry in entries)}
        self.assertIn("tutorials/is_it_better.html", places)
        self.assertTrue(any("set_learning_rate_factor" in entry["title"] + entry["text"] for entry in entries))
        self.assertFalse(any(place.startswith("source/") for place in places))

    def test_no_marker_and_no_word_for_tests_is_left(self):
        for page in self.folder.rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            self.assertIsNone(re.search(r"<!-- (?:headers|python):|```\w+ (?:run|shows|tested)", text), page)


if __name__ == "__main__":
    PYTHON = python_with_mkdocs()
    if PYTHON is None:
        print(f"skipped: wanted a Python with {NEEDED} (./dev docs installs them), got none")
        sys.exit(SKIPPED)
    unittest.main()
