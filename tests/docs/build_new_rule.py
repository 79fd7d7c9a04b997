"""Builds the library with the rule that docs/adding_a_rule.md adds, from the page's own text, and runs the rule's test.

build_new_rule.py ROOT --scratch FOLDER [-D CMAKE_VARIABLE=VALUE…]

A block with `file=PATH` is a new file of a copy of the tree; a `diff` block with `file=PATH` changes one. The copy is kept, and only
what differs is written again, so that a second run compiles nothing.
"""

import argparse
import pathlib
import subprocess
import sys

from fences import blocks

MOST_LINES = 60  # of the rule and its entry in the list, without its test
COPIED = ("CMakeLists.txt", "cmake", "sing", "tests/support")
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(new_rule LANGUAGES C CXX)
find_package(GTest REQUIRED)
add_subdirectory(tree)
add_executable(new_rule_test {tests})
target_link_libraries(new_rule_test PRIVATE sing::sing GTest::gtest GTest::gmock GTest::gtest_main)
"""


def changed(text, diff, place):
    """`text` with the diff's hunks, separated by @@, applied; each must fit in exactly one place."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines()
        old = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " -")
        new = "".join(f"{line[1:]}\n" for line in lines if line[:1] in " +")
        if not old or text.count(old) != 1:
            raise ValueError(f"{place}: wanted these lines once, got {text.count(old)} times:\n{old}")
        text = text.replace(old, new)
    return text


def tree_with_rule(root):
    """The files of the copy, path -> text."""
    files = {}
    for name in COPIED:
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and path.suffix != ".pyc":
                files[path.relative_to(root).as_posix()] = path.read_text(encoding="utf-8")
    page = root / "docs" / "adding_a_rule.md"
    lines = sum(block.text.count("\n") for block in blocks(page) if block.file and block.file.startswith("sing/"))
    if lines >= MOST_LINES:
        raise ValueError(f"{page.name}: wanted a rule in fewer than {MOST_LINES} lines, got {lines}")
    for block in blocks(page):
        place = f"{page.name}:{block.line}"
        if block.file and block.language == "diff":
            files[block.file] = changed(files[block.file], block.text, place)
        elif block.file:
            if block.file in files:
                raise ValueError(f"{place}: wanted a new file, got that {block.file} exists")
            files[block.file] = block.text
    return files


def update(folder, files):
    """Makes `folder` hold these files and no others, and touches only what differs."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("-D", dest="variables", action="append", default=[])
    arguments = parser.parse_args()
    files = tree_with_rule(arguments.root.resolve())
    tests = [name for name in files if name.startswith("tests/") and name.endswith("_test.cpp")]
    if not tests:
        raise ValueError("[new_rule] wanted a test of the new rule on the page, got none")
    project = {f"tree/{name}": text for name, text in files.items()}
    project["CMakeLists.txt"] = PROJECT.format(tests=" ".join(f"tree/{name}" for name in tests))
    source, build = arguments.scratch / "source", arguments.scratch / "build"
    update(source, project)
    # Unoptimized: what is asked is whether it compiles and computes the right thing.
    variables = ["CMAKE_BUILD_TYPE=Debug", "CMAKE_CXX_FLAGS_DEBUG=-O0", *arguments.variables]
    configure = [arguments.cmake, "-S", source, "-B", build, *(f"-D{each}" for each in variables)]
    for command in (configure, [arguments.cmake, "--build", build, "-j", "2"], [build / "new_rule_test"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(f"[new_rule] {command[0]} gave {done.returncode}\n{done.stdout}", file=sys.stderr)
            return 1
    print(done.stdout)
    return 0 if "[  PASSED  ]" in done.stdout and "Running 0 tests" not in done.stdout else 1


if __name__ == "__main__":
    sys.exit(main())
