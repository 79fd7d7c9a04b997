"""Writes the table of one changed line, which compares a host optimizer alone with the same one under PlugSING, seed by seed.

python tools/make_paired_tables.py [--check] rewrites the text between the markers in docs/results.md and README.md; with --check
it writes nothing and exits with 1 if a page would change. A pair is two finished runs of docs/results whose options differ in
`optimizer` and `normalize` alone, so both see the same images in the same order from the same initial weights.
tools/keep_run_records.py writes the records.
"""

import statistics
import sys

import generated_text
from generated_text import ROOT
from training_records import grouped, method_of, provenance, read_runs, spread

TASKS = {"rde": "RDE, ViT-S/16", "cifar100": "CIFAR-100, ResNet18"}
PAGES = ("docs/results.md", "README.md")
# 0.975 quantiles of Student's t distribution with 1, 2, … degrees of freedom.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
# Options that say how a run was done and not what was trained.
INCIDENTAL = {"optimizer", "normalize", "device", "threads", "data_threads", "checkpoint_steps", "checkpoint_seconds", "log_steps", "norm_steps", "evaluate_steps"}


def setting(run):
    """Returns everything that both runs of a pair have in common."""
    options = run["config"]["options"]
    kept = sorted((name, repr(value)) for name, value in options.items() if name not in INCIDENTAL)
    return method_of(options).host, tuple(kept)


def side_of(options):
    """Returns which side of a pair a run is, or None."""
    return {("", "off"): "alone", ("PlugSING", "unit_norm"): "plugged"}.get((method_of(options).form, options["normalize"]))


def pairs(runs):
    """Returns the pairs (host alone, host with PlugSING) of finished runs, grouped by what differs beyond the seed."""
    finished = [run for run in runs if run["end"]["status"] == "finished"]
    found = []
    for same in grouped(finished, setting).values():
        by_form = {side_of(run["config"]["options"]): run for run in same}
        if {"alone", "plugged"} <= by_form.keys():
            found.append((by_form["alone"], by_form["plugged"]))

    def row_key(pair):
        options = pair[0]["config"]["options"]
        return method_of(options).title, options["epochs"], options["learning_rate"], options["weight_decay"]

    return grouped(found, row_key)


def difference(values):
    """Returns the mean of paired differences with the half width of its 95 % interval."""
    mean = statistics.mean(values)
    if len(values) == 1:
        return f"{mean:+.2f}"
    half = STUDENT_T[len(values) - 2] * statistics.stdev(values) / len(values) ** 0.5
    return f"**{mean:+.2f}** ± {half:.2f}" if abs(mean) > half else f"{mean:+.2f} ± {half:.2f}"


def accuracies(runs):
    return [100 * run["end"]["final_accuracy"] for run in runs]


def table():
    yield "| task | host | epochs | learning rate | weight decay | seeds | host alone, % | with PlugSING, % | difference (95 %) |"
    yield "|---|---|---:|---:|---:|---|---:|---:|---:|"
    used = []
    for name, task in TASKS.items():
        for (host, epochs, rate, decay), group in pairs(read_runs(name)).items():
            alone, plugged = (accuracies(side) for side in zip(*group))
            seeds = ", ".join(str(pair[0]["config"]["options"]["seed"]) for pair in group)
            differences = [with_ - without for without, with_ in zip(alone, plugged)]
            yield (
                f"| {task} | {host} | {epochs} | {rate:g} | {decay:g} | {seeds} | {spread(alone, 2)} | {spread(plugged, 2)} "
                f"| {difference(differences)} |"
            )
            used += [run for pair in group for run in pair]
    yield ""
    yield provenance(used)


def main():
    check = generated_text.parser(__doc__.splitlines()[0]).parse_args().check
    lines = list(table())
    status = 0
    for page in PAGES:
        path = ROOT / page
        text = generated_text.replaced(path.read_text(encoding="utf-8"), "one changed line", lines)
        status |= generated_text.finish(path, text, check, "tools/make_paired_tables.py")
    return status


if __name__ == "__main__":
    sys.exit(main())
