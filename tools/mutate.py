#!/usr/bin/env python3
"""Mutation testing: plants small mistakes in the C++ sources, one at a time, and reports those that no test notices.

./dev run python tools/mutate.py [--area rule|cpu|optim|loop]... [--count N] [--seed N] [--processes N] [--tree FOLDER] [--results FILE]
./dev run python tools/mutate.py --again [...]           tries the survivors of the results again, after tests were added
./dev run python tools/mutate.py --table FILE...         prints the figures of one or more files of results as a table

A mutant is the program with one such mistake. All mutants are compiled into one set of test programs, and the
environment variable SING_MUTANT chooses the one that is active, so that trying a mutant costs a run of the tests and
no build. The tests of the area run until one fails. A mutant that passes all of them has survived: either a test is
missing or the change has no effect. The sources are those of HEAD in a worktree (build/mutate/tree) that is built
without CUDA, or those of --tree, a checkout with a configured folder build/dev; they are restored afterwards. Results
are appended to a file of JSON lines; mutants that are listed there are not tried again, so that an interrupted run can
be continued. The exit status is 1 if a mutant survived.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import cpp_statements

ROOT = pathlib.Path(__file__).resolve().parent.parent


# Outcomes; any other one is 'killed by' a test program.
SURVIVED = "survived"
NOT_COMPILED = "does not compile"


@dataclasses.dataclass(frozen=True)
class Area:
    """The sources that are changed together with the test programs that should notice."""

    sources: tuple[str, ...]  # glob patterns of files that a build without CUDA compiles
    tests: tuple[tuple[str, ...], ...]  # a ninja target and its arguments, the fastest first
    torch: bool = False  # whether the tests need LibTorch


# Compares defaults and bounds with the page of options.
OPTIONS_TABLE = ("options_table", "--check", str(ROOT / "docs" / "options.md"))
# One instruction set is enough, because the loops that are compiled for each of them are not changed.
CONTRACT = (
    "sing_test_contract",
    "--gtest_filter=*cpu_baseline_threads_2*:*Shards.*/cpu:ShardsOnTheCpu.*:ExecutorFailure.*-*CpuVariants*:*ThreeMillion*",
)

AREAS = {
    "rule": Area(
        ("sing/rule/*.hpp", "sing/rule/*.cpp", "sing/rule/contrib/*.hpp"),
        (OPTIONS_TABLE, ("sing_test_rule",), ("sing_test_golden",), ("sing_test_optim",), CONTRACT),
    ),
    "cpu": Area(
        ("sing/backend/cpu/*.hpp", "sing/backend/cpu/*.cpp", "sing/backend/*.hpp", "sing/backend/*.cpp"),
        (("sing_test_backend",), ("sing_test_optim",), ("sing_test_memory",), CONTRACT),
    ),
    "optim": Area(
        ("sing/optim/*.cpp", "sing/io/*.cpp"),
        (OPTIONS_TABLE, ("sing_test_base",), ("sing_test_io",), ("sing_test_optim",), ("sing_c_api_test", "."), ("sing_refusals_test", "."), ("sing_versioning_test", "."), ("sing_test_memory",), CONTRACT),
    ),
    "loop": Area(
        ("lab/loop/[!s]*.cpp", "lab/loop/state_shares.cpp"),  # not step_graph.cpp
        (
            ("sing_test_lab_loop",),
            ("sing_test_lab_training", "--gtest_filter=Train.*:TrainWithCurvature.*:EarlierRun.*"),
            ("sing_test_lab_ranks", "--gtest_filter=Ranks.*"),
            ("sing_test_lab_training", "--gtest_filter=Eval.*:Bench.*:Resume.*"),
        ),
        torch=True,
    ),
}

# Patterns, each with its replacement.
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
]
# Statements that only the compiler evaluates, and declarations of other things than variables.
FIXED = re.compile(r"^(constexpr|static|static_assert|using|template|typedef|friend|namespace|struct|class|enum|extern|inline|explicit|virtual|requires|asm)\b|\bconstexpr\b|\bstatic constexpr\b")
CALL = re.compile(r"^[\w:.\->\[\]()*<>]+?\(")
TWO_NAMES = re.compile(r"^(const )?[\w:]+(<.*>)?[&*]* (const )?[&*]*\w+\s*[({;]")
ASSIGNMENT = re.compile(r"^[\w:.\->\[\]()* ]+? [-+*/|&^]?= ")
DECLARATION = re.compile(r"^(?P<head>(const )?[\w:]+(<[^=]*>)?[&*]*( const)? [&*]*\w+ = )(?P<value>.*);$", re.DOTALL)
HEAD = re.compile(r"^((\} )?else )?(if|while) \((?!const |auto )")
LOOP = re.compile(r"^for \(")

# Warnings that a mutant may cause. A mutant that causes any other warning counts as not compiling.
WARNINGS = ("parentheses", "conversion", "sign-conversion", "sign-compare", "unused", "unused-variable", "unused-function",
            "unused-parameter", "unused-value", "unused-but-set-variable", "bool-compare", "bool-operation", "int-in-bool-context",
            "type-limits", "div-by-zero", "tautological-compare", "maybe-uninitialized", "uninitialized", "return-type",
            "array-bounds", "stringop-overflow", "dangling-pointer", "nonnull", "misleading-indentation", "empty-body")  # fmt: skip
HEADER = "".join(f'#pragma GCC diagnostic ignored "-W{name}"\n' for name in WARNINGS) + """#pragma once
#include <cstdlib>
namespace sing_mutants {
inline const int chosen = std::getenv("SING_MUTANT") != nullptr ? std::atoi(std::getenv("SING_MUTANT")) : -1;
constexpr bool is(int number) { return number < 0 || chosen == number; }
}  // namespace sing_mutants
"""


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change: characters start … end − 1 of `path`, which begin in line `line`, read `after` instead of `before`."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def key(self):
        return " ".join(f"{self.path}: {self.before} -> {self.after}".split())


def changes(text, code):
    """Yields every version of a piece of code with one replacement."""
    for pattern, replacement in REPLACEMENTS:
        for match in re.finditer(pattern, code):
            yield text[: match.start()] + replacement + text[match.end() :]


def condition_of(code):
    """Returns the range of the condition in the head of an if or a loop, or None."""
    match = HEAD.match(code)
    if match is not None:
        begin = match.end()
        end = cpp_statements.closing(code, begin - 1, len(code))
        return None if end is None or ";" in code[begin:end] else (begin, end)
    if LOOP.match(code) and code.count(";") == 2:
        begin = code.index(";") + 1
        return begin, code.index(";", begin)
    return None


def mutants_of_file(path, text):
    """Returns every mutant of a file."""
    code = cpp_statements.code_only(text)
    mutants = []
    for statement in cpp_statements.statements(code):
        if statement.holds_block or FIXED.search(code[statement.start : statement.end]):
            continue
        begin, end = statement.start, statement.end
        whole = code[begin:end]
        wanted = []
        if statement.head:
            part = condition_of(whole)
            if part is None:
                continue
            begin, end = begin + part[0], begin + part[1]
            if not LOOP.match(whole):
                wanted.append(f"!({text[begin:end]})")
        elif whole.startswith(("return ", "throw ")):
            pass
        elif DECLARATION.match(whole):
            match = DECLARATION.match(whole)
            begin, end = begin + match.start("value"), begin + match.end("value")
        elif whole.startswith(("++", "--")) or ASSIGNMENT.match(whole) or (CALL.match(whole) and not TWO_NAMES.match(whole)):
            wanted.append("")
        else:
            continue
        if not whole.startswith("throw "):
            piece = code[begin:end]
            wanted += changes(text[begin:end], piece)
        line = text.count("\n", 0, begin) + 1
        mutants += [Mutant(path, line, begin, end, text[begin:end], after) for after in wanted]
    return mutants


def switched(mutant, number):
    """Returns what replaces the mutant's range so that SING_MUTANT=number makes the change, on as many lines."""
    on = f"sing_mutants::is({number})"
    before, after = mutant.before, mutant.after
    if before.endswith(";"):
        code = f"if ({on}) {{ {after} }} else {{ {before} }}"
        if before.startswith("return"):
            code = f"if ({on}) {{ {after} }} {before}"
    else:
        code = f"({on} ? ({after}) : ({before}))"
    one_line = re.sub(r"//[^\n]*", "", code).replace("\n", " ")
    return one_line + "\n" * before.count("\n")


