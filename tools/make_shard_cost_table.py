"""Writes the table of docs/distributed.md on the cost of a sharded step on 8 to 1024 processes, from a model of it.

python tools/make_shard_cost_table.py [--check] rewrites the text between the markers; with --check it writes nothing and exits
with 1 if the page would change.

Measured are the lengths of the exchanged vectors, which follow from the tensors (the tests count them), and the time of a step on
one H200 (bench/results/h200.json). The numbers of PARAMETERS are assumptions about a cluster; nothing here has measured them.
"""

import json
import math
import sys

import generated_text
from generated_text import ROOT

PAGE = ROOT / "docs" / "distributed.md"
NAME = "shard_cost"
PROCESSES = (8, 64, 512, 1024)

# The assumptions of the model.
PARAMETERS = {
    "hop": 10e-6,  # seconds that a message takes from one process to the next
    "bandwidth": 50e9,  # bytes per second that a process sends and receives
    "float32_rate": 50e12,  # operations per second of matrix products in float32
    "bfloat16_rate": 500e12,  # the same in bfloat16
}

PACKED_DOUBLES = 4  # per tensor: sing/backend/shard_sums.cpp
NEWTON_STEPS = 5


def gpt2_shapes():
    listed = json.loads((ROOT / "bench" / "model_shapes.json").read_text(encoding="utf-8"))["gpt2_1.5b"]
    return [shape for part in listed["parts"] for _ in range(part["repeat"]) for shape in part["shapes"]]


def llama_70b_shapes():
    """80 blocks of width 8192 with 8 heads of keys and values of 128, a vocabulary of 128256, embedding and output apart."""
    width, keys, inner, words = 8192, 1024, 28672, 128256
    block = [[width, width], [keys, width], [keys, width], [width, width], [inner, width], [inner, width], [width, inner]]
    block += [[width], [width]]
    return [[words, width], *(80 * block), [width], [words, width]]


def measured_step():
    """Returns the seconds per parameter of SING's and torch's fused AdamW step, both replayed as CUDA graphs, over GPT-2 1.5B on an H200."""
    model = json.loads((ROOT / "bench" / "results" / "h200.json").read_text(encoding="utf-8"))["models"]["gpt2_1.5b"]
    return tuple(model[name]["median_ms"] / 1e3 / model["parameters"] for name in ("sing_graph", "torch_graph"))


def sum_seconds(count, processes):
    """Returns the time of an all-reduce of `count` bytes: up and down a tree, and every byte sent twice."""
    return 2 * math.ceil(math.log2(processes)) * PARAMETERS["hop"] + 2 * count / PARAMETERS["bandwidth"]


def exchange_seconds(count, processes):
    """Returns the time of an all-to-all in which each process sends `count` bytes in all: log₂ N latencies."""
    return math.ceil(math.log2(processes)) * PARAMETERS["hop"] + count / PARAMETERS["bandwidth"]


def operations(rows, columns, is_gram):
    """Returns the operations of the Newton-Schulz iterations: as in sing/backend/newton_schulz.hpp if `is_gram`, else X ← a X + (b A + c A²) X."""
    side, length = min(rows, columns), max(rows, columns)
    long_product, square = 2 * side * side * length, 2 * side**3
    if not is_gram:
        return NEWTON_STEPS * (2 * long_product + square)
    most = 3 if 2 * length >= 3 * side else 1
    total = 0
    for first in range(0, NEWTON_STEPS, most):
        count = min(most, NEWTON_STEPS - first)
        # The Gram matrix and the result; a polynomial per iteration; the product of the polynomials; two products per new A.
        total += 2 * long_product + square * (count + (count - 1) + 2 * (count - 1))
    return total


def largest_load(matrices, processes):
    """Returns the most operations of a process, if the next largest matrix always goes to the least loaded process."""
    loads = [0] * processes
    for work in sorted((operations(*shape, True) for shape in matrices), reverse=True):
        loads[loads.index(min(loads))] += work
    return max(loads)


def bytes_text(count):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"


def row(title, shapes, processes):
    ours, theirs = measured_step()
    parameters = sum(math.prod(shape) for shape in shapes)
    # Embedding and output layer take AdamW, as is usual with Muon.
    matrices = [shape for shape in shapes if len(shape) == 2 and shape[0] < 50000]
    elements = sum(math.prod(shape) for shape in matrices)
    packed = 8 * PACKED_DOUBLES * len(shapes)
    by_rows = 8 * 2 * sum(shape[0] for shape in shapes if len(shape) > 1)
    step = ours * parameters / processes
    sent = 4 * elements / processes * (processes - 1) / processes  # by a process, each way
    muon = 2 * exchange_seconds(sent, processes) + largest_load(matrices, processes) / PARAMETERS["float32_rate"]
    gathered = exchange_seconds(2 * elements * (processes - 1) / processes, processes)
    everywhere = gathered + sum(operations(*shape, False) for shape in matrices) / PARAMETERS["bfloat16_rate"]
    cells = (
        title,
        f"{processes}",
        bytes_text(packed),
        f"{1e3 * sum_seconds(packed, processes):.2f}",
        f"{1e3 * step:.2f}",
        f"{1e3 * theirs * parameters / processes:.2f}",
        f"{1e3 * sum_seconds(by_rows, processes):.2f}",
        bytes_text(2 * sent),
        f"{1e3 * muon:.0f}",
        f"{1e3 * everywhere:.0f}",
    )
    return "| " + " | ".join(cells) + " |"


def lines():
    yield ""
    yield (
        "| | processes | packed vector | reduction, ms | SING's step, ms | torch's fused AdamW, ms | sums of rows, ms | Muon: bytes sent "
        "| Muon, ms | Muon on every process, ms |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for title, shapes in (("GPT-2 1.5B", gpt2_shapes()), ("70B", llama_70b_shapes())):
        for processes in PROCESSES:
            yield row(title, shapes, processes)
    yield ""


def main():
    options = generated_text.parser(__doc__.splitlines()[0]).parse_args()
    text = generated_text.replaced(PAGE.read_text(encoding="utf-8"), NAME, lines())
    return generated_text.finish(PAGE, text, options.check, "tools/make_shard_cost_table.py")


if __name__ == "__main__":
    sys.exit(main())
