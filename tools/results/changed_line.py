"""Makes the table of one changed line, which compares a host optimizer alone with the same one under PlugSING, seed by seed.

A pair is two runs of an experiment, from the same commit and the same data, whose options differ in `optimizer`, `normalize` and
`clip_norm` alone: both see the same data in the same order from the same initial weights. Normalized gradients are not clipped, so
a host with clipping has the same partner as one without.
"""

import collections
import dataclasses

from results import estimates
from results.experiment import INCIDENTAL
from results.experiments import EXPERIMENTS
from results.records import finished, options_of, provenance, read_runs, values_by_seed
from results.tables import markdown, summary

CHANGED_LINE = {"optimizer", "normalize", "clip_norm"}
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


def setting(run):
    """Returns everything that both runs of a pair have in common."""
    options, config = options_of(run), run["config"]
    kept = sorted((name, repr(value)) for name, value in options.items() if name not in INCIDENTAL | CHANGED_LINE)
    return method_of(options).host, config["commit"], config.get("data_digest", ""), tuple(kept)


def side_of(options):
    """Returns which side of a pair a run is, or None."""
    method = method_of(options)
    return {("", "off"): "clipped" if method.clipped else "alone", ("PlugSING", "unit_norm"): "plugged"}.get((method.form, options["normalize"]))


def host_title(options):
    return method_of(options).host + (f", clipped to norm {options['clip_norm']:g}" if method_of(options).clipped else "")


def pairs(runs):
    """Returns (host, learning rate, weight decay) -> the pairs (host alone, host with PlugSING) in the order of their seeds."""
    by_setting = collections.defaultdict(dict)
    for run in runs:
        by_setting[setting(run)][side_of(options_of(run))] = run
    found = collections.defaultdict(list)
    for by_side in by_setting.values():
        for side in ("alone", "clipped"):
            if {side, "plugged"} <= by_side.keys():
                options = options_of(by_side[side])
                found[host_title(options), options["learning_rate"], options["weight_decay"]].append((by_side[side], by_side["plugged"]))
    return {key: sorted(found[key], key=lambda pair: options_of(pair[0])["seed"]) for key in sorted(found)}


def difference_cell(alone, plugged, score):
    """Returns the paired difference; '' if a run did not finish, because the mean of the other pairs would flatter one side."""
    if not all(finished(run) for run in (*alone, *plugged)):
        return ""
    return estimates.difference(estimates.paired(values_by_seed(plugged, score), values_by_seed(alone, score)), score.digits)


def table():
    """Returns the lines of the table; none without pairs."""
    rows, used = [], {}
    for experiment in EXPERIMENTS.values():
        if experiment.grid:
            continue
        score = experiment.scores[0]
        for (host, rate, decay), group in pairs(read_runs(experiment)).items():
            alone, plugged = ([pair[side] for pair in group] for side in (0, 1))
            seeds = ", ".join(str(options_of(run)["seed"]) for run in alone)
            title = f"{score.title} {'↓' if score.lower_is_better else '↑'}"
            cells = [experiment.title, title, host, f"{rate:g}", f"{decay:g}", seeds, summary(alone, score), summary(plugged, score)]
            rows.append([*cells, difference_cell(alone, plugged, score)])
            used |= {(experiment.name, run["name"]): run for run in (*alone, *plugged)}
    if not rows:
        return []
    heads = ["task", "score", "host", "learning rate", "weight decay", "seeds", "host alone", "with PlugSING", "difference (95 %)"]
    return [*markdown(heads, rows, {"task", "score", "host", "seeds"}), "", provenance(list(used.values()))]
