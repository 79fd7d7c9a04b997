"""Plants pages with broken examples and expects run_examples.py and build_new_rule.py to refuse each.

examples_test.py CC CXX
"""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

import build_new_rule
import run_examples

CC, CXX = (sys.argv.pop(1), sys.argv.pop(1)) if len(sys.argv) > 2 else ("cc", "c++")


def fence(info, text):
    return f"```{info}\n{text}\n```\n"


GOOD_C = fence("c run prints", '#include <stdio.h>\nint main(void) { return puts("2") < 0; }')
RIGHT = {
    "a program with its output": GOOD_C + fence("text output", "2"),
    "two languages, one output": GOOD_C + fence("sh run prints", "echo 2") + fence("text output", "2"),
    "a later block sees an earlier one's file": fence("sh run", "echo x >a") + fence("python run", 'assert open("a").read() == "x\\n"'),
    "what is not to run": fence("sh", "exit 1") + fence("sh run", "exit 0"),
}
WRONG = {
    "does not compile": fence("c run", "int main(void) { return x; }"),
    "does not compile as C++": fence("cpp run", "int main() { return nothing; }"),
    "a warning": fence("c run", "int main(void) { int unused; return 0; }"),
    "fails": fence("sh run", "exit 3"),
    "a failing command before the last": fence("sh run", "false\ntrue"),
    "raises": fence("python run", "raise SystemExit(1)"),
    "prints something else": GOOD_C + fence("text output", "3"),
    "its output is not given": GOOD_C,
    "output of nothing": fence("sh run", "echo 2") + fence("text output", "2"),
    "unknown language": fence("fortran run", "end"),
    "nothing to run": fence("sh", "true"),
}


class RunExamples(unittest.TestCase):
    def status_of(self, text, *options):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text, encoding="utf-8")
            with contextlib.redirect_stderr(io.StringIO()):
                return run_examples.main([str(page), "--scratch", f"{folder}/scratch", "--cc", CC, "--cxx", CXX, *options])

    def test_right_pages_pass(self):
        for name, text in RIGHT.items():
            with self.subTest(name):
                self.assertEqual(self.status_of(text), 0)

    def test_wrong_pages_fail(self):
        for name, text in WRONG.items():
            with self.subTest(name):
                self.assertEqual(self.status_of(text), 1)

    def test_a_missing_package_is_a_skip(self):
        self.assertEqual(self.status_of(fence("python run", "import a_package_nobody_has")), run_examples.SKIPPED)

    def test_blocks_find_the_files_that_were_copied(self):
        with tempfile.TemporaryDirectory() as folder:
            given = pathlib.Path(folder) / "given"
            given.write_text("x\n", encoding="utf-8")
            text = fence("sh run prints", "cat in/b") + fence("text output", "x")
            self.assertEqual(self.status_of(text, f"--copy={given}=in/b"), 0)

    def test_a_missing_program_is_a_skip_where_it_is_named(self):
        text = fence("sh run", "true\na_program_nobody_has --help")
        self.assertEqual(self.status_of(text, "--needs=a_program_nobody_has"), run_examples.SKIPPED)
        self.assertEqual(self.status_of(text), 1)

    def test_a_block_without_end_is_refused(self):
        with self.assertRaises(ValueError):
            self.status_of("```sh run\ntrue\n")


class Changed(unittest.TestCase):
    TEXT = "a\nb\nc\n"

    def test_hunks_insert_and_replace(self):
        self.assertEqual(build_new_rule.changed(self.TEXT, " a\n+x\n@@\n-c\n+y\n", "here"), "a\nx\nb\ny\n")

    def test_lines_that_are_absent_or_repeated_are_refused(self):
        for text in ("b\n", "a\na\n"):
            with self.assertRaises(ValueError):
                build_new_rule.changed(text, " a\n+x\n", "here")


if __name__ == "__main__":
    unittest.main()
