"""Trains an experiment with a program that stands in for `sing`, and expects the protocol: tuning, table, records, limits."""

import contextlib
import io
import json
import pathlib
import shutil
import stat
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import keep_run_records  # noqa: E402
import train_experiments  # noqa: E402
from experiments import EXPERIMENTS, Contestant, Experiment  # noqa: E402

# Writes what `sing tune`, `sing compare` and `sing eval` would, and its arguments to CALLS. The accuracy of a tuning's run is
# highest at the rate that the plan names for its folder; a plan of null diverges.
FAKE_SING = '''\
#!{python}
import json, os, pathlib, signal, sys
words = sys.argv[1:]
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    calls.write(json.dumps(words) + "\\n")
plan = json.loads((here / "plan").read_text())

def value(flag):
    return words[words.index(flag) + 1]

def run(folder, options):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "checkpoints").mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({{"options": options}}))
    end = {{"kind": "end", "status": "finished", "final_accuracy": 0.5, "seconds": 1}}
    (folder / "metrics.jsonl").write_text(json.dumps(end) + "\\n")

if words[0] == "eval":
    pathlib.Path(value("--record")).write_text(json.dumps({{"accuracy": 0.25}}))
    sys.exit()
out = pathlib.Path(value("--out"))
if words[0] == "tune":
    out.mkdir(parents=True, exist_ok=True)
    best = plan[out.name]
    if best == "wait":
        signal.sigwait({{signal.SIGINT}})
        sys.exit(130)
    run(out / "trial", {{}})
    setting = best and {{"learning_rate": best, "weight_decay": float(value("--weight-decay"))}}
    remarks = [] if best else ["no run finished"]
    (out / "tune.json").write_text(json.dumps({{"best": setting, "remarks": remarks, "results": []}}))
    sys.exit(0 if best else 3)
rates = dict(each.split("=") for flag, each in zip(words, words[1:]) if flag == "--learning-rates")
for name, values in rates.items():
    for rate in values.split(","):
        for seed in value("--seeds").split(","):
            run(out / f"{{name}}_lr{{rate}}_seed{{seed}}", {{"learning_rate": float(rate), "seed": int(seed)}})
'''

EXPERIMENT = Experiment(
    "tiny",
    "A tiny one",
    "rde",
    ("--epochs", "2"),
    (
        Contestant("adamw", "AdamW", "adamw", 1e-3, 0.05),
        Contestant("plugsing", "PlugSING", "plugsing-adamw", 1e-3, 0.05, host="adamw"),
        Contestant("sing", "SING", "sing-adamw", 1e-2, 0.1, ("--freeze-norms",)),
    ),
    baseline="adamw",
    seeds=(1, 2),
    evaluate=("average",),
    table_flags=("--keep-weights", "5"),
)


