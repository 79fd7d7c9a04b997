"""Makes the table of one experiment from its kept records: a row per contestant and learning rate."""

import statistics

from training_records import difference, finished, grouped, provenance, read_runs, read_tunings, spread, value_of


def places_of(experiment):
    return {contestant.name: place for place, contestant in enumerate(experiment.contestants)}


def rows_of(experiment, runs):
    """Returns (contestant, learning rate, weight decay) -> its runs in the order of their seeds; contestants in declared order."""
    places = places_of(experiment)

    def key(run):
        contestant = experiment.contestant_of(run["name"])
        if contestant is None:
            raise ValueError(f"[docs/results/{experiment.name}.jsonl] wanted names of contestants, got '{run['name']}'")
        options = run["config"]["options"]
        return places[contestant.name], options["learning_rate"], options["weight_decay"]

    return {
        (experiment.contestants[place], rate, decay): sorted(group, key=lambda run: run["config"]["options"]["seed"])
        for (place, rate, decay), group in grouped(runs, key).items()
    }


def choice(contestant, rate, decay, tunings):
    """Returns how a row's rate was chosen."""
    for name, whose in ((contestant.name, "its best"), (contestant.host, "its host's best")):
        best = (tunings.get(name) or {}).get("best")
        if best and (best["learning_rate"], best["weight_decay"]) == (rate, decay):
            return f"{whose} of {len(tunings[name]['results'])}"
    return ""


def value_by_seed(runs, score):
    values = {run["config"]["options"]["seed"]: value_of(run, score) for run in runs if finished(run)}
    return {seed: value for seed, value in values.items() if value is not None}


def baseline_runs(experiment, rows):
    """Returns the runs of the baseline at its best rate, by the first score over equally many or more seeds; [] if it has none."""
    score = experiment.scores[0]
    candidates = []
    for (contestant, _, _), runs in rows.items():
        values = value_by_seed(runs, score).values()
        if contestant.name == experiment.baseline and values:
            mean = statistics.mean(values)
            candidates.append((len(values), -mean if score.lower_is_better else mean, runs))
    return max(candidates, key=lambda each: each[:2])[2] if candidates else []


def difference_cell(runs, baseline, score):
    """Returns the paired difference to the baseline over the seeds that both have, or '' for the baseline itself."""
    if runs is baseline or not baseline:
        return ""
    ours, theirs = value_by_seed(runs, score), value_by_seed(baseline, score)
    differences = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    return difference(differences, score.digits) if differences else ""


def score_cells(runs, scores):
    stopped = [run for run in runs if not finished(run)]
    if stopped:
        return [f"{len(stopped)} of {len(runs)} {stopped[0]['end']['status']}", *[""] * (len(scores) - 1)]
    cells = []
    for score in scores:
        values = list(value_by_seed(runs, score).values())
        cells.append(spread(values, score.digits) if values else "")
    return cells


def minutes(runs):
    return spread([run["end"]["seconds"] / 60 for run in runs], 1)


def table(experiment):
    """Returns the lines of the experiment's table; none without records."""
    runs = read_runs(experiment.name)
    if not runs:
        return []
    tunings = read_tunings(experiment.name)
    rows = rows_of(experiment, runs)
    baseline = baseline_runs(experiment, rows)
    first = experiment.scores[0]
    has_choice = any(choice(*key, tunings) for key in rows)
    has_paper = any(contestant.paper for contestant in experiment.contestants)
    heads = ["method", "learning rate", "weight decay"]
    heads += ["rate is"] if has_choice else []
    heads += ["seeds", *(score.title for score in experiment.scores)]
    heads += [f"{first.title}, difference (95 %)"] if experiment.baseline else []
    heads += ["minutes"]
    heads += [f"paper: {score.title}" for score in experiment.scores] if has_paper else []
    numbers = len(experiment.scores)
    rules = ["---", "---:", "---:", *(["---"] if has_choice else []), "---", *["---:"] * (len(heads) - 4 - has_choice)]
    lines = ["| " + " | ".join(heads) + " |", "|" + "|".join(rules) + "|"]
    for (contestant, rate, decay), group in rows.items():
        cells = [contestant.title, f"{rate:g}", f"{decay:g}"]
        cells += [choice(contestant, rate, decay, tunings)] if has_choice else []
        cells += [", ".join(str(run["config"]["options"]["seed"]) for run in group), *score_cells(group, experiment.scores)]
        cells += [difference_cell(group, baseline, first)] if experiment.baseline else []
        cells += [minutes(group)]
        if has_paper:
            figures = tuple(contestant.paper)
            cells += [*figures, *[""] * (numbers - len(figures))]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, "", *caption(experiment, runs, tunings, baseline)]


def caption(experiment, runs, tunings, baseline):
    """Yields the lines that say where the numbers come from."""
    yield provenance(runs)
    if baseline and len({run["name"] for run in runs}) > len(baseline):
        title = experiment.contestant_of(baseline[0]["name"]).title
        rate = baseline[0]["config"]["options"]["learning_rate"]
        yield f"Differences are relative to {title} at {rate:g}, paired by seed."
    if experiment.note:
        yield experiment.note[0].upper() + experiment.note[1:] + "."
    elif tunings:
        counts = sorted({len(tuning["results"]) for tuning in tunings.values()})
        tuning = next(iter(tunings.values()))
        steps = {each["origin"]["total_steps"] for each in tunings.values()}
        length = "at the table's length" if steps == {run["config"]["total_steps"] for run in runs} else f"in runs of {min(steps)} steps"
        yield (
            f"Rates are the best of `sing tune` on the {tuning['evaluate_on']} set, {' or '.join(map(str, counts))} runs for each method,"
            f" {length}, seed {tuning['seed']}."
        )
    if experiment.differs:
        yield f"Differences from the paper: {experiment.differs}."


def missing(experiment):
    """Returns the titles of the contestants that have no records."""
    have = {experiment.contestant_of(run["name"]) for run in read_runs(experiment.name)}
    return [contestant.title for contestant in experiment.contestants if contestant not in have]


def command(experiment):
    """Returns the command that trains what has no records."""
    return f"./dev run python tools/train_experiments.py {experiment.name} -- --device auto"
