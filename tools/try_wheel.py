"""Installs a wheel of the package into empty virtual environments, one per version of torch, and trains a few steps in each.

python tools/try_wheel.py WHEEL [--torch VERSION|newest]...

pip downloads each torch (about 3 GB). The environments have no compiler on PATH. Without --torch it takes 2.10.0, the oldest
that the wheel supports, and the newest.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import pathlib, shutil, sys
import torch, sing
assert pathlib.Path(sing.__file__).is_relative_to(sys.prefix), sing.__file__
assert not any(shutil.which(name) for name in ("cc", "gcc", "g++", "clang", "nvcc", "cmake", "ninja"))
assert sing.has_kernels("cpu")
assert (pathlib.Path(sing.__file__).parent / "py.typed").exists()
for device in ("cpu", "cuda") if torch.cuda.is_available() and sing.has_kernels("cuda") else ("cpu",):
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3).to(device)
    optimizer = sing.SING(model.named_parameters(), lr=0.1)
    inputs, targets = torch.randn(2, 4, device=device), torch.randn(2, 3, device=device)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (model(inputs) - targets).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0], losses
    optimizer.save("state.safetensors")
    optimizer.load("state.safetensors")
    sing.attach(torch.optim.NAdam(model.parameters())).step()
print("sing", sing.__version__, "with torch", torch.__version__, "trains")
"""


def environment_of(home):
    """Returns the variables of a process that sees the environment in `home` alone."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SING", "VIRTUAL_ENV"))}
    return {**kept, "PATH": str(home / "bin")}


def train(home, folder):
    """Runs PROGRAM with the environment's Python in `folder`; returns the finished process."""
    command = [str(home / "bin" / "python"), "-c", PROGRAM]
    return subprocess.run(command, capture_output=True, text=True, env=environment_of(home), cwd=folder)


def try_wheel(wheel, version, folder):
    """Prints how the wheel fared with this torch; returns whether it trains."""
    home = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "numpy", "torch" if version == "newest" else f"torch=={version}"], check=True)
    began = time.monotonic()
    subprocess.run([*pip, "--no-index", str(wheel)], check=True, env=environment_of(home))
    seconds = time.monotonic() - began
    done = train(home, folder)
    print(done.stdout.strip() or done.stderr, f"(installed in {seconds:.1f} s)", flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--torch", action="append", help="a version, or newest; may come again")
    options = parser.parse_args()
    works = True
    for version in options.torch or ["2.10.0", "newest"]:
        with tempfile.TemporaryDirectory() as folder:
            works = try_wheel(options.wheel.resolve(), version, pathlib.Path(folder)) and works
    return 0 if works else 1


if __name__ == "__main__":
    sys.exit(main())
