"""Collects how a score depends on the learning rate, from the records of a grid or of tunings, and finds the best rates."""

import statistics

from results.records import finished, options_of, read_runs, read_tunings, value_of

# A rate is usable if the score there has at least this share of the best score's distance from the worst score of the experiment.
USABLE_SHARE = 0.9


def all_of_grid(experiment):
    """Returns contestant's name -> learning rate -> seed -> value; None for a run that diverged or was not measured."""
    points = {}
    for run in read_runs(experiment):
        options = options_of(run)
        rates = points.setdefault(experiment.contestant_of(run["name"]).name, {})
        rates.setdefault(options["learning_rate"], {})[options["seed"]] = value_of(run, experiment.scores[0]) if finished(run) else None
    return points


def seeds_of(points):
    return sorted({seed for rates in points.values() for values in rates.values() for seed in values})


def from_grid(experiment):
    """Returns the same for the rates at which every seed was trained."""
    points = all_of_grid(experiment)
    seeds = seeds_of(points)
    return {name: {rate: values for rate, values in rates.items() if sorted(values) == seeds} for name, rates in points.items()}


def incomplete(experiment):
    """Returns how many rates of the grid from_grid leaves out because a seed is missing."""
    points = from_grid(experiment)
    return sum(len(rates) - len(points[name]) for name, rates in all_of_grid(experiment).items())


def score_of_result(result):
    """Returns the figure of a tuning's run: the accuracy, or the loss of a task without one; None if it diverged."""
    if result["outcome"] != "finished":
        return None
    accuracy = result.get("accuracy")
    return result["loss"] if accuracy is None else 100 * accuracy


def from_tunings(experiment):
    """Returns the points of the tunings, at the weight decay with which the rates were tried."""
    points = {}
    for name, tuning in read_tunings(experiment).items():
        points[name] = {}
        for result in tuning["results"]:
            if result["weight_decay"] == tuning["grid"]["first_weight_decay"]:
                points[name].setdefault(result["learning_rate"], {})[tuning["seed"]] = score_of_result(result)
    return points


def score_of_tunings(experiment):
    """Returns the title of the score of the tunings, and whether lower is better."""
    results = [result for tuning in read_tunings(experiment).values() for result in tuning["results"] if result["outcome"] == "finished"]
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
    """Returns the rate of the best mean, the smallest of several, or None if no rate has a mean."""
    means = {rate: mean for rate, mean in sorted(means_of(rates).items()) if mean is not None}
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

    order = sorted(rates)
    first = last = order.index(best)
    while first > 0 and is_usable(order[first - 1]):
        first -= 1
    while last + 1 < len(order) and is_usable(order[last + 1]):
        last += 1
    return order[first], order[last]


def largest_that_finished(rates):
    """Returns the largest rate at which every seed finished, or None."""
    return max((rate for rate, mean in means_of(rates).items() if mean is not None), default=None)
