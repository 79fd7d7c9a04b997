"""Checks that includes and imports go in the directions that the architecture allows (docs/architecture.md).

python tools/check_layers.py [ROOT] prints one line per fault and exits with 1 if there is any. It checks
- that a C++ or CUDA file includes only what ALLOWED and LAB_FLOORS permit, by its path from the repository's root,
- that LibTorch and CUDA are included only where MAY_INCLUDE_TORCH and MAY_INCLUDE_CUDA say,
- that a file in lab/X/ declares the namespace sing::lab::X and no other,
- that a module of python/sing imports only the standard library, torch and other modules of python/sing,
- that the includes between folders of one tree, and the imports between modules of python/sing, have no cycle.
"""

import ast
import pathlib
import re
import sys

SUFFIXES = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\s+([\w:]+)\s*\{")
CUDA = re.compile(r"(cuda|cub/|thrust/|cooperative_groups|cublas|cudnn|nvtx|nccl|driver_types\.h|vector_types\.h)")
TORCH = re.compile(r"(torch/|ATen/|c10/)")

# The folders of lab/ from the bottom: a file may include files of its own folder and of lower floors.
LAB_FLOORS = (
    ("command",),  # the vocabulary of the command line
    ("ranks",),  # the processes of one training
    ("random", "picture", "data"),  # parts that know no model
    ("text",),  # tokenizers, vocabularies, scores of text
    ("page",),  # HTML pages and drawings
    ("fused", "optimizer"),  # layers and optimizers
    ("model",),
    ("task",),  # the interface of tasks
    ("image", "encoder"),  # the toolkits of the image tasks and of the tasks of text encoders
    ("rde", "cifar100", "mnist", "imagefolder", "denoise", "lm", "translation", "squad", "choice"),  # tasks
    ("run",),  # the records of a run and its directory
    ("loop",),  # training
    ("report", "compare", "bench", "theory"),  # commands
    ("tune", "reproduce"),  # commands that compare
    ("main",),  # the program
)
# The parts of the library that the lab may use: all but the backends.
LIBRARY = ("sing/base/", "sing/io/", "sing/rule/", "sing/optim/", "sing/c_api/", "sing/sing.hpp", "adapters/")


def lab_rules():
    """Folder of lab/ -> what it may include."""
    rules = {}
    below = []
    for floor in LAB_FLOORS:
        for folder in floor:
            rules[f"lab/{folder}/"] = (*LIBRARY, *below, f"lab/{folder}/")
        below += [f"lab/{folder}/" for folder in floor]
    return rules


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
    "adapters/mpi/": ("sing/", "adapters/mpi/"),
    "adapters/nccl/": ("sing/", "adapters/nccl/"),
    "lab/": (),  # a folder without a floor
    **lab_rules(),
}
MAY_INCLUDE_CUDA = ("sing/backend/cuda/", "adapters/nccl/", "lab/fused/", "lab/ranks/nccl_link.cpp", "tests/backend/cuda/", "tests/nccl/")
MAY_INCLUDE_TORCH = ("adapters/torch/", "lab/", "bench/", "tests/torch/", "tests/lab/", "examples/libtorch/")
MAY_IMPORT = {*sys.stdlib_module_names, "torch", "sing"}
OURS = ("sing/", "adapters/", "lab/", "bench/", "examples/", "python/", "tests/")
TREES = ("sing/", "adapters/", "lab/")  # whose folders have no cycle
# These stand outside the tree they are kept in: projects of their own that include the installed headers.
SKIPPED = ("build/", "tests/install/")


def included(text):
    """Yields (line number, quoted, name) of every include of a file."""
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            yield number, match[1] == '"', match[2]


