#!/usr/bin/env python3
"""Mutation testing: makes one small change at a time in the C++ sources and reports the changes that no test notices.

./dev run python tools/mutate.py [--area rule|cpu|optim|loop]... [--count N] [--seed N] [--results FILE]

A mutant is a copy of the sources with one such change. Each mutant is built in a worktree of its own (build/mutate), and
the tests of its area run until one fails. A mutant that compiles and passes all tests has survived: either a test is
missing or the change has no effect. Results are appended to a file of JSON lines, one per mutant; mutants that are
listed there are not tried again, so that an interrupted run can be continued. The exit status is 1 if a mutant survived.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SECONDS_PER_TEST_PROGRAM = 600  # a mutant whose loop does not end is killed by this limit


@dataclasses.dataclass(frozen=True)
class Area:
    """The sources that are changed together with the test programs that should notice."""

    sources: tuple[str, ...]  # glob patterns
    tests: tuple[str, ...]  # ninja targets in tests/bin, the fastest first
    torch: bool = False  # whether the tests need LibTorch
    arguments: tuple[str, ...] = ()  # of each test program


AREAS = {
    "rule": Area(("sing/rule/*.hpp", "sing/rule/*.cpp"), ("sing_test_rule", "sing_test_golden", "sing_test_optim")),
    "cpu": Area(("sing/backend/cpu/*.hpp", "sing/backend/cpu/*.cpp"), ("sing_test_optim", "sing_test_contract")),
    "optim": Area(
        ("sing/optim/*.cpp", "sing/io/*.cpp"),
        ("sing_test_base", "sing_test_io", "sing_test_optim", "sing_c_api_test", "sing_refusals_test", "sing_versioning_test"),
    ),
    "loop": Area(("lab/loop/*.cpp",), ("sing_test_lab_training",), torch=True),
}

# What is replaced, and by what. A pattern is matched against code without comments and string literals.
REPLACEMENTS = [
    (r" < ", " <= "),
    (r" <= ", " < "),
    (r" > ", " >= "),
    (r" >= ", " > "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " / "),
    (r" / ", " * "),
    (r" \+= ", " -= "),
    (r" -= ", " += "),
    (r"\+\+", "--"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bstd::min\b", "std::max"),
    (r"\bstd::max\b", "std::min"),
    (r"(?<![\w.'])0(?![\w.'])", "1"),
    (r"(?<![\w.'])1(?![\w.'])", "0"),
    (r"\bif \((?!constexpr)", "if (!"),
]
# A line that is one whole statement: a call or an assignment to something that exists already.
STATEMENT = re.compile(r"^\s+(?!return\b|throw\b|const\b|auto\b|using\b|static|delete\b)[\w:.\->\[\]()*]+( [-+*/|&]?= .*|\(.*\));$")
# Lines whose change does not change the program's behavior, or only that of the compiler.
IGNORED = re.compile(r"^\s*(#|//|static_assert|SING_CHECK|template|using |namespace |\}|case |public:|private:)|constexpr char|alignas")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: line `line` (from 1) of `path` reads `after` instead of `before`."""

    path: str
    line: int
    before: str
    after: str

    def key(self):
        return f"{self.path}:{self.before.strip()} -> {self.after.strip()}"


def code_only(line):
    """Returns the line with comments and the contents of string and character literals blanked out, at the same length."""

    def blank(match):
        return match[0][0] + " " * (len(match[0]) - 2) + match[0][-1]

    line = re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)\'', blank, line)
    start = line.find("//")
    return line if start < 0 else line[:start] + " " * (len(line) - start)


def mutants_of_line(path, number, line):
    """Yields every mutant of one line of code."""
    code = code_only(line)
    if IGNORED.search(code) or not code.strip():
        return
    if STATEMENT.match(code.rstrip()):
        yield Mutant(path, number, line, re.match(r"\s*", line)[0] + ";  // removed")
    for pattern, replacement in REPLACEMENTS:
        for match in re.finditer(pattern, code):
            changed = line[: match.start()] + replacement + line[match.end() :]
            if pattern.startswith(r"\bif"):
                # The whole condition is negated, which needs its closing parenthesis on the same line.
                end = closing_parenthesis(code, match.end() - 1)
                if end is None:
                    continue
                changed = line[: match.end()] + "!(" + line[match.end() : end] + ")" + line[end:]
            yield Mutant(path, number, line, changed)


def closing_parenthesis(code, opening):
    """Returns the index of the parenthesis that closes the one at `opening`, or None if it is on another line."""
    depth = 0
    for index in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[index], 0)
        if depth == 0:
            return index
    return None


