"""Measures what the sums over processes cost beside a step: one packed vector per step, and one value per row instead.

python bench/shard_sums_bench.py [--processes 2,4] [--rounds N] [--machine NAME] [--print-only] [--despite-load]

With the sums of each row, added up in the order of the rows, the bits would not depend on the number of processes. The vectors
have the lengths of GPT-2 124M, whose tensors are cut along axis 0: four doubles per tensor, or two doubles per row of a matrix. The
step is sing.AdamW's over one part of them, for comparison.
"""

import sys

import gloo_processes
from measurement import argument_parser, make_benchmark_tables, ratios, shapes_of, spread, with_load
from sharded_step_bench import write

MODEL = "gpt2_124m"


def lengths():
    """Doubles of the packed vector and of a vector of row sums."""
    shapes = shapes_of(MODEL)
    return 4 * len(shapes), sum(2 * shape[0] for shape in shapes if len(shape) > 1)


def measure(rounds):
    import torch
    from torch import distributed

    import sing

    world = distributed.get_world_size()
    packed, rows = (torch.zeros(length, dtype=torch.float64) for length in lengths())
    parts = []
    for shape in shapes_of(MODEL):
        own = torch.nn.Parameter(torch.full([-(-shape[0] // world), *shape[1:]], 0.5))
        own.grad = torch.ones_like(own)
        parts.append(own)
    optimizer = sing.SING(parts, lr=1e-3)
    return gloo_processes.interleaved(
        {
            "packed": lambda: distributed.all_reduce(packed),
            "rows": lambda: distributed.all_reduce(rows),
            "step": optimizer.step,
        },
        rounds,
        2,
    )


def main():
    parser = argument_parser(__doc__.splitlines()[0], rounds=15)
    parser.add_argument("--processes", default="2,4")
    options = parser.parse_args()

    def all_rows():
        rows = []
        for count in map(int, options.processes.split(",")):
            times = gloo_processes.run(count, measure, options.rounds)[0]
            packed, by_rows = lengths()
            rows.append(
                {
                    "processes": count,
                    "model": MODEL,
                    "doubles": {"packed": packed, "rows": by_rows},
                    "milliseconds": {name: spread(each) for name, each in times.items()},
                    "share_of_step": {name: ratios(times[name], times["step"]) for name in ("packed", "rows")},
                }
            )
        return rows

    rows, other_load = with_load(all_rows)
    for row in rows:
        medians = ", ".join(f"{name} {each['median']:.2f} ms" for name, each in row["milliseconds"].items())
        shares = ", ".join(f"{name} {each['median']:.1%}" for name, each in row["share_of_step"].items())
        print(f"{row['processes']} processes: {medians}; of the step: {shares}")
    write(options, make_benchmark_tables.SHARD_SUMS, "shard-sums", rows, other_load)
    return 0


if __name__ == "__main__":
    sys.exit(main())
