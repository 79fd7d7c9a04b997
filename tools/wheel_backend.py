"""The build backend of the Python package: scikit-build-core, with what a build from a clone needs to know about the machine.

torch is wanted for its headers alone, of any version from 2.11 on. If the environment that pip installs into has one, the build
uses it; only otherwise is torch a requirement of the build. CUDA kernels are built where nvcc and a GPU are, for that GPU,
unless cmake.define.SING_CUDA says otherwise; the package remembers why it has none.
"""

import importlib.util
import os
import pathlib
import re
import shutil
import site
import subprocess
import sys
import sysconfig

from scikit_build_core import build as core
from scikit_build_core.build import build_sdist, get_requires_for_build_sdist, prepare_metadata_for_build_editable
from scikit_build_core.build import prepare_metadata_for_build_wheel

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

OLDEST_TORCH = (2, 11)  # whose headers build the operators
NVCC = "/usr/local/cuda/bin/nvcc"


def is_given(name, settings):
    """Returns whether the caller defined this variable of CMake."""
    return any(key.endswith(f"cmake.define.{name}") for key in settings) or f"-D{name}=" in os.environ.get("CMAKE_ARGS", "")


def torch_folders():
    """Yields where torch may be: among the packages of the build, and among those of the environment that pip installs into.

    An isolated build runs with that environment's interpreter but does not see its packages, so they are looked up by path.
    """
    spec = importlib.util.find_spec("torch")
    if spec and spec.origin:
        yield pathlib.Path(spec.origin).parent
    for site_packages in dict.fromkeys((sysconfig.get_path("purelib"), *site.getsitepackages(), site.getusersitepackages())):
        yield pathlib.Path(site_packages) / "torch"


def find_torch():
    """Returns the folder of a torch whose headers serve, or None."""
    for folder in torch_folders():
        header = folder / "include" / "torch" / "headeronly" / "version.h"
        if header.is_file():
            numbers = re.findall(r"define TORCH_VERSION_(?:MAJOR|MINOR) (\d+)", header.read_text(encoding="utf-8"))
            if tuple(map(int, numbers)) >= OLDEST_TORCH:
                return folder
    return None


def torch_requirement(settings):
    if is_given("SING_TORCH_DIR", settings) or find_torch():
        return []
    return ["torch>=" + ".".join(map(str, OLDEST_TORCH))]


def has_gpu():
    program = shutil.which("nvidia-smi")
    return bool(program) and "GPU" in subprocess.run([program, "-L"], capture_output=True, text=True).stdout


def cuda_settings():
    """Returns the settings for CUDA, with the reason if there are to be no kernels."""
    nvcc = shutil.which("nvcc") or shutil.which(NVCC)
    if nvcc and has_gpu():
        print("[sing] builds CUDA kernels for the GPU of this machine", file=sys.stderr)
        return {"SING_CUDA": "ON", "CMAKE_CUDA_ARCHITECTURES": "native", "CMAKE_CUDA_COMPILER": nvcc}
    reason = "no GPU was found when it was built" if nvcc else "no nvcc was found when it was built"
    print(f"[sing] builds without CUDA kernels: {reason}", file=sys.stderr)
    return {"SING_CUDA": "OFF", "SING_WHY_NO_CUDA": reason}


def completed(settings):
    """Returns the caller's settings and those that follow from the machine."""
    settings = dict(settings or {})
    torch = find_torch()
    if torch and not is_given("SING_TORCH_DIR", settings):
        settings["cmake.define.SING_TORCH_DIR"] = str(torch)
    if not is_given("SING_CUDA", settings):
        settings.update({f"cmake.define.{name}": value for name, value in cuda_settings().items()})
    return settings


def get_requires_for_build_wheel(config_settings=None):
    return core.get_requires_for_build_wheel(config_settings) + torch_requirement(config_settings or {})


def get_requires_for_build_editable(config_settings=None):
    return core.get_requires_for_build_editable(config_settings) + torch_requirement(config_settings or {})


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return core.build_wheel(wheel_directory, completed(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return core.build_editable(wheel_directory, completed(config_settings), metadata_directory)
