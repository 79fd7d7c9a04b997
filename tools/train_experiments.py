"""Trains experiments of tools/results/experiments.py and keeps their records: tuning on validation data, then the table's seeds.

python tools/train_experiments.py [NAME…] [--program sing] [--data data] [--seconds S] [--jobs N] [--archive FILE] [-- FLAG…]

Without names it works through all experiments in their order. For each, `sing tune` chooses the learning rate of every contestant
by the validation set, with equally many runs for all. Then `sing compare` trains each at its rate with the table's seeds and
measures on the test set. A contestant with a host is also trained at the host's rate. An experiment with a grid is one `sing
compare` over the grid, measured on the validation set. Flags after -- are given to every training, such as --device cuda.

Runs are kept below --runs, without the checkpoints of those that have ended, and the same command continues where it stopped.
What has a record in --out is not trained again, on whatever machine it was trained; --commit counts only the records of one
commit. After --seconds nothing is begun, trainings save and stop, and the records of what has ended are kept. --archive puts the
records, and what is needed to go on with unfinished tunings, into one tar file: unpacked in the same folder of another machine,
it continues there. An experiment without its data is left out. --list prints how many trainings are missing and the commands,
and trains nothing.
"""

import argparse
import concurrent.futures
import dataclasses
import math
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time

from results import records
from results.experiment import AT_HOSTS_SETTING, Contestant
from results.experiments import EXPERIMENTS

# Exit codes of `sing`, and of a process that was told to stop before it was ready to.
FINISHED, DIVERGED, INTERRUPTED, NOT_BEGUN = 0, 3, 130, -signal.SIGTERM
SECONDS_BETWEEN_LOOKS = 0.1
DATA = "data/"  # begins the values of flags that name data


@dataclasses.dataclass(frozen=True)
class Setting:
    """The learning rates at which a contestant is trained with one weight decay and some seeds, and the name of these runs."""

    contestant: Contestant
    decay: float
    rates: tuple
    name: str
    seeds: tuple


def tune_command(experiment, contestant, folder, jobs):
    return [
        *("tune", experiment.task, "--optimizer", contestant.optimizer, "--learning-rate", repr(contestant.rate)),
        *("--weight-decay", repr(contestant.decay), "--rate-runs", str(experiment.rate_runs)),
        *(("--decay-runs", str(experiment.decay_runs)) if experiment.decay_runs else ("--rates-only",)),
        *("--jobs", str(jobs), "--out", str(folder / f"{records.TUNE}{contestant.name}"), "--"),
        *(*experiment.flags, *contestant.options),
    ]


def compare_command(experiment, settings, folder, jobs):
    """Returns the command that trains settings of equal seeds."""
    words = ["compare", experiment.task]
    for each in settings:
        variant = [each.contestant.optimizer, *each.contestant.options, "--weight-decay", repr(each.decay)]
        words += ["--variant", f"{each.name}={' '.join(variant)}"]
    for each in settings:
        words += ["--learning-rates", f"{each.name}={','.join(repr(rate) for rate in each.rates)}"]
    words += ["--seeds", ",".join(str(seed) for seed in settings[0].seeds), "--jobs", str(jobs), "--out", str(folder)]
    return [*words, "--", *experiment.flags]


def follows_protocol(experiment, tuning):
    """Returns whether a kept tuning chose by the validation set and had as many runs as those of the other contestants."""
    full = not tuning["best"] or len(tuning["results"]) == experiment.rate_runs + experiment.decay_runs
    return full and tuning.get("evaluate_on") == "validation"


def table_settings(experiment, contestants, tunings):
    """Returns what the table trains: every contestant at its best setting, and at its host's where that is another one.

    `tunings` are records by contestant's name. A contestant whose tuning is not complete is left out.
    """
    settings = []
    for contestant in contestants:
        best = (tunings.get(contestant.name) or {}).get("best")
        host = (tunings.get(contestant.host) or {}).get("best")
        rates = {}
        for each in (best, host):
            if each:
                rates.setdefault(each["weight_decay"], {})[each["learning_rate"]] = True
        for place, decay in enumerate(rates):
            name = contestant.name + (AT_HOSTS_SETTING if place else "")
            settings.append(Setting(contestant, decay, tuple(rates[decay]), name, experiment.seeds))
    return settings


def grid_settings(experiment, contestants):
    return [Setting(each, each.decay, tuple(experiment.rates_of(each).values()), each.name, experiment.seeds) for each in contestants]


