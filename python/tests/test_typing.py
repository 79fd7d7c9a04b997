"""Tests that the package and a program that uses it pass mypy --strict, and that the types refuse what the package refuses."""

import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

pytest.importorskip("mypy")
USAGE = pathlib.Path(__file__).parent / "usage.py"


def mypy(*arguments):
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), *map(str, arguments)]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "python"), "MYPY_CACHE_DIR": str(ROOT / "build" / "mypy")}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_usage_is_typed():
    done = mypy(USAGE, ROOT / "python" / "sing")
    assert done.returncode == 0, done.stdout


def test_usage_runs():
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    subprocess.run([sys.executable, str(USAGE)], check=True, env=environment)


def test_wrong_usage_is_found(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text('import torch\nimport sing\nsing.SING([torch.ones(1)], weight_decy=0.1)\nsing.SGD([torch.ones(1)], normalize="unit")\n')
    done = mypy(wrong)
    assert 'Unexpected keyword argument "weight_decy"' in done.stdout
    assert 'Argument "normalize"' in done.stdout
