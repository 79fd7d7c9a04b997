"""Runs a function in several processes that gloo joins, for the benchmarks of shards."""

import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import traceback

from measurement import in_turns

TIMEOUT = 1200.0  # seconds for all of a function


def _work(rank, world, store, pipe, path, function, arguments):
    sys.path[:0] = path
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import torch
        from torch import distributed

        torch.set_num_threads(1)
        distributed.init_process_group("gloo", store=distributed.FileStore(store, world), rank=rank, world_size=world)
        pipe.send(("returned", function(*arguments)))
        distributed.barrier()
        distributed.destroy_process_group()
    except BaseException:
        pipe.send(("raised", f"rank {rank} of {world}: {traceback.format_exc()}"))


def run(world, function, *arguments):
    """Calls function(*arguments) in `world` processes of one thread each; returns the results by rank."""
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        members = []
        for rank in range(world):
            ours, theirs = context.Pipe()
            store = str(pathlib.Path(folder) / "store")
            process = context.Process(target=_work, args=(rank, world, store, theirs, sys.path[:], function, arguments), daemon=True)
            process.start()
            members.append((process, ours))
        answers = []
        for rank, (process, pipe) in enumerate(members):
            answers.append(pipe.recv() if pipe.poll(TIMEOUT) else ("raised", f"rank {rank} has not answered in {TIMEOUT:.0f} s"))
        for process, _ in members:
            process.join(20)
            process.kill()
    failures = [text for kind, text in answers if kind == "raised"]
    if failures:
        sys.exit("\n".join(failures))
    return [value for _, value in answers]


def interleaved(contestants, rounds, repeats):
    """Takes turns of `repeats` calls; returns lists of milliseconds per call, one value per round. All processes begin a turn together."""
    from torch import distributed

    times = {name: [] for name in contestants}
    for number, name in in_turns(list(contestants), 1 + rounds):
        distributed.barrier()
        start = time.perf_counter()
        for _ in range(repeats):
            contestants[name]()
        if number > 0:  # the first round warms up
            times[name].append(1e3 * (time.perf_counter() - start) / repeats)
    return times
