"""Tests what the build backend makes of a machine: where it finds torch, and whether it builds CUDA kernels."""

import importlib
import pathlib
import sys

import pytest
import torch
from conftest import ROOT

pytest.importorskip("scikit_build_core")


@pytest.fixture
def backend(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.delitem(sys.modules, "wheel_backend", raising=False)
    monkeypatch.delenv("CMAKE_ARGS", raising=False)
    monkeypatch.chdir(ROOT)
    return importlib.import_module("wheel_backend")


def torch_folder(folder, minor):
    header = folder / "torch" / "include" / "torch" / "headeronly" / "version.h"
    header.parent.mkdir(parents=True)
    header.write_text(f"#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR {minor}\n#define TORCH_VERSION_PATCH 0\n")
    return folder / "torch"


def without_torch(backend, monkeypatch, *site_packages):
    """Hides the torch of the tests, as an isolated build does; only these folders are left."""
    monkeypatch.setattr(backend.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(backend.sysconfig, "get_path", lambda name: str(site_packages[0]))
    monkeypatch.setattr(backend.site, "getsitepackages", lambda: [str(each) for each in site_packages])
    monkeypatch.setattr(backend.site, "getusersitepackages", lambda: "/absent")


def machine(backend, monkeypatch, nvcc, gpu):
    monkeypatch.setattr(backend.shutil, "which", lambda name: nvcc if name in ("nvcc", backend.NVCC) else None)
    monkeypatch.setattr(backend, "has_gpu", lambda: gpu)


def test_the_torch_of_the_environment_is_no_requirement_of_the_build(backend, monkeypatch, tmp_path):
    assert backend.find_torch() == pathlib.Path(torch.__path__[0])
    found = torch_folder(tmp_path / "new", 12)
    without_torch(backend, monkeypatch, tmp_path / "new")
    assert backend.find_torch() == found
    assert not [each for each in backend.get_requires_for_build_wheel() if each.startswith("torch")]
    machine(backend, monkeypatch, None, False)
    assert backend.completed(None)["cmake.define.SING_TORCH_DIR"] == str(found)


def test_without_a_torch_whose_headers_serve_the_build_wants_one(backend, monkeypatch, tmp_path):
    torch_folder(tmp_path / "old", 10)
    without_torch(backend, monkeypatch, tmp_path / "old", tmp_path / "none")
    assert backend.find_torch() is None
    assert "torch>=2.11" in backend.get_requires_for_build_wheel()
    assert "torch>=2.11" in backend.get_requires_for_build_editable({})
    given = {"cmake.define.SING_TORCH_DIR": "/somewhere"}
    assert "torch>=2.11" not in backend.get_requires_for_build_wheel(given)
    machine(backend, monkeypatch, None, False)
    assert backend.completed(given)["cmake.define.SING_TORCH_DIR"] == "/somewhere"


@pytest.mark.parametrize(
    ("nvcc", "gpu", "cuda", "reason"),
    [
        ("/cuda/bin/nvcc", True, "ON", None),
        ("/cuda/bin/nvcc", False, "OFF", "no GPU was found when it was built"),
        (None, True, "OFF", "no nvcc was found when it was built"),
        (None, False, "OFF", "no nvcc was found when it was built"),
    ],
)
def test_cuda_kernels_are_built_where_nvcc_and_a_gpu_are(backend, monkeypatch, capfd, nvcc, gpu, cuda, reason):
    machine(backend, monkeypatch, nvcc, gpu)
    settings = backend.completed({})
    assert settings["cmake.define.SING_CUDA"] == cuda
    assert settings.get("cmake.define.SING_WHY_NO_CUDA") == reason
    assert (reason or "builds CUDA kernels") in capfd.readouterr().err


def test_the_callers_choice_about_cuda_is_kept(backend, monkeypatch):
    machine(backend, monkeypatch, None, False)
    assert backend.completed({"cmake.define.SING_CUDA": "ON"})["cmake.define.SING_CUDA"] == "ON"
    monkeypatch.setenv("CMAKE_ARGS", "-DSING_CUDA=ON")
    assert "cmake.define.SING_CUDA" not in backend.completed({})