def instrumented(text, mutants, header):
    """Returns the text of a file with numbered mutants [(number, mutant)] in it. The first line must be a comment."""
    if not text.startswith("//"):
        raise ValueError("[mutate] wanted a comment in the first line")
    for number, mutant in sorted(mutants, key=lambda each: -each[1].start):
        if text[mutant.start : mutant.end] != mutant.before:
            raise ValueError(f"[mutate] {mutant.path}:{mutant.line}: wanted {mutant.before!r}, got {text[mutant.start : mutant.end]!r}")
        text = text[: mutant.start] + switched(mutant, number) + text[mutant.end :]
    return f'#include "{header}"' + text[text.index("\n") :]


def mutants_of_area(root, area):
    paths = sorted({path for pattern in area.sources for path in root.glob(pattern)})
    return [mutant for path in paths for mutant in mutants_of_file(str(path.relative_to(root)), path.read_text(encoding="utf-8"))]


def choose(mutants, count, seed):
    """Chooses at most `count` mutants, at most one per statement and per kind of change to a file, so that they cover much."""
    order = random.Random(seed).sample(mutants, len(mutants))
    seen, chosen = set(), []
    for mutant in order:
        names = {(mutant.path, mutant.start), mutant.key()}
        if not names & seen and len(chosen) < count:
            seen |= names
            chosen.append(mutant)
    return chosen


