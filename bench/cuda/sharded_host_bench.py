"""Measures the host's time per step over DTensors on a CUDA device beside that over plain tensors.

python bench/cuda/sharded_host_bench.py [--tensors N] [--rounds N]

One process with NCCL has 151 tensors of 4 × 4: as plain tensors, as DTensors on a mesh of one process, where nothing is added up,
and as DTensors that are treated as parts, whose sums NCCL adds up. The contestants take turns of ten steps; a turn ends before the
device has done the work. Prints the fastest and the median time of each and its ratio to plain tensors.
"""

import argparse
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python")]

STEPS = 10


def optimizer_over(tensors, as_dtensors, mesh):
    import torch
    from torch.distributed.tensor import DTensor, Shard

    import sing

    parameters = []
    for _ in range(tensors):
        part = torch.full((4, 4), 0.5, device="cuda")
        gradient = torch.randn(4, 4, device="cuda")
        parameter = torch.nn.Parameter(DTensor.from_local(part, mesh, [Shard(0)]) if as_dtensors else part)
        # FSDP2 makes the gradient with the parameter's own specification.
        parameter.grad = DTensor(gradient, parameter._spec, requires_grad=False) if as_dtensors else gradient
        parameters.append(parameter)
    return sing.SING(parameters, lr=1e-3, weight_decay=0.05)


def main():
    import torch
    from torch import distributed

    from sing import sharding

    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--tensors", type=int, default=151)
    options.add_argument("--rounds", type=int, default=100)
    given = options.parse_args()
    store = distributed.HashStore()
    distributed.init_process_group("nccl", store=store, rank=0, world_size=1, device_id=torch.device("cuda:0"))
    mesh = distributed.device_mesh.init_device_mesh("cuda", (1,))
    contestants = {"plain": optimizer_over(given.tensors, False, mesh), "DTensors": optimizer_over(given.tensors, True, mesh)}
    of_placement = sharding._part_of
    sharding._part_of = lambda mesh, placements, whole, own: sharding._Part(list(whole), [0, 0], [0], (0,), (0,))
    contestants["DTensors, NCCL"] = optimizer_over(given.tensors, True, mesh)
    sharding._part_of = of_placement
    times = {name: [] for name in contestants}
    names = list(contestants)
    for number in range(-5, given.rounds):
        for position in range(len(names)):
            name = names[(number + position) % len(names)]
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(STEPS):
                contestants[name].step()
            if number >= 0:
                times[name].append(1e6 * (time.perf_counter() - start) / STEPS)
    torch.cuda.synchronize()
    for name, found in times.items():
        fastest, median = min(found), statistics.median(found)
        ratios = fastest / min(times["plain"]), median / statistics.median(times["plain"])
        print(f"{name}: fastest {fastest:.1f} us, median {median:.1f} us; to plain {ratios[0]:.2f}, {ratios[1]:.2f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
