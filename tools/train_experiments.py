"""Trains experiments of tools/experiments.py and keeps their records: tuning on validation data, then the table's seeds.

python tools/train_experiments.py NAME… [--program sing] [--jobs N] [--seconds S] [--out docs/results] [-- FLAG…]

For each experiment every contestant's learning rate is chosen by `sing tune`, which compares runs on the validation set; all
contestants get equally many runs. Then `sing compare` trains each at its rate with the table's seeds, and measures on the test
set. A contestant with a host is also trained at the host's rate. An experiment with a grid is one `sing compare` over the grid,
measured on the validation set. Flags after -- are given to every training, such as --device cuda.

Runs are kept below --runs, without the checkpoints of those that have ended, and the same command continues where it stopped.
What has a record in --out is not trained again, on whatever machine it was trained. After --seconds nothing is begun, trainings
save and stop, and the records of what has ended are kept. --contestants trains some of the contestants. --list prints the
commands and trains nothing.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import math
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time

import keep_run_records
from experiments import AT_HOSTS_SETTING, EXPERIMENTS, Contestant

RATES_PER_DECADE = 4  # as in `sing tune`
DIVERGED, INTERRUPTED = 3, 130  # exit codes of `sing`


def rate_at(middle, place):
    """Returns the learning rate at a place of a ladder of four per decade, as `sing tune` rounds it."""
    return middle if place == 0 else float(f"{middle * 10 ** (place / RATES_PER_DECADE):.1e}")


def tune_command(experiment, contestant, folder, jobs, flags):
    return [
        *("tune", experiment.task, "--optimizer", contestant.optimizer, "--learning-rate", repr(contestant.rate)),
        *("--weight-decay", repr(contestant.decay), "--rate-runs", str(experiment.rate_runs)),
        *(("--decay-runs", str(experiment.decay_runs)) if experiment.decay_runs else ("--rates-only",)),
        *("--jobs", str(jobs), "--out", str(folder / f"tune_{contestant.name}"), "--"),
        *(*experiment.flags, *contestant.options, *flags),
    ]


def compare_command(experiment, settings, folder, jobs, flags):
    words = ["compare", experiment.task]
    for each in settings:
        variant = [each.contestant.optimizer, *each.contestant.options, "--weight-decay", repr(each.decay)]
        words += ["--variant", f"{each.name}={' '.join(variant)}"]
    for each in settings:
        words += ["--learning-rates", f"{each.name}={','.join(repr(rate) for rate in each.rates)}"]
    words += ["--seeds", ",".join(str(seed) for seed in experiment.seeds), "--jobs", str(jobs), "--out", str(folder)]
    return [*words, "--", *experiment.flags, *flags]


def read_tuning(folder, contestant):
    """Returns the record of a complete tuning, or None."""
    file = folder / f"tune_{contestant.name}" / "tune.json"
    if not file.is_file():
        return None
    tuning = json.loads(file.read_text(encoding="utf-8"))
    return tuning if tuning["best"] or tuning["remarks"] else None


@dataclasses.dataclass(frozen=True)
class Setting:
    """The learning rates at which a contestant is trained with one weight decay, and the name of these runs."""

    contestant: Contestant
    decay: float
    rates: tuple
    name: str


def table_settings(experiment, tunings):
    """Returns what the table trains: every contestant at its best setting, and at its host's where that is another one.

    `tunings` are records by contestant's name. A contestant whose tuning is not complete is left out.
    """
    settings = []
    for contestant in experiment.contestants:
        best = (tunings.get(contestant.name) or {}).get("best")
        host = (tunings.get(contestant.host) or {}).get("best")
        rates = {}
        for each in (best, host):
            if each:
                rates.setdefault(each["weight_decay"], {})[each["learning_rate"]] = True
        for place, decay in enumerate(rates):
            name = contestant.name + (AT_HOSTS_SETTING if place else "")
            settings.append(Setting(contestant, decay, tuple(rates[decay]), name))
    return settings


def without_records(settings, seeds, kept):
    """Returns the settings without the learning rates whose runs all have a record."""
    have = set()
    for record in kept.values():
        if "end" in record:
            options = record["config"]["options"]
            have.add((record["name"].rsplit("_lr", 1)[0], options["learning_rate"], options["seed"]))
    left = []
    for setting in settings:
        rates = tuple(rate for rate in setting.rates if not have >= {(setting.name, rate, seed) for seed in seeds})
        left += [dataclasses.replace(setting, rates=rates)] if rates else []
    return left


class Trainer:
    def __init__(self, arguments):
        self.program, self.jobs, self.flags = arguments.program, arguments.jobs, arguments.flags
        self.listing, self.out, self.names = arguments.list, arguments.out, arguments.contestants
        self.deadline = time.monotonic() + arguments.seconds

    def seconds_left(self):
        return self.deadline - time.monotonic()

    def sing(self, words):
        """Runs the program; interrupts it at the deadline, so that it saves. Returns whether it came to its end."""
        command = [self.program, *words]
        print("$ " + shlex.join(command), flush=True)
        if self.listing:
            return True
        if self.seconds_left() <= 0:
            return False
        process = subprocess.Popen(command)
        try:
            code = process.wait(timeout=self.seconds_left())
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            process.wait()
            return False
        if code not in (0, DIVERGED, INTERRUPTED):
            print(f"[train_experiments] wanted an end of the command above, got exit code {code}", file=sys.stderr, flush=True)
        return code in (0, DIVERGED)

    def contestants(self, experiment):
        return [each for each in experiment.contestants if not self.names or each.name in self.names]

    def kept(self, experiment):
        return keep_run_records.read_kept(self.out / f"{experiment.name}.jsonl")

    def tune(self, experiment, folder):
        """Tunes all contestants at once. Returns the records of the complete tunings by contestant's name."""
        kept = self.kept(experiment)
        contestants = self.contestants(experiment)
        untuned = [each for each in contestants if f"tune_{each.name}" not in kept]
        at_once = max(1, min(self.jobs, len(untuned)))
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            each_jobs = max(1, self.jobs // at_once)
            commands = [tune_command(experiment, each, folder, each_jobs, self.flags) for each in untuned]
            list(pool.map(self.sing, commands))
        for each in untuned:
            remove_checkpoints(folder / f"tune_{each.name}")
        return {
            each.name: read_tuning(folder, each) if each in untuned else kept[f"tune_{each.name}"]["tune"] for each in contestants
        }

    def evaluate(self, experiment, runs):
        for run in runs:
            records = {checkpoint: run / f"eval_{checkpoint}.json" for checkpoint in experiment.evaluate}
            for checkpoint, record in records.items():
                if not record.is_file():
                    self.sing(["eval", str(run), "--checkpoint", checkpoint, "--record", str(record)])
            if all(record.is_file() for record in records.values()):
                shutil.rmtree(run / "checkpoints", ignore_errors=True)

    def train(self, experiment, folder):
        if experiment.grid:
            settings = [
                Setting(each, each.decay, tuple(rate_at(each.rate, place) for place in experiment.grid), each.name)
                for each in self.contestants(experiment)
            ]
            settings = without_records(settings, experiment.seeds, self.kept(experiment))
            flags = ["--evaluate-on", "validation", *self.flags]
            if settings:
                self.sing(compare_command(experiment, settings, folder / "grid", self.jobs, flags))
            remove_checkpoints(folder / "grid")
            return
        settings = table_settings(experiment, self.tune(experiment, folder))
        settings = without_records(settings, experiment.seeds, self.kept(experiment))
        if settings:
            self.sing(compare_command(experiment, settings, folder / "table", self.jobs, [*experiment.table_flags, *self.flags]))
        if not self.listing:
            self.evaluate(experiment, ended_runs(folder / "table"))


def ended_runs(folder):
    """Returns the run folders in a folder of `sing compare` whose training has ended."""
    ended = []
    for metrics in sorted(folder.glob("*/metrics.jsonl")):
        lines = metrics.read_text(encoding="utf-8").splitlines()
        last = json.loads(lines[-1]) if lines else {}
        if last.get("kind") == "end" and last["status"] != "interrupted":
            ended.append(metrics.parent)
    return ended


def remove_checkpoints(folder):
    """Removes the weights of the runs that have ended, which nothing reads any more."""
    for run in ended_runs(folder):
        shutil.rmtree(run / "checkpoints", ignore_errors=True)


def keep(experiment, folder, out):
    """Adds the records of what has ended to the experiment's file in `out`. Returns their number."""
    ended = [run for part in ("table", "grid") for run in ended_runs(folder / part)]
    ended += [folder / f"tune_{each.name}" for each in experiment.contestants if read_tuning(folder, each)]
    if ended:
        out.mkdir(parents=True, exist_ok=True)
        keep_run_records.keep(ended, out / f"{experiment.name}.jsonl", experiment.losses)
    return len(ended)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=sorted(EXPERIMENTS), metavar="NAME", help=", ".join(EXPERIMENTS))
    parser.add_argument("--program", default="sing", help="the program sing")
    parser.add_argument("--runs", type=pathlib.Path, default=pathlib.Path("runs/experiments"), help="folder for the runs")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/results"), help="folder for the records")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once")
    parser.add_argument("--seconds", type=float, default=math.inf, help="time after which trainings save and stop")
    parser.add_argument("--contestants", type=lambda text: text.split(","), default=[], metavar="NAME,…", help="only these")
    parser.add_argument("--list", action="store_true", help="print the commands, as far as they are known, and train nothing")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    arguments = parser.parse_args(words[:end])
    arguments.flags = words[end + 1 :]
    for name in arguments.names:
        known = {each.name for each in EXPERIMENTS[name].contestants}
        if not known >= set(arguments.contestants):
            parser.error(f"wanted contestants of {name}, {', '.join(sorted(known))}, got {', '.join(set(arguments.contestants) - known)}")
    trainer = Trainer(arguments)
    for name in arguments.names:
        experiment = EXPERIMENTS[name]
        trainer.train(experiment, arguments.runs / name)
        if not arguments.list:
            kept = keep(experiment, arguments.runs / name, arguments.out)
            print(f"{name}: {kept} records, {trainer.seconds_left():.0f} s left", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
