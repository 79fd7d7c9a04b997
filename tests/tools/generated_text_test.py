"""Replaces generated parts of scratch pages and expects tools/generated_text.py to change nothing else."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import generated_text  # noqa: E402

BEGIN, END = generated_text.markers("one")
PAGE = f"before\n{BEGIN}\nold\n{END}\nafter\n"


class GeneratedText(unittest.TestCase):
    def test_replaces_only_the_text_between_the_markers(self):
        self.assertEqual(generated_text.replaced(PAGE, "one", ["a", "b"]), f"before\n{BEGIN}\na\nb\n{END}\nafter\n")

    def test_refuses_missing_repeated_and_swapped_markers(self):
        for page in ("", f"{BEGIN}\n", f"{END}\n{BEGIN}\n", PAGE + PAGE):
            with self.subTest(page), self.assertRaisesRegex(ValueError, "wanted the lines"):
                generated_text.replaced(page, "one", [])

    def test_check_reports_a_difference_and_writes_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.md"
            path.write_text("old", encoding="utf-8")
            said = io.StringIO()
            with contextlib.redirect_stderr(said):
                self.assertEqual(generated_text.finish(path, "new", check=True, command="make"), 1)
            self.assertIn("wanted what make writes", said.getvalue())
            self.assertEqual(path.read_text(encoding="utf-8"), "old")
            self.assertEqual(generated_text.finish(path, "new", check=False, command="make"), 0)
            self.assertEqual(path.read_text(encoding="utf-8"), "new")
            self.assertEqual(generated_text.finish(path, "new", check=True, command="make"), 0)


if __name__ == "__main__":
    unittest.main()
