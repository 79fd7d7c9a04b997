"""Compares Muon over DTensors, which assigns whole matrices to processes, with torch.optim.Muon and with every process computing all.

python bench/sharded_muon_bench.py [--processes 2,4] [--rounds N] [--machine NAME] [--print-only] [--despite-load]

The matrices are those of transformer blocks, cut along axis 0 by gloo's mesh; every process has one thread. The contestants take
turns of one step in rotating order:
  sing        sing.Muon over DTensors: each matrix is made orthogonal by one process
  torch       torch.optim.Muon over DTensors, whose operations gather what they need; its matrices are in bfloat16
  all         sing.Muon over whole tensors in every process: what a step computes that gathers each matrix everywhere
The two ways to move the parts are measured alone too: there and back to one process per matrix, and a gather to all.
"""

import sys

import gloo_processes
from measurement import argument_parser, make_benchmark_tables, ratios, spread, with_load
from sharded_step_bench import write

WIDTH, BLOCKS = 192, 6
SHAPES = [[3 * WIDTH, WIDTH], [WIDTH, WIDTH], [4 * WIDTH, WIDTH], [WIDTH, 4 * WIDTH]] * BLOCKS
ELEMENTS = sum(rows * columns for rows, columns in SHAPES)


def measure(rounds):
    """Runs in every process; returns milliseconds by contestant, and how many collectives a step has."""
    import torch
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch.distributed.tensor.debug import CommDebugMode

    import sing

    world = distributed.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    generator = torch.Generator().manual_seed(1)
    wholes = [torch.randn(shape, generator=generator) for shape in SHAPES]
    cut = [distribute_tensor(each, mesh, [Shard(0)]) for each in wholes]

    def parameters(gradients):
        own = [torch.nn.Parameter(torch.full_like(each, 0.5)) for each in gradients]
        for parameter, gradient in zip(own, gradients):
            parameter.grad = gradient
        return own

    ours = sing.Muon(parameters(cut), lr=1e-3)
    theirs = torch.optim.Muon(parameters(cut), lr=1e-3)
    alone = sing.Muon(parameters(wholes), lr=1e-3)
    part = torch.zeros(ELEMENTS // world)
    received, everything = torch.zeros_like(part), torch.zeros(part.numel() * world)

    def there_and_back():
        distributed.all_to_all_single(received, part)
        distributed.all_to_all_single(part, received)

    times = gloo_processes.interleaved(
        {
            "sing": ours.step,
            "torch": theirs.step,
            "all": alone.step,
            "there_and_back": there_and_back,
            "gather": lambda: distributed.all_gather_into_tensor(everything, part),
        },
        rounds,
        1,
    )
    before = ours._library.shard_sums.collectives
    ours.step()
    with CommDebugMode() as counted:
        theirs.step()
    return times, {"sing": ours._library.shard_sums.collectives - before, "torch": counted.get_total_counts()}


def summary(processes, times, collectives):
    return {
        "processes": processes,
        "matrices": len(SHAPES),
        "elements": ELEMENTS,
        # A process sends its parts to their owners, and the results of its own matrices back.
        "bytes_sent_per_process": round(2 * 4 * ELEMENTS / processes * (processes - 1) / processes),
        "collectives": collectives,
        "milliseconds": {name: spread(each) for name, each in times.items()},
        "ratio": {name: ratios(times["sing"], times[name]) for name in ("torch", "all")},
    }


def main():
    parser = argument_parser(__doc__.splitlines()[0], rounds=9)
    parser.add_argument("--processes", default="2,4")
    options = parser.parse_args()

    def all_rows():
        return [
            summary(int(count), *gloo_processes.run(int(count), measure, options.rounds)[0])
            for count in options.processes.split(",")
        ]

    rows, other_load = with_load(all_rows)
    for row in rows:
        medians = ", ".join(f"{name} {each['median']:.1f} ms" for name, each in row["milliseconds"].items())
        print(f"{row['processes']} processes: {medians}; collectives {row['collectives']}")
    write(options, make_benchmark_tables.SHARDED_MUON, "sharded-muon", rows, other_load)
    return 0


if __name__ == "__main__":
    sys.exit(main())
