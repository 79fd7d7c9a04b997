"""Makes tables and figures of small records by hand: pairs, differences, best rates, what is missing, and what is drawn."""

import dataclasses
import json
import math
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import make_results  # noqa: E402
from results import changed_line, estimates, experiments, figures, learning_rates, line_figure, records, tables  # noqa: E402
from results.experiment import Contestant, Experiment, Score, options_in, rate_at  # noqa: E402


def run(name, optimizer, seed, accuracy, rate=1e-3, status="finished", scores=None, measured=None, **more):
    normalize = "unit_norm" if optimizer.startswith(("plugsing-", "sing-")) else "off"
    options = {"optimizer": optimizer, "seed": seed, "learning_rate": rate, "weight_decay": 0.05, "epochs": 100}
    options |= {"normalize": normalize, "reference_size": 589824.0, "threads": seed} | more
    config = {"task": "rde", "options": options, "total_steps": 10, "commit": "c0ffee", "machine": {"gpus": ["GPU"]}}
    end = {"status": status, "final_accuracy": accuracy, "final_loss": 1.0, "seconds": 60.0}
    record = {"name": f"{name}_lr{rate:g}_seed{seed}", "config": config, "end": end | ({"scores": scores} if scores else {})}
    return record | ({"measured": measured} if measured else {})


def host(optimizer, seed, accuracy, rate=1e-3, status="finished", **more):
    return run(optimizer, optimizer, seed, accuracy, rate, status, **more)


def tuning(rates, best, evaluate_on="validation", total_steps=10, decay=0.05):
    """`rates` is rate -> accuracy, or None for a run that diverged."""
    results = [
        {"learning_rate": rate, "weight_decay": decay, "outcome": "finished" if value else "diverged", "accuracy": value, "loss": value and 1 - value}
        for rate, value in rates.items()
    ]
    return {
        "evaluate_on": evaluate_on,
        "seed": 0,
        "origin": {"total_steps": total_steps},
        "grid": {"first_weight_decay": decay},
        "results": results,
        "best": {"learning_rate": best, "weight_decay": decay},
    }


EXPERIMENT = Experiment(
    "small",
    "A small one",
    "rde",
    (),
    (
        Contestant("adamw", "AdamW", "adamw", 1e-3, 0.05, paper=("78.13",)),
        Contestant("plugsing", "PlugSING", "plugsing-adamw", 1e-3, 0.05, host="adamw"),
        Contestant("sing", "SING", "sing-adamw", 1e-2, 0.05),
    ),
    baseline="adamw",
)


