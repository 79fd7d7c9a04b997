"""Tests that the package, the program and the C header have one version."""

import importlib.metadata
import re
import subprocess
import sys

import pytest
import sing
from conftest import ROOT

HEADER = (ROOT / "sing" / "c_api" / "sing.h").read_text(encoding="utf-8")
VERSION = ".".join(re.search(rf"define SING_VERSION_{part} (\d+)", HEADER)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def test_package_has_the_version_of_the_header():
    assert sing.__version__ == VERSION
    check = [sys.executable, str(ROOT / "tools" / "make_python_version.py"), "--check"]
    assert subprocess.run(check).returncode == 0


def test_program_has_the_version_of_the_header(build_program):
    said = subprocess.run([build_program("sing"), "--version"], capture_output=True, text=True, check=True).stdout
    assert said == f"sing {VERSION}\n"


def test_metadata_of_an_installed_package_agree():
    try:
        assert importlib.metadata.version("sing-optim") == VERSION
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("sing-optim is not installed")