def mutants_of_file(root, path):
    lines = (root / path).read_text(encoding="utf-8").splitlines()
    return [mutant for number, line in enumerate(lines, 1) for mutant in mutants_of_line(path, number, line)]


def mutants_of_area(root, area):
    paths = sorted({str(path.relative_to(root)) for pattern in area.sources for path in root.glob(pattern)})
    return [mutant for path in paths for mutant in mutants_of_file(root, path)]


def choose(mutants, count, seed):
    """Chooses at most `count` mutants, at most one per line, so that they cover many lines."""
    order = random.Random(seed).sample(mutants, len(mutants))
    seen, chosen = set(), []
    for mutant in order:
        if (mutant.path, mutant.line) not in seen and len(chosen) < count:
            seen.add((mutant.path, mutant.line))
            chosen.append(mutant)
    return chosen


def ran(command, folder, seconds):
    """Runs a command without its output. Returns 'passed', 'failed' or 'timed out'."""
    try:
        done = subprocess.run(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return "timed out"
    return "passed" if done.returncode == 0 else "failed"


def outcome_of(mutant, root, build, tests, run=ran):
    """Applies the mutant in `root`, builds with `build` and runs `tests` until one notices; restores the file.

    Returns 'does not compile', 'survived', or 'killed by' and the test program.
    """
    file = root / mutant.path
    original = file.read_text(encoding="utf-8")
    lines = original.splitlines(keepends=True)
    if lines[mutant.line - 1].rstrip("\n") != mutant.before:
        raise ValueError(f"[mutate] {mutant.path}:{mutant.line}: wanted {mutant.before!r}, got {lines[mutant.line - 1]!r}")
    lines[mutant.line - 1] = mutant.after + "\n"
    file.write_text("".join(lines), encoding="utf-8")
    try:
        if run(build, root, None) != "passed":
            return "does not compile"
        for name, command in tests:
            if run(command, root, SECONDS_PER_TEST_PROGRAM) != "passed":
                return f"killed by {name}"
        return "survived"
    finally:
        file.write_text(original, encoding="utf-8")


def prepare_tree(folder, torch_folder):
    """Makes or renews the worktree of HEAD in which mutants are built, with a configured build folder."""
    tree = folder / "tree"
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", "--force", tree, "HEAD"], cwd=ROOT, check=True)
    else:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", head], cwd=tree, check=True)
    command = ["cmake", "-S", ".", "-B", "build/dev", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"]
    if torch_folder:
        command += ["-DSING_TORCH=ON", f"-DSING_TORCH_DIR={torch_folder}"]
    subprocess.run([*command, "-DSING_CUDA=OFF"], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    return tree


def torch_folder():
    import torch

    return os.path.dirname(torch.__file__)


def run_area(name, area, options, results):
    tree = prepare_tree(options.folder, torch_folder() if area.torch else None)
    build = ["ninja", "-C", "build/dev", *area.tests]
    tests = [(test, [f"build/dev/tests/bin/{test}", "--gtest_fail_fast", *area.arguments]) for test in area.tests]
    print(f"{name}: building the unchanged sources", flush=True)
    subprocess.run(build, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    for test, command in tests:
        if ran(command, tree, SECONDS_PER_TEST_PROGRAM) != "passed":
            raise RuntimeError(f"[mutate] wanted {test} to pass on the unchanged sources, but it fails")
    for mutant in choose(mutants_of_area(tree, area), options.count, options.seed):
        if mutant.key() in results:
            continue
        outcome = outcome_of(mutant, tree, build, tests)
        results[mutant.key()] = outcome
        with open(options.results, "a", encoding="utf-8") as file:
            file.write(json.dumps({"area": name, **dataclasses.asdict(mutant), "outcome": outcome}) + "\n")
        print(f"{outcome:28} {mutant.path}:{mutant.line}  {mutant.before.strip()}  ->  {mutant.after.strip()}", flush=True)


def read_results(path):
    if not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {Mutant(each["path"], each["line"], each["before"], each["after"]).key(): each["outcome"] for each in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--area", action="append", choices=AREAS, help="sources to change (all areas)")
    parser.add_argument("--count", type=int, default=40, help="mutants per area (40)")
    parser.add_argument("--seed", type=int, default=0, help="chooses the mutants (0)")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "mutate", help="place of the worktree (build/mutate)")
    parser.add_argument("--results", type=pathlib.Path, help="file of JSON lines (results.jsonl in the folder)")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    options.results = options.results or options.folder / "results.jsonl"
    results = read_results(options.results)
    for name in options.area or AREAS:
        run_area(name, AREAS[name], options, results)
    counted = [outcome for outcome in results.values() if outcome != "does not compile"]
    survivors = counted.count("survived")
    print(f"{len(counted)} mutants, {len(counted) - survivors} killed, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
