"""Makes the table of one changed line, which compares a host optimizer alone with the same one under PlugSING, seed by seed.

A pair is two finished runs of an experiment whose options differ in `optimizer`, `normalize` and `clip_norm` alone, so both see
the same data in the same order from the same initial weights. Normalized gradients are not clipped, so a host with clipping has
the same partner as one without.
"""

from experiments import EXPERIMENTS
from training_records import difference, finished, grouped, method_of, provenance, read_runs, spread, value_of

# Options that say how a run was done and not what was trained, and those of the changed line.
INCIDENTAL = {"device", "threads", "data_threads", "checkpoint_steps", "checkpoint_seconds", "log_steps", "norm_steps", "evaluate_steps", "keep_weights"}
CHANGED_LINE = {"optimizer", "normalize", "clip_norm"}


def setting(run):
    """Returns everything that both runs of a pair have in common."""
    options = run["config"]["options"]
    kept = sorted((name, repr(value)) for name, value in options.items() if name not in INCIDENTAL | CHANGED_LINE)
    return method_of(options).host, tuple(kept)


def side_of(options):
    """Returns which side of a pair a run is, or None."""
    method = method_of(options)
    return {("", "off"): "clipped" if method.clipped else "alone", ("PlugSING", "unit_norm"): "plugged"}.get((method.form, options["normalize"]))


def host_title(options):
    method = method_of(options)
    return method.host + (f", clipped to norm {options['clip_norm']:g}" if method.clipped else "")


def pairs(runs):
    """Returns the pairs (host alone, host with PlugSING) of finished runs, grouped by what differs beyond the seed."""
    found = []
    for same in grouped([run for run in runs if finished(run)], setting).values():
        by_side = {side_of(run["config"]["options"]): run for run in same}
        found += [(by_side[side], by_side["plugged"]) for side in ("alone", "clipped") if {side, "plugged"} <= by_side.keys()]

    def row_key(pair):
        options = pair[0]["config"]["options"]
        return host_title(options), options["learning_rate"], options["weight_decay"]

    return grouped(found, row_key)


def table():
    """Returns the lines of the table; none without pairs."""
    lines, used = [], []
    for experiment in EXPERIMENTS.values():
        if experiment.grid:
            continue
        score = experiment.scores[0]
        for (host, rate, decay), group in pairs(read_runs(experiment.name)).items():
            values = [[value_of(run, score) for run in pair] for pair in group]
            if any(None in each for each in values):
                continue
            seeds = ", ".join(str(pair[0]["config"]["options"]["seed"]) for pair in group)
            alone, plugged = ([each[side] for each in values] for side in (0, 1))
            better = "↓" if score.lower_is_better else "↑"
            lines.append(
                f"| {experiment.title} | {score.title} {better} | {host} | {rate:g} | {decay:g} | {seeds} | {spread(alone, score.digits)} "
                f"| {spread(plugged, score.digits)} | {difference([with_ - without for without, with_ in values], score.digits)} |"
            )
            used += [run for pair in group for run in pair]
    if not lines:
        return []
    names = {(run["name"], run["config"]["task"], run["config"]["commit"]): run for run in used}
    return [
        "| task | score | host | learning rate | weight decay | seeds | host alone | with PlugSING | difference (95 %) |",
        "|---|---|---|---:|---:|---|---:|---:|---:|",
        *lines,
        "",
        provenance(list(names.values())),
    ]
