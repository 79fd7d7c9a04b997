"""Keeps what a finished run says of itself, small enough for the repository.

python tools/keep_run_records.py RUN… --out docs/results/rde copies config.json and metrics.jsonl of each run to a folder of
its name. Of the lines about steps up to 300 stay, with the gradient norms of every tenth of these; evaluations and the end
all stay. `sing report` reads the result like any run. Of a folder of `sing tune` it keeps tune.json. Folders of the machine
that trained are kept by their last name.
"""

import argparse
import json
import math
import pathlib
import sys

MOST_LINES = 300


def thinned(lines):
    records = [json.loads(line) for line in lines]
    steps = max((record["step"] for record in records if record["kind"] == "step"), default=0)
    spacing = 100 * math.ceil(steps / (100 * MOST_LINES))
    for record in records:
        if record["kind"] == "step":
            if record["step"] % spacing != 0:
                continue
            if record["step"] % (10 * spacing) != 0:
                record.pop("gradient_norms", None)
        yield json.dumps(record, separators=(",", ":"), ensure_ascii=False) + "\n"


def without_folders(value):
    """The same with absolute paths cut down to their last names."""
    if isinstance(value, dict):
        return {key: without_folders(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_folders(each) for each in value]
    return pathlib.PurePath(value).name if isinstance(value, str) and value.startswith("/") else value


def keep_json(file, out):
    text = json.dumps(without_folders(json.loads(file.read_text(encoding="utf-8"))), indent=2, ensure_ascii=False)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text + "\n", encoding="utf-8")


def keep(run, out):
    if (run / "tune.json").is_file():
        keep_json(run / "tune.json", out / run.name / "tune.json")
        return
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    if not lines or json.loads(lines[-1])["kind"] != "end":
        raise ValueError(f"[{run}] wanted a run that ended")
    folder = out / run.name
    keep_json(run / "config.json", folder / "config.json")
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
