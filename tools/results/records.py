"""Keeps the records of finished runs, one file per experiment, and reads them: no other Python file of the results knows their form.

A line of docs/results/NAME.jsonl is a run or a tuning. The line of a run holds its config.json, its evaluations, its end, the scores
of `sing eval --record`, and the mean time of a training step; step records and gradient norms are left out. The line of a tuning
holds the tune.json of its folder. Absolute paths are shortened to their last part.
"""

import json
import os
import pathlib
import statistics

from generated_text import ROOT
from results import experiment as experiments

RESULTS = ROOT / "docs" / "results"
TUNE = "tune_"  # begins the names of the folders and records of tunings
SIGNIFICANT_DIGITS = 6
LOSS_DIGITS = 4
LOSS_PARTS = 300
# Keys of an evaluation that every task has; the others are kept where they occur.
EVALUATION_KEYS = ("step", "loss", "accuracy")


# Reading the folders of runs and tunings.


def read_metrics(run):
    """Returns the records of a run's metrics.jsonl. A line that a crash cut off is left out, and of two of a step the later one counts."""
    records = {}
    for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        key = record["kind"], record.get("step")
        records.pop(key, None)  # the order is that of the lines that count
        records[key] = record
    return list(records.values())


def has_ended(run):
    """Returns whether the training in a run's folder came to its end."""
    if not (run / "metrics.jsonl").is_file():
        return False
    records = read_metrics(run)
    return bool(records) and records[-1]["kind"] == "end" and records[-1]["status"] != "interrupted"


def read_tuning(folder):
    """Returns the record in the folder of a `sing tune`, or None before its end."""
    file = folder / "tune.json"
    if not file.is_file():
        return None
    tuning = without_folders(json.loads(file.read_text(encoding="utf-8")))
    return tuning if tuning["best"] or tuning["remarks"] else None


# Making and writing the kept records.


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
    """Returns the highest loss in each of at most 300 parts of the training, so that no spike is lost; None is not finite."""
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
    if not has_ended(run):
        raise ValueError(f"[{run}] wanted a run that has ended, got one without an end record")
    metrics = read_metrics(run)
    steps = [record for record in metrics if record["kind"] == "step"]
    kept = {
        "name": run.name,
        "config": read_json(run / "config.json"),
        "step_milliseconds": step_milliseconds(steps),
        "evaluations": evaluation_table([record for record in metrics if record["kind"] == "evaluation"]),
        "end": {key: value for key, value in metrics[-1].items() if key != "kind"},
    }
    measured = {file.stem.removeprefix("eval_"): read_json(file) for file in sorted(run.glob("eval_*.json"))}
    if measured:
        kept["measured"] = measured
    if with_losses:
        kept["losses"] = losses(steps)
    return kept


def record_of(folder, with_losses=False):
    tuning = read_tuning(folder)
    return {"name": folder.name, "tune": tuning} if tuning else run_record(folder, with_losses)


def read_kept(file):
    """Returns the kept records of runs and tunings, by name; none for a file that does not exist."""
    if not file.is_file():
        return {}
    records = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {record["name"]: record for record in records}


def keep(folders, out, with_losses=False):
    """Adds the records of the folders to the file `out`, in place of those of the same names."""
    kept = read_kept(out) | {folder.name: record_of(folder, with_losses) for folder in folders}
    lines = (json.dumps(kept[name], separators=(",", ":"), ensure_ascii=False) + "\n" for name in sorted(kept))
    beside = out.with_suffix(".tmp")
    beside.write_text("".join(lines), encoding="utf-8")
    os.replace(beside, out)


# Reading the kept records of an experiment.


def file_of(experiment, folder=None):
    return (folder or RESULTS) / f"{experiment.name}.jsonl"


def read_runs(experiment, folder=None):
    """Returns the kept records of the experiment's trainings. Raises ValueError for one that was trained in another way."""
    runs = [record for record in read_kept(file_of(experiment, folder)).values() if "end" in record]
    for run in runs:
        contestant = experiment.contestant_of(run["name"])
        if contestant is None:
            raise ValueError(f"[docs/results/{experiment.name}.jsonl] wanted names of contestants, got '{run['name']}'")
        experiment.check(contestant, options_of(run))
    return runs


def read_tunings(experiment, folder=None):
    """Returns the kept records of the experiment's tunings by contestant's name. Raises ValueError for one of another training."""
    tunings = {}
    for record in read_kept(file_of(experiment, folder)).values():
        if "tune" not in record:
            continue
        name = record["name"].removeprefix(TUNE)
        contestant = experiment.contestant_of(name)
        flags = tuple(record["tune"].get("train_flags", ()))
        if contestant and "--config" not in flags:
            experiment.check(contestant, experiments.options_in(flags))
        tunings[name] = record["tune"]
    return tunings


def options_of(run):
    return run["config"]["options"]


def finished(run):
    return run["end"]["status"] == "finished"


def value_of(run, score):
    """Returns a run's figure in the score's unit, or None if it has none."""
    if score.measured:
        measured = run.get("measured", {}).get(score.measured)
        if measured is None:
            return None
        keys = {experiments.ACCURACY: "accuracy", experiments.LOSS: "loss"}
        found = measured.get(keys.get(score.source, ""), measured.get("scores", {}).get(score.source))
    else:
        found = run["end"].get(score.source, run["end"].get("scores", {}).get(score.source))
    return None if found is None else score.factor * found


def values_by_seed(runs, score):
    """Returns seed -> figure of the runs that finished and were measured."""
    values = {options_of(run)["seed"]: value_of(run, score) for run in runs if finished(run)}
    return {seed: value for seed, value in values.items() if value is not None}


def commits_of(runs):
    return sorted({run["config"]["commit"] for run in runs})


def machine_of(run):
    machine = run["config"]["machine"]
    gpus = machine.get("gpus")
    return f"one {gpus[0]}" if gpus else f"{machine['cores']} cores of {machine['processor']}"


def provenance(runs):
    """Returns the sentence that says how many runs there are, from which commits and machines."""
    commits = commits_of(runs)
    machines = "; ".join(sorted({machine_of(run) for run in runs}))
    return (
        f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}; {'commit' if len(commits) == 1 else 'commits'} {', '.join(commits)}; {machines}."
    )
