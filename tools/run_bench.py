"""Runs the CPU benchmark and writes bench/results/<machine>.json and the tables of docs/benchmarks.md.

./dev bench [--models A,B] [--only A,B] [--rounds N] [--threads N] [--machine NAME] [--print-only]

A result is written only if other programs used little of the machine during the run: they slow down threads that share
their cores, and by different amounts for different contestants.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import make_benchmark_tables

MOST_OTHER_LOAD = 0.05
ROOT = pathlib.Path(__file__).resolve().parent.parent


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def commit():
    """Returns the commit that is measured, with "+changes" if tracked files differ. SING_COMMIT names it for a copy of the tree."""
    if os.environ.get("SING_COMMIT"):
        return os.environ["SING_COMMIT"]
    head = git("rev-parse", "--verify", "HEAD")
    if head is None:
        return "none"
    return head + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")


def first_match(path, pattern):
    """Returns group 1 of the pattern's first match in a file, or None without a file or a match."""
    try:
        match = re.search(pattern, pathlib.Path(path).read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return None
    return match[1].strip() if match else None


def hardware():
    caches = {}
    for level in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        name = "L" + (level / "level").read_text().strip()
        if (level / "type").read_text().strip() != "Instruction":
            caches[name] = (level / "size").read_text().strip()
    memory_kib = first_match("/proc/meminfo", r"^MemTotal:\s+(\d+) kB")
    return {
        "processor": first_match("/proc/cpuinfo", r"^model name\s*:(.*)$") or os.uname().machine,
        "cores": len(os.sched_getaffinity(0)),
        "caches": caches,
        "memory_gib": round(int(memory_kib) / 2**20) if memory_kib else None,
    }


def machine_name(found):
    words = re.sub(r"\((r|tm)\)|@.*|\b(cpu|processor)\b", " ", found["processor"].lower())
    return "-".join(re.findall(r"[a-z0-9]+", words)) + f"-{found['cores']}-cores"


def busy_seconds():
    """Returns the processor time that all programs of this machine have used (Linux)."""
    user, nice, system, _idle, _wait, interrupts, soft, steal = map(
        int, pathlib.Path("/proc/stat").read_text(encoding="utf-8").split("\n")[0].split()[1:9]
    )
    return (user + nice + system + interrupts + soft + steal) / os.sysconf("SC_CLK_TCK")


def run_watched(command):
    """Runs a command; returns its exit status and the share of all cores' time that other programs used during it."""
    start, busy_start = time.monotonic(), busy_seconds()
    status = subprocess.run(command).returncode
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    others = busy_seconds() - busy_start - usage.ru_utime - usage.ru_stime
    return status, max(0.0, others / (os.cpu_count() * (time.monotonic() - start)))


def measure(options):
    program = shutil.which("step_bench")
    if program is None:
        sys.exit("[run_bench] wanted the program step_bench on PATH, got none; run ./dev bench")
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "result.json"
        command = [program, f"--output={output}", f"--rounds={options.rounds}"]
        command += [f"--models={options.models}"] if options.models else []
        command += [f"--threads={options.threads}"] if options.threads else []
        command += [f"--only={options.only}"] if options.only else []
        status, other_load = run_watched(command)
        if status != 0:
            sys.exit("[run_bench] wanted a result of step_bench, got the failure above; no result was written")
        return {"other_load": round(other_load, 4), **json.loads(output.read_text(encoding="utf-8"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", help="names in bench/model_shapes.json, separated by commas")
    parser.add_argument("--only", help="contestants besides torch's, separated by commas")
    parser.add_argument("--rounds", type=int, default=15, help="each contestant has one turn per round (15)")
    parser.add_argument("--threads", type=int, help="threads of every contestant (all cores)")
    parser.add_argument("--machine", help="name of the result file (processor and number of cores)")
    parser.add_argument("--print-only", action="store_true", help="write no file")
    options = parser.parse_args()

    found = hardware()
    result = {
        "benchmark": make_benchmark_tables.CPU_STEP,
        "machine": options.machine or machine_name(found),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit(),
        "hardware": found,
        **measure(options),
    }
    print(f"other programs used {result['other_load']:.1%} of the cores' time")
    if options.print_only:
        return 0
    if result["other_load"] > MOST_OTHER_LOAD:
        sys.exit(
            f"[run_bench] wanted at most {MOST_OTHER_LOAD:.0%} of other load, got {result['other_load']:.1%}; no result was written"
        )
    path = make_benchmark_tables.RESULTS / f"{result['machine']}.json"
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)
    make_benchmark_tables.write()
    print(f"wrote {path.relative_to(ROOT)} and docs/benchmarks.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
