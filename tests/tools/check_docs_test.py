"""Plants faults in a scratch tree and expects tools/check_docs.py to find each, and none in the tree without them."""

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
    "`tests/new.cpp` Equation 2.\n\n```cpp file=tests/new.cpp\n[no](link) `sing/nothing.hpp`\n```\n"
)
FAULTS = [
    ("docs/algorithm.md", ALGORITHM.replace("(3)", "(4)"), "numbered 1, 2, 3"),
    ("docs/algorithm.md", ALGORITHM.replace("(3)", "(2)"), "numbered 1, 2, 3"),
    ("docs/algorithm.md", ALGORITHM.replace("c = d", "c = d   (3)\nd = e").replace("(3)\n```", "(4)\n```"), "equation 4 is cited by no"),
    ("sing/rule.hpp", RULE.replace("3", "4"), "cites equation 4"),
    ("sing/rule.hpp", RULE.replace(" to 3", ", 2, 5"), "cites equation 5"),
    ("sing/rule.hpp", RULE.replace("to 3", "to 2"), "equation 3 is cited by no"),
    ("README.md", README.replace("(docs/algorithm.md)", "(docs/algorithms.md)"), "no such file"),
    ("README.md", README.replace("#one-part", "#two-parts"), "no such heading"),
    ("README.md", README.replace("`sing/rule.hpp`", "`sing/rules.hpp`"), "no such path"),
    ("README.md", README.replace("file=tests/new.cpp", "file=tests/old.cpp"), "no such path"),
    ("README.md", README.replace("Equation 2", "Equation 7"), "names equation 7"),
]


class CheckDocs(unittest.TestCase):
    def faults_with(self, changed="", text=""):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            files = {"docs/algorithm.md": ALGORITHM, "sing/rule.hpp": RULE, "README.md": README}
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
