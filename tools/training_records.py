"""Reads the kept records of trainings and names their methods: shared by the programs that make tables and figures of them."""

import collections
import dataclasses
import statistics

import keep_run_records
from generated_text import ROOT

RESULTS = ROOT / "docs" / "results"
HOSTS = {"adamw": "AdamW", "sgd": "SGD", "lion": "Lion", "adabelief": "AdaBelief", "adafactor": "AdaFactor"}
# Prefix of an optimizer's name in the program -> the form of SING that it selects.
FORMS = {"sing-": "SING", "plugsing-": "PlugSING", "gc-": "GC", "": ""}


@dataclasses.dataclass(frozen=True)
class Method:
    """A host optimizer and what is done to its gradients. `form` is '' for the host alone."""

    host: str
    form: str
    details: str  # options that differ from those of the form, as ", norms frozen"

    @property
    def title(self):
        if not self.form:
            return self.host + self.details
        return (self.form if self.host == "AdamW" else f"{self.form} around {self.host}") + self.details


def method_of(options):
    """Returns the method of a run from its options."""
    prefix = next(prefix for prefix in FORMS if options["optimizer"].startswith(prefix))
    host = options["optimizer"].removeprefix(prefix)
    details = ""
    if options["normalize"] == "size_calibrated":
        details += ", unit RMS" if options["reference_size"] == 1 else ", size-calibrated"
    if options.get("freeze_norms"):
        details += ", norms frozen"
    return Method(HOSTS.get(host, host), FORMS[prefix], details)


def read_runs(name):
    """Returns the kept records of trainings in docs/results/NAME.jsonl; records of tunings are left out."""
    kept = keep_run_records.read_kept(RESULTS / f"{name}.jsonl")
    return [record for record in kept.values() if "end" in record]


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


def provenance(runs):
    """Returns the sentence that says how many runs there are, from which commit and machine."""
    commits = ", ".join(sorted({run["config"]["commit"] for run in runs}))
    return f"{len(runs)} runs; commit {commits}; one {runs[0]['config']['machine']['gpus'][0]}."
