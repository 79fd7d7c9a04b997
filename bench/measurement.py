"""Holds the parts that the benchmarks in Python share: shapes of models, quartiles, the load of other programs, result files."""

import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "python")]

import make_benchmark_tables  # noqa: E402

MOST_OTHER_LOAD = 0.05
STEPS = 10  # steps of a turn: two LookAhead periods


def shapes_of(model):
    """Returns the shapes of a model of bench/model_shapes.json."""
    listed = json.loads((ROOT / "bench" / "model_shapes.json").read_text(encoding="utf-8"))[model]
    return [shape for part in listed["parts"] for _ in range(part["repeat"]) for shape in part["shapes"]]


def spread(values):
    """Returns the median and the quartiles."""
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return {"lower": lower, "median": median, "upper": upper}


def ratios(ours, theirs):
    """Returns the spread of the ratios within a round; both are lists with one value per round."""
    return spread([one / other for one, other in zip(ours, theirs, strict=True)])


def in_turns(names, rounds):
    """Yields (number of the round, name): every name once per round, in rotating order."""
    for number in range(rounds):
        for position in range(len(names)):
            yield number, names[(number + position) % len(names)]


# The machine and what else runs on it.


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


def own_seconds():
    """Returns the processor time that this program and its children that have ended have used."""
    found = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in found)


def with_load(measurement):
    """Returns the measurement's result and the share of all cores' time that other programs used during it."""
    start, busy, own = time.monotonic(), busy_seconds(), own_seconds()
    result = measurement()
    others = busy_seconds() - busy - (own_seconds() - own)
    return result, round(max(0.0, others / (os.cpu_count() * (time.monotonic() - start))), 4)


# Arguments and results.


def argument_parser(description, rounds):
    """Returns a parser of the arguments that all benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"each contestant has one turn per round ({rounds})")
    parser.add_argument("--machine", help="name of the result file (processor and number of cores)")
    parser.add_argument("--print-only", action="store_true", help="write no file")
    parser.add_argument("--despite-load", action="store_true", help="write a result of a busy machine too; it records the load")
    return parser


def circumstances(benchmark, machine):
    """Returns the fields that every result begins with."""
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return {"benchmark": benchmark, "machine": machine, "date": date, "commit": commit()}


def write_result(options, name, result):
    """Writes bench/results/<name>.json and the tables; does not with --print-only, or if the machine was busy."""
    load = result.get("other_load", 0)
    if "other_load" in result:
        print(f"other programs used {load:.1%} of the cores' time")
    if options.print_only:
        return
    if load > MOST_OTHER_LOAD and not options.despite_load:
        sys.exit(
            f"[bench] wanted at most {MOST_OTHER_LOAD:.0%} of other load, got {load:.1%}; no result was written; "
            "--despite-load writes it with that figure"
        )
    path = make_benchmark_tables.RESULTS / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    beside = path.with_suffix(".tmp")
    beside.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    beside.replace(path)
    make_benchmark_tables.write()
    print(f"wrote {path.relative_to(ROOT)} and the tables")
