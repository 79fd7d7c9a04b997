"""Compares what the benchmarks in Python share with values computed by hand, and lets it write and refuse results."""

import argparse
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import measurement  # noqa: E402


class Measurement(unittest.TestCase):
    def test_quartiles_are_interpolated_between_the_sorted_values(self):
        # Of four values in order, a quarter of the way along three steps is at 0.75: 1 + 0.75 * (2 - 1).
        self.assertEqual(measurement.spread([8, 1, 4, 2]), {"lower": 1.75, "median": 3.0, "upper": 5.0})

    def test_ratios_are_taken_within_a_round(self):
        # 4, 1 and 1.5; the ratio of the medians would be 4 / 2.
        self.assertEqual(measurement.ratios([4, 8, 3], [1, 8, 2])["median"], 1.5)
        with self.assertRaises(ValueError):
            measurement.ratios([1, 2], [1])

    def test_everybody_has_one_turn_per_round_and_begins_as_often_as_the_others(self):
        self.assertEqual(list(measurement.in_turns("ab", 2)), [(0, "a"), (0, "b"), (1, "b"), (1, "a")])

    def test_names_a_machine_by_processor_and_cores(self):
        found = {"processor": "Intel(R) Xeon(R) CPU E5 @ 2.20GHz", "cores": 2}
        self.assertEqual(measurement.machine_name(found), "intel-xeon-e5-2-cores")

    def test_the_load_is_that_of_others(self):
        readings = {"busy_seconds": [10.0, 13.0], "own_seconds": [1.0, 2.0]}  # three seconds, of which one is ours
        with contextlib.ExitStack() as stack:
            for name, values in readings.items():
                stack.enter_context(mock.patch.object(measurement, name, side_effect=values))
            stack.enter_context(mock.patch.object(measurement.time, "monotonic", side_effect=[0.0, 10.0]))
            stack.enter_context(mock.patch.object(measurement.os, "cpu_count", return_value=2))
            self.assertEqual(measurement.with_load(lambda: "result"), ("result", 0.1))

    def test_writes_a_result_of_a_quiet_machine_only(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(measurement.make_benchmark_tables, "write") as tables:
            results = pathlib.Path(folder) / "results"
            quiet, busy = {"other_load": 0.05}, {"other_load": 0.06}
            options = argparse.Namespace(print_only=True, despite_load=False)
            with contextlib.ExitStack() as stack:
                stack.enter_context(mock.patch.object(measurement.make_benchmark_tables, "RESULTS", results))
                stack.enter_context(mock.patch.object(measurement, "ROOT", pathlib.Path(folder)))
                stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
                measurement.write_result(options, "one", quiet)
                self.assertFalse(results.exists())
                options.print_only = False
                measurement.write_result(options, "one", quiet)
                with self.assertRaisesRegex(SystemExit, "wanted at most 5% of other load, got 6.0%"):
                    measurement.write_result(options, "two", busy)
                options.despite_load = True
                measurement.write_result(options, "three", busy)
            found = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in results.iterdir()}
            self.assertEqual(found, {"one.json": quiet, "three.json": busy})
            self.assertEqual(tables.call_count, 2)


if __name__ == "__main__":
    unittest.main()
