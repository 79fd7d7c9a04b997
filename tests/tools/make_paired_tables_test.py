"""Pairs small records by hand and expects tools/make_paired_tables.py to compare what differs in one line alone."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import make_paired_tables  # noqa: E402


def run(optimizer, seed, accuracy, rate=1e-3, status="finished", **more):
    normalize = "unit_norm" if optimizer.startswith(("plugsing-", "sing-")) else "off"
    options = {"optimizer": optimizer, "seed": seed, "learning_rate": rate, "weight_decay": 0.05, "epochs": 100}
    options |= {"normalize": normalize, "reference_size": 589824.0, "threads": seed} | more
    return {"config": {"options": options}, "end": {"status": status, "final_accuracy": accuracy}}


class PairedTables(unittest.TestCase):
    def test_pairs_runs_that_differ_in_the_optimizer_alone(self):
        runs = [
            run("adamw", 0, 0.5),
            run("plugsing-adamw", 0, 0.6),
            run("plugsing-adamw", 1, 0.6),  # no partner of this seed
            run("plugsing-adamw", 0, 0.7, rate=2e-3),  # no partner at this rate
            run("adamw", 2, 0.5, batch=128),
            run("plugsing-adamw", 2, 0.6, batch=256),  # another batch
            run("sing-adamw", 0, 0.9),  # more than one line differs
            run("adamw", 3, None, status="diverged"),
            run("plugsing-adamw", 3, 0.6),
        ]
        [(key, group)] = make_paired_tables.pairs(runs).items()
        self.assertEqual(key, ("AdamW", 100, 1e-3, 0.05))
        self.assertEqual([[side["end"]["final_accuracy"] for side in pair] for pair in group], [[0.5, 0.6]])

    def test_hosts_and_rates_have_rows_of_their_own(self):
        runs = [run(name, 0, 0.5, rate) for rate in (1e-3, 2e-3) for name in ("lion", "plugsing-lion", "sgd", "plugsing-sgd")]
        self.assertEqual(
            list(make_paired_tables.pairs(runs)),
            [("Lion", 100, 1e-3, 0.05), ("Lion", 100, 2e-3, 0.05), ("SGD", 100, 1e-3, 0.05), ("SGD", 100, 2e-3, 0.05)],
        )

    def test_the_interval_is_student_t_over_the_seeds(self):
        # Mean 2, sample deviation 1, three values: 4.303 / sqrt(3) = 2.4843.
        self.assertEqual(make_paired_tables.difference([1.0, 2.0, 3.0]), "+2.00 ± 2.48")
        # Mean 3, sample deviation 0.1: 4.303 * 0.1 / sqrt(3) = 0.2484, so the difference is beyond the interval.
        self.assertEqual(make_paired_tables.difference([2.9, 3.0, 3.1]), "**+3.00** ± 0.25")
        self.assertEqual(make_paired_tables.difference([-1.5]), "-1.50")


if __name__ == "__main__":
    unittest.main()
