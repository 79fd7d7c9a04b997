"""Trains an experiment with a program that stands in for `sing`, and expects the protocol: tuning, table, records, limits."""

import contextlib
import dataclasses
import io
import json
import pathlib
import shutil
import signal
import stat
import sys
import tarfile
import tempfile
import textwrap
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import train_experiments  # noqa: E402
from results import records  # noqa: E402
from results.experiment import Contestant, Experiment  # noqa: E402
from results.experiments import EXPERIMENTS  # noqa: E402

TOOLS = pathlib.Path(train_experiments.__file__).parent
# Writes what `sing tune`, `sing compare` and `sing eval` would, and its arguments to CALLS. The accuracy of a tuning's run is
# highest at the rate that the plan names for its folder; a plan of null diverges.
FAKE_SING = '''\
#!{python}
import json, os, pathlib, signal, sys
sys.path.insert(0, "{tools}")
from results.experiment import options_in
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGTERM}})
words = sys.argv[1:]
here = pathlib.Path(__file__).parent
with open(here / "calls", "a") as calls:
    calls.write(json.dumps(words) + "\\n")
plan = json.loads((here / "plan").read_text())

def value(flag):
    return words[words.index(flag) + 1]

def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return text

def run(folder, options):
    options = {{name: parsed(text) for name, text in options.items()}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "checkpoints").mkdir(exist_ok=True)
    (folder.parent / (folder.name + ".command")).write_text("train")
    (folder / "config.json").write_text(json.dumps({{"options": options, "commit": plan.get("commit", "c0ffee")}}))
    end = {{"kind": "end", "status": "finished", "final_accuracy": 0.5, "seconds": 1}}
    (folder / "metrics.jsonl").write_text(json.dumps(end) + "\\n")

if words[0] == "eval":
    if plan.get("eval") == "fails":
        sys.exit(1)
    pathlib.Path(value("--record")).write_text(json.dumps({{"accuracy": 0.25}}))
    sys.exit()
out = pathlib.Path(value("--out"))
flags = words[words.index("--") + 1:]
if words[0] == "tune":
    best = plan[out.name]
    if best == "fails":
        sys.exit(1)
    run(out / "trial", {{}})
    if best == "stop everything":
        os.kill(os.getppid(), signal.SIGTERM)
    if best in ("wait", "stop everything"):
        signal.sigwait({{signal.SIGTERM}})
        sys.exit(130)
    decay = float(value("--weight-decay"))
    setting = best and {{"learning_rate": best, "weight_decay": decay}}
    remarks = [] if best else ["no run finished"]
    results = [{{"learning_rate": best, "weight_decay": decay, "outcome": "finished"}}] * int(value("--rate-runs"))
    tuning = {{"best": setting, "remarks": remarks, "results": results, "evaluate_on": "validation", "train_flags": flags}}
    (out / "tune.json").write_text(json.dumps(tuning | {{"origin": {{"commit": plan.get("commit", "c0ffee")}}}}))
    sys.exit(0 if best else 3)
pairs = list(zip(words, words[1:]))
variants = dict(each.split("=", 1) for flag, each in pairs if flag == "--variant")
rates = dict(each.split("=") for flag, each in pairs if flag == "--learning-rates")
for name, values in rates.items():
    options = options_in(tuple(flags)) | options_in(tuple(variants[name].split()[1:]))
    for rate in values.split(","):
        for seed in value("--seeds").split(","):
            run(out / f"{{name}}_lr{{rate}}_seed{{seed}}", options | {{"learning_rate": rate, "seed": seed}})
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
        for each in (signal.SIGINT, signal.SIGTERM):
            self.addCleanup(signal.signal, each, signal.getsignal(each))
        self.program = self.root / "sing"
        self.program.write_text(textwrap.dedent(FAKE_SING.format(python=sys.executable, tools=TOOLS)), encoding="utf-8")
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def train(self, plan, *flags, experiment=EXPERIMENT, status=0):
        """Returns the arguments of every call of the program so far, and the records by name."""
        (self.root / "plan").write_text(json.dumps(plan), encoding="utf-8")
        words = ["train", experiment.name, "--program", str(self.program), "--runs", str(self.root / "runs"), "--out", str(self.root / "kept")]
        said = io.StringIO()
        with mock.patch.dict(EXPERIMENTS, {experiment.name: experiment}), mock.patch.object(sys, "argv", [*words, *flags]):
            with contextlib.redirect_stdout(said):
                self.assertEqual(train_experiments.main(), status)
        calls = self.root / "calls"
        lines = calls.read_text(encoding="utf-8").splitlines() if calls.is_file() else []
        self.said = said.getvalue()
        return [json.loads(line) for line in lines], records.read_kept(self.root / "kept" / f"{experiment.name}.jsonl")

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
        settings = {each.name: (each.decay, each.rates) for each in train_experiments.table_settings(EXPERIMENT, EXPERIMENT.contestants, tunings)}
        self.assertEqual(settings, {"adamw": (0.05, (1e-3,)), "plugsing": (0.5, (1e-3,)), "plugsing_at_hosts_setting": (0.05, (1e-3,))})
        self.assertEqual(EXPERIMENT.contestant_of("plugsing_at_hosts_setting_lr0.001_seed1").name, "plugsing")

    def test_a_grid_is_measured_on_validation_data(self):
        experiment = dataclasses.replace(EXPERIMENT, grid=(-4, 0, 4), evaluate=())
        [call], kept = self.train({}, experiment=experiment)
        self.assertEqual(call[0], "compare")
        self.assertIn("sing=0.001,0.01,0.1", call)
        self.assertEqual(call[call.index("--evaluate-on") + 1], "validation")
        self.assertEqual(len(kept), 3 * 3 * 2)

    def test_after_the_time_limit_a_command_is_stopped_and_none_is_begun(self):
        calls, kept = self.train({"tune_adamw": "wait", "tune_plugsing": 1e-3, "tune_sing": 1e-2}, "--seconds", "0.5")
        self.assertLessEqual(len(calls), 1)  # the program may be stopped before it writes its call
        self.assertEqual(kept, {})
        # The same command goes on.
        calls, kept = self.train({"tune_adamw": 2e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2}, "--jobs", "3")
        self.assertEqual(calls[-1][0], "eval")
        self.assertIn("sing_lr0.01_seed2", kept)

    def test_a_signal_is_an_end_of_the_time(self):
        calls, kept = self.train({"tune_adamw": 1e-3, "tune_plugsing": "stop everything", "tune_sing": 1e-2})
        self.assertEqual([call[0] for call in calls], ["tune", "tune"])
        self.assertEqual(kept.keys(), {"tune_adamw"})

    def test_a_failure_leaves_its_contestant_out_and_is_the_exit_status(self):
        with contextlib.redirect_stderr(io.StringIO()) as error:
            calls, kept = self.train({"tune_adamw": "fails", "tune_plugsing": 1e-3, "tune_sing": 1e-2}, status=1)
        self.assertIn("wanted exit code 0, 3 or 130, got 1", error.getvalue())
        self.assertFalse(any(name.startswith("adamw") for name in kept))
        self.assertIn("sing_lr0.01_seed1", kept)

    def test_a_run_is_kept_only_with_its_measurements(self):
        plan = {"tune_adamw": 1e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2}
        with contextlib.redirect_stderr(io.StringIO()):
            _, kept = self.train(plan | {"eval": "fails"}, status=1)
        self.assertEqual(kept.keys(), {"tune_adamw", "tune_plugsing", "tune_sing"})
        self.assertEqual(len(list(self.root.glob("runs/tiny/table/*/checkpoints"))), 6)
        _, kept = self.train(plan)
        self.assertEqual(len(kept), 3 + 6)
        self.assertEqual(list(self.root.glob("runs/tiny/table/*/checkpoints")), [])

    def test_only_the_seeds_without_a_record_are_trained(self):
        plan = {"tune_adamw": 1e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2}
        self.train(plan, experiment=dataclasses.replace(EXPERIMENT, seeds=(2,)))
        (self.root / "calls").unlink()
        shutil.rmtree(self.root / "runs")
        calls, kept = self.train(plan, experiment=dataclasses.replace(EXPERIMENT, seeds=(1, 2, 3)))
        [table] = [call for call in calls if call[0] == "compare"]
        self.assertEqual(table[table.index("--seeds") + 1], "1,3")
        self.assertEqual(len(kept), 3 + 9)

    def test_a_tuning_with_another_number_of_runs_or_on_the_test_set_is_made_again(self):
        plan = {"tune_adamw": 1e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2}
        self.train(plan, experiment=dataclasses.replace(EXPERIMENT, rate_runs=3))
        (self.root / "calls").unlink()
        calls, kept = self.train(plan)
        self.assertEqual([call[0] for call in calls if call[0] == "tune"], ["tune"] * 3)
        self.assertEqual({len(kept[f"tune_{each.name}"]["tune"]["results"]) for each in EXPERIMENT.contestants}, {EXPERIMENT.rate_runs})
        on_test = kept["tune_sing"]["tune"] | {"evaluate_on": "test"}
        self.assertFalse(train_experiments.follows_protocol(EXPERIMENT, on_test))

    def test_records_of_another_commit_may_be_trained_again(self):
        plan = {"tune_adamw": 1e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2}
        self.train(plan)
        (self.root / "calls").unlink()
        shutil.rmtree(self.root / "runs")
        calls, _ = self.train(plan | {"commit": "beef"}, "--commit", "c0ffee")
        self.assertEqual(calls, [])
        calls, kept = self.train(plan | {"commit": "beef"}, "--commit", "beef")
        self.assertEqual([call[0] for call in calls if call[0] != "eval"], ["tune", "tune", "tune", "compare"])
        self.assertEqual({run["config"]["commit"] for run in kept.values() if "end" in run}, {"beef"})

    def test_refuses_records_that_were_trained_with_other_flags(self):
        self.train({"tune_adamw": 1e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2})
        with self.assertRaisesRegex(ValueError, "wanted adamw with epochs 3, got 2"):
            self.train({}, experiment=dataclasses.replace(EXPERIMENT, flags=("--epochs", "3")))

    def test_a_contestant_alone_is_trained_at_the_rate_of_its_host_too(self):
        plan = {"tune_adamw": 2e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2}
        self.train(plan, "--contestants", "adamw")
        calls, _ = self.train(plan, "--contestants", "plugsing")
        self.assertIn("plugsing=0.001,0.002", [call for call in calls if call[0] == "compare"][1])

    def test_an_experiment_without_its_data_is_left_out(self):
        experiment = dataclasses.replace(EXPERIMENT, flags=("--data", "data/images", *EXPERIMENT.flags), evaluate=())
        plan = {"tune_adamw": 1e-3, "tune_plugsing": 1e-3, "tune_sing": 1e-2}
        calls, _ = self.train(plan, "--data", str(self.root / "sets"), experiment=experiment)
        self.assertEqual(calls, [])
        self.assertIn("left out, because there is no", self.said)
        (self.root / "sets" / "images").mkdir(parents=True)
        calls, _ = self.train(plan, "--data", str(self.root / "sets"), experiment=experiment)
        self.assertTrue(all(call[call.index("--data") + 1] == str(self.root / "sets" / "images") for call in calls))

    def test_the_archive_has_the_records_and_the_state_of_unfinished_tunings(self):
        archive = self.root / "records.tar.xz"
        self.train({"tune_adamw": 1e-3, "tune_plugsing": "stop everything", "tune_sing": 1e-2}, "--archive", str(archive))
        with tarfile.open(archive) as packed:
            names = {pathlib.PurePath("/", name).relative_to(self.root).as_posix() for name in packed.getnames()}
            trial = "runs/tiny/tune_plugsing/trial"
            self.assertEqual(names, {"kept/tiny.jsonl", f"{trial}/config.json", f"{trial}/metrics.jsonl", f"{trial}.command"})

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
        # Two seeds for each, and for PlugSING once more at its host's rate.
        self.assertIn("# tiny: 15 trainings to tune, at most 8 for the table or the grid", self.said)
        self.train({"tune_adamw": 2e-3, "tune_plugsing": 1e-3, "tune_sing": 3e-2}, "--contestants", "adamw")
        self.train({}, "--list")
        self.assertIn("# tiny: 10 trainings to tune, at most 6 for the table or the grid", self.said)
        grid = dataclasses.replace(EXPERIMENT, name="tiny_grid", grid=(-1, 0), evaluate=())
        self.train({}, "--list", experiment=grid)
        self.assertIn("# tiny_grid: 0 trainings to tune, at most 12 for the table or the grid", self.said)


if __name__ == "__main__":
    unittest.main()
