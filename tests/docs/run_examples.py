"""Compiles and runs the examples of one page against the built library.

run_examples.py PAGE --scratch FOLDER --cc CC --cxx CXX [--compile=FLAG…] [--link=FLAG…] [--copy FILE=NAME…] [--needs PROGRAM…]

A fenced block whose info string is `cpp run`, `c run`, `python run` or `sh run` must succeed. Blocks run in the order of the page,
in one folder that holds only the files of --copy at first. A block with a third word, as in `cpp run prints`, must print the text of the next block `text
output`.
Exit status: 0; 1 for the first block that fails; 77 if a Python package or a program of --needs is missing and all else succeeds.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

from fences import blocks

SKIPPED = 77
SUFFIX = {"cpp": ".cpp", "c": ".c", "python": ".py", "sh": ".sh"}
WARNINGS = ["-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]


class Failure(Exception):
    pass


def succeed(place, command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise Failure(f"{place}: {command[0]} gave {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def compiled(place, source, arguments):
    """Builds the program of a C or C++ source file; the C++ compiler links, because the library needs its runtime."""
    is_c = source.suffix == ".c"
    compiler = [arguments.cc, "-std=c11", "-pedantic"] if is_c else [arguments.cxx, "-std=c++20"]
    compiled_object = source.with_suffix(".o")
    program = source.with_suffix("")
    succeed(place, [*compiler, *WARNINGS, *arguments.compile, "-c", source.name, "-o", compiled_object.name], source.parent)
    succeed(place, [arguments.cxx, compiled_object.name, "-o", program.name, *arguments.link], source.parent)
    return program


def printed(place, block, arguments):
    """Returns what the block prints."""
    if block.language not in SUFFIX:
        raise Failure(f"{place}: wanted one of {', '.join(SUFFIX)} to run, got '{block.language}'")
    source = arguments.scratch / f"line_{block.line}{SUFFIX[block.language]}"
    source.write_text(block.text, encoding="utf-8")
    if block.language == "python":
        return succeed(place, [sys.executable, source.name], arguments.scratch)
    if block.language == "sh":
        return succeed(place, ["sh", "-eu", source.name], arguments.scratch)
    return succeed(place, [compiled(place, source, arguments)], arguments.scratch)


def run_page(arguments):
    """Returns (blocks run, places skipped)."""
    count, skipped, outputs = 0, [], []
    for block in blocks(arguments.page):
        place = f"{arguments.page.name}:{block.line}"
        missing = [name for name in arguments.needs if re.search(rf"^{name} ", block.text, re.MULTILINE) and not shutil.which(name)]
        if "run" in block.words and block.language == "sh" and missing:
            skipped.append(f"{place}: wanted the program '{missing[0]}' on PATH, got none")
        elif "run" in block.words:
            try:
                output = printed(place, block, arguments)
                count += 1
                outputs += [(place, output)] if "prints" in block.words else []
            except Failure as failure:
                if block.language != "python" or "ModuleNotFoundError" not in str(failure):
                    raise
                skipped.append(f"{place}: {str(failure).splitlines()[-1]}")
        elif "output" in block.words:
            if not outputs and not skipped:
                raise Failure(f"{place}: wanted a block that prints this, got none")
            for source, output in outputs:
                if output.rstrip("\n") != block.text.rstrip("\n"):
                    raise Failure(f"{source}: wanted\n{block.text}as {place} says, printed\n{output}")
            outputs = []
    if outputs:
        raise Failure(f"{outputs[0][0]}: wanted a block `text output` after it, got none")
    return count, skipped


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--scratch", type=lambda text: pathlib.Path(text).resolve(), required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cxx", required=True)
    parser.add_argument("--compile", action="append", default=[])
    parser.add_argument("--link", action="append", default=[])
    parser.add_argument("--copy", action="append", default=[], help="FILE=NAME: the blocks find a copy of FILE under this name")
    parser.add_argument("--needs", action="append", default=[], help="skip blocks in sh that call this program if it is not on PATH")
    return parser.parse_args(words)


def main(words):
    arguments = parse(words)
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    for file, name in (each.split("=") for each in arguments.copy):
        target = arguments.scratch / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    try:
        count, skipped = run_page(arguments)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    print(f"{arguments.page.name}: {count} blocks ran", *skipped, sep="\nskipped ")
    if count == 0 and not skipped:
        print("wanted a block to run, got none", file=sys.stderr)
        return 1
    return SKIPPED if skipped else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
