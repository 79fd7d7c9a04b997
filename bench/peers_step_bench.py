"""Compares the step of every rule with its peers from other packages, in one process, in turns.

python bench/peers_step_bench.py [--device cpu|cuda] [--rules lion,…] [--rounds N] [--threads N] [--machine NAME] [--print-only]

The tensors are those of a ViT-S. Our rule runs alone, as the peers do. A turn is 10 steps. Each contestant of a rule has one turn
per round, in rotating order. The figures are medians over the rounds; ratios are taken within a round. AdaHessian's step is timed
with the curvature passed in, without the Hessian-vector product that estimates it and that every implementation needs. The program
writes bench/results/peers-<machine>.json and the tables of docs/benchmarks.md.
"""

import sys
import time
import warnings

import adabelief_pytorch
import measurement
import python_step_bench
import pytorch_optimizer
import schedulefree
import timm.optim
import torch
import torch_optimizer
from measurement import make_benchmark_tables

from sing.rules import CLASSES

MODEL = "vit_s"
MOST_ROUNDS = 41
SECONDS_PER_RULE = 4
# The option switches off the check for non-finite gradients, which no peer makes.
UNCHECKED = {"non_finite": "pass_through"}
SHARED = {"lr": 1e-4, "weight_decay": 0.05}


def orthogonal_group(parameters, **options):
    """Makes pytorch_optimizer's Muon, which needs to be told for every group whether it is orthogonalized."""
    return pytorch_optimizer.Muon([{"params": parameters, "use_muon": True}], **options)


# Rule -> (our options, {title: (class, options)}). All contestants of a rule use the same kind of weight decay.
PEERS = {
    "adamw": ({}, {"torch, fused": (torch.optim.AdamW, {"fused": True}), "timm": (timm.optim.AdamWLegacy, {})}),
    "sgd": (
        {"momentum": 0.9},
        {"torch, fused": (torch.optim.SGD, {"momentum": 0.9, "fused": True})},
    ),
    "adabelief": (
        {},
        {
            "adabelief-pytorch": (adabelief_pytorch.AdaBelief, {"print_change_log": False}),
            "timm": (timm.optim.AdaBelief, {}),
            "pytorch_optimizer": (pytorch_optimizer.AdaBelief, {"rectify": True}),
        },
    ),
    "adafactor": (
        {},
        {
            "torch, foreach": (torch.optim.Adafactor, {"foreach": True}),
            "timm": (timm.optim.Adafactor, {}),
        },
    ),
    "nadam": (
        {},
        {
            "torch, foreach": (torch.optim.NAdam, {"foreach": True}),
            "torch, loop": (torch.optim.NAdam, {"foreach": False}),
            "pytorch_optimizer": (pytorch_optimizer.load_optimizer("nadam"), {}),
        },
    ),
    "yogi": (
        {},
        {
            "torch_optimizer": (torch_optimizer.Yogi, {}),
            "pytorch_optimizer": (pytorch_optimizer.Yogi, {"weight_decouple": False}),
        },
    ),
    "radam": (
        {},
        {
            "torch, foreach": (torch.optim.RAdam, {"foreach": True}),
            "torch, loop": (torch.optim.RAdam, {"foreach": False}),
            "torch_optimizer": (torch_optimizer.RAdam, {}),
            "pytorch_optimizer": (pytorch_optimizer.RAdam, {}),
        },
    ),
    "adabound": (
        {},
        {"torch_optimizer": (torch_optimizer.AdaBound, {}), "pytorch_optimizer": (pytorch_optimizer.AdaBound, {})},
    ),
    "adamod": (
        {},
        {"torch_optimizer": (torch_optimizer.AdaMod, {}), "pytorch_optimizer": (pytorch_optimizer.AdaMod, {})},
    ),
    # No package has these two rules; they are compared with Adam, which does less work.
    "eadam": ({}, {"torch Adam, fused": (torch.optim.Adam, {"fused": True})}),
    "sadam": ({}, {"torch Adam with AMSGrad, fused": (torch.optim.Adam, {"fused": True, "amsgrad": True})}),
    "lion": (
        {},
        {"timm": (timm.optim.Lion, {}), "pytorch_optimizer": (pytorch_optimizer.Lion, {})},
    ),
    "lamb": (
        {},
        {
            "timm": (timm.optim.Lamb, {}),
            "torch_optimizer": (torch_optimizer.Lamb, {}),
            "pytorch_optimizer": (pytorch_optimizer.Lamb, {}),
        },
    ),
    "lars": (
        {"momentum": 0.9},
        {
            "timm": (timm.optim.Lars, {"momentum": 0.9}),
            "torch_optimizer": (torch_optimizer.LARS, {"momentum": 0.9}),
        },
    ),
    "adanorm": ({}, {"pytorch_optimizer": (pytorch_optimizer.load_optimizer("adanorm"), {})}),
    "muon": (
        {},
        {
            "torch": (torch.optim.Muon, {}),
            "timm": (timm.optim.Muon, {"nesterov": True, "adjust_lr_fn": "original"}),
            "pytorch_optimizer": (orthogonal_group, {}),
        },
    ),
    "adahessian": (
        {},
        {
            "torch_optimizer": (torch_optimizer.Adahessian, {}),
            "pytorch_optimizer": (pytorch_optimizer.AdaHessian, {}),
        },
    ),
    "schedule_free_adamw": ({}, {"schedulefree": (schedulefree.AdamWScheduleFree, {})}),
}
try:  # only one peer needs this large package; it may not be installed
    from transformers.optimization import Adafactor

    PEERS["adafactor"][1]["transformers"] = (Adafactor, {"relative_step": False})
