"""Tests that the files generated from the library's lists are current and agree with the rest of the package."""

import subprocess
import sys

from conftest import ROOT


def test_generated_files_are_current(build_program):
    program = build_program("option_fields")
    command = [sys.executable, str(ROOT / "tools" / "make_python_fields.py"), program, "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_table_of_optimizers_is_current(build_program):
    program = build_program("option_fields")
    command = [sys.executable, str(ROOT / "tools" / "make_optimizer_table.py"), program, "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
