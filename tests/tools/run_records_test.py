"""Keeps records of small runs and expects that they hold what the tables need, and nothing else."""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
from results import records  # noqa: E402

CONFIG = {"task": "rde", "options": {"seed": 3, "data": "/machine/folder/set"}, "machine": {"gpus": ["/dev/one"]}}
END = {"kind": "end", "status": "finished", "best_accuracy": 0.875, "final_loss": 0.0024150381017}
METRICS = [
    {"kind": "step", "step": 1, "loss": 1.0, "seconds": {"data": 0.001, "optimizer": 0.002}, "gradient_norms": {"w": 1.0}},
    {"kind": "evaluation", "step": 1, "epoch": 0.5, "loss": 0.123456789, "accuracy": 0.25},
    {"kind": "step", "step": 2, "loss": 0.5, "seconds": {"data": 0.003, "optimizer": 0.006}},
    {"kind": "evaluation", "step": 2, "epoch": 1.0, "loss": None, "accuracy": 0.875},
    END,
]


class RunRecords(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.out = self.root / "kept.jsonl"

    def make_run(self, name, metrics=METRICS):
        run = self.root / name
        run.mkdir(exist_ok=True)
        (run / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
        (run / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in metrics), encoding="utf-8")
        return run

    def test_keeps_config_evaluations_end_and_the_mean_step_time(self):
        records.keep([self.make_run("one")], self.out)
        record = records.read_kept(self.out)["one"]
        self.assertEqual(record["config"]["options"], {"seed": 3, "data": "set"})
        self.assertEqual(record["config"]["machine"]["gpus"], ["one"])
        self.assertEqual(record["step_milliseconds"], {"data": 2.0, "optimizer": 4.0})
        self.assertEqual(record["evaluations"], {"step": [1, 2], "loss": [0.123457, None], "accuracy": [0.25, 0.875]})
        self.assertEqual(record["end"], {key: value for key, value in END.items() if key != "kind"})
        self.assertNotIn("gradient_norms", self.out.read_text(encoding="utf-8"))

    def test_keeps_other_scores_and_what_sing_eval_measured(self):
        metrics = [
            {"kind": "evaluation", "step": 1, "loss": 3.0, "accuracy": None},
            {"kind": "evaluation", "step": 2, "loss": 2.0, "accuracy": 0.5, "scores": {"bits per byte": 1.23456789}},
            END,
        ]
        run = self.make_run("one", metrics)
        (run / "eval_average.json").write_text(json.dumps({"accuracy": 0.25, "scores": {"bleu": 31.5}}), encoding="utf-8")
        records.keep([run], self.out)
        record = records.read_kept(self.out)["one"]
        self.assertEqual(record["evaluations"]["scores"], {"bits per byte": [None, 1.23457]})
        self.assertEqual(record["measured"], {"average": {"accuracy": 0.25, "scores": {"bleu": 31.5}}})

    def test_keeps_the_highest_loss_of_each_part_only_if_asked(self):
        count = 2 * records.LOSS_PARTS
        steps = [{"kind": "step", "step": step, "loss": 1 + step % 2, "seconds": {}} for step in range(count)]
        steps[7]["loss"] = 123.456
        steps[8]["loss"] = None  # is not finite
        run = self.make_run("one", [*steps, END])
        records.keep([run], self.out)
        self.assertNotIn("losses", records.read_kept(self.out)["one"])
        records.keep([run], self.out, with_losses=True)
        losses = records.read_kept(self.out)["one"]["losses"]
        self.assertEqual(losses["step"][:6], [1, 3, 5, 7, 8, 11])
        self.assertEqual(losses["loss"][:6], [2, 2, 2, 123.5, None, 2])
        self.assertEqual(len(losses["step"]), records.LOSS_PARTS)

    def test_replaces_the_line_of_the_same_name_and_keeps_the_others(self):
        records.keep([self.make_run("two"), self.make_run("one")], self.out)
        better = [*METRICS[:-1], {**END, "best_accuracy": 0.9}]
        records.keep([self.make_run("two", better)], self.out)
        kept = records.read_kept(self.out)
        self.assertEqual(list(kept), ["one", "two"])
        self.assertEqual([kept[name]["end"]["best_accuracy"] for name in kept], [0.875, 0.9])

    def test_keeps_the_result_of_a_tuning(self):
        folder = self.root / "tune_sgd"
        folder.mkdir()
        (folder / "tune.json").write_text(json.dumps({"train_flags": ["--data", "/a/cifar"], "best": 0.1}), encoding="utf-8")
        records.keep([folder], self.out)
        kept = records.read_kept(self.out)
        self.assertEqual(kept["tune_sgd"]["tune"], {"train_flags": ["--data", "cifar"], "best": 0.1})

    def test_of_a_resumed_run_the_later_lines_count_and_a_cut_line_is_left_out(self):
        late = {"kind": "step", "step": 2, "loss": 0.25, "seconds": {"data": 0.005, "optimizer": 0.004}}
        cut = {"kind": "end", "status": "interrupted"}
        run = self.make_run("one", [*METRICS[:3], cut, late, *METRICS[3:]])
        with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
            file.write('{"kind": "st')
        self.assertTrue(records.has_ended(run))
        record = records.run_record(run, with_losses=True)
        self.assertEqual(record["losses"], {"step": [1, 2], "loss": [1.0, 0.25]})
        self.assertEqual(record["step_milliseconds"], {"data": 3.0, "optimizer": 3.0})
        self.assertEqual(record["evaluations"]["step"], [1, 2])

    def test_an_interrupted_run_has_not_ended(self):
        self.assertFalse(records.has_ended(self.make_run("one", [*METRICS[:-1], {"kind": "end", "status": "interrupted"}])))
        self.assertTrue(records.has_ended(self.make_run("two", [*METRICS[:-1], {"kind": "end", "status": "diverged"}])))
        self.assertFalse(records.has_ended(self.root / "three"))

    def test_a_tuning_is_complete_with_a_best_setting_or_a_remark_that_there_is_none(self):
        folder = self.root / "tune_sgd"
        folder.mkdir()
        for tuning, complete in (({"best": None, "remarks": []}, False), ({"best": None, "remarks": ["no run finished"]}, True)):
            (folder / "tune.json").write_text(json.dumps(tuning), encoding="utf-8")
            self.assertEqual(records.read_tuning(folder) is not None, complete)

    def test_refuses_a_run_without_an_end_and_writes_nothing(self):
        with self.assertRaisesRegex(ValueError, "wanted a run that has ended"):
            records.keep([self.make_run("one"), self.make_run("cut", METRICS[:-1])], self.out)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
