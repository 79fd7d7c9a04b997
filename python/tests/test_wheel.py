"""Tests the wheel and the editable installation, built from the tree, in empty virtual environments without a compiler.

torch is borrowed from the environment of the tests instead of being installed again; tools/try_wheel.py installs it, in several
versions.
"""

import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import sing
import torch
from conftest import ROOT

pytest.importorskip("scikit_build_core")
pytest.importorskip("build")

SPEC = importlib.util.spec_from_file_location("try_wheel", ROOT / "tools" / "try_wheel.py")
try_wheel = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(try_wheel)

NEWEST_GLIBC = 34  # the wheel runs where glibc is 2.34


def settings():
    """Returns pip's settings for a build: without CUDA, with compiled files that are kept between runs in build/wheel."""
    chosen = {"build-dir": ROOT / "build" / "wheel" / "tests", "cmake.define.SING_CUDA": "OFF"}
    if shutil.which("ccache"):
        chosen["cmake.define.CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
    return [f"{key}={value}" for key, value in chosen.items()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", str(folder)]
    command += [f"-C{each}" for each in settings()]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return next(folder.glob("*.whl"))


@pytest.fixture
def home(tmp_path):
    """An environment that has torch, and nothing else."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    torch_of_the_tests = str(pathlib.Path(torch.__path__[0]).parent)
    (site_packages(home) / "torch_of_the_tests.pth").write_text(torch_of_the_tests + "\n")
    return home


def site_packages(home):
    return next((home / "lib").glob("python*/site-packages"))


def install(home, *arguments):
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "-q", "--no-index", "--no-deps"]
    subprocess.run([*pip, *arguments], check=True)


def test_name_says_any_python(wheel):
    assert wheel.name.startswith(f"sing_optim-{sing.__version__}-py3-none-linux_")


def test_runs_where_glibc_is_2_34(wheel, tmp_path):
    pytest.importorskip("auditwheel")
    command = [sys.executable, "-m", "auditwheel", "repair", "--exclude", "libtorch*.so", "--exclude", "libc10*.so"]
    done = subprocess.run([*command, "--wheel-dir", str(tmp_path), str(wheel)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    names = [each.name for each in tmp_path.glob("*.whl")]
    glibc = re.search(r"-py3-none-.*manylinux_2_(\d+)_", names[0])
    assert glibc and int(glibc[1]) <= NEWEST_GLIBC, names


def test_works_in_an_empty_environment(wheel, home, tmp_path):
    install(home, str(wheel))
    mine = sorted(each.name for each in site_packages(home).iterdir() if "sing" in each.name)
    assert mine == ["sing", f"sing_optim-{sing.__version__}.dist-info"]
    done = try_wheel.train(home, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"sing {sing.__version__} with torch")


def test_an_editable_installation_has_kernels(home, tmp_path):
    command = [f"-C{each}" for each in settings()]
    install(home, "--no-build-isolation", *command, "-e", str(ROOT))
    program = "import sing; print(sing.has_kernels('cpu'), sing.__file__)"
    python = [str(home / "bin" / "python"), "-c", program]
    done = subprocess.run(python, capture_output=True, text=True, env=try_wheel.environment_of(home), cwd=tmp_path)
    assert done.stdout.split() == ["True", str(ROOT / "python" / "sing" / "__init__.py")], done.stderr


def test_a_source_distribution_has_what_a_build_needs(tmp_path):
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--skip-dependency-check", "--outdir", str(tmp_path)]
    subprocess.run([*command, str(ROOT)], capture_output=True, check=True)
    archive = next(tmp_path.glob("*.tar.gz"))
    shutil.unpack_archive(archive, tmp_path)
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    configure = ["cmake", "-S", str(source), "-B", str(tmp_path / "build"), "-DSING_TORCH=ON", "-DSING_TESTS=OFF", "-DSING_BENCH=OFF"]
    configure += ["-DSING_LAB=OFF", f"-DSING_TORCH_DIR={torch.__path__[0]}"]
    done = subprocess.run(configure, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for folder in ("sing", "adapters", "python/sing"):
        tracked = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True).stdout.split()
        missing = [each for each in tracked if not (source / each).exists()]
        assert not missing
