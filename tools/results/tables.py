"""Makes the table of an experiment: of its trainings, of its grid of learning rates, or of its tunings as long as there is no more."""

import collections
import statistics

from results import estimates, learning_rates
from results.records import commits_of, finished, options_of, provenance, read_runs, read_tunings, values_by_seed


def table_of(experiment):
    """Returns the lines of the experiment's table; of its tunings, if nothing else has been trained; none without records."""
    if experiment.grid:
        return grid_table(experiment)
    return training_table(experiment) or tuning_table(experiment)


def markdown(heads, rows, words):
    """Returns the lines of a table. Columns whose heads are in `words` are aligned to the left, numbers to the right."""
    rules = ["---" if head in words else "---:" for head in heads]
    return ["| " + " | ".join(heads) + " |", "|" + "|".join(rules) + "|", *("| " + " | ".join(row) + " |" for row in rows)]


# Trainings: a row per contestant, learning rate and weight decay.


def rows_of(runs, experiment):
    """Returns (contestant, learning rate, weight decay) -> its runs in the order of their seeds; contestants in declared order."""
    places = {contestant: place for place, contestant in enumerate(experiment.contestants)}
    rows = collections.defaultdict(list)
    for run in sorted(runs, key=lambda run: options_of(run)["seed"]):
        rows[experiment.contestant_of(run["name"]), options_of(run)["learning_rate"], options_of(run)["weight_decay"]].append(run)
    return dict(sorted(rows.items(), key=lambda row: (places[row[0][0]], *row[0][1:])))


def choice(contestant, rate, decay, tunings):
    """Returns how a row's rate was chosen."""
    for name, whose in ((contestant.name, "its best"), (contestant.host, "its host's best")):
        tuning = tunings.get(name) or {}
        best = tuning.get("best")
        if best and (best["learning_rate"], best["weight_decay"]) == (rate, decay):
            where = "" if tuning.get("evaluate_on") == "validation" else " on the test set"
            return f"{whose} of {len(tuning['results'])}{where}"
    return ""


def baseline_row(experiment, rows, tunings):
    """Returns the key of the baseline's row that the others are compared with, or None.

    It is the row at the tuned setting; without a tuning, the one with the most seeds and then the best mean of the first score.
    """
    score = experiment.scores[0]
    best = (tunings.get(experiment.baseline) or {}).get("best")
    candidates = {}
    for key, runs in rows.items():
        values = values_by_seed(runs, score).values()
        if key[0].name != experiment.baseline or len(values) < len(runs):
            continue
        if best and key[1:] == (best["learning_rate"], best["weight_decay"]):
            return key
        mean = statistics.mean(values)
        candidates[key] = (len(values), -mean if score.lower_is_better else mean)
    return max(candidates, key=candidates.get) if candidates and not best else None


def summary(runs, score):
    """Returns a cell: the mean and spread of a score, or how many of the runs did not finish; a mean of the others would flatter."""
    stopped = [run for run in runs if not finished(run)]
    if stopped:
        return f"{len(stopped)} of {len(runs)} {stopped[0]['end']['status']}"
    values = list(values_by_seed(runs, score).values())
    if not values:
        return ""
    return estimates.spread(values, score.digits) + (f" ({len(values)} of {len(runs)} runs)" if len(values) < len(runs) else "")


def difference_cell(runs, baseline, score):
    """Returns the paired difference to the baseline's runs; '' if one of our runs did not finish."""
    if not all(finished(run) for run in runs):
        return ""
    return estimates.difference(estimates.paired(values_by_seed(runs, score), values_by_seed(baseline, score)), score.digits)


