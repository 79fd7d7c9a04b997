"""Puts faults into a scratch tree and expects tools/check_docs.py to find each of them, and none in a tree without faults."""

import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("check_docs", ROOT / "tools" / "check_docs.py")
check_docs = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check_docs)

ALGORITHM = "# Algorithm\n\n## One part\n\n```\na = b   (1)\nb = c   (2)\nc = d   (3)\n```\n"
RULE = "// A rule (docs/algorithm.md,\n// eq. 1 to 3).\n"
README = (
    "[a](docs/algorithm.md) [b](docs/algorithm.md#one-part) [c](https://example.org/x.md) `sing/rule.hpp` `a/b` `docs/options`\n"
    "`tests/new.cpp` Equation 2.\n\n```cpp run file=tests/new.cpp\n// [no](link) `sing/nothing.hpp` eq. 9\n```\n"
    "```sh run\nls\n```\n```cpp shows=sing/rule.hpp\n// eq. 1 to 3).\n```\n```sh tested=sing/rule.hpp\nmake\n```\n```text\nany\n```\n"
)
SITE = "nav:\n  - Algorithm: algorithm.md\n  - One: notes/one.md\n"
TOOLS = "| a | `check*.py`, `results/` |\n"
FAULTS = [
    ("tools/README.md", TOOLS.replace("check*.py", "checks.py"), "[tools/README.md] wanted every file of tools/, got none of the name 'check_one.py'"),
    ("tools/README.md", TOOLS.replace("results/", "result/"), "[tools/README.md] wanted files of tools/, got 'result/'"),
    ("mkdocs.yml", SITE.replace("algorithm", "other"), "[mkdocs.yml] wanted every page of docs/ in nav, got none for 'algorithm.md'"),
    ("README.md", README + "```sh\nls\n```\n", "[README.md] wanted run, shows=PATH or tested=PATH after sh, got '' before 'ls'"),
    ("README.md", README + "```sh tested=a.cpp\nls\n```\n", "wanted tested=PATH with a file of the repository, got 'a.cpp'"),
    ("README.md", README + "```cpp shows=sing/rule.hpp\n// A role\n```\n", "wanted a part of sing/rule.hpp, got '// A role'"),
    ("docs/algorithm.md", ALGORITHM.replace("(3)", "(4)"), "numbered 1, 2, 3"),
    ("docs/algorithm.md", ALGORITHM.replace("(3)", "(2)"), "numbered 1, 2, 3"),
    ("docs/algorithm.md", ALGORITHM.replace("c = d", "c = d   (3)\nd = e").replace("(3)\n```", "(4)\n```"), "got none for 4"),
    ("sing/rule.hpp", RULE.replace("3", "4"), "wanted an equation of docs/algorithm.md, got 4"),
    ("sing/rule.hpp", RULE.replace(" to 3", ", 2, 5"), "wanted an equation of docs/algorithm.md, got 5"),
    ("sing/rule.hpp", RULE.replace("to 3", "to 2"), "got none for 3"),
    ("README.md", README.replace("(docs/algorithm.md)", "(docs/algorithms.md)"), "wanted a link to a file, got 'docs/algorithms.md'"),
    ("README.md", README.replace("#one-part", "#two-parts"), "wanted a link to a heading of algorithm.md"),
    ("README.md", README.replace("`sing/rule.hpp`", "`sing/rules.hpp`"), "wanted a path of the repository, got 'sing/rules.hpp'"),
    ("README.md", README.replace("file=tests/new.cpp", "file=tests/old.cpp"), "wanted a path of the repository, got 'tests/new.cpp'"),
    ("README.md", README.replace("`sing/rule.hpp`", "`lab/rules.hpp`"), "wanted a path of the repository, got 'lab/rules.hpp'"),
    ("docs/notes/one.md", "[a](algorithm.md)\n", "[docs/notes/one.md] wanted a link to a file, got 'algorithm.md'"),
    ("README.md", README.replace("cpp run file=tests/new.cpp", "cpp run"), "[README.md] wanted an equation of docs/algorithm.md, got 9"),
    ("README.md", README.replace("Equation 2", "Equation 7"), "[README.md] wanted an equation of docs/algorithm.md, got 7"),
]


class CheckDocs(unittest.TestCase):
    def faults_with(self, changed="", text=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {"docs/algorithm.md": ALGORITHM, "sing/rule.hpp": RULE, "README.md": README, "mkdocs.yml": SITE, "tools/README.md": TOOLS}
            files |= {"tools/check_one.py": "", "tools/results/table.py": ""}
            files |= {changed: text} if changed else {}
            for name, content in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content, encoding="utf-8")
            return check_docs.check(root)

    def test_a_right_tree_has_no_fault(self):
        self.assertEqual(self.faults_with(), [])

    def test_each_fault_is_found(self):
        for name, text, wanted in FAULTS:
            with self.subTest(wanted, file=name):
                faults = self.faults_with(name, text)
                self.assertTrue(any(wanted in fault for fault in faults), faults)


if __name__ == "__main__":
    unittest.main()
