"""Makes the figures of trainings from the kept records: score against learning rate, and loss over steps."""

from results import learning_rates
from results.experiment import rate_at
from results.experiments import EXPERIMENTS
from results.line_figure import Line, Panel
from results.records import options_of, read_runs

# Contestants that occur in many experiments have the same color in all of them.
COLORS = {"adamw": 0, "adamw_clip": 1, "plugsing": 2, "sing": 3, "calibrated": 4, "sing_frozen": 5}
FURTHER_COLORS = (6, 7, 8, 9)
LEGEND = {"adamw_clip": "AdamW, clipped", "calibrated": "SING, size-calibrated", "sing_frozen": "SING, norms frozen"}


def colors_of(contestants):
    others = [each.name for each in contestants if each.name not in COLORS]
    return COLORS | {name: FURTHER_COLORS[place % len(FURTHER_COLORS)] for place, name in enumerate(others)}


def label_of(contestant):
    return LEGEND.get(contestant.name, contestant.title)


def rate_panel(experiment):
    """Returns the panel of an experiment whose records say how its score depends on the rate, or None."""
    points = learning_rates.points_of(experiment)
    if not any(mean is not None for rates in points.values() for mean in learning_rates.means_of(rates).values()):
        return None
    colors = colors_of(experiment.contestants)
    score = experiment.scores[0]
    title, lower = (score.title, score.lower_is_better) if experiment.grid else learning_rates.score_of_tunings(experiment)
    lines = tuple(Line(label_of(each), tuple(learning_rates.means_of(rates).items()), colors[each.name]) for each, rates in points.items())
    short = experiment.short or experiment.title.split(",")[0]
    return Panel(f"{short}: {title}", "learning rate", lines, log_x=True, missing_at_top=lower)


def loss_panels(experiment):
    """Returns a panel for each place of the experiment's grid whose runs have kept their losses."""
    runs = [run for run in read_runs(experiment) if "losses" in run and options_of(run)["seed"] == experiment.seeds[0]]
    colors = colors_of(experiment.contestants)
    panels = []
    for place in experiment.grid:
        lines = []
        for contestant in experiment.contestants:
            rate = experiment.rates_of(contestant)[place]
            for run in runs:
                if experiment.contestant_of(run["name"]) == contestant and options_of(run)["learning_rate"] == rate:
                    points = tuple(zip(run["losses"]["step"], run["losses"]["loss"]))
                    lines.append(Line(label_of(contestant), points, colors[contestant.name]))
        if lines:
            title = f"{experiment.short}: rates × {rate_at(1, place):.2g}"
            panels.append(Panel(title, "step", tuple(lines), log_y=True, missing_at_top=True, markers=False))
    return panels


def width_panel(title, experiments_by_width):
    """Returns a panel of the best learning rate against the width, or None if less than two widths have records."""
    best = {}
    widths = set()
    for width, experiment in experiments_by_width.items():
        for contestant, rates in learning_rates.points_of(experiment).items():
            rate = learning_rates.best_rate(rates, experiment.scores[0].lower_is_better)
            if rate is not None:
                best.setdefault(contestant.name, {})[width] = rate
                widths.add(width)
    if len(widths) < 2:
        return None
    contestants = [each for each in next(iter(experiments_by_width.values())).contestants if each.name in best]
    colors = colors_of(contestants)
    lines = tuple(Line(label_of(each), tuple(best[each.name].items()), colors[each.name]) for each in contestants)
    return Panel(title, "width", lines, log_x=True, log_y=True)


def rate_panels(names):
    return [panel for name in names if (panel := rate_panel(EXPERIMENTS[name]))]
