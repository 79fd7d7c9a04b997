"""Tests what tools/run_tests.py prints and its exit status, with a build folder of four small tests and a folder for pytest."""

import importlib.util
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tools" / "run_tests.py"
sys.path.insert(0, str(ROOT / "tools"))
import run_tests  # noqa: E402

HAS_PYTEST = importlib.util.find_spec("pytest") is not None

GOOGLE_TEST_SKIP = """print('''[ RUN      ] Step.IsFast
some/step_test.cpp:12: Skipped
no CUDA device

[  SKIPPED ] Step.IsFast (0 ms)''')"""

CTEST = f"""
add_test(base/Passes "{sys.executable}" "-c" "print('quiet')")
add_test(base/Fails "{sys.executable}" "-c" "print('the wrong value'); raise SystemExit(1)")
add_test(cuda/Step.IsFast "{sys.executable}" "skip.py")
set_tests_properties(cuda/Step.IsFast PROPERTIES SKIP_REGULAR_EXPRESSION "SKIPPED")
add_test(page/browser "{sys.executable}" "-c" "print('no chromium'); raise SystemExit(77)")
set_tests_properties(page/browser PROPERTIES SKIP_RETURN_CODE 77)
"""

PYTEST = """
import pytest

def test_passes():
    pass

@pytest.mark.parametrize("value", [1, 2])
def test_skips(value):
    pytest.skip("no peer")

def test_fails():
    assert 1 == 2
"""


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)
        (self.build / "CTestTestfile.cmake").write_text(CTEST)
        (self.build / "skip.py").write_text(GOOGLE_TEST_SKIP)

    def run_tests(self, *arguments):
        command = [sys.executable, str(PROGRAM), str(self.build), *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def test_names_failures_last_and_skipped_groups_by_reason(self):
        done = self.run_tests("--jobs", "2")
        self.assertEqual(done.returncode, 1, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(
            lines[-4:],
            [
                "4 tests: 1 passed, 2 skipped, 1 failed",
                "skipped 1 of cuda: no CUDA device",
                "skipped 1 of page: no chromium",
                "FAILED base/Fails",
            ],
        )
        self.assertIn("base/Fails: Failed", lines)
        self.assertIn("the wrong value", lines)
        for hidden in ("quiet", "did not run", "tests passed", "Start"):
            self.assertNotIn(hidden, done.stdout)

    def test_succeeds_where_the_chosen_tests_do(self):
        done = self.run_tests("--name", "Passes|cuda")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2 tests: 1 passed, 1 skipped, 0 failed", done.stdout)

    def test_no_tests_are_a_failure(self):
        self.assertEqual(self.run_tests("--name", "absent").returncode, 1)

    def test_a_folder_without_tests_is_a_failure(self):
        (self.build / "CTestTestfile.cmake").unlink()
        self.assertEqual(self.run_tests().returncode, 1)

    @unittest.skipUnless(HAS_PYTEST, "no pytest")
    def test_python_tests_count_too(self):
        tests = self.build / "tests"
        tests.mkdir()
        (tests / "test_sample.py").write_text(PYTEST)
        done = self.run_tests("--name", "Passes", "--python", str(tests))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("5 tests: 2 passed, 2 skipped, 1 failed", done.stdout)
        self.assertRegex(done.stdout, r"skipped 2 of .*test_sample: no peer")
        self.assertRegex(done.stdout.splitlines()[-1], r"FAILED .*test_sample::test_fails")
        self.assertIn("assert 1 == 2", done.stdout)


class Terminal(unittest.TestCase):
    def test_shows_one_line_that_is_written_anew(self):
        class Screen(io.StringIO):
            def isatty(self):
                return True

        screen = Screen()
        run_tests.show_ctest(
            iter(
                [
                    "      Start  1: base/A\n",
                    "1/2 Test  #1: base/A .......   Passed    0.01 sec\n",
                    "2/2 Test  #2: base/B .......***Failed    0.01 sec\n",
                    "wrong\n",
                    "50% tests passed, 1 tests failed out of 2\n",
                    "\t  2 - base/B (Failed)\n",
                ]
            ),
            screen,
        )
        erased = "\r\033[K"
        self.assertEqual(
            screen.getvalue(),
            f"{erased}[1/2] base/A{erased}base/B: Failed\n{erased}[2/2, 1 failed] base/B{erased}wrong\n{erased}",
        )


if __name__ == "__main__":
    unittest.main()