def include_fault(source, name, quoted, root):
    """Says what is wrong with `source` including `name`, or returns None."""
    if TORCH.match(name):
        return None if source.startswith(MAY_INCLUDE_TORCH) else f"only {', '.join(MAY_INCLUDE_TORCH)} include LibTorch"
    if CUDA.match(name):
        return None if source.startswith(MAY_INCLUDE_CUDA) else f"only {', '.join(MAY_INCLUDE_CUDA)} include CUDA"
    if not name.startswith(OURS):
        return "a quoted include names a file from the repository's root" if quoted else None
    if ".." in name.split("/") or not (root / name).is_file():
        return "no such file from the repository's root"
    folder = max((prefix for prefix in ALLOWED if source.startswith(prefix)), key=len, default=None)
    if folder and not name.startswith(ALLOWED[folder]):
        return f"{folder} may include {', '.join(ALLOWED[folder]) or 'nothing: it has no floor'} only"
    return None


def namespace_faults(source, text):
    """Yields a message for each namespace that a file of lab/ should not declare."""
    parts = source.split("/")
    if parts[0] != "lab" or len(parts) < 3:
        return
    wanted = f"sing::lab::{parts[1]}"
    for number, line in enumerate(text.splitlines(), start=1):
        match = NAMESPACE.match(line)
        if match and match[1] != wanted:
            yield f"{source}:{number}: wanted namespace {wanted}, got {match[1]}"


def find_cycle(edges):
    """Returns the nodes of one cycle of {node: set of nodes}, the first one again at the end, or None."""
    done = set()

    def visit(node, path):
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done:
            return None
        for target in sorted(edges.get(node, ())):
            cycle = visit(target, [*path, node])
            if cycle:
                return cycle
        done.add(node)
        return None

    for node in sorted(edges):
        cycle = visit(node, [])
        if cycle:
            return cycle
    return None


def add_folder_edge(edges, source, name):
    """Notes that a folder includes another one. A folder and a folder inside it count as one."""
    one, other = (str(pathlib.PurePosixPath(path).parent) for path in (source, name))
    nested = f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")
    same_tree = any(source.startswith(tree) and name.startswith(tree) for tree in TREES)
    if same_tree and not nested:
        edges.setdefault(one, set()).add(other)


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported(tree):
    """Yields (line, name) of what a module imports when it runs, at any depth. `from a import b` gives a and a.b."""
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = ".".join(part for part in ("sing" * (node.level > 0), node.module) if part)  # from . import name
            yield node.lineno, package
            yield from ((node.lineno, f"{package}.{alias.name}") for alias in node.names)
        nodes += node.orelse if is_for_type_checkers(node) else ast.iter_child_nodes(node)


def check_imports(root):
    """Returns ({module of python/sing: modules of it that it imports}, list of messages)."""
    paths = {f"sing.{path.stem}": path for path in sorted((root / "python" / "sing").glob("*.py"))}
    edges = {}
    messages = []
    for module, path in paths.items():
        names = sorted(imported(ast.parse(path.read_text(encoding="utf-8"))))
        edges[module] = {name for _, name in names if name in paths}
        for line, name in names:
            if name.split(".")[0] not in MAY_IMPORT:
                source = path.relative_to(root).as_posix()
                messages.append(f"{source}:{line}: imports {name}: python/sing/ may import the standard library, torch and sing only")
    return edges, messages


def check(root):
    """Returns (files read, list of messages)."""
    files = 0
    messages = []
    edges = {}
    for top in OURS:
        for path in sorted((root / top).rglob("*")):
            source = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or source.startswith(SKIPPED):
                continue
            files += 1
            text = path.read_text(encoding="utf-8")
            messages += namespace_faults(source, text)
            for number, quoted, name in included(text):
                message = include_fault(source, name, quoted, root)
                if message:
                    messages.append(f"{source}:{number}: includes {name}: {message}")
                else:
                    add_folder_edge(edges, source, name)
    imports, faults = check_imports(root)
    messages += faults
    for what, graph in (("folders include each other", edges), ("modules import each other", imports)):
        cycle = find_cycle(graph)
        if cycle:
            messages.append(f"{what}: {' -> '.join(cycle)}")
    return files, messages


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files, messages = check(root)
    print(*messages, sep="\n", end="\n" if messages else "")
    print(f"{files} files, {len(messages)} faults")
    return 1 if messages or files == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