def blamed(errors, numbered):
    """Returns the numbers of the mutants that compiler messages point at: on their line or else the nearest one before."""
    found = set()
    for path, line in set(re.findall(r"^(?:\S*/)?(\S+?):(\d+):\d+: error:", errors, re.MULTILINE)) | set(
        re.findall(r"^(\S+?):(\d+):\d+: +(?:required from here|in 'constexpr' expansion)", errors, re.MULTILINE)
    ):
        before = [(mutant.line, number) for number, mutant in numbered if mutant.path.endswith(path) and mutant.line <= int(line)]
        if before:
            found.add(max(before)[1])
    return found


def write_sources(tree, originals, numbered, header):
    """Writes the sources with these mutants in them; a file that does not change keeps its time."""
    for path, original in originals.items():
        mutants = [(number, mutant) for number, mutant in numbered if mutant.path == path]
        text = instrumented(original, mutants, header) if mutants else original
        if (tree / path).read_text(encoding="utf-8") != text:
            (tree / path).write_text(text, encoding="utf-8")


def build_mutants(tree, numbered, header, build):
    """Builds the tests with all mutants; returns those that compile. The sources are restored by the caller."""
    originals = {mutant.path: (tree / mutant.path).read_text(encoding="utf-8") for _, mutant in numbered}
    try:
        while True:
            write_sources(tree, originals, numbered, header)
            done = subprocess.run([*build, "-k", "0"], cwd=tree, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return numbered
            guilty = blamed(done.stdout + done.stderr, numbered)
            if not guilty:
                raise RuntimeError(f"[mutate] wanted a build, got\n{done.stdout[-4000:]}")
            print(f"{len(guilty)} mutants do not compile", flush=True)
            numbered = [(number, mutant) for number, mutant in numbered if number not in guilty]
    finally:
        write_sources(tree, originals, [], header)


def run_test(command, folder, number, limit):
    """Runs a test program with the mutant `number`. Returns its seconds and 'passed', 'failed' or 'did not end'."""
    began = time.monotonic()
    environment = {**os.environ, "SING_MUTANT": str(number), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        status = process.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return time.monotonic() - began, "did not end"
    return time.monotonic() - began, "passed" if status == 0 else "failed"


def outcome_of(number, tests, folder):
    """Runs tests [(name, command, limit)] with a mutant; returns 'survived', or 'killed by' and the test program.

    The program of a mutant that is killed by its limit 'did not end'.
    """
    with tempfile.TemporaryDirectory(dir=folder) as scratch:  # some tests write files where they are started
        for name, command, limit in tests:
            verdict = run_test(command, scratch, number, limit)[1]
            if verdict != "passed":
                return f"killed by {name}" + (", which did not end" if verdict == "did not end" else "")
    return SURVIVED


def prepare_tree(folder, torch_folder):
    """Makes or renews the worktree of HEAD in which mutants are built, with a configured build folder."""
    tree = folder / "tree"
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", "--force", tree, "HEAD"], cwd=ROOT, check=True)
    else:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", head], cwd=tree, check=True)
    # Builds as ./dev does, so that ccache has the files without mutants.
    command = ["cmake", "--preset", "dev", "-DSING_CUDA=OFF", "-DSING_BENCH=OFF"]
    if shutil.which("ccache"):
        command += ["-DCMAKE_C_COMPILER_LAUNCHER=ccache", "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
    if torch_folder:
        command += ["-DSING_TORCH=ON", f"-DSING_TORCH_DIR={torch_folder}"]
    subprocess.run(command, cwd=tree, check=True, stdout=subprocess.DEVNULL)
    return tree


def torch_folder():
    import torch

    return os.path.dirname(torch.__file__)


def mutants_to_try(name, tree, options, results):
    mutants = mutants_of_area(tree, AREAS[name])
    if options.again:
        return [mutant for mutant in mutants if results.outcomes.get(mutant.key()) == SURVIVED]
    return [mutant for mutant in choose(mutants, options.count, options.seed) if mutant.key() not in results.outcomes]


def run_areas(names, options, results):
    """Compiles the mutants of these areas into one set of test programs, because most sources include files of several areas."""
    needs_torch = any(AREAS[name].torch for name in names)
    tree = options.tree.resolve() if options.tree else prepare_tree(options.folder, torch_folder() if needs_torch else None)
    header = options.folder / "mutants.hpp"
    if not header.exists() or header.read_text(encoding="utf-8") != HEADER:
        header.write_text(HEADER, encoding="utf-8")
    chosen = [(name, mutant) for name in names for mutant in mutants_to_try(name, tree, options, results)]
    area_of = {number: name for number, (name, _) in enumerate(chosen)}
    names = list(dict.fromkeys(area_of.values()))
    if not chosen:
        return
    print(f"{', '.join(names)}: building {len(chosen)} mutants", flush=True)
    targets = dict.fromkeys(test[0] for name in names for test in AREAS[name].tests)
    build = ["ninja", "-C", "build/dev", f"-j{options.jobs}", *targets]
    numbered = build_mutants(tree, [(number, mutant) for number, (_, mutant) in enumerate(chosen)], header, build)
    compiled = {number for number, _ in numbered}
    for number, (name, mutant) in enumerate(chosen):
        if number not in compiled:
            results.add(name, mutant, NOT_COMPILED)
    for name in names:
        tests = timed_tests(name, tree, options.folder)
        run_mutants(name, [each for each in numbered if area_of[each[0]] == name], tests, options, results)


def timed_tests(name, tree, scratch):
    """Runs the tests of an area without a mutant; returns [(name, command, limit)]."""
    tests = []
    for test, *arguments in AREAS[name].tests:
        program = next(path for path in (tree / "build/dev" / folder / test for folder in ("tests/bin", "bin")) if path.exists())
        command = [program, *(["--gtest_fail_fast", "--gtest_brief"] if "_test_" in test else []), *arguments]
        seconds, verdict = run_test(command, scratch, -1, None)
        if verdict != "passed":
            raise RuntimeError(f"[mutate] wanted {test} to pass without a mutant, but it fails")
        print(f"{name}: {test} takes {seconds:.1f} s", flush=True)
        # A time limit kills mutants whose loops do not end.
        tests.append((test, command, 30 + 3 * seconds))
    return tests


def run_mutants(name, numbered, tests, options, results):
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        outcomes = pool.map(lambda each: outcome_of(each[0], tests, options.folder), numbered)
        for (_, mutant), outcome in zip(numbered, outcomes):
            results.add(name, mutant, outcome)


class Results:
    """The outcomes of mutants in a file of JSON lines, where a later line takes the place of an earlier one."""

    def __init__(self, path):
        self.path = path
        self.outcomes = {}  # by Mutant.key()
        self.areas = {}  # likewise
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            fields = json.loads(line)
            self._keep(fields.pop("area"), fields.pop("outcome"), Mutant(**fields))

    def _keep(self, area, outcome, mutant):
        self.outcomes[mutant.key()] = outcome
        self.areas[mutant.key()] = area

    def add(self, area, mutant, outcome):
        self._keep(area, outcome, mutant)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"area": area, **dataclasses.asdict(mutant), "outcome": outcome}) + "\n")
        change = f"{' '.join(mutant.before.split())}  ->  {' '.join(mutant.after.split())}"
        print(f"{outcome:28} {mutant.path}:{mutant.line}  {change}", flush=True)


