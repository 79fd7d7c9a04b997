"""Reads the kept records of trainings and computes what their tables show: shared by the programs that make tables and figures."""

import collections
import dataclasses
import statistics

import experiments
import keep_run_records
from generated_text import ROOT

RESULTS = ROOT / "docs" / "results"
HOSTS = {
    "adamw": "AdamW",
    "sgd": "SGD",
    "lion": "Lion",
    "muon": "Muon",
    "adabelief": "AdaBelief",
    "adafactor": "AdaFactor",
}
# Prefix of an optimizer's name in the program -> the form of SING that it selects.
FORMS = {"sing-": "SING", "plugsing-": "PlugSING", "gc-": "GC", "": ""}
# 0.975 quantiles of Student's t distribution with 1, 2, … degrees of freedom.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclasses.dataclass(frozen=True)
class Method:
    """A host optimizer and what is done to its gradients. `form` is '' for the host alone."""

    host: str
    form: str
    clipped: bool


def method_of(options):
    """Returns the method of a run from its options."""
    prefix = next(prefix for prefix in FORMS if options["optimizer"].startswith(prefix))
    host = options["optimizer"].removeprefix(prefix)
    return Method(HOSTS.get(host, host), FORMS[prefix], options.get("clip_norm") is not None)


def read_runs(name):
    """Returns the kept records of trainings in docs/results/NAME.jsonl; records of tunings are left out."""
    return [record for record in keep_run_records.read_kept(RESULTS / f"{name}.jsonl").values() if "end" in record]


def read_tunings(name):
    """Returns the kept records of tunings in docs/results/NAME.jsonl by contestant's name."""
    kept = keep_run_records.read_kept(RESULTS / f"{name}.jsonl")
    return {record["name"].removeprefix("tune_"): record["tune"] for record in kept.values() if "tune" in record}


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


def grouped(runs, key):
    """Returns key(run) -> the runs that share it, ordered by the key."""
    groups = collections.defaultdict(list)
    for run in runs:
        groups[key(run)].append(run)
    return dict(sorted(groups.items()))


def spread(values, digits):
    """Returns the mean, with the sample standard deviation if there are several values."""
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def difference(values, digits=2):
    """Returns the mean of paired differences with the half width of its 95 % interval, bold where the interval excludes 0."""
    mean = statistics.mean(values)
    if len(values) == 1:
        return f"{mean:+.{digits}f}"
    half = STUDENT_T[len(values) - 2] * statistics.stdev(values) / len(values) ** 0.5
    text = f"{mean:+.{digits}f}"
    return f"**{text}** ± {half:.{digits}f}" if abs(mean) > half else f"{text} ± {half:.{digits}f}"


def machine_of(run):
    machine = run["config"]["machine"]
    gpus = machine.get("gpus")
    return f"one {gpus[0]}" if gpus else f"{machine['cores']} cores of {machine['processor']}"


def provenance(runs):
    """Returns the sentence that says how many runs there are, from which commits and machines."""
    commits = ", ".join(sorted({run["config"]["commit"] for run in runs}))
    machines = "; ".join(sorted({machine_of(run) for run in runs}))
    return f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}; commit {commits}; {machines}."
