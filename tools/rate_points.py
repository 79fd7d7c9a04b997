"""Collects how a score depends on the learning rate, from the records of a grid or of tunings, and makes a table of it."""

import statistics

import result_table
from training_records import difference, finished, provenance, read_runs, read_tunings, value_of

# A rate is usable if the score there has at least this share of the best score's distance from the worst figure of the experiment.
USABLE_SHARE = 0.9


def from_grid(experiment):
    """Returns contestant's name -> learning rate -> seed -> value; None for a run that diverged or was not measured."""
    points = {contestant.name: {} for contestant in experiment.contestants}
    for run in read_runs(experiment.name):
        options = run["config"]["options"]
        name = experiment.contestant_of(run["name"]).name
        value = value_of(run, experiment.scores[0]) if finished(run) else None
        points[name].setdefault(options["learning_rate"], {})[options["seed"]] = value
    return points


def from_tunings(experiment):
    """Returns the same from the tunings' runs, whose score is the accuracy, or the loss where they have none."""
    points = {}
    for name, tuning in read_tunings(experiment.name).items():
        points[name] = {}
        for result in tuning["results"]:
            value = result.get("accuracy")
            value = result["loss"] if value is None else 100 * value
            if result["weight_decay"] == tuning["grid"]["first_weight_decay"]:
                points[name].setdefault(result["learning_rate"], {})[tuning["seed"]] = value if result["outcome"] == "finished" else None
    return points


def score_of_tunings(experiment):
    """Returns the title of the score of from_tunings, and whether lower is better."""
    results = [result for tuning in read_tunings(experiment.name).values() for result in tuning["results"] if result["outcome"] == "finished"]
    if not results or results[0].get("accuracy") is None:
        return "loss", True
    return f"{results[0].get('score', 'accuracy')}, %", False


def points_of(experiment):
    """Returns the points of the contestants that have any, in declared order, with rates in increasing order."""
    points = from_grid(experiment) if experiment.grid else from_tunings(experiment)
    return {each: dict(sorted(points[each.name].items())) for each in experiment.contestants if points.get(each.name)}


def means_of(rates):
    """Returns learning rate -> mean over the seeds; None where a seed has no value."""
    return {rate: None if None in by_seed.values() else statistics.mean(by_seed.values()) for rate, by_seed in rates.items()}


def best_rate(rates, lower_is_better):
    means = {rate: mean for rate, mean in means_of(rates).items() if mean is not None}
    return (min if lower_is_better else max)(means, key=means.get) if means else None


def usable(rates, worst, lower_is_better):
    """Returns the rates around the best one at which the score is usable, as (smallest, largest), or None."""
    best = best_rate(rates, lower_is_better)
    if best is None:
        return None
    means = means_of(rates)
    limit = worst + USABLE_SHARE * (means[best] - worst)

    def is_usable(rate):
        return means[rate] is not None and (means[rate] <= limit if lower_is_better else means[rate] >= limit)

    order = list(rates)
    first = last = order.index(best)
    while first > 0 and is_usable(order[first - 1]):
        first -= 1
    while last + 1 < len(order) and is_usable(order[last + 1]):
        last += 1
    return order[first], order[last]


def table(experiment):
    """Returns the lines of a table: the best rate of each contestant, its score there, and the range of usable rates."""
    points = points_of(experiment)
    if not points:
        return []
    score = experiment.scores[0]
    means = [mean for rates in points.values() for mean in means_of(rates).values() if mean is not None]
    worst = (max if score.lower_is_better else min)(means)
    baseline = next((rates for each, rates in points.items() if each.name == experiment.baseline), None)
    baseline_best = baseline and best_rate(baseline, score.lower_is_better)
    lines = [
        f"| method | rates tried | best rate | {score.title} | difference at the best rates (95 %) | usable rates | largest rate that finished |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for contestant, rates in points.items():
        best = best_rate(rates, score.lower_is_better)
        if best is None:
            lines.append(f"| {contestant.title} | {len(rates)} | none finished | | | | |")
            continue
        at_best = rates[best]
        shared = [at_best[seed] - baseline[baseline_best][seed] for seed in at_best if seed in baseline[baseline_best]] if baseline_best else []
        low, high = usable(rates, worst, score.lower_is_better)
        stable = max(rate for rate, mean in means_of(rates).items() if mean is not None)
        values = list(at_best.values())
        text = f"{statistics.mean(values):.{score.digits}f}" + (f" ± {statistics.stdev(values):.{score.digits}f}" if len(values) > 1 else "")
        lines.append(
            f"| {contestant.title} | {len(rates)} | {best:g} | {text} | {difference(shared, score.digits) if shared and rates is not baseline else ''} "
            f"| {low:g} to {high:g} (× {number(high / low)}) | {stable:g} |"
        )
    runs = read_runs(experiment.name)
    sets = sorted({run["config"]["options"].get("evaluate_on", "test") for run in runs})
    seeds = sorted({seed for rates in points.values() for by_seed in rates.values() for seed in by_seed})
    lines += ["", provenance(runs), f"Measured on the {' and '.join(sets)} set; seeds {', '.join(map(str, seeds))}."]
    share = round(100 * USABLE_SHARE)
    lines.append(
        f"A rate is *usable* if its score keeps at least {share} % of the distance from the worst score of the table to the method's best score."
    )
    return lines


def tuning_table(experiment):
    """Returns the lines of a table of the experiment's tunings: what was tried and what is best on the validation set."""
    tunings = read_tunings(experiment.name)
    points = from_tunings(experiment)
    if not tunings:
        return []
    title, lower = score_of_tunings(experiment)
    digits = 4 if lower else 2
    baseline = points.get(experiment.baseline, {})
    baseline_best = best_rate(baseline, lower)
    lines = [f"| method | learning rates tried | best rate | {title} at the best rate | difference | remark |", "|---|---|---:|---:|---:|---|"]
    for contestant in experiment.contestants:
        if contestant.name not in tunings:
            continue
        rates = dict(sorted(points[contestant.name].items()))
        best = best_rate(rates, lower)
        tried = ", ".join(f"{rate:g}" for rate in rates)
        if best is None:
            lines.append(f"| {contestant.title} | {tried} | none finished | | | |")
            continue
        [value] = rates[best].values()
        of_baseline = baseline_best is not None and contestant.name != experiment.baseline
        cell = f"{value - means_of(baseline)[baseline_best]:+.{digits}f}" if of_baseline else ""
        remark = "a neighbor of the best rate was not tried" if tunings[contestant.name]["remarks"] else ""
        lines.append(f"| {contestant.title} | {tried} | {best:g} | {value:.{digits}f} | {cell} | {remark} |")
    origins = [{"config": tuning["origin"]} for tuning in tunings.values() for _ in tuning["results"]]
    lines += ["", provenance(origins)]
    seed = next(iter(tunings.values()))["seed"]
    lines.append(f"The scores are those of the tuning runs: the validation set, seed {seed}{'; lower is better' if lower else ''}.")
    lines.append(f"`{result_table.command(experiment)}` trains the runs with the table's seeds.")
    if experiment.differs:
        lines.append(f"Differences from the paper: {experiment.differs}.")
    return lines


def number(value):
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}"
