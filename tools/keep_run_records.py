"""Keeps the record of finished runs in one small file per experiment.

python tools/keep_run_records.py RUN… --out docs/results/rde.jsonl adds one line per run, or replaces the line of the same
name. A line holds the run's config.json, its evaluations, its end, what `sing eval --record` measured in it, and the mean time
of a training step; the other step records and the gradient norms are left out. The line of a `sing tune` folder holds its
tune.json. Absolute paths are shortened to their last part. --losses keeps the loss over the steps too, as the highest of each
of at most 300 parts, so that no spike is lost.
"""

import argparse
import json
import pathlib
import statistics
import sys

SIGNIFICANT_DIGITS = 6
LOSS_DIGITS = 4
LOSS_PARTS = 300
# Keys of an evaluation that every task has; the others are kept where they occur.
EVALUATION_KEYS = ("step", "loss", "accuracy")


def rounded(value, digits=SIGNIFICANT_DIGITS):
    return None if value is None else float(f"{value:.{digits}g}")


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


def losses(steps):
    """Returns the steps and losses of the highest loss in each part of the training; None is a loss that is not finite."""
    size = -(-len(steps) // LOSS_PARTS)
    parts = [steps[first : first + size] for first in range(0, len(steps), size)] if steps else []
    highest = [max(part, key=lambda step: float("inf") if step["loss"] is None else step["loss"]) for part in parts]
    return {"step": [step["step"] for step in highest], "loss": [rounded(step["loss"], LOSS_DIGITS) for step in highest]}


def evaluation_table(evaluations):
    """Returns the columns of the evaluations."""
    table = {key: [rounded(each[key]) for each in evaluations] for key in EVALUATION_KEYS}
    table["step"] = [each["step"] for each in evaluations]
    names = dict.fromkeys(name for each in evaluations for name in each.get("scores", ()))
    if names:
        table["scores"] = {name: [rounded(each.get("scores", {}).get(name)) for each in evaluations] for name in names}
    return table


def run_record(run, with_losses=False):
    records = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    if not records or records[-1]["kind"] != "end":
        raise ValueError(f"[{run}] wanted a run that has ended, got metrics without an end record")
    steps = [record for record in records if record["kind"] == "step"]
    kept = {
        "name": run.name,
        "config": read_json(run / "config.json"),
        "step_milliseconds": step_milliseconds(steps),
        "evaluations": evaluation_table([record for record in records if record["kind"] == "evaluation"]),
        "end": {key: value for key, value in records[-1].items() if key != "kind"},
    }
    measured = {file.stem.removeprefix("eval_"): read_json(file) for file in sorted(run.glob("eval_*.json"))}
    if measured:
        kept["measured"] = measured
    if with_losses:
        kept["losses"] = losses(steps)
    return kept


def record_of(folder, with_losses=False):
    if (folder / "tune.json").is_file():
        return {"name": folder.name, "tune": read_json(folder / "tune.json")}
    return run_record(folder, with_losses)


def read_kept(file):
    """Returns the kept records of runs and tunings, by name; none for a file that does not exist."""
    if not file.is_file():
        return {}
    records = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {record["name"]: record for record in records}


def keep(folders, out, with_losses=False):
    kept = read_kept(out) | {folder.name: record_of(folder, with_losses) for folder in folders}
    lines = (json.dumps(kept[name], separators=(",", ":"), ensure_ascii=False) + "\n" for name in sorted(kept))
    out.write_text("".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=pathlib.Path, metavar="RUN", help="folder of a run or of `sing tune`")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="file with one line per run")
    parser.add_argument("--losses", action="store_true", help="keep the loss over the steps")
    arguments = parser.parse_args()
    keep(arguments.runs, arguments.out, arguments.losses)
    return 0


if __name__ == "__main__":
    sys.exit(main())
