"""Checks what tools/soak.py notices; with the program sing as an argument, also a short soak of it."""

import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import soak_files  # noqa: E402
import soak  # noqa: E402
import soak_disk  # noqa: E402

PROGRAM = sys.argv.pop(1) if len(sys.argv) > 1 else None


def safetensors(state, weights):
    metadata = {"format": "sing.checkpoint", "state": json.dumps(state), "checksum": str(hash(json.dumps(state)))}
    header = {"__metadata__": metadata, "w": {"dtype": "U8", "shape": [len(weights)], "data_offsets": [0, len(weights)]}}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + weights


def write_run(run, seconds=1.5, weights=b"abc", loss=0.25):
    """Writes the files of a finished run."""
    (run / "checkpoints").mkdir(parents=True)
    state = {"step": 3, "seconds": seconds, "metrics_bytes": 100 + len(str(seconds)), "window_loss": 0.5}
    (run / "checkpoints/last.safetensors").write_bytes(safetensors(state, weights))
    (run / "checkpoints/best.safetensors").write_bytes(b"best")
    (run / f"events.out.tfevents.{seconds}").write_bytes(str(seconds)[:3].encode())
    (run / "lock").write_text(str(seconds))
    records = [{"kind": "step", "loss": loss, "images_per_second": seconds, "seconds": {"data": seconds}}]
    records += [{"kind": "end", "status": "finished", "seconds": seconds}]
    (run / "metrics.jsonl").write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Differences(InFolder):
    def differences(self, change=lambda run: None, **options):
        write_run(self.folder / "reference")
        write_run(self.folder / "run", **options)
        change(self.folder / "run")
        return soak_files.differences(self.folder / "run", self.folder / "reference")

    def test_times_are_not_compared(self):
        self.assertEqual(self.differences(seconds=7.25), [])

    def test_one_bit_of_a_tensor(self):
        self.assertEqual(
            self.differences(weights=b"abb"), ["wanted tensors of checkpoints/last.safetensors as in the reference, got another"]
        )

    def test_a_record(self):
        self.assertEqual(self.differences(loss=0.26), ["wanted metrics.jsonl as in the reference, got another"])

    def test_best_weights(self):
        found = self.differences(lambda run: (run / "checkpoints/best.safetensors").unlink())
        self.assertEqual(found, ["wanted checkpoints/best.safetensors as in the reference, got none"])

    def test_an_event_too_many(self):
        found = self.differences(lambda run: (run / "events.out.tfevents.1.5").write_bytes(b"1.5 1.5"))
        self.assertEqual(found, ["wanted events.out.tfevents as in the reference, got another"])

    def test_other_files(self):
        found = self.differences(lambda run: [(run / name).write_text("") for name in ("a", "checkpoints/last.safetensors.1-0.tmp")])
        self.assertEqual(found, ["wanted no temporary file, got checkpoints/last.safetensors.1-0.tmp", "wanted no a, got one"])


class Ends(InFolder):
    """The program is a script that ends in a certain way."""

    def failures(self, script, step=None, wanted=(0,), messages=("",)):
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        tested = soak.Soak(str(program), 1, soak_disk.PlainDisk(self.folder), None, self.folder, random.Random(0), limit=2)
        ended = tested.end(soak.KILL, tested.start(step), wanted, messages)
        self.assertEqual(ended, not tested.failures)
        self.assertEqual(tested.rows[soak.KILL].failures, len(tested.failures))
        return [failure["text"].partition(":")[0] for failure in tested.failures]

    def test_as_wanted(self):
        self.assertEqual(self.failures("echo resuming from step 12", step=12), [])
        self.assertEqual(self.failures("kill -9 $$", step=12, wanted=(-9,)), [])
        self.assertEqual(self.failures("echo a full disk; exit 1", wanted=(1,), messages=["full"]), [])

    def test_a_hang(self):
        self.assertEqual(self.failures("exec sleep 60"), ["wanted the end of the process, got none in 2 s"])

    def test_a_status(self):
        self.assertEqual(self.failures("kill -11 $$", wanted=(0, 130)), ["wanted exit status 0 or 130, got -11"])

    def test_a_message(self):
        self.assertEqual(
            self.failures("echo problem; exit 1", wanted=(1,), messages=["full"]), ["wanted a message with 'full', got another one"]
        )

    def test_a_step(self):
        self.assertEqual(self.failures("echo resuming from step 11", step=12), ["wanted to resume from step 12, got 11"])
        self.assertEqual(self.failures("true", step=12), ["wanted to resume from step 12, got a new beginning"])