except ImportError:
    pass
# The peers of these rules take only matrices.
ONLY_MATRICES = {"muon"}
OURS = "sing"


class GivenCurvature:
    """Wraps an optimizer and passes the same curvature to every step."""

    def __init__(self, optimizer, parameters, curvatures):
        self.optimizer, self.parameters, self.curvatures = optimizer, parameters, curvatures

    def step(self):
        if isinstance(self.optimizer, torch_optimizer.Adahessian):
            self.optimizer.get_trace = lambda parameters, gradients: self.curvatures
            self.optimizer.step()
        elif isinstance(self.optimizer, pytorch_optimizer.AdaHessian):
            self.optimizer.step(hessian=self.curvatures)
        else:
            self.optimizer.set_curvature(dict(zip(self.parameters, self.curvatures)))
            self.optimizer.step()


def shapes_of(rule):
    shapes = measurement.shapes_of(MODEL)
    return [shape for shape in shapes if len(shape) == 2] if rule in ONLY_MATRICES else shapes


def class_of(rule):
    return next((cls for cls in CLASSES.values() if cls._schema.optimizer == rule), None)


def contestants(rule, device):
    """Returns the optimizers by title. Each has its own parameters and gradients, because some peers change gradients."""
    options, peers = PEERS[rule]
    generator = torch.Generator().manual_seed(1)
    gradients = [torch.randn(shape, generator=generator).to(device) for shape in shapes_of(rule)]
    listed = {OURS: (class_of(rule), {**UNCHECKED, **options}), **peers}
    made = {}
    for title, (cls, own) in listed.items():
        parameters = [torch.nn.Parameter(torch.full_like(each, 0.5)) for each in gradients]
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient.clone()
        made[title] = cls(parameters, **SHARED, **own)
        if hasattr(made[title], "train"):
            made[title].train()  # schedule-free optimizers step only in training mode
        if class_of(rule)._schema.takes_curvature:
            made[title] = GivenCurvature(made[title], parameters, [gradient.abs() for gradient in gradients])
    return made


def measure(rule, device, rounds):
    """Times one rule and its peers. Fast rules get more rounds, because their ratios are near 1."""
    optimizers = contestants(rule, device)
    titles = list(optimizers)
    for optimizer in optimizers.values():
        python_step_bench.turn(optimizer, device)
    times = {title: [] for title in titles}
    number, began = 0, time.perf_counter()
    while number < rounds or (number < MOST_ROUNDS and time.perf_counter() - began < SECONDS_PER_RULE):
        for position in range(len(titles)):
            title = titles[(number + position) % len(titles)]
            times[title].append(python_step_bench.turn(optimizers[title], device)[0])
        number += 1
    return {
        "rule": rule,
        "rounds": number,
        "tensors": len(shapes_of(rule)),
        "milliseconds": {title: measurement.spread(each) for title, each in times.items()},
        "ratio": {
            title: measurement.ratios(times[OURS], each)
            for title, each in times.items()
            if title != OURS
        },
    }


def print_row(row):
    peers = ", ".join(f"{title} {row['milliseconds'][title]['median']:.3f}" for title in row["ratio"])
    nearest = max(each["median"] for each in row["ratio"].values())
    print(f"{row['rule']}: {row['milliseconds'][OURS]['median']:.3f} ms, {peers}; {nearest:.2f} of the fastest", flush=True)


def measured_rows(rules, device, rounds):
    rows = []
    for rule in rules:
        rows.append(measure(rule, device, rounds))
        print_row(rows[-1])
    return rows


def main():
    parser = python_step_bench.argument_parser(__doc__.splitlines()[0], rounds=9)
    parser.add_argument("--rules", help="names in the table of this file, separated by commas (all that are built)")
    options = parser.parse_args()
    python_step_bench.prepare(options)
    warnings.simplefilter("ignore")  # the peers call functions that newer torch versions deprecate
    rules = options.rules.split(",") if options.rules else [rule for rule in PEERS if class_of(rule) is not None]
    rows, other_load = measurement.with_load(lambda: measured_rows(rules, options.device, options.rounds))
    python_step_bench.write_result(options, make_benchmark_tables.PEERS_STEP, "peers", other_load, {"model": MODEL, "rules": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