class TrainExperiments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.program = self.root / "sing"
        self.program.write_text(textwrap.dedent(FAKE_SING.format(python=sys.executable)), encoding="utf-8")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def train(self, plan, *flags, experiment=EXPERIMENT):
        """Returns the arguments of every call of the program, and the records by name."""
        (self.root / "plan").write_text(json.dumps(plan), encoding="utf-8")
        words = ["train", experiment.name, "--program", str(self.program), "--runs", str(self.root / "runs"), "--out", str(self.root / "kept")]
        said = io.StringIO()
        with mock.patch.dict(EXPERIMENTS, {experiment.name: experiment}), mock.patch.object(sys, "argv", [*words, *flags]):
            with contextlib.redirect_stdout(said):
                self.assertEqual(train_experiments.main(), 0)
        calls = self.root / "calls"
        lines = calls.read_text(encoding="utf-8").splitlines() if calls.is_file() else []
        self.said = said.getvalue()
        return [json.loads(line) for line in lines], keep_run_records.read_kept(self.root / "kept" / f"{experiment.name}.jsonl")

    def test_the_table_has_the_tuned_rates_and_the_hosts_with_seeds_of_its_own(self):
        calls, kept = self.train({"tune_adamw": 2e-3, "tune_plugsing": 1e-3, "tune_sing": 3e-2}, "--jobs", "3", "--", "--device", "cuda")
        tunings = [call for call in calls if call[0] == "tune"]
        self.assertEqual(len(tunings), 3)
        for call in tunings:
            self.assertEqual(call[call.index("--rate-runs") + 1], str(EXPERIMENT.rate_runs))
            self.assertEqual(call[call.index("--") + 1 :][:2], ["--epochs", "2"])
            self.assertEqual(call[-2:], ["--device", "cuda"])
            self.assertNotIn("--evaluate-on", call)  # validation is what `sing tune` does
        [table] = [call for call in calls if call[0] == "compare"]
        self.assertEqual([each for each in table if "=" in each and "lr" not in each][3:], ["adamw=0.002", "plugsing=0.001,0.002", "sing=0.03"])
        self.assertIn("sing=sing-adamw --freeze-norms --weight-decay 0.1", table)
        self.assertEqual(table[-6:], ["--epochs", "2", "--keep-weights", "5", "--device", "cuda"])
        runs = {f"{name}_seed{seed}" for name in ("adamw_lr0.002", "plugsing_lr0.001", "plugsing_lr0.002", "sing_lr0.03") for seed in (1, 2)}
        self.assertEqual(kept.keys(), runs | {"tune_adamw", "tune_plugsing", "tune_sing"})
        self.assertTrue(all(kept[name]["measured"] == {"average": {"accuracy": 0.25}} for name in runs))
        self.assertEqual(list(self.root.glob("runs/**/checkpoints")), [])

    def test_a_contestant_whose_runs_all_diverged_has_a_record_but_no_row(self):
        calls, kept = self.train({"tune_adamw": None, "tune_plugsing": 1e-3, "tune_sing": 3e-2})
        [table] = [call for call in calls if call[0] == "compare"]
        self.assertFalse(any(each.startswith("adamw=") for each in table))
        self.assertIn("tune_adamw", kept)

    def test_another_decay_of_the_host_has_runs_of_another_name(self):
        best = {"adamw": (1e-3, 0.05), "plugsing": (1e-3, 0.5)}
        tunings = {name: {"best": {"learning_rate": rate, "weight_decay": decay}} for name, (rate, decay) in best.items()}
        settings = {each.name: (each.decay, each.rates) for each in train_experiments.table_settings(EXPERIMENT, tunings)}
        self.assertEqual(settings, {"adamw": (0.05, (1e-3,)), "plugsing": (0.5, (1e-3,)), "plugsing_at_hosts_setting": (0.05, (1e-3,))})
        self.assertEqual(EXPERIMENT.contestant_of("plugsing_at_hosts_setting_lr0.001_seed1").name, "plugsing")

    def test_a_grid_is_measured_on_validation_data(self):
        experiment = train_experiments.dataclasses.replace(EXPERIMENT, grid=(-4, 0, 4), evaluate=())
        [call], kept = self.train({}, experiment=experiment)
        self.assertEqual(call[0], "compare")
        self.assertIn("sing=0.001,0.01,0.1", call)
        self.assertEqual(call[call.index("--evaluate-on") + 1], "validation")
        self.assertEqual(len(kept), 3 * 3 * 2)

    def test_rates_are_rounded_as_those_of_sing_tune(self):
        self.assertEqual([train_experiments.rate_at(1e-3, place) for place in (-4, -1, 0, 1, 2)], [1e-4, 5.6e-4, 1e-3, 1.8e-3, 3.2e-3])

    def test_after_the_time_limit_a_command_is_interrupted_and_none_is_begun(self):
        calls, kept = self.train({"tune_adamw": "wait", "tune_plugsing": 1e-3, "tune_sing": 1e-2}, "--seconds", "0.5")
        self.assertLessEqual(len(calls), 1)  # the program may be interrupted before it writes its call
        self.assertEqual(kept, {})
        # The same command goes on.
        calls, kept = self.train({"tune_adamw": 2e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2}, "--jobs", "3")
        self.assertEqual(calls[-1][0], "eval")
        self.assertIn("sing_lr0.01_seed2", kept)

    def test_what_has_a_record_is_not_trained_again_on_another_machine(self):
        plan = {"tune_adamw": 2e-3, "tune_plugsing": 1e-3, "tune_sing": 3e-2}
        _, before = self.train(plan, "--contestants", "adamw,plugsing")
        self.assertFalse(any("sing_lr0.03" in name for name in before))
        (self.root / "calls").unlink()
        shutil.rmtree(self.root / "runs")
        calls, after = self.train(plan)
        self.assertEqual([call[0] for call in calls], ["tune", "compare", "eval", "eval"])
        self.assertEqual([each for each in calls[1] if "lr" not in each and "=0" in each], ["sing=0.03"])
        self.assertEqual(after.keys() - before.keys(), {"tune_sing", "sing_lr0.03_seed1", "sing_lr0.03_seed2"})

    def test_list_prints_the_commands_and_trains_nothing(self):
        calls, kept = self.train({}, "--list")
        self.assertEqual((calls, kept), ([], {}))
        self.assertEqual(self.said.count(" tune rde "), 3)


if __name__ == "__main__":
    unittest.main()
