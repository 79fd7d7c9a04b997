"""Tests that the wheel, built from the tree, works in an empty virtual environment that has torch but no compiler."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import sing
import torch
from conftest import ROOT

pytest.importorskip("scikit_build_core")
pytest.importorskip("build")

SCRIPT = """
import pathlib, shutil, sys
import torch, sing
assert pathlib.Path(sing.__file__).is_relative_to(sys.prefix), sing.__file__
assert not any(shutil.which(name) for name in ("cc", "gcc", "g++", "clang", "nvcc", "cmake", "ninja"))
assert sing.has_kernels("cpu")
assert (pathlib.Path(sing.__file__).parent / "py.typed").exists()
model = torch.nn.Linear(4, 3)
optimizer = sing.SING(model.named_parameters(), lr=0.1)
model(torch.randn(2, 4)).square().sum().backward()
before = model.weight.detach().clone()
optimizer.step()
optimizer.save("state.safetensors")
optimizer.load("state.safetensors")
sing.attach(torch.optim.NAdam(model.parameters())).step()
print("moved", (model.weight - before).abs().max().item() > 0)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Builds the wheel; compiled files are kept between runs in build/wheel."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", str(folder)]
    command += ["-C", f"build-dir={ROOT / 'build' / 'wheel'}", "-C", f"cmake.define.SING_TORCH_DIR={torch.__path__[0]}"]
    if shutil.which("ccache"):
        command += ["-C", "cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return next(folder.glob("*.whl"))


def test_name_says_any_python(wheel):
    assert wheel.name.startswith(f"sing_optim-{sing.__version__}-py3-none-linux_")


def test_works_in_an_empty_environment(wheel, tmp_path):
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True)
    site = next((home / "lib").glob("python*/site-packages"))
    assert sorted(each.name for each in site.iterdir() if "sing" in each.name) == ["sing", f"sing_optim-{sing.__version__}.dist-info"]
    # torch is borrowed from the test environment instead of being installed again.
    (site / "torch_of_the_tests.pth").write_text(str(pathlib.Path(torch.__path__[0]).parent) + "\n")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SING", "VIRTUAL_ENV"))}
    environment["PATH"] = str(home / "bin")
    done = subprocess.run([str(python), "-c", SCRIPT], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "moved True"