def table_of(outcomes):
    """Returns a table of [(area, outcome)]: how many mutants of each area were tried, and with which outcome."""
    lines = ["| area | mutants | do not compile | killed | of them by a time limit | survived |", "|---|---|---|---|---|---|"]
    found = {area for area, _ in outcomes}
    for area in [*(area for area in AREAS if area in found), "all"]:
        mine = [outcome for each, outcome in outcomes if area in (each, "all")]
        not_compiled, survived = mine.count(NOT_COMPILED), mine.count(SURVIVED)
        endless = sum(outcome.endswith("did not end") for outcome in mine)
        lines.append(f"| {area} | {len(mine)} | {not_compiled} | {len(mine) - not_compiled - survived} | {endless} | {survived} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--area", action="append", choices=AREAS, help="sources to change (all areas)")
    parser.add_argument("--count", type=int, default=60, help="mutants per area (60)")
    parser.add_argument("--seed", type=int, default=0, help="chooses the mutants (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at a time (all cores)")
    parser.add_argument("--processes", type=int, default=1, help="mutants that are tried at a time (1)")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "mutate", help="place of the worktree (build/mutate)")
    parser.add_argument("--tree", type=pathlib.Path, help="a checkout with build/dev, used instead of the worktree")
    parser.add_argument("--results", type=pathlib.Path, help="file of JSON lines (results.jsonl in the folder)")
    parser.add_argument("--again", action="store_true", help="try the survivors among the results again, and no others")
    parser.add_argument("--table", type=pathlib.Path, nargs="+", metavar="FILE", help="print the figures of these results; no mutant is tried")
    options = parser.parse_args()
    if options.table:
        print(table_of([pair for each in map(Results, options.table) for pair in zip(each.areas.values(), each.outcomes.values())]))
        return 0
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    options.results = options.results or options.folder / "results.jsonl"
    results = Results(options.results)
    run_areas(options.area or list(AREAS), options, results)
    print(table_of(list(zip(results.areas.values(), results.outcomes.values()))))
    return 1 if SURVIVED in results.outcomes.values() else 0


if __name__ == "__main__":
    sys.exit(main())
