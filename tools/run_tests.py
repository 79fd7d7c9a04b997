"""Runs the tests of a build folder and of the Python package, and says in a few lines what was skipped and what failed.

python tools/run_tests.py BUILD [--jobs N] [--name REGEX] [--without-label REGEX] [--python FOLDER]

CTest's tests report their progress on one line; the output of a test is shown only if it failed. The end lists the skipped
tests by their reason, one line each, and then the names of those that failed. The exit status is 1 if a test failed.
"""

import argparse
import collections
import dataclasses
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

RESULT = re.compile(r" *(\d+)/(\d+) Test +#\d+: (\S+) [.]*(.*?) +[0-9.]+ sec *$")
START = re.compile(r" +Start +\d+: ")
SUMMARY = re.compile(r"\d+% tests passed")
STEPS = 20  # lines of progress where the output is not a terminal
WIDTH = 100


@dataclasses.dataclass
class Outcome:
    """The outcome of one test."""

    name: str
    failed: bool = False
    skipped: bool = False
    reason: str = ""  # why a test was skipped
    seconds: float = 0


class Progress:
    """One line that is rewritten on a terminal, or about twenty lines elsewhere."""

    def __init__(self, out):
        self._out = out
        self._shown = 0

    def show(self, done, total, name, failures):
        failed = f", {failures} failed" if failures else ""
        text = f"[{done}/{total}{failed}] {name}"
        if self._out.isatty():
            self._out.write(f"\r\033[K{text[:WIDTH]}")
        elif done * STEPS // total > self._shown:
            self._shown = done * STEPS // total
            self._out.write(text + "\n")
        self._out.flush()

    def clear(self):
        if self._out.isatty():
            self._out.write("\r\033[K")


def show_ctest(lines, out):
    """Turns CTest's lines into progress; shows what failed tests print."""
    progress = Progress(out)
    failures = 0
    for line in lines:
        result = RESULT.match(line)
        if result:
            done, total, name, status = int(result[1]), int(result[2]), result[3], result[4].strip()
            if status.startswith("***") and not status.startswith(("***Skipped", "***Not Run")):
                failures += 1
                progress.clear()
                out.write(f"{name}: {status.strip('*')}\n")
            progress.show(done, total, name, failures)
        elif SUMMARY.match(line):
            break  # CTest's own lists follow
        elif not START.match(line) and line.strip():
            progress.clear()
            out.write(line)
    progress.clear()
    for _ in lines:
        pass


def reason_of(output):
    """Returns what a skipped test printed as its reason: the lines below GoogleTest's "Skipped", or the last line."""
    lines = [line.strip() for line in output.splitlines()]
    for place, line in enumerate(lines):
        if line.endswith(": Skipped"):
            end = next((i for i in range(place + 1, len(lines)) if not lines[i] or lines[i].startswith("[")), len(lines))
            return " ".join(lines[place + 1 : end])
    return next((line for line in reversed(lines) if line), "")


def read_junit(path, name_of):
    """Returns the outcomes in a JUnit file."""
    outcomes = []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        reason = ""
        if skipped is not None:
            reason = reason_of(case.findtext("system-out") or "") or skipped.get("message") or ""
        failed = case.find("failure") is not None or case.find("error") is not None
        outcomes.append(Outcome(name_of(case), failed, skipped is not None, reason, float(case.get("time") or 0)))
    return outcomes


def run_ctest(options):
    """Returns CTest's exit status and the outcomes of its tests."""
    junit = options.build.resolve() / "ctest.junit.xml"
    junit.unlink(missing_ok=True)
    command = ["ctest", "--test-dir", str(options.build), "--output-on-failure", "--no-tests=error", "-j", str(options.jobs)]
    command += ["--output-junit", str(junit)]
    command += ["-R", options.name] if options.name else []
    command += ["-LE", options.without_label] if options.without_label else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as child:
        show_ctest(child.stdout, sys.stdout)
    return child.returncode, read_junit(junit, lambda case: case.get("name")) if junit.exists() else []


def run_pytest(options):
    """Returns pytest's exit status and the outcomes of its tests."""
    junit = options.build.resolve() / "pytest.junit.xml"
    junit.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-rN", options.python, f"--junitxml={junit}"]
    status = subprocess.run(command).returncode
    return status, read_junit(junit, lambda case: f"{case.get('classname')}::{case.get('name')}") if junit.exists() else []


def summary(outcomes):
    """Returns the lines of the end: counts, skipped groups, failures."""
    skipped = [each for each in outcomes if each.skipped]
    failed = [each for each in outcomes if each.failed]
    groups = collections.defaultdict(list)
    for each in skipped:
        groups[each.reason].append(each.name)
    lines = [f"{len(outcomes)} tests: {len(outcomes) - len(skipped) - len(failed)} passed, {len(skipped)} skipped, {len(failed)} failed"]
    for reason, names in sorted(groups.items()):
        folders = sorted({re.split(r"/|::", name)[0] for name in names})
        lines.append(f"skipped {len(names)} of {', '.join(folders)}: {reason or 'no reason given'}")
    return lines + [f"FAILED {each.name}" for each in failed]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--name", help="run the tests of CTest whose name matches")
    parser.add_argument("--without-label", help="leave out the tests of CTest with such a label")
    parser.add_argument("--python", help="a folder of tests for pytest, which run first")
    options = parser.parse_args()
    runs = [run_pytest(options)] if options.python else []
    runs.append(run_ctest(options))
    print("\n".join(summary([each for _, outcomes in runs for each in outcomes])), flush=True)
    return int(any(status != 0 for status, _ in runs))


if __name__ == "__main__":
    sys.exit(main())