class Folders(InFolder):
    def setUp(self):
        super().setUp()
        self.soak = soak.Soak("true", 1, soak_disk.PlainDisk(self.folder), None, self.folder, random.Random(0), limit=2)
        write_run(self.soak.run)

    def texts(self):
        return [failure["text"] for failure in self.soak.failures]

    def test_a_lost_checkpoint(self):
        self.soak.check_folder(soak.KILL, step_before=3)
        self.assertEqual(self.texts(), [])
        self.soak.check_folder(soak.KILL, step_before=4)
        self.assertEqual(self.texts(), ["wanted a checkpoint of step 4 or later, got 3"])

    def test_a_temporary_file_counts_for_the_disturbance_that_left_it(self):
        (self.soak.run / "a.1-0.tmp").write_text("")
        self.soak.check_folder(soak.KILL, step_before=3)
        self.assertEqual((self.texts(), self.soak.rows[soak.KILL].in_save), ([], 1))
        (self.soak.run / "b.2-0.tmp").write_text("")
        self.soak.check_folder(soak.TERMINATE, step_before=3)
        self.assertEqual(self.texts(), ["wanted no temporary file, got b.2-0.tmp"])


class Damage(unittest.TestCase):
    def test_always_changes_the_bytes(self):
        whole = safetensors({"step": 3}, bytes(4000))
        chance = random.Random(0)
        for _ in range(200):
            damaged, damage = soak.damage_bytes(whole, chance)
            self.assertNotEqual(damaged, whole, damage)
            self.assertLessEqual(len(damaged), len(whole))


class Sums(unittest.TestCase):
    def figures(self, seed, kinds):
        rows = [{"disturbance": kind, "checked": soak.CHECKED[kind], "times": 3, "in_save": 1, "failures": 0} for kind in kinds]
        same = {"commit": "a", "machine": "m", "clock": "c", "disk": f"disk {seed % 2}", "minutes": 1.5, "rounds": 2, "disturbances": 3}
        return {**same, "seeds": [seed], "rows": rows, "skipped": [], "failures": [seed] if seed == 3 else []}

    def test_figures_are_added_up_by_disturbance(self):
        total = soak.sum_of([self.figures(1, [soak.KILL]), self.figures(2, [soak.KILL, soak.POWER]), self.figures(3, [soak.KILL])])
        self.assertEqual([(row["disturbance"], row["times"], row["in_save"]) for row in total["rows"]], [(soak.KILL, 9, 3), (soak.POWER, 3, 1)])
        self.assertEqual((total["seeds"], total["failures"], total["minutes"], total["rounds"]), ([1, 2, 3], [3], 4.5, 6))
        self.assertEqual((total["commit"], total["disk"]), ("a", "disk 0 and disk 1"))
        self.assertIn(soak.READ_ONLY, total["skipped"])


@unittest.skipUnless(PROGRAM, "wanted the program sing as an argument")
class Short(InFolder):
    def test_a_quarter_of_a_minute(self):
        result = self.folder / "result.json"
        # On a busy machine a training can take minutes; the limit is for one that does not end.
        options = ["--minutes", "0.25", "--processes", "2", "--steps", "80", "--limit", "600", "--json", result]
        ended = subprocess.run([sys.executable, ROOT / "tools/soak.py", "--program", PROGRAM, *options], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        figures = json.loads(result.read_text())
        self.assertEqual(figures["failures"], [])
        self.assertGreaterEqual(figures["disturbances"], 1)
        self.assertEqual(figures["seeds"], [0, 1])


if __name__ == "__main__":
    unittest.main(buffer=True)
