"""Compares steps over DTensors on the CPU, as FSDP2 with CPUOffloadPolicy has them, with torch's fused AdamW over the same DTensors.

python bench/sharded_step_bench.py [--processes 1,2] [--models vit_s,small] [--rounds N] [--machine NAME] [--print-only] [--despite-load]

Every process has its part of each parameter, cut along axis 0 by gloo's mesh, and one thread. Only optimizer.step() is
measured: no gradient comes from a device and no parameter goes there. The contestants take turns of ten steps in rotating
order, and ratios are taken within a round. The "small" model has 151 tensors of 4 × 4, so that its times are those of the host's
work per tensor: they show what DTensors cost beside plain tensors.
"""

import math
import sys

import gloo_processes
import measurement
from measurement import STEPS, make_benchmark_tables, ratios, spread

SMALL = "small"


def shapes_of(model):
    if model == SMALL:
        return [[4, 4]] * 151
    return measurement.shapes_of(model)


def rounds_of(model, rounds):
    """Short turns need more of them."""
    return 8 * rounds if model == SMALL else rounds


def measure(model, rounds):
    """Runs in every process; returns milliseconds per step by contestant."""
    import torch
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard, distribute_tensor

    import sing

    mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
    generator = torch.Generator().manual_seed(1)
    gradients = [torch.randn(shape, generator=generator) for shape in shapes_of(model)]
    cut = [distribute_tensor(each, mesh, [Shard(0)]) for each in gradients]

    def parameters(are_cut):
        own = []
        for whole, part in zip(gradients, cut):
            # The plain tensors are as large as the parts.
            given = part if are_cut else part.to_local()
            parameter = torch.nn.Parameter(torch.full_like(given, 0.5))
            # FSDP2 makes the gradient with the parameter's own specification.
            parameter.grad = DTensor(part.to_local(), parameter._spec, requires_grad=False) if are_cut else given
            own.append(parameter)
        return own

    options = {"lr": 1e-3, "weight_decay": 0.05}
    made = {
        "torch_fused_adamw": torch.optim.AdamW(parameters(True), fused=True, **options),
        "torch_fused_adamw_plain": torch.optim.AdamW(parameters(False), fused=True, **options),
        "sing": sing.SING(parameters(True), **options),
        "sing_plain": sing.SING(parameters(False), **options),
        "sing_adamw": sing.AdamW(parameters(True), **options),
    }
    return gloo_processes.interleaved({name: each.step for name, each in made.items()}, rounds, STEPS)


def summary(model, processes, times):
    shapes = shapes_of(model)
    return {
        "model": model,
        "processes": processes,
        "tensors": len(shapes),
        "parameters": sum(math.prod(shape) for shape in shapes),
        "milliseconds": {name: spread(each) for name, each in times.items()},
        "fastest_milliseconds": {name: min(each) for name, each in times.items()},
        "ratio": {name: ratios(times[name], times["torch_fused_adamw"]) for name in ("sing", "sing_adamw")},
        "ratio_to_plain": {
            "sing": ratios(times["sing"], times["sing_plain"]),
            "torch_fused_adamw": ratios(times["torch_fused_adamw"], times["torch_fused_adamw_plain"]),
        },
    }


def write(options, benchmark, prefix, rows, other_load):
    """Writes bench/results/<prefix>-<machine>.json for the benchmarks of shards."""
    import torch

    hardware = measurement.hardware()
    machine = options.machine or measurement.machine_name(hardware)
    result = {
        **measurement.circumstances(benchmark, machine),
        "device": hardware["processor"],
        "cores": hardware["cores"],
        "torch": torch.__version__,
        "rounds": options.rounds,
        "other_load": other_load,
        "rows": rows,
    }
    measurement.write_result(options, f"{prefix}-{machine}", result)


def main():
    parser = measurement.argument_parser(__doc__.splitlines()[0], rounds=15)
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--models", default=f"vit_s,{SMALL}")
    options = parser.parse_args()

    def all_rows():
        return [
            summary(model, int(count), gloo_processes.run(int(count), measure, model, rounds_of(model, options.rounds))[0])
            for model in options.models.split(",")
            for count in options.processes.split(",")
        ]

    rows, other_load = measurement.with_load(all_rows)
    for row in rows:
        medians = ", ".join(f"{name} {each['median']:.3f} ms" for name, each in row["milliseconds"].items())
        print(f"{row['model']}, {row['processes']} processes: {medians}; ratio {row['ratio']['sing']['median']:.2f}, "
              f"to plain {row['ratio_to_plain']['sing']['median']:.2f}")  # fmt: skip
    write(options, make_benchmark_tables.SHARDED_STEP, "sharded-step", rows, other_load)
    return 0


if __name__ == "__main__":
    sys.exit(main())