class Records(unittest.TestCase):
    """Writes records into a scratch folder in place of docs/results."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        patch = mock.patch.object(records, "RESULTS", self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def write(self, runs, tunings=None, name="small"):
        lines = [*runs, *({"name": f"tune_{key}", "tune": value} for key, value in (tunings or {}).items())]
        text = "".join(json.dumps(record) + "\n" for record in lines)
        (self.folder / f"{name}.jsonl").write_text(text, encoding="utf-8")


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


class ResultTable(Records):
    def rows(self, experiment=EXPERIMENT):
        lines = tables.training_table(experiment)
        end = lines.index("")
        return [dict(zip(cells(lines[0]), cells(line))) for line in lines[2:end]], lines[end + 1 :]

    def test_differences_are_to_the_best_rate_of_the_baseline_over_the_shared_seeds(self):
        self.write(
            [
                *(run("adamw", "adamw", seed, accuracy) for seed, accuracy in ((1, 0.80), (2, 0.82), (3, 0.84))),
                *(run("adamw", "adamw", seed, 0.5, rate=2e-3) for seed in (1, 2, 3)),
                run("plugsing", "plugsing-adamw", 1, 0.83),
                run("plugsing", "plugsing-adamw", 2, 0.85),
                run("plugsing", "plugsing-adamw", 7, 0.99),  # no partner
            ]
        )
        rows, captions = self.rows()
        self.assertEqual([row["accuracy, %, difference (95 %)"] for row in rows], ["", "**-32.00** ± 4.97", "**+3.00** ± 0.00"])
        self.assertEqual(rows[0]["accuracy, %"], "82.00 ± 2.00")
        self.assertEqual([row["paper: accuracy, %"] for row in rows], ["78.13", "78.13", ""])
        self.assertIn("Differences are relative to AdamW at 0.001, paired by seed.", captions)

    def test_says_how_each_rate_was_chosen(self):
        rates = {5e-4: 0.7, 1e-3: 0.8, 2e-3: None}
        self.write(
            [
                run("adamw", "adamw", 1, 0.8),
                run("plugsing", "plugsing-adamw", 1, 0.8),
                run("plugsing", "plugsing-adamw", 1, 0.9, rate=2e-3),
                run("sing", "sing-adamw", 1, 0.9, rate=1e-2),
            ],
            {"adamw": tuning(rates, 1e-3), "plugsing": tuning(rates, 2e-3)},
        )
        rows, captions = self.rows()
        self.assertEqual([row["rate is"] for row in rows], ["its best of 3", "its host's best of 3", "its best of 3", ""])
        self.assertIn(
            "Rates are the best of `sing tune` on the validation set, 3 runs for each method, at the table's length, seed 0.", captions
        )

    def test_says_that_tunings_were_shorter(self):
        self.write([run("adamw", "adamw", 1, 0.8)], {"adamw": tuning({1e-3: 0.8}, 1e-3, total_steps=4)})
        self.assertTrue(any("in runs of 4 steps" in line for line in self.rows()[1]))

    def test_a_row_with_a_diverged_run_shows_no_figure(self):
        self.write([run("adamw", "adamw", 1, 0.8), run("adamw", "adamw", 2, None, status="diverged")])
        [row], _ = self.rows()
        self.assertEqual(row["accuracy, %"], "1 of 2 diverged")

    def test_a_row_with_a_diverged_run_has_no_difference(self):
        self.write(
            [
                *(run("adamw", "adamw", seed, 0.8) for seed in (1, 2)),
                *(run("sing", "sing-adamw", seed, value, status="finished" if value else "diverged") for seed, value in ((1, 0.9), (2, None))),
            ]
        )
        rows, _ = self.rows()
        self.assertEqual([row["accuracy, %, difference (95 %)"] for row in rows], ["", ""])

    def test_the_baseline_is_the_tuned_row_and_not_the_best_on_the_test_set(self):
        self.write(
            [*(run("adamw", "adamw", 1, accuracy, rate) for rate, accuracy in ((1e-3, 0.8), (2e-3, 0.9))), run("sing", "sing-adamw", 1, 0.85)],
            {"adamw": tuning({1e-3: 0.7, 2e-3: 0.6}, 1e-3)},
        )
        rows, captions = self.rows()
        self.assertEqual([row["accuracy, %, difference (95 %)"] for row in rows], ["", "+10.00", "+5.00"])
        self.assertIn("Differences are relative to AdamW at 0.001, paired by seed.", captions)

    def test_there_are_no_differences_to_a_baseline_that_diverged_at_its_tuned_rate(self):
        self.write(
            [run("adamw", "adamw", 1, None, 1e-3, "diverged"), run("adamw", "adamw", 1, 0.9, 2e-3), run("sing", "sing-adamw", 1, 0.85)],
            {"adamw": tuning({1e-3: 0.7, 2e-3: 0.6}, 1e-3)},
        )
        rows, captions = self.rows()
        self.assertEqual([row["accuracy, %, difference (95 %)"] for row in rows], ["", "", ""])
        self.assertFalse(any("Differences" in caption for caption in captions))

    def test_says_that_runs_are_of_several_commits(self):
        runs = [run("adamw", "adamw", 1, 0.8), run("sing", "sing-adamw", 1, 0.9)]
        runs[1]["config"]["commit"] = "beef"
        self.write(runs)
        _, captions = self.rows()
        self.assertIn("2 runs; commits beef, c0ffee; one GPU.", captions)
        self.assertIn("Differences are relative to AdamW at 0.001, paired by seed. Some compare runs of different commits.", captions)

    def test_says_how_many_runs_were_measured(self):
        experiment = dataclasses.replace(EXPERIMENT, scores=(Score("BLEU", "bleu", 1, 1, measured="average"),))
        measured = {"average": {"scores": {"bleu": 31.5}}}
        self.write([run("adamw", "adamw", 1, 0.5, measured=measured), run("adamw", "adamw", 2, 0.5)])
        rows, _ = self.rows(experiment)
        self.assertEqual(rows[0]["BLEU"], "31.5 (1 of 2 runs)")

    def test_says_that_a_rate_was_chosen_on_the_test_set(self):
        self.write([run("adamw", "adamw", 1, 0.8)], {"adamw": tuning({1e-3: 0.8}, 1e-3, evaluate_on="test")})
        rows, captions = self.rows()
        self.assertEqual(rows[0]["rate is"], "its best of 1 on the test set")
        self.assertTrue(any("on the test set, 1 runs" in caption for caption in captions))

    def test_refuses_records_of_another_training(self):
        experiment = dataclasses.replace(EXPERIMENT, flags=("--epochs", "100", "--threads", "7", "--data", "elsewhere"))
        self.write([run("adamw", "adamw", 1, 0.8)])
        self.assertEqual(len(records.read_runs(experiment)), 1)
        self.write([run("adamw", "adamw", 1, 0.8), run("adamw", "adamw", 2, 0.8, epochs=50)])
        with self.assertRaisesRegex(ValueError, r"\[docs/results/small.jsonl\] wanted adamw with epochs 100, got 50"):
            records.read_runs(experiment)
        tuned = tuning({1e-3: 0.8}, 1e-3) | {"train_flags": ["--epochs", "50"]}
        self.write([], {"adamw": tuned})
        with self.assertRaisesRegex(ValueError, "wanted adamw with epochs 100, got 50"):
            records.read_tunings(experiment)

    def test_shows_other_scores_and_what_sing_eval_measured(self):
        scores = (Score("BLEU", "bleu", 1, 1, measured="average"), Score("bits", "bits per byte", 1, 3, lower_is_better=True))
        measured = {"average": {"accuracy": 0.3, "scores": {"bleu": 31.25}}}
        experiment = dataclasses.replace(EXPERIMENT, scores=scores)
        self.write([run("adamw", "adamw", 1, 0.5, scores={"bits per byte": 1.2345}, measured=measured), run("sing", "sing-adamw", 1, 0.5)])
        rows, _ = self.rows(experiment)
        self.assertEqual([rows[0]["BLEU"], rows[0]["bits"], rows[1]["BLEU"]], ["31.2", "1.234", ""])

    def test_lists_contestants_without_records(self):
        self.write([run("adamw", "adamw", 1, 0.8)])
        self.assertEqual(tables.missing(EXPERIMENT), ["AdamW (1 of 3 runs)", "PlugSING", "SING"])
        self.write(
            [run("adamw", "adamw", seed, 0.8) for seed in (1, 2, 3)],
            {"plugsing": tuning({1e-3: 0.8}, 1e-3), "sing": tuning({1e-3: None}, 1e-3) | {"best": None}},
        )
        self.assertEqual(tables.missing(EXPERIMENT), ["PlugSING (tuned)"])  # no rate of SING finished, so nothing is missing
        self.write([run("adamw", "adamw", 0, 0.8, rate) for rate in GRID.rates_of(GRID.contestants[0]).values()])
        self.assertEqual(tables.missing(GRID), ["AdamW (3 of 6 runs)", "PlugSING", "SING"])
        self.assertEqual(tables.training_table(dataclasses.replace(EXPERIMENT, name="absent")), [])

    def test_the_list_of_experiments_says_what_is_missing_and_gives_the_command(self):
        listed = {"[small](#small)": ("small",)}
        with mock.patch.dict(make_results.EXPERIMENTS, {"small": EXPERIMENT}), mock.patch.object(make_results, "TABLES", listed):
            self.write([run("adamw", "adamw", seed, 0.8) for seed in (1, 2, 3)], {"sing": tuning({1e-2: 0.5}, 1e-2)})
            command = "`./dev run python tools/train_experiments.py small -- --device auto`"
            self.assertEqual(cells(make_results.state()[2]), ["[small](#small)", "A small one", "1 of 3", "PlugSING; SING (tuned)", command])
            self.write([run(each.name, each.optimizer, seed, 0.8) for each in EXPERIMENT.contestants for seed in (1, 2, 3)])
            self.assertEqual(cells(make_results.state()[2])[2:], ["3 of 3", "", ""])

    def test_refuses_a_run_of_no_contestant(self):
        self.write([run("another", "adamw", 1, 0.8)])
        with self.assertRaisesRegex(ValueError, "wanted names of contestants, got 'another_lr0.001_seed1'"):
            tables.training_table(EXPERIMENT)


class PairedTable(Records):
    def test_pairs_runs_that_differ_in_the_optimizer_alone(self):
        runs = [
            host("adamw", 0, 0.5),
            host("plugsing-adamw", 0, 0.6),
            host("plugsing-adamw", 1, 0.6),  # no partner of this seed
            host("plugsing-adamw", 0, 0.7, rate=2e-3),  # no partner at this rate
            host("adamw", 2, 0.5, batch=128),
            host("plugsing-adamw", 2, 0.6, batch=256),  # another batch
            host("sing-adamw", 0, 0.9),  # more than one line differs
            host("adamw", 3, None, status="diverged"),
            host("plugsing-adamw", 3, 0.6),
        ]
        [(key, group)] = changed_line.pairs(runs).items()
        self.assertEqual(key, ("AdamW", 1e-3, 0.05))
        self.assertEqual([[side["end"]["final_accuracy"] for side in pair] for pair in group], [[0.5, 0.6], [None, 0.6]])

    def test_a_pair_is_of_one_commit_and_the_same_data(self):
        for key in ("commit", "data_digest"):
            runs = [host("adamw", 0, 0.5), host("plugsing-adamw", 0, 0.6)]
            runs[1]["config"][key] = "another"
            self.assertEqual(changed_line.pairs(runs), {})

    def test_a_diverged_run_is_shown_and_takes_the_difference_away(self):
        runs = [host("adamw", seed, 0.5 + seed / 100) for seed in (1, 2, 3)]
        runs += [host("plugsing-adamw", 1, 0.9), host("plugsing-adamw", 2, None, status="diverged"), host("plugsing-adamw", 3, 0.9)]
        experiment = dataclasses.replace(EXPERIMENT, contestants=(*EXPERIMENT.contestants, Contestant("plugsing-adamw", "", "", 0, 0)))
        self.write(runs)
        with mock.patch.object(changed_line, "EXPERIMENTS", {"small": experiment}):
            row = changed_line.table()[2]
        self.assertEqual(cells(row)[5:], ["1, 2, 3", "52.00 ± 1.00", "1 of 3 diverged", ""])

    def test_shows_means_and_the_paired_difference(self):
        runs = [host("adamw", seed, accuracy) for seed, accuracy in ((1, 0.80), (2, 0.82), (3, 0.84))]
        runs += [host("plugsing-adamw", seed, accuracy) for seed, accuracy in ((1, 0.83), (2, 0.86), (3, 0.89))]
        experiment = dataclasses.replace(EXPERIMENT, contestants=(*EXPERIMENT.contestants, Contestant("plugsing-adamw", "", "", 0, 0)))
        self.write(runs)
        with mock.patch.object(changed_line, "EXPERIMENTS", {"small": experiment}):
            lines = changed_line.table()
        # Differences 3, 4 and 5: mean 4, deviation 1, half width 4.303 / √3.
        self.assertEqual(cells(lines[2])[5:], ["1, 2, 3", "82.00 ± 2.00", "86.00 ± 3.00", "**+4.00** ± 2.48"])
        self.assertEqual(lines[-1], "6 runs; commit c0ffee; one GPU.")

    def test_a_clipped_host_has_a_row_of_its_own_with_the_same_partner(self):
        runs = [host("adamw", 0, 0.5), host("adamw", 0, 0.4, clip_norm=1.0), host("plugsing-adamw", 0, 0.6)]
        rows = {key[0]: [[side["end"]["final_accuracy"] for side in pair] for pair in group] for key, group in changed_line.pairs(runs).items()}
        self.assertEqual(rows, {"AdamW": [[0.5, 0.6]], "AdamW, clipped to norm 1": [[0.4, 0.6]]})

    def test_hosts_and_rates_have_rows_of_their_own(self):
        runs = [host(name, 0, 0.5, rate) for rate in (1e-3, 2e-3) for name in ("lion", "plugsing-lion", "sgd", "plugsing-sgd")]
        self.assertEqual(
            list(changed_line.pairs(runs)), [("Lion", 1e-3, 0.05), ("Lion", 2e-3, 0.05), ("SGD", 1e-3, 0.05), ("SGD", 2e-3, 0.05)]
        )

    def test_the_interval_is_student_t_over_the_seeds(self):
        # Mean 2, sample deviation 1, three values: 4.303 / sqrt(3) = 2.4843.
        self.assertEqual(estimates.difference([1.0, 2.0, 3.0]), "+2.00 ± 2.48")
        # Mean 3, sample deviation 0.1: 4.303 * 0.1 / sqrt(3) = 0.2484, so the difference is beyond the interval.
        self.assertEqual(estimates.difference([2.9, 3.0, 3.1]), "**+3.00** ± 0.25")
        self.assertEqual(estimates.difference([-1.5]), "-1.50")
        self.assertEqual(estimates.difference([]), "")

    def test_the_deviation_divides_by_one_less_than_the_number_of_values(self):
        # Squares of the distances from 3: 4 + 0 + 4 = 8; √(8 / 2) = 2.
        self.assertEqual(estimates.spread([1.0, 3.0, 5.0], 2), "3.00 ± 2.00")
        self.assertEqual(estimates.spread([3.0], 1), "3.0")

    def test_the_quantiles_leave_a_fortieth_of_the_density_above(self):
        for freedom, quantile in enumerate(estimates.STUDENT_T, start=1):
            factor = math.gamma((freedom + 1) / 2) / math.sqrt(freedom * math.pi) / math.gamma(freedom / 2)
            count = 20000
            inner = quantile / count * sum((1 + (quantile * (place + 0.5) / count) ** 2 / freedom) ** (-(freedom + 1) / 2) for place in range(count))
            # A quantile rounded to three decimals is off by up to 5e-4 times the density there, which is less than 0.06.
            self.assertAlmostEqual(0.5 + factor * inner, 0.975, delta=3e-5, msg=freedom)

    def test_refuses_more_values_than_there_are_quantiles_for(self):
        with self.assertRaisesRegex(ValueError, "wanted at most 10 values, got 11"):
            estimates.difference([1.0] * 11)

    def test_pairs_of_seeds_that_only_one_side_has_do_not_count(self):
        self.assertEqual(estimates.paired({1: 2.0, 2: 5.0, 3: 1.0}, {2: 1.0, 1: 1.5, 4: 0.0}), [0.5, 4.0])


GRID = dataclasses.replace(EXPERIMENT, grid=(-1, 0, 1), seeds=(0, 1))


class Rates(Records):
    def write_grid(self):
        by_rate = {5e-4: (0.60, 0.62), 1e-3: (0.80, 0.82), 2e-3: (0.79, 0.81), 4e-3: (0.50, None)}
        self.write(
            run("adamw", "adamw", seed, value, rate, status="finished" if value else "diverged", evaluate_on="validation")
            for rate, values in by_rate.items()
            for seed, value in enumerate(values)
        )

    def test_finds_the_best_rate_and_the_usable_ones(self):
        self.write_grid()
        [(contestant, rates)] = learning_rates.points_of(GRID).items()
        self.assertEqual((contestant.name, list(rates)), ("adamw", [5e-4, 1e-3, 2e-3, 4e-3]))
        self.assertEqual(learning_rates.means_of(rates)[4e-3], None)
        self.assertEqual(learning_rates.best_rate(rates, lower_is_better=False), 1e-3)
        # 61 is the worst, so that 0.9 of the distance to 81 is 79: 2e-3 with 80 is usable, 5e-4 is not.
        self.assertEqual(learning_rates.usable(rates, 61, lower_is_better=False), (1e-3, 2e-3))
        text = "\n".join(tables.table_of(GRID))
        self.assertIn("| AdamW | 4 | 0.001 | 81.00 ± 1.41 |  | 0.001 to 0.002 (× 2.0) | 0.002 |", text)
        self.assertIn("Measured on the validation set; seeds 0, 1.", text)

    def test_a_rate_without_a_seed_is_left_out_and_counted(self):
        self.write([run("adamw", "adamw", seed, value, rate) for seed, value, rate in ((0, 0.5, 1e-3), (1, 0.5, 1e-3), (0, 0.99, 2e-3))])
        [(_, rates)] = learning_rates.points_of(GRID).items()
        self.assertEqual(list(rates), [1e-3])
        self.assertIn("1 rate is left out because a seed is missing.", tables.table_of(GRID))

    def test_the_difference_at_the_best_rates_is_paired(self):
        values = {("adamw", 1e-3): (0.80, 0.84), ("adamw", 2e-3): (0.70, 0.70), ("sing", 1e-2): (0.82, 0.87)}
        self.write(
            run(name, name if name == "adamw" else "sing-adamw", seed, value, rate)
            for (name, rate), by_seed in values.items()
            for seed, value in enumerate(by_seed)
        )
        lines = tables.table_of(GRID)
        # Differences 2 and 3: mean 2.5, deviation √0.5, half width 12.706 / 2.
        self.assertEqual(cells(lines[3])[2:5], ["0.01", "84.50 ± 3.54", "+2.50 ± 6.35"])
        self.assertEqual(cells(lines[2])[2:], ["0.001", "82.00 ± 2.83", "", "0.001 to 0.001 (× 1.0)", "0.002"])

    def test_of_equal_rates_the_smallest_is_best(self):
        self.assertEqual(learning_rates.best_rate({4e-3: {0: 0.5}, 1e-3: {0: 0.5}}, lower_is_better=False), 1e-3)
        self.assertEqual(learning_rates.best_rate({4e-3: {0: 0.5}, 1e-3: {0: 0.5}}, lower_is_better=True), 1e-3)
        self.assertIsNone(learning_rates.best_rate({4e-3: {0: None}}, lower_is_better=True))

    def test_lower_may_be_better(self):
        rates = {1e-3: {0: 2.0}, 2e-3: {0: 1.0}, 4e-3: {0: 1.05}, 8e-3: {0: 3.0}}
        self.assertEqual(learning_rates.best_rate(rates, lower_is_better=True), 2e-3)
        self.assertEqual(learning_rates.usable(rates, 3.0, lower_is_better=True), (2e-3, 4e-3))

    def test_a_tuning_gives_the_points_of_an_experiment_without_a_grid(self):
        self.write([], {"sing": tuning({1e-2: 0.5, 2e-2: None}, 1e-2)})
        [(contestant, rates)] = learning_rates.points_of(EXPERIMENT).items()
        self.assertEqual((contestant.name, learning_rates.means_of(rates)), ("sing", {1e-2: 50, 2e-2: None}))

    def test_tunings_have_a_table_until_the_runs_of_the_table_exist(self):
        rates = {5e-4: 0.7, 1e-3: 0.8, 2e-3: None}
        origin = {"total_steps": 10, "commit": "c0ffee", "machine": {"gpus": ["GPU"]}}
        tunings = {"adamw": tuning(rates, 1e-3) | {"remarks": []}, "sing": tuning({1e-2: 0.75}, 1e-2) | {"remarks": ["more runs would"]}}
        self.write([], {name: each | {"origin": origin} for name, each in tunings.items()})
        lines = tables.table_of(EXPERIMENT)
        self.assertEqual(cells(lines[2]), ["AdamW", "0.0005, 0.001, 0.002", "0.001", "80.00", "", ""])
        self.assertEqual(cells(lines[3]), ["SING", "0.01", "0.01", "75.00", "-5.00", "a neighbor of the best rate was not tried"])
        self.assertIn("4 runs; commit c0ffee; one GPU.", lines)
        self.write([run("adamw", "adamw", 1, 0.8)], tunings)
        self.assertIn("difference (95 %)", tables.table_of(EXPERIMENT)[0])

    def test_draws_a_line_per_contestant_and_a_cross_per_diverged_rate(self):
        self.write_grid()
        panel = figures.rate_panel(GRID)
        self.assertEqual([line.points for line in panel.lines], [((5e-4, 61.0), (1e-3, 81.0), (2e-3, 80.0), (4e-3, None))])
        for theme in line_figure.THEMES:
            drawing = xml.etree.ElementTree.fromstring(line_figure.figure([panel], "rates", theme))
            name = "{http://www.w3.org/2000/svg}"
            self.assertEqual(len(drawing.findall(f"{name}circle")), 3)
            self.assertEqual(sum(path.get("stroke-width") == "1.5" for path in drawing.findall(f"{name}path")), 1)
            x = [float(circle.get("cx")) for circle in drawing.findall(f"{name}circle")]
            self.assertAlmostEqual(x[1] - x[0], x[2] - x[1], delta=0.2)  # equal factors are equal distances
        self.assertIsNone(figures.rate_panel(EXPERIMENT if not records.read_tunings(EXPERIMENT) else GRID))


class Widths(Records):
    def test_draws_the_best_rate_of_each_width(self):
        by_width = {}
        for width, best in ((32, 2e-3), (64, 1e-3)):
            by_width[width] = dataclasses.replace(GRID, name=f"width_{width}")
            runs = [run("adamw", "adamw", 0, 0.9 if rate == best else 0.5, rate) for rate in (5e-4, 1e-3, 2e-3)]
            self.write(runs, name=f"width_{width}")
        panel = figures.width_panel("Best rate", by_width)
        self.assertEqual([line.points for line in panel.lines], [((32, 2e-3), (64, 1e-3))])
        self.assertIsNone(figures.width_panel("Best rate", {32: by_width[32]}))


class Losses(Records):
    def test_each_place_of_the_grid_has_a_panel_with_the_losses_of_every_contestant(self):
        experiment = dataclasses.replace(GRID, title="Rectangles, ViT-S/16, 1500 steps", grid=(0, 2))
        runs = []
        for name, optimizer, rates in (("adamw", "adamw", (1e-3, 3.2e-3)), ("sing", "sing-adamw", (1e-2, 3.2e-2))):
            for rate in rates:
                runs.append(run(name, optimizer, 0, 0.5, rate) | {"losses": {"step": [1, 2], "loss": [rate, None]}})
        self.write(runs)
        panels = figures.loss_panels(experiment)
        self.assertEqual([[line.points for line in panel.lines] for panel in panels][1], [((1, 3.2e-3), (2, None)), ((1, 3.2e-2), (2, None))])


class Declarations(unittest.TestCase):
    def test_reads_options_from_flags(self):
        flags = ("--fixed", "--epochs", "2", "--decay-vectors=false", "--autotune")
        self.assertEqual(options_in(flags), {"fixed": "true", "epochs": "2", "decay_vectors": "false", "autotune": "true"})

    def test_rates_are_rounded_as_those_of_sing_tune(self):
        self.assertEqual([rate_at(1e-3, place) for place in (-4, -1, 0, 1, 2)], [1e-4, 5.6e-4, 1e-3, 1.8e-3, 3.2e-3])

    def test_every_record_is_of_a_declared_experiment_and_contestant(self):
        names = {path.stem for path in (records.ROOT / "docs" / "results").glob("*.jsonl")}
        self.assertLessEqual(names, experiments.EXPERIMENTS.keys())
        for name in names:
            experiment = experiments.EXPERIMENTS[name]
            for record in records.read_runs(experiment):
                contestant = experiment.contestant_of(record["name"])
                self.assertIsNotNone(contestant, record["name"])
                self.assertEqual(contestant.optimizer, record["config"]["options"]["optimizer"], record["name"])

    def test_the_list_of_experiments_has_each_of_them_once(self):
        listed = [name for names in make_results.TABLES.values() for name in names]
        self.assertEqual(sorted(listed), sorted(experiments.EXPERIMENTS))
        shown = {name for names in make_results.SECTIONS.values() for name in names} | {"rde", "cifar100"}
        self.assertEqual(shown | {*make_results.TRANSLATION, *make_results.ENCODERS, *make_results.LANGUAGE}, set(listed))

    def test_hosts_and_baselines_are_contestants_and_figures_of_the_paper_fit_the_scores(self):
        for experiment in experiments.EXPERIMENTS.values():
            names = [contestant.name for contestant in experiment.contestants]
            self.assertEqual(len(names), len(set(names)), experiment.name)
            for name in [experiment.baseline, *(each.host for each in experiment.contestants)]:
                self.assertTrue(not name or name in names, f"{experiment.name}: {name}")
            for contestant in experiment.contestants:
                self.assertIn(len(contestant.paper), (0, len(experiment.scores)), f"{experiment.name}: {contestant.name}")


if __name__ == "__main__":
    unittest.main()
