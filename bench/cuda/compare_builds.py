"""Compares the step times of several builds of the library on a GPU.

python bench/cuda/compare_builds.py LIBRARY LIBRARY... --models NAME... [--instances N] [--periods N]

Graph replays of SING-AdamW + LookAhead by every build and of torch's fused AdamW are interleaved. The addresses of
the arrays change a step's time by half a percent, so every build has several instances, which are also created in
turns. Differences of 0.2 % can then be told apart.
"""

import argparse
import json
import pathlib
import statistics

import torch

from cuda_step_bench import DEFAULT, Sing, capture, interleaved, load, make_fused_adamw, make_tensors


class Ours:
    """Runs SING with its own copy of the parameters."""

    def __init__(self, library, stream, parameters, gradients):
        self.parameters = [p.clone() for p in parameters]
        self.optimizer = Sing(library, self.parameters, gradients, stream, DEFAULT)
        self.step, self.close = self.optimizer.step, self.optimizer.close


def compare(libraries, stream, model, instances, periods):
    """Returns the milliseconds per step for each name; the samples of all instances are pooled."""
    parameters, gradients = make_tensors(model)
    fitting = max(1, min(instances, int(110e9 // (16 * model["parameters"] * (len(libraries) + 1)))))
    made = {}
    for instance in range(fitting):
        made["torch", instance] = make_fused_adamw(parameters, gradients)
        for name, library in libraries.items():
            made[name, instance] = Ours(library, stream, parameters, gradients)
    for each in made.values():
        each.step()
    stream.synchronize()
    contestants = {key: capture(stream, each.step) for key, each in made.items()}
    samples = interleaved(stream, contestants, periods)
    del contestants
    torch.cuda.synchronize()
    for (name, _), each in made.items():
        if name in libraries:
            each.close()
    return {
        name: [value for instance in range(fitting) for value in samples[name, instance]] for name in ["torch", *libraries]
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="+", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", required=True)
    parser.add_argument("--instances", type=int, default=4)
    parser.add_argument("--periods", type=int, default=20, help="periods per instance")
    arguments = parser.parse_args()
    libraries = {str(path): load(path) for path in arguments.libraries}
    shapes = json.loads((pathlib.Path(__file__).parent.parent / "model_shapes.json").read_text(encoding="utf-8"))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for name in arguments.models:
            samples = compare(libraries, stream, shapes[name], arguments.instances, arguments.periods)
            medians = {each: statistics.median(values) for each, values in samples.items()}
            for each, median in medians.items():
                print(f"{name:14s} {median:8.4f} ms  {median / medians['torch']:6.4f} of torch  {each}", flush=True)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
