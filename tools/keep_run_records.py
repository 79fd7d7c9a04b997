"""Keeps the record of finished runs in one small file per table.

python tools/keep_run_records.py RUN… --out docs/results/rde.jsonl adds one line per run, or replaces the line of the same
name. A line holds the run's config.json, its evaluations, its end and the mean time of a training step; the other step
records and the gradient norms are left out. The line of a `sing tune` folder holds its tune.json. Absolute paths are
shortened to their last part.
"""

import argparse
import json
import pathlib
import statistics
import sys

SIGNIFICANT_DIGITS = 6


def rounded(value):
    return None if value is None else float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def without_folders(value):
    """Returns the JSON value with every absolute path shortened to its last part."""
    if isinstance(value, dict):
        return {key: without_folders(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_folders(each) for each in value]
    return pathlib.PurePath(value).name if isinstance(value, str) and value.startswith("/") else value


def read_json(file):
    return without_folders(json.loads(file.read_text(encoding="utf-8")))


def step_milliseconds(steps):
    """Returns the mean time of each part of a training step over the step records."""
    parts = steps[0]["seconds"] if steps else ()
    return {part: rounded(1000 * statistics.mean(step["seconds"][part] for step in steps)) for part in parts}


def run_record(run):
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    if not records or records[-1]["kind"] != "end":
        raise ValueError(f"[{run}] wanted a run that has ended, got metrics without an end record")
    evaluations = [record for record in records if record["kind"] == "evaluation"]
    return {
        "name": run.name,
        "config": read_json(run / "config.json"),
        "step_milliseconds": step_milliseconds([record for record in records if record["kind"] == "step"]),
        "evaluations": {
            "step": [record["step"] for record in evaluations],
            "loss": [rounded(record["loss"]) for record in evaluations],
            "accuracy": [rounded(record["accuracy"]) for record in evaluations],
        },
        "end": {key: value for key, value in records[-1].items() if key != "kind"},
    }


def record_of(folder):
    if (folder / "tune.json").is_file():
        return {"name": folder.name, "tune": read_json(folder / "tune.json")}
    return run_record(folder)


def read_kept(file):
    """Returns the kept records of runs and tunings, by name."""
    records = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {record["name"]: record for record in records}


def keep(folders, out):
    kept = read_kept(out) if out.is_file() else {}
    kept |= {folder.name: record_of(folder) for folder in folders}
    lines = (json.dumps(kept[name], separators=(",", ":"), ensure_ascii=False) + "\n" for name in sorted(kept))
    out.write_text("".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN", help="folder of a run or of `sing tune`")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file with one line per run")
    arguments = parser.parse_args()
    keep(arguments.runs, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
