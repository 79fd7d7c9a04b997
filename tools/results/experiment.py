"""Declares what an experiment is: contestants that are trained on one task and compared by scores."""

import dataclasses

RATES_PER_DECADE = 4  # as in `sing tune`
# Keys of a run's end record.
ACCURACY, LOSS = "final_accuracy", "final_loss"
# Ends the name of a contestant's runs that have its host's weight decay instead of its own.
AT_HOSTS_SETTING = "_at_hosts_setting"
# Options that say where a run found its data and how it was carried out, but not what was trained.
INCIDENTAL = {"data", "weights", "device", "threads", "data_threads", "autotune", "checkpoint_steps", "checkpoint_seconds", "keep_weights"}
INCIDENTAL |= {"log_steps", "norm_steps", "evaluate_steps"}


@dataclasses.dataclass(frozen=True)
class Score:
    """A column of a table. `source` is a key of a run's end record, or the name of one of its other scores."""

    title: str
    source: str = ACCURACY
    factor: float = 100
    digits: int = 2
    lower_is_better: bool = False
    measured: str = ""  # a checkpoint of `sing eval`, if the score is not that of the training's last evaluation


@dataclasses.dataclass(frozen=True)
class Contestant:
    """An optimizer with its options. `name` begins the names of its runs, as in `sing compare`."""

    name: str
    title: str
    optimizer: str
    rate: float  # the first one that is tried; in an experiment with a grid, the middle of the grid
    decay: float
    options: tuple = ()  # further flags of `sing train`
    host: str = ""  # of plug-and-play SING: the contestant that is the host alone, at whose rate this one is trained too
    paper: tuple = ()  # the paper's figures, one per score, as text


@dataclasses.dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    task: str
    flags: tuple  # flags of `sing train` that all contestants share
    contestants: tuple
    scores: tuple = (Score("accuracy, %"),)
    baseline: str = ""  # the contestant that the others are compared with seed by seed
    seeds: tuple = (1, 2, 3)  # of the table; the tuning has seed 0
    rate_runs: int = 5  # learning rates that `sing tune` tries for each contestant
    decay_runs: int = 0  # weight decays that it tries afterwards
    grid: tuple = ()  # instead of a tuning: places of learning rates, four per decade, around each contestant's own
    table_flags: tuple = ()  # further flags of the trainings after the tuning
    evaluate: tuple = ()  # checkpoints that `sing eval` measures after these trainings
    losses: bool = False  # keep the loss over the steps
    differs: str = ""  # how the experiment differs from the paper's
    short: str = ""  # title of a panel in a figure; "" stands for the title up to its first comma
    note: str = ""  # how the rates were chosen, where no tuning was recorded

    def contestant_of(self, run):
        """Returns the contestant that a run's name, NAME_lrRATE_seedSEED, begins with, or None."""
        name = run.rsplit("_lr", 1)[0].removesuffix(AT_HOSTS_SETTING)
        return next((each for each in self.contestants if each.name == name), None)

    def rates_of(self, contestant):
        """Returns the learning rates of the grid for a contestant, by place."""
        return {place: rate_at(contestant.rate, place) for place in self.grid}

    def check(self, contestant, options):
        """Raises ValueError unless a run of the contestant with these options was trained as the experiment declares."""
        for name, text in options_in((*self.flags, *contestant.options)).items():
            if name not in INCIDENTAL and not says(text, options.get(name)):
                raise ValueError(f"[docs/results/{self.name}.jsonl] wanted {contestant.name} with {name} {text}, got {options.get(name)}")


def rate_at(middle, place):
    """Returns the learning rate at a place of a ladder of four per decade, rounded as `sing tune` does it."""
    return middle if place == 0 else float(f"{middle * 10 ** (place / RATES_PER_DECADE):.1e}")


def options_in(flags):
    """Returns option's name -> text of its value, of the flags `--name value`, `--name=value` and `--name`."""
    options = {}
    for flag, following in zip(flags, (*flags[1:], "--")):
        if flag.startswith("--"):
            name, equals, value = flag[2:].partition("=")
            options[name.replace("-", "_")] = value if equals else "true" if following.startswith("--") else following
    return options


def says(text, value):
    """Returns whether a flag's text stands for an option's value in a record."""
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, (int, float)):
        try:
            return float(text) == value
        except ValueError:
            return False
    return text == ("none" if value is None else value)
