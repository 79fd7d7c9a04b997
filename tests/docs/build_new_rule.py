"""Adds the rule of docs/adding_a_rule.md to a copy of the project, from the page's own text, and uses the rule.

build_new_rule.py test|use ROOT --scratch FOLDER [-D CMAKE_VARIABLE=VALUE…]

A block with `file=PATH` is a new file of the copy; a `diff` block with `file=PATH` changes a file. The copy is built like the
project. With `test`, the rule's test has to pass and, if SING_TORCH is on, the generators have to list the rule. With `use`, the
program has to train with the rule and Python has to step it; without SING_TORCH this is skipped (status 77). The copy is kept, and
only files that differ are written again, so that a second run compiles nothing.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

from fences import blocks

RULE, SUITE = "soft_sign", "SoftSign"
MOST_LINES = 60  # for the rule and its entry in the list, without its test
HAND_WRITTEN = 4  # files: header, list, test, equations
COPIED = ("CMakeLists.txt", "adapters", "cmake", "docs", "examples", "lab", "python", "sing", "tests", "tools")
SKIPPED = 77
# The two steps of the page's test, through the package.
PYTHON_STEPS = f"""
import sing, torch
weight = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))
alone = {{"centralize": False, "normalize": "off", "lookahead": False, "decay_vectors": True}}
optimizer = sing.{SUITE}([weight], lr=0.5, beta=0.5, weight_decay=0.2, **alone)
for gradient in (3.0, -2.0):
    weight.grad = torch.full_like(weight, gradient)
    optimizer.step()
    print(f"{{weight.item():.15g}}")
"""
TRAINING = (
    "train rde --optimizer sing-soft_sign --beta 0.8 --steps 20 --log-steps 1 --device cpu --threads 1 --model vit-micro --depth 1 "
    "--width 16 --image-size 16 --patch-size 4 --rectangles 2 --min-side 4 --max-side 10 --min-visible 6 --batch 16 --train-count 64 "
    "--test-count 16"
)


def changed(text, diff, place):
    """Returns `text` with the diff's hunks, separated by @@, applied; each must fit in exactly one place."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " +")
        if not old or text.count(old) != 1:
            raise ValueError(f"{place}: wanted these lines once, got {text.count(old)} times:\n{old}")
        text = text.replace(old, new)
    return text


def is_other_test(name):
    """Returns whether a file is the test of another rule, which need not be compiled."""
    return name.startswith("tests/rule/") and name.endswith("_test.cpp")


def tree_with_rule(root):
    """Returns the files of the copy, path -> bytes."""
    files = {}
    for name in COPIED:
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts and not is_other_test(path.relative_to(root).as_posix()):
                files[path.relative_to(root).as_posix()] = path.read_bytes()
    page = root / "docs" / "adding_a_rule.md"
    parts = [block for block in blocks(page) if block.file]
    lines = sum(block.text.count("\n") for block in parts if block.file.startswith("sing/"))
    if lines >= MOST_LINES:
        raise ValueError(f"{page.name}: wanted a rule in fewer than {MOST_LINES} lines, got {lines}")
    written = {block.file for block in parts}
    if len(written) != HAND_WRITTEN:
        raise ValueError(f"{page.name}: wanted {HAND_WRITTEN} files written by hand, got {sorted(written)}")
    for block in parts:
        place = f"{page.name}:{block.line}"
        if block.language == "diff":
            files[block.file] = changed(files[block.file].decode(), block.text, place).encode()
        elif block.file in files:
            raise ValueError(f"{place}: wanted a new file, got that {block.file} exists")
        else:
            files[block.file] = block.text.encode()
    return files


def update(folder, files):
    """Makes `folder` hold these files and no others, and writes only those that differ."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, content in files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def run(*command, **environment):
    """Returns the command's output; exits with 1 if it fails."""
    variables = {**os.environ, **environment}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=variables)
    if done.returncode != 0:
        sys.exit(f"[new_rule] wanted that {pathlib.Path(command[0]).name} succeeds, got status {done.returncode}\n{done.stdout}")
    return done.stdout


def expect(condition, wanted, got):
    if not condition:
        sys.exit(f"[new_rule] wanted {wanted}, got {got}")


def make(arguments, tree, build, *targets):
    # Unoptimized code is enough to show that the rule compiles and computes the right numbers.
    variables = ["CMAKE_BUILD_TYPE=Debug", "CMAKE_CXX_FLAGS_DEBUG=-O0", "SING_BENCH=OFF", *arguments.variables]
    if arguments.part == "test":  # compiled together, the library's files read the headers once
        variables += ["CMAKE_UNITY_BUILD=ON", "CMAKE_UNITY_BUILD_BATCH_SIZE=12"]
    run(arguments.cmake, "-G", arguments.generator, "-S", tree, "-B", build, *(f"-D{each}" for each in variables))
    run(arguments.cmake, "--build", build, "-j", "2", "--target", "option_fields", "options_table", *targets)


def check_test(build):
    output = run(build / "tests" / "bin" / "sing_test_rule", f"--gtest_filter=*{SUITE}*")
    expect("[  PASSED  ]" in output and "Running 0 tests" not in output, f"tests of {SUITE} that pass", output)


def check_generated_text(tree):
    for name, entry in (
        ("docs/options.md", f"### Rule `{RULE}`"),
        ("docs/optimizers.md", f"| [{RULE}](algorithm.md#softsign) |"),
        ("python/sing/rules.py", f"class {SUITE}("),
    ):
        expect(entry in (tree / name).read_text(encoding="utf-8"), f"'{entry}' in the generated {name}", "no such text")


def check_python(tree, build):
    printed = run(
        *(sys.executable, "-c", PYTHON_STEPS),
        PYTHONPATH=str(tree / "python"),
        SING_OPERATORS=str(build / "python" / "_operators.so"),
    )
    expect(printed.split() == ["0.6", "0.64"], "the steps 0.6 and 0.64 in Python", printed)


def check_program(build, scratch):
    folder = scratch / "run"
    shutil.rmtree(folder, ignore_errors=True)
    run(build / "bin" / "sing", *TRAINING.split(), "--out", str(folder))
    options = json.loads((folder / "config.json").read_text(encoding="utf-8"))["options"]
    expect(options["optimizer"] == f"sing-{RULE}" and options["beta"] == 0.8, "a run with the rule and its option", options)
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [each["loss"] for each in records if each["kind"] == "step"]
    expect(losses[-1] < losses[0], "a loss that falls", losses)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("test", "use"))
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--generator", default="Ninja")
    parser.add_argument("-D", dest="variables", action="append", default=[])
    arguments = parser.parse_args()
    has_torch = "SING_TORCH=ON" in arguments.variables
    if arguments.part == "use" and not has_torch:
        print("[new_rule] wanted LibTorch to train with the rule and to step it in Python, got a build without it")
        return SKIPPED
    scratch = arguments.scratch.resolve()
    tree, build = scratch / "tree", scratch / f"build_{arguments.part}"
    update(tree, tree_with_rule(arguments.root.resolve()))
    make(arguments, tree, build, *(["sing_test_rule"] if arguments.part == "test" else ["sing_operators", "sing_program"]))
    if has_torch:
        run(sys.executable, tree / "tools" / "generate.py", build / "bin")
    if arguments.part == "use":
        check_python(tree, build)
        check_program(build, scratch)
    else:
        check_test(build)
        if has_torch:
            check_generated_text(tree)
    return 0


if __name__ == "__main__":
    sys.exit(main())
