"""Trains a little and reads the events back with the real TensorBoard.

python tensorboard_test.py SING    exits with 77 if TensorBoard is not installed
"""

import json
import pathlib
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TINY = (
    "--model vit-micro --depth 1 --width 16 --image-size 16 --patch-size 8 --rectangles 2 --min-side 4 --max-side 10 "
    "--min-visible 6 --train-count 64 --test-count 16 --batch 8 --threads 1 --device cpu --steps 30 --log-steps 3 "
    "--norm-steps 15 --evaluate-steps 10"
).split()


def main(sing):
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        subprocess.run([sing, "train", "rde", "--out", run, *TINY], check=True)
        events = EventAccumulator(str(run), size_guidance={"scalars": 0})
        events.Reload()
        tags = set(events.Tags()["scalars"])
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]

    def expect(tag, kind, key):
        wanted = [(line["step"], line[key]) for line in lines if line["kind"] == kind]
        found = [(event.step, event.value) for event in events.Scalars(tag)]
        assert [step for step, _ in found] == [step for step, _ in wanted], (tag, found, wanted)
        for (_, value), (_, exact) in zip(found, wanted):
            assert abs(value - exact) <= 1e-6 * abs(exact), (tag, value, exact)

    expect("training/loss", "step", "loss")
    expect("training/learning_rate", "step", "learning_rate")
    expect("evaluation/loss", "evaluation", "loss")
    expect("evaluation/accuracy", "evaluation", "accuracy")
    assert [event.step for event in events.Scalars("gradient_norm/blocks.0.attn.qkv.weight")] == [15, 30]
    assert {"seconds/data", "seconds/forward_backward", "seconds/optimizer"} <= tags, tags


if __name__ == "__main__":
    main(sys.argv[1])