def without_records(settings, runs):
    """Returns lists of settings of equal seeds, with the seeds and learning rates that have no record."""
    have = set()
    for run in runs:
        options = records.options_of(run)
        name = run["name"].rsplit("_lr", 1)[0]
        have.add((name, options["weight_decay"], options["learning_rate"], options["seed"]))
    by_seeds = {}
    for setting in settings:
        rates_by_seeds = {}
        for rate in setting.rates:
            seeds = tuple(seed for seed in setting.seeds if (setting.name, setting.decay, rate, seed) not in have)
            if seeds:
                rates_by_seeds.setdefault(seeds, []).append(rate)
        for seeds, rates in rates_by_seeds.items():
            by_seeds.setdefault(seeds, []).append(dataclasses.replace(setting, rates=tuple(rates), seeds=seeds))
    return list(by_seeds.values())


class Trainer:
    """Runs the program for one experiment after the other until the time is over."""

    def __init__(self, arguments):
        self.program, self.jobs, self.flags = arguments.program, arguments.jobs, arguments.flags
        self.data, self.runs, self.out, self.commit = arguments.data, arguments.runs, arguments.out, arguments.commit
        self.listing, self.names = arguments.list, arguments.contestants
        self.deadline = time.monotonic() + arguments.seconds
        self.failures = 0

    def stop(self):
        self.deadline = time.monotonic()

    def seconds_left(self):
        return self.deadline - time.monotonic()

    def sing(self, words, flags=()):
        """Runs the program, and tells it at the deadline to save and stop."""
        words = [str(self.data / word.removeprefix(DATA)) if word.startswith(DATA) else word for word in words]
        command = [self.program, *words, *flags]
        if not self.listing and self.seconds_left() <= 0:
            return
        print("$ " + shlex.join(command), flush=True)
        if self.listing:
            return
        process = subprocess.Popen(command)
        while process.poll() is None and self.seconds_left() > 0:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        if process.poll() is None:
            process.terminate()  # a second SIGINT after one from a terminal would end it at once
        code = process.wait()
        if code not in (FINISHED, DIVERGED, INTERRUPTED, NOT_BEGUN):
            self.failures += 1
            print(f"[{shlex.join(command)}] wanted exit code {FINISHED}, {DIVERGED} or {INTERRUPTED}, got {code}", file=sys.stderr, flush=True)

    def contestants(self, experiment):
        return [each for each in experiment.contestants if not self.names or each.name in self.names]

    def missing_data(self, experiment):
        """Returns the files and folders of data that the experiment wants and that do not exist."""
        paths = [self.data / flag.removeprefix(DATA) for flag in experiment.flags if flag.startswith(DATA)]
        return [str(path) for path in paths if not path.exists()]

    def kept_runs(self, experiment):
        runs = records.read_runs(experiment, self.out)
        return [run for run in runs if self.commit in ("", run["config"]["commit"])]

    def kept_tunings(self, experiment):
        tunings = records.read_tunings(experiment, self.out)
        return {
            name: tuning
            for name, tuning in tunings.items()
            if follows_protocol(experiment, tuning) and self.commit in ("", tuning["origin"]["commit"])
        }

    def left(self, experiment):
        """Returns how many trainings of an experiment have no record: those of its tunings, and at most those of its table or grid."""
        contestants, kept = self.contestants(experiment), self.kept_tunings(experiment)
        if experiment.grid:
            settings, untuned = grid_settings(experiment, contestants), []
        else:
            settings, untuned = table_settings(experiment, contestants, kept), [each for each in contestants if each.name not in kept]
        known = sum(len(each.seeds) * len(each.rates) for same in without_records(settings, self.kept_runs(experiment)) for each in same)
        unknown = sum(len(experiment.seeds) * (2 if each.host and each.host not in kept else 1) for each in untuned)
        return len(untuned) * (experiment.rate_runs + experiment.decay_runs), known + unknown

    def tune(self, experiment, folder):
        """Tunes all contestants at once. Returns the records of the complete tunings by contestant's name."""
        kept = self.kept_tunings(experiment)
        untuned = [each for each in self.contestants(experiment) if each.name not in kept]
        at_once = max(1, min(self.jobs, len(untuned)))
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            each_jobs = max(1, self.jobs // at_once)
            list(pool.map(lambda each: self.sing(tune_command(experiment, each, folder, each_jobs), self.flags), untuned))
        for each in untuned:
            remove_checkpoints(folder / f"{records.TUNE}{each.name}")
        return kept | {each.name: records.read_tuning(folder / f"{records.TUNE}{each.name}") for each in untuned}

    def compare(self, experiment, settings, folder, flags):
        for same_seeds in without_records(settings, self.kept_runs(experiment)):
            self.sing(compare_command(experiment, same_seeds, folder, self.jobs), [*flags, *self.flags])

    def evaluate(self, experiment, folder):
        for run in ended_runs(folder):
            for checkpoint in experiment.evaluate:
                if not measured(run, checkpoint).is_file():
                    self.sing(["eval", str(run), "--checkpoint", checkpoint, "--record", str(measured(run, checkpoint))])
            if is_measured(experiment, run):
                shutil.rmtree(run / "checkpoints", ignore_errors=True)

    def train(self, experiment):
        folder = self.runs / experiment.name
        if experiment.grid:
            settings = grid_settings(experiment, self.contestants(experiment))
            self.compare(experiment, settings, folder / "grid", ["--evaluate-on", "validation"])
            remove_checkpoints(folder / "grid")
        else:
            settings = table_settings(experiment, self.contestants(experiment), self.tune(experiment, folder))
            self.compare(experiment, settings, folder / "table", experiment.table_flags)
            self.evaluate(experiment, folder / "table")

    def keep(self, experiment):
        """Adds the records of what is complete to the experiment's file. Returns their number."""
        folder = self.runs / experiment.name
        complete = [run for part in ("table", "grid") for run in ended_runs(folder / part) if is_measured(experiment, run)]
        tunings = [folder / f"{records.TUNE}{each.name}" for each in experiment.contestants]
        complete += [tuning for tuning in tunings if records.read_tuning(tuning)]
        if complete:
            self.out.mkdir(parents=True, exist_ok=True)
            records.keep(complete, records.file_of(experiment, self.out), experiment.losses)
        return len(complete)


def measured(run, checkpoint):
    """Returns the file that `sing eval` writes for a checkpoint of a run."""
    return run / f"eval_{checkpoint}.json"


def is_measured(experiment, run):
    return all(measured(run, checkpoint).is_file() for checkpoint in experiment.evaluate)


def ended_runs(folder):
    """Returns the run folders in a folder of `sing compare` or `sing tune` whose training has ended."""
    return [metrics.parent for metrics in sorted(folder.glob("*/metrics.jsonl")) if records.has_ended(metrics.parent)]


def remove_checkpoints(folder):
    """Removes the weights of the runs that have ended, which nothing reads any more."""
    for run in ended_runs(folder):
        shutil.rmtree(run / "checkpoints", ignore_errors=True)


def write_archive(file, out, runs):
    """Puts the records and the ended runs of unfinished tunings into a tar file, which is complete or not there."""
    paths = sorted(out.glob("*.jsonl"))
    for folder in sorted(runs.glob(f"*/{records.TUNE}*")):
        if not records.read_tuning(folder):
            for run in ended_runs(folder):
                paths += [run / "config.json", run / "metrics.jsonl", folder / f"{run.name}.command"]
            paths.append(folder / "tune.json")
    beside = file.with_name(file.name + ".tmp")
    with tarfile.open(beside, "w:xz") as archive:
        for path in paths:
            if path.is_file():
                archive.add(path)
    beside.replace(file)


def parsed(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments, all if there is none: " + ", ".join(EXPERIMENTS))
    parser.add_argument("--program", default="sing", help="the program sing")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("data"), help="folder with the data of all tasks")
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/experiments"), help="folder for the runs")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/results"), help="folder for the records")
    parser.add_argument("--archive", type=pathlib.Path, help="tar file (xz) for the records and the state of unfinished tunings")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once")
    parser.add_argument("--seconds", type=float, default=math.inf, help="time after which trainings save and stop")
    parser.add_argument("--commit", default="", help="count only records of this commit, and train the others again")
    parser.add_argument("--contestants", type=lambda text: text.split(","), default=[], metavar="NAME,…", help="only these")
    parser.add_argument("--list", action="store_true", help="print what is missing and the commands, as far as they are known, and train nothing")
    end = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:end])
    arguments.flags = words[end + 1 :]
    arguments.names = arguments.names or list(EXPERIMENTS)
    for name in arguments.names:
        if name not in EXPERIMENTS:
            parser.error(f"wanted NAME of {', '.join(EXPERIMENTS)}, got {name}")
        known = [each.name for each in EXPERIMENTS[name].contestants]
        unknown = [each for each in arguments.contestants if each not in known]
        if unknown:
            parser.error(f"wanted contestants of {name}, {', '.join(known)}, got {', '.join(unknown)}")
    return arguments


def main():
    arguments = parsed(sys.argv[1:])
    trainer = Trainer(arguments)
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, lambda *_: trainer.stop())
    for name in arguments.names:
        experiment = EXPERIMENTS[name]
        missing = trainer.missing_data(experiment)
        if missing and not arguments.list:
            print(f"{name}: left out, because there is no {' and no '.join(missing)}", flush=True)
            continue
        if arguments.list:
            print("# {}: {} trainings to tune, at most {} for the table or the grid".format(name, *trainer.left(experiment)), flush=True)
        trainer.train(experiment)
        if not arguments.list:
            print(f"{name}: {trainer.keep(experiment)} records, {trainer.seconds_left():.0f} s left", flush=True)
            if arguments.archive:
                write_archive(arguments.archive, arguments.out, arguments.runs)
    return 1 if trainer.failures else 0


if __name__ == "__main__":
    sys.exit(main())
