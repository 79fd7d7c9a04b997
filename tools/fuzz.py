#!/usr/bin/env python3
"""Fuzzing: compares the Python package with the float64 implementation of SING on random cases, in several processes.

./dev run python tools/fuzz.py --seconds 3600 [--processes N] [--first SEED] [--json FILE]
./dev run python tools/fuzz.py --seeds 36              this case alone; 1000-1100 is a range
./dev run python tools/fuzz.py --table FILE...         adds up figures written with --json

The cases are those of python/tests/test_fuzz.py with seeds that count upwards from --first. A failing case is printed
with its seed, without the actions and parameters that it fails without. A case that ends its process, or that takes
longer than a limit, fails too. The exit status is 1 if a case failed.
"""

import argparse
import collections
import itertools
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python" / "tests"))
FIRST_SEED = 1000  # seeds below are those of the fixed cases
MOST_FAILURES = 20  # after which no further case is tried


def try_case(seed):
    """Returns what the case tried, as counts, and how it failed or None."""
    import fuzz_run

    record, failure = fuzz_run.tried(seed)
    counts = {"steps": record.steps, "compared": record.compared, "blurred": record.blurred, **record.kinds}
    return counts, failure


def serve(try_one, connection):
    """Tries the cases whose seeds come through the connection, with torch set up as in the tests."""
    import torch

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    connection.send("ready")
    while True:
        connection.send(try_one(connection.recv()))


class Worker:
    """A process that tries one case at a time, and is replaced when it ends or hangs."""

    def __init__(self, try_one, limit):
        self.try_one, self.limit = try_one, limit
        self.process = None

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(self.try_one, other), daemon=True)
        self.process.start()
        other.close()
        self.connection.recv()  # The limit of a case does not include the import of torch.

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def result_of(self, seed):
        if self.process is None:
            self.start()
        try:
            self.connection.send(seed)
            if self.connection.poll(self.limit):
                return self.connection.recv()
            problem = f"wanted the end of the case, got none in {self.limit} s"
        except (EOFError, ConnectionError):
            self.process.join()
            problem = f"the process ended with status {self.process.exitcode}"
        self.end()
        return {}, f"seed {seed}: {problem}"


class Fuzz:
    """The cases that several workers try, and the figures."""

    def __init__(self, seeds, seconds, try_one=try_case, limit=300):
        self.seeds, self.try_one, self.limit = iter(seeds), try_one, limit
        self.end = time.monotonic() + seconds
        self.cases = 0
        self.counts = collections.Counter()
        self.failures = []
        self.errors = []
        self.lock = threading.Lock()

    def next_seed(self):
        with self.lock:
            is_over = time.monotonic() >= self.end or len(self.failures) >= MOST_FAILURES or self.errors
            return None if is_over else next(self.seeds, None)

    def add(self, seed, counts, failure):
        with self.lock:
            self.cases += 1
            self.counts.update(counts)
            if failure is not None:
                self.failures.append({"seed": seed, "text": failure})
                print(failure, flush=True)
            if self.cases % 1000 == 0:
                print(f"{self.cases} cases tried, {len(self.failures)} fail", flush=True)

    def work(self):
        worker = Worker(self.try_one, self.limit)
        try:
            while (seed := self.next_seed()) is not None:
                self.add(seed, *worker.result_of(seed))
        except Exception as error:
            self.errors.append(error)
        finally:
            worker.end()

    def run(self, processes):
        threads = [threading.Thread(target=self.work) for _ in range(processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.errors:
            raise self.errors[0]


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def sum_of(figures):
    """Adds up the figures of several calls."""
    total = {"commits": sorted({each["commit"] for each in figures})}
    for name in ("cases", "process_hours"):
        total[name] = sum(each[name] for each in figures)
    total["counts"] = sum((collections.Counter(each["counts"]) for each in figures), collections.Counter())
    total["failures"] = [failure for each in figures for failure in each["failures"]]
    return total


def print_table(total):
    counts = collections.Counter(total["counts"])
    rows = [
        ("cases", total["cases"]),
        ("steps", counts.pop("steps", 0)),
        ("parameters compared after a step", counts.pop("compared", 0)),
        ("of these with a bound above a hundredth of the step", counts.pop("blurred", 0)),
        ("process hours", f"{total['process_hours']:.1f}"),
        ("failures", len(total["failures"])),
    ]
    print(f"At commit {' and '.join(total['commits'])}:\n\n| what | number |\n|---|---|")
    for name, number in rows:
        print(f"| {name} | {number} |")
    print("\n| action or gradient | times |\n|---|---|")
    for name, number in counts.most_common():
        print(f"| {name} | {number} |")


def range_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="seconds after which no further case is begun")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="processes at a time (one per core)")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help=f"seed of the first case ({FIRST_SEED})")
    parser.add_argument("--seeds", type=range_of, help="a seed or a range of seeds, instead of new cases for some time")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which a case counts as hung")
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures")
    parser.add_argument("--table", type=pathlib.Path, nargs="+", help="files of figures to add up; no case is tried")
    options = parser.parse_args()
    if options.table:
        total = sum_of([json.loads(path.read_text(encoding="utf-8")) for path in options.table])
        print_table(total)
        return 1 if total["failures"] else 0
    began = time.monotonic()
    if options.seeds is not None:
        fuzz = Fuzz(options.seeds, float("inf"), limit=options.limit)
    else:
        fuzz = Fuzz(itertools.count(options.first), options.seconds, limit=options.limit)
    fuzz.run(options.processes)
    hours = (time.monotonic() - began) * options.processes / 3600
    figures = {
        "commit": commit(),
        "first_seed": options.seeds.start if options.seeds is not None else options.first,
        "process_hours": round(hours, 3),
        "cases": fuzz.cases,
        "counts": fuzz.counts,
        "failures": fuzz.failures,
    }
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(f"{fuzz.cases} cases tried in {options.processes} processes, {len(fuzz.failures)} fail")
    return 1 if fuzz.failures else 0


if __name__ == "__main__":
    sys.exit(main())
