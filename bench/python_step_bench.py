"""Compares SING.step() with torch.optim.AdamW(fused=True).step(), called from Python in one process, in turns.

python bench/python_step_bench.py [--device cpu|cuda] [--models vit_s,…] [--rounds N] [--threads N] [--machine NAME]
                                  [--print-only]

A turn is two LookAhead periods (10 steps). Each contestant has one turn per round, in rotating order. The figures are medians
over the rounds with quartiles; ratios are taken within a round. The program writes bench/results/python-<machine>.json and
the tables of docs/benchmarks.md.
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "python")]

import make_benchmark_tables  # noqa: E402
import run_bench  # noqa: E402

import sing  # noqa: E402

STEPS = 10  # two LookAhead periods
WARM_UP = 3  # turns


def shapes_of(model):
    listed = json.loads((ROOT / "bench" / "model_shapes.json").read_text(encoding="utf-8"))[model]
    return [shape for part in listed["parts"] for _ in range(part["repeat"]) for shape in part["shapes"]]


def contestants(shapes, device):
    """Returns the optimizers by name. Each has its own parameters; the gradients are shared."""
    generator = torch.Generator().manual_seed(1)
    gradients = [torch.randn(shape, generator=generator).to(device) for shape in shapes]

    def parameters():
        own = [torch.nn.Parameter(torch.full(shape, 0.5, device=device)) for shape in shapes]
        for parameter, gradient in zip(own, gradients):
            parameter.grad = gradient
        return own

    return {
        "torch_fused_adamw": torch.optim.AdamW(parameters(), lr=1e-3, weight_decay=0.05, fused=True),
        "sing": sing.SING(parameters(), lr=1e-3, weight_decay=0.05),
    }


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def turn(optimizer, device):
    """Returns the milliseconds per step, and the milliseconds per step for which the call keeps the host busy."""
    synchronize(device)
    start = time.perf_counter()
    for _ in range(STEPS):
        optimizer.step()
    host = time.perf_counter()
    synchronize(device)
    return 1e3 * (time.perf_counter() - start) / STEPS, 1e3 * (host - start) / STEPS


def watched(measurement):
    """Returns the measurement's result and the share of all cores' time that other programs used during it."""

    def own_seconds():
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    start, busy, own = time.monotonic(), run_bench.busy_seconds(), own_seconds()
    result = measurement()
    others = run_bench.busy_seconds() - busy - (own_seconds() - own)
    return result, max(0.0, others / (os.cpu_count() * (time.monotonic() - start)))


def spread(values):
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return {"lower": lower, "median": median, "upper": upper}


def measure(model, device, rounds):
    shapes = shapes_of(model)
    optimizers = contestants(shapes, device)
    names = list(optimizers)
    for optimizer in optimizers.values():
        for _ in range(WARM_UP):
            turn(optimizer, device)
    times = {name: [] for name in names}
    for number in range(rounds):
        for position in range(len(names)):
            name = names[(number + position) % len(names)]
            times[name].append(turn(optimizers[name], device))
    base = [whole for whole, _ in times["torch_fused_adamw"]]
    return {
        "model": model,
        "tensors": len(shapes),
        "parameters": sum(torch.Size(shape).numel() for shape in shapes),
        "milliseconds": {name: spread([whole for whole, _ in each]) for name, each in times.items()},
        "host_milliseconds": {name: spread([host for _, host in each]) for name, each in times.items()},
        "ratio": spread([whole / other for (whole, _), other in zip(times["sing"], base)]),
    }


def argument_parser(description, rounds):
    """Returns a parser of the arguments that all benchmarks of the Python step share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--threads", type=int, help="threads of torch (all cores)")
    parser.add_argument("--machine", help="name of the result file")
    parser.add_argument("--print-only", action="store_true", help="write no file")
    return parser


def prepare(options):
    if options.threads:
        torch.set_num_threads(options.threads)
    if not sing.has_kernels(options.device):
        sys.exit(f"[bench] wanted operators with kernels for {options.device}, got none")


def circumstances(options, benchmark, other_load):
    """Returns the fields that every result file begins with."""
    hardware = run_bench.hardware()
    is_cuda = options.device == "cuda"
    return {
        "benchmark": benchmark,
        "machine": options.machine or ("cuda" if is_cuda else run_bench.machine_name(hardware)),
        "device": torch.cuda.get_device_name() if is_cuda else hardware["processor"],
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": run_bench.commit(),
        "rounds": options.rounds,
        "other_load": round(other_load, 4),
    }


def write_result(options, prefix, result):
    """Writes bench/results/<prefix>-<machine>.json and the tables, unless the machine was busy or --print-only was given."""
    print(f"other programs used {result['other_load']:.1%} of the cores' time")
    if options.print_only:
        return
    if result["other_load"] > run_bench.MOST_OTHER_LOAD:
        sys.exit(
            f"[bench] wanted at most {run_bench.MOST_OTHER_LOAD:.0%} of other load, got {result['other_load']:.1%}; no result was written"
        )
    path = make_benchmark_tables.RESULTS / f"{prefix}-{result['machine']}.json"
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    make_benchmark_tables.write()
    print(f"wrote {path.relative_to(ROOT)} and docs/benchmarks.md")


def main():
    parser = argument_parser(__doc__.splitlines()[0], rounds=15)
    parser.add_argument("--models", default="vit_s")
    options = parser.parse_args()
    prepare(options)
    names = options.models.split(",")
    models, other_load = watched(lambda: [measure(name, options.device, options.rounds) for name in names])
    for each in models:
        ms, ratio = each["milliseconds"], each["ratio"]
        print(
            f"{each['model']}: torch {ms['torch_fused_adamw']['median']:.3f} ms, SING {ms['sing']['median']:.3f} ms, ratio "
            f"{ratio['median']:.3f} ({ratio['lower']:.3f} to {ratio['upper']:.3f}), host {each['host_milliseconds']['sing']['median']:.3f} ms"
        )
    head = circumstances(options, make_benchmark_tables.PYTHON_STEP, other_load)
    write_result(options, "python", {**head, "models": models})
    return 0


if __name__ == "__main__":
    sys.exit(main())