def training_table(experiment):
    """Returns the lines of the table of the experiment's trainings; none without records."""
    runs = read_runs(experiment)
    if not runs:
        return []
    tunings = read_tunings(experiment)
    rows = rows_of(runs, experiment)
    baseline = baseline_row(experiment, rows, tunings)
    first = experiment.scores[0]
    has_choice = any(choice(*key, tunings) for key in rows)
    has_paper = any(contestant.paper for contestant in experiment.contestants)
    heads = ["method", "learning rate", "weight decay", *(["rate is"] if has_choice else []), "seeds"]
    heads += [score.title for score in experiment.scores]
    heads += [f"{first.title}, difference (95 %)"] if experiment.baseline else []
    heads += ["minutes"]
    heads += [f"paper: {score.title}" for score in experiment.scores] if has_paper else []
    lines = []
    for key, group in rows.items():
        contestant, rate, decay = key
        cells = [contestant.title, f"{rate:g}", f"{decay:g}", *([choice(*key, tunings)] if has_choice else [])]
        cells += [", ".join(str(options_of(run)["seed"]) for run in group)]
        # A row with a run that did not finish says so once.
        scores = experiment.scores if all(finished(run) for run in group) else experiment.scores[:1]
        cells += [*(summary(group, score) for score in scores), *[""] * (len(experiment.scores) - len(scores))]
        if experiment.baseline:
            cells += [difference_cell(group, rows[baseline], first) if baseline and key != baseline else ""]
        cells += [estimates.spread([run["end"]["seconds"] / 60 for run in group], 1)]
        cells += [*contestant.paper, *[""] * (len(experiment.scores) - len(contestant.paper))] if has_paper else []
        lines.append(cells)
    made = markdown(heads, lines, {"method", "rate is", "seeds"})
    return [*made, "", *caption(experiment, runs, tunings, rows, baseline)]


def caption(experiment, runs, tunings, rows, baseline):
    """Yields the lines that say where the numbers come from."""
    yield provenance(runs)
    if baseline and len(rows) > 1:
        contestant, rate, _ = baseline
        across = " Some compare runs of different commits." if len(commits_of(runs)) > 1 else ""
        yield f"Differences are relative to {contestant.title} at {rate:g}, paired by seed.{across}"
    if experiment.note:
        yield experiment.note[0].upper() + experiment.note[1:] + "."
    elif tunings:
        counts = sorted({len(tuning["results"]) for tuning in tunings.values()})
        sets = sorted({tuning.get("evaluate_on", "test") for tuning in tunings.values()})
        seeds = sorted({tuning["seed"] for tuning in tunings.values()})
        steps = {tuning["origin"]["total_steps"] for tuning in tunings.values()}
        length = "at the table's length" if steps == {run["config"]["total_steps"] for run in runs} else f"in runs of {min(steps)} steps"
        yield (
            f"Rates are the best of `sing tune` on the {' and '.join(sets)} set, {' or '.join(map(str, counts))} runs for each method,"
            f" {length}, seed {', '.join(map(str, seeds))}."
        )
    if experiment.differs:
        yield f"Differences from the paper: {experiment.differs}."


# Grids: a row per contestant, over all learning rates.


def grid_table(experiment):
    """Returns the lines of a table: the best rate of each contestant, its score there, and the range of usable rates."""
    points = learning_rates.points_of(experiment)
    if not points:
        return []
    score = experiment.scores[0]
    lower = score.lower_is_better
    means = [mean for tried in points.values() for mean in learning_rates.means_of(tried).values() if mean is not None]
    worst = (max if lower else min)(means, default=None)
    baseline = next((tried for each, tried in points.items() if each.name == experiment.baseline), {})
    baseline_best = learning_rates.best_rate(baseline, lower)
    lines = []
    for contestant, tried in points.items():
        best = learning_rates.best_rate(tried, lower)
        if best is None:
            lines.append([contestant.title, str(len(tried)), "none finished", "", "", "", ""])
            continue
        has_difference = tried is not baseline and baseline_best is not None
        difference = estimates.difference(estimates.paired(tried[best], baseline[baseline_best]), score.digits) if has_difference else ""
        low, high = learning_rates.usable(tried, worst, lower)
        value = estimates.spread(list(tried[best].values()), score.digits)
        usable = f"{low:g} to {high:g} (× {number(high / low)})"
        lines.append([contestant.title, str(len(tried)), f"{best:g}", value, difference, usable, f"{learning_rates.largest_that_finished(tried):g}"])
    heads = ["method", "rates tried", "best rate", score.title, "difference at the best rates (95 %)", "usable rates"]
    runs = read_runs(experiment)
    sets = sorted({options_of(run).get("evaluate_on", "test") for run in runs})
    seeds = learning_rates.seeds_of(learning_rates.from_grid(experiment))
    made = markdown([*heads, "largest rate that finished"], lines, {"method"})
    made += ["", provenance(runs), f"Measured on the {' and '.join(sets)} set; seeds {', '.join(map(str, seeds))}."]
    made.append(
        "The best rates are chosen from the runs shown here, so their scores are slightly optimistic, and the intervals do not account for this choice."
    )
    left_out = learning_rates.incomplete(experiment)
    if left_out:
        made.append(f"{left_out} {'rate is' if left_out == 1 else 'rates are'} left out because a seed is missing.")
    share = round(100 * learning_rates.USABLE_SHARE)
    made.append(
        f"A rate is *usable* if its score keeps at least {share} % of the distance from the worst score of the table to the method's best score."
    )
    return made


