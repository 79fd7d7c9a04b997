"""Checks that the includes of every source file go in the directions the architecture allows.

python tools/check_layers.py [ROOT] prints one line a wrong include and exits with 1 if there is any.
"""

import pathlib
import re
import sys

SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
CUDA = re.compile(r"(cuda|cub/|thrust/|cooperative_groups|cublas|cudnn|nvtx|nccl|driver_types\.h|vector_types\.h)")
TORCH = re.compile(r"(torch/|ATen/|c10/)")

# Folder (or file) -> what of this repository it may include, by longest prefix. A folder that is not named may include all.
ALLOWED = {
    "sing/base/": ("sing/base/",),
    "sing/rule/": ("sing/base/", "sing/rule/"),
    "sing/backend/": ("sing/base/", "sing/rule/", "sing/backend/"),
    "sing/io/": ("sing/base/", "sing/io/"),
    "sing/optim/": ("sing/base/", "sing/io/", "sing/rule/", "sing/optim/", "sing/backend/backend.hpp"),
    "sing/c_api/": ("sing/base/", "sing/io/", "sing/rule/", "sing/optim/", "sing/c_api/"),
    "sing/": ("sing/base/", "sing/rule/", "sing/optim/", "sing/backend/backend.hpp"),
    "adapters/tensor/": ("sing/", "adapters/tensor/"),
    "adapters/torch/": ("sing/", "adapters/tensor/", "adapters/torch/"),
    "lab/": ("sing/", "adapters/torch/", "lab/"),
}
MAY_INCLUDE_CUDA = ("sing/backend/cuda/", "lab/fused/", "tests/backend/cuda/")
MAY_INCLUDE_TORCH = ("adapters/torch/", "lab/", "bench/", "tests/torch/", "tests/lab/")
OURS = ("sing/", "adapters/", "lab/", "bench/", "examples/", "python/", "tests/")
# These stand outside the tree they are kept in: projects of their own that include the installed headers.
SKIPPED = ("build/", "tests/install/")


def included(path):
    """Yields (line number, quoted, name) of every include of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def fault(source, name, quoted, root):
    """What is wrong with `source` including `name`, or None."""
    if TORCH.match(name):
        return None if source.startswith(MAY_INCLUDE_TORCH) else "only adapters/torch, lab and bench include LibTorch"
    if CUDA.match(name):
        return None if source.startswith(MAY_INCLUDE_CUDA) else "only sing/backend/cuda and lab/fused include CUDA"
    if not name.startswith(OURS):
        return "a quoted include names a file from the repository's root" if quoted else None
    if ".." in name.split("/") or not (root / name).is_file():
        return "no such file from the repository's root"
    folder = max((prefix for prefix in ALLOWED if source.startswith(prefix)), key=len, default=None)
    if folder and not name.startswith(ALLOWED[folder]):
        return f"{folder} may include {', '.join(ALLOWED[folder])} only"
    return None


def check(root):
    """Returns (files read, list of messages)."""
    files = 0
    messages = []
    for top in OURS:
        for path in sorted((root / top).rglob("*")):
            source = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or source.startswith(SKIPPED):
                continue
            files += 1
            for number, quoted, name in included(path):
                message = fault(source, name, quoted, root)
                if message:
                    messages.append(f"{source}:{number}: includes {name}: {message}")
    return files, messages


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files, messages = check(root)
    print(*messages, sep="\n", end="\n" if messages else "")
    print(f"{files} files, {len(messages)} wrong includes")
    return 1 if messages or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
