"""Keeps what a finished run says of itself, small enough for the repository.

python tools/keep_run_records.py RUN… --out docs/results/rde copies config.json and metrics.jsonl of each run to a folder of
its name. Of the lines about steps every tenth stays, with the gradient norms of every hundredth; evaluations and the end
all stay. `sing report` reads the result like any run.
"""

import argparse
import json
import pathlib
import shutil
import sys

STEPS_BETWEEN_LINES = 100
STEPS_BETWEEN_NORMS = 1000


def thinned(lines):
    for line in lines:
        record = json.loads(line)
        if record["kind"] == "step":
            if record["step"] % STEPS_BETWEEN_LINES != 0:
                continue
            if record["step"] % STEPS_BETWEEN_NORMS != 0:
                record.pop("gradient_norms", None)
        yield json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"


def keep(run, out):
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    if not lines or json.loads(lines[-1])["kind"] != "end":
        raise ValueError(f"[{run}] wanted a run that ended")
    folder = out / run.name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(run / "config.json", folder / "config.json")
    (folder / "metrics.jsonl").write_text("".join(thinned(lines)), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder that gets a folder a run")
    arguments = parser.parse_args()
    for run in arguments.runs:
        keep(run, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
