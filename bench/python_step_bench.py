"""Compares SING.step() with torch.optim.AdamW(fused=True).step(), called from Python in one process, in turns.

python bench/python_step_bench.py [--device cpu|cuda] [--models vit_s,…] [--rounds N] [--threads N] [--machine NAME]
                                  [--print-only]

A turn is two LookAhead periods (10 steps). Each contestant has one turn per round, in rotating order. The figures are medians
over the rounds with quartiles; ratios are taken within a round. The program writes bench/results/python-<machine>.json and
the tables of docs/benchmarks.md.
"""

import sys
import time

import measurement
import torch
from measurement import STEPS, make_benchmark_tables, shapes_of, spread

import sing

WARM_UP = 3  # turns


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


def measure(model, device, rounds):
    shapes = shapes_of(model)
    optimizers = contestants(shapes, device)
    names = list(optimizers)
    for optimizer in optimizers.values():
        for _ in range(WARM_UP):
            turn(optimizer, device)
    times = {name: [] for name in names}
    for _, name in measurement.in_turns(names, rounds):
        times[name].append(turn(optimizers[name], device))
    whole = {name: [each for each, _ in times[name]] for name in names}
    return {
        "model": model,
        "tensors": len(shapes),
        "parameters": sum(torch.Size(shape).numel() for shape in shapes),
        "milliseconds": {name: spread(each) for name, each in whole.items()},
        "host_milliseconds": {name: spread([host for _, host in each]) for name, each in times.items()},
        "ratio": measurement.ratios(whole["sing"], whole["torch_fused_adamw"]),
    }


def argument_parser(description, rounds):
    """Returns a parser of the arguments that the benchmarks of the Python step share."""
    parser = measurement.argument_parser(description, rounds)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, help="threads of torch (all cores)")
    return parser


def prepare(options):
    if options.threads:
        torch.set_num_threads(options.threads)
    if not sing.has_kernels(options.device):
        sys.exit(f"[bench] wanted operators with kernels for {options.device}, got none")


def write_result(options, benchmark, prefix, other_load, rows):
    """Writes bench/results/<prefix>-<machine>.json. `rows` are the fields with the measurements."""
    hardware = measurement.hardware()
    is_cuda = options.device == "cuda"
    machine = options.machine or ("cuda" if is_cuda else measurement.machine_name(hardware))
    result = {
        **measurement.circumstances(benchmark, machine),
        "device": torch.cuda.get_device_name() if is_cuda else hardware["processor"],
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "rounds": options.rounds,
        "other_load": other_load,
        **rows,
    }
    measurement.write_result(options, f"{prefix}-{machine}", result)


def main():
    parser = argument_parser(__doc__.splitlines()[0], rounds=15)
    parser.add_argument("--models", default="vit_s")
    options = parser.parse_args()
    prepare(options)
    names = options.models.split(",")
    models, other_load = measurement.with_load(lambda: [measure(name, options.device, options.rounds) for name in names])
    for each in models:
        ms, ratio = each["milliseconds"], each["ratio"]
        print(
            f"{each['model']}: torch {ms['torch_fused_adamw']['median']:.3f} ms, SING {ms['sing']['median']:.3f} ms, ratio "
            f"{ratio['median']:.3f} ({ratio['lower']:.3f} to {ratio['upper']:.3f}), host {each['host_milliseconds']['sing']['median']:.3f} ms"
        )
    write_result(options, make_benchmark_tables.PYTHON_STEP, "python", other_load, {"models": models})
    return 0


if __name__ == "__main__":
    sys.exit(main())