def number(value):
    return f"{value:.0f}" if value >= 9.5 else f"{value:.1f}"


# Tunings: a row per contestant, before anything else is trained.


def best_result(tuning):
    """Returns the score of the run that a tuning chose, or None."""
    best = tuning["best"]
    at_best = [each for each in tuning["results"] if best and all(each[key] == best[key] for key in ("learning_rate", "weight_decay"))]
    return learning_rates.score_of_result(at_best[0]) if at_best else None


def tuning_table(experiment):
    """Returns the lines of a table of the experiment's tunings: what was tried and what is best on the validation set."""
    tunings = read_tunings(experiment)
    if not tunings:
        return []
    title, lower = learning_rates.score_of_tunings(experiment)
    digits = 4 if lower else 2
    baseline = best_result(tunings[experiment.baseline]) if experiment.baseline in tunings else None
    lines = []
    for contestant in experiment.contestants:
        tuning = tunings.get(contestant.name)
        if tuning is None:
            continue
        tried = ", ".join(f"{rate:g}" for rate in sorted({each["learning_rate"] for each in tuning["results"]}))
        value = best_result(tuning)
        if value is None:
            lines.append([contestant.title, tried, "none finished", "", "", ""])
            continue
        difference = f"{value - baseline:+.{digits}f}" if baseline is not None and contestant.name != experiment.baseline else ""
        remark = "a neighbor of the best rate was not tried" if tuning["remarks"] else ""
        lines.append([contestant.title, tried, f"{tuning['best']['learning_rate']:g}", f"{value:.{digits}f}", difference, remark])
    made = markdown(["method", "learning rates tried", "best rate", f"{title} at the best rate", "difference", "remark"], lines, {"method", "learning rates tried", "remark"})
    origins = [{"config": tuning["origin"]} for tuning in tunings.values() for _ in tuning["results"]]
    made += ["", provenance(origins)]
    seeds = sorted({tuning["seed"] for tuning in tunings.values()})
    made.append(f"The scores are those of the tuning runs: the validation set, seed {', '.join(map(str, seeds))}{'; lower is better' if lower else ''}.")
    made.append(f"`{command(experiment)}` trains the runs with the table's seeds.")
    if experiment.differs:
        made.append(f"Differences from the paper: {experiment.differs}.")
    return made


# The list of missing runs.


def missing(experiment):
    """Returns the titles of the contestants that lack runs, with the number of those that they have."""
    runs_of = collections.Counter()
    for (contestant, *_), group in rows_of(read_runs(experiment), experiment).items():
        # A contestant may have rows at several rates; a grid wants all of them, a table one complete row.
        runs_of[contestant] = runs_of[contestant] + len(group) if experiment.grid else max(runs_of[contestant], len(group))
    wanted = len(experiment.seeds) * max(1, len(experiment.grid))
    tunings = read_tunings(experiment)
    found = []
    for contestant in experiment.contestants:
        has, tuning = runs_of[contestant], tunings.get(contestant.name)
        nothing_finished = tuning is not None and not tuning["best"]
        if has < wanted and not nothing_finished:
            found.append(contestant.title + (f" ({has} of {wanted} runs)" if has else " (tuned)" if tuning else ""))
    return found


def command(experiment):
    """Returns the command that trains what has no records."""
    return f"./dev run python tools/train_experiments.py {experiment.name} -- --device auto"
