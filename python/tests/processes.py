"""A pool of processes joined by gloo, which run functions of the tests. None of them can hang the tests: after the deadline every
process prints its stacks and is ended."""

from __future__ import annotations

import datetime
import faulthandler
import multiprocessing
import os
import pathlib
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest

DEADLINE = 240.0  # seconds for one call, on a machine that does other work; a test may shorten that of its pool
COLLECTIVE_TIMEOUT = datetime.timedelta(seconds=120)


def _work(rank: int, world: int, store: str, pipe: Any, stacks: str) -> None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))  # the functions come from modules beside this one
    log = open(stacks, "w")
    faulthandler.enable(log)
    faulthandler.register(signal.SIGUSR1, file=log, all_threads=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch
    import torch.distributed as distributed

    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", store=distributed.FileStore(store, world), rank=rank, world_size=world, timeout=COLLECTIVE_TIMEOUT
    )
    while True:
        call = pipe.recv_bytes()
        if not call:
            break
        try:
            function, arguments = pickle.loads(call)
            answer = ("returned", function(*arguments))
        except BaseException:
            answer = ("raised", f"rank {rank} of {world}: {traceback.format_exc()}")
        pipe.send(answer)
    distributed.destroy_process_group()


class Processes:
    """`world` processes in one gloo group."""

    def __init__(self, world: int, folder: pathlib.Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._stacks = [folder / f"stacks{rank}" for rank in range(world)]
        self._pipes, self._members = [], []
        for rank in range(world):
            ours, theirs = context.Pipe()
            arguments = (rank, world, str(folder / "store"), theirs, str(self._stacks[rank]))
            self._members.append(context.Process(target=_work, args=arguments, daemon=True))
            self._pipes.append(ours)
        for member in self._members:
            member.start()
        self.is_broken = False
        self.deadline = DEADLINE

    def run(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Calls a function of a test module in every process at once; returns the results by rank."""
        assert not self.is_broken, "an earlier call did not end"
        for pipe in self._pipes:
            pipe.send_bytes(pickle.dumps((function, arguments)))
        answers = []
        for rank, pipe in enumerate(self._pipes):
            if not pipe.poll(self.deadline):
                self._give_up(f"rank {rank} has not returned from {function.__name__}{arguments} in {self.deadline:.0f} s")
            try:
                answers.append(pipe.recv())
            except EOFError:
                self._give_up(f"rank {rank} has died in {function.__name__}{arguments}")
        failures = [text for kind, text in answers if kind == "raised"]
        assert not failures, "\n".join(failures)
        return [result for _, result in answers]

    def _give_up(self, what: str) -> None:
        self.is_broken = True
        for member in self._members:
            if member.is_alive() and member.pid is not None:
                os.kill(member.pid, signal.SIGUSR1)
        for member in self._members:
            member.join(2)
            member.kill()
        what += f"; exit codes {[member.exitcode for member in self._members]}"
        stacks = [f"rank {rank}:\n{path.read_text()}" for rank, path in enumerate(self._stacks) if path.is_file()]
        pytest.fail("\n".join([what, *stacks]))

    def close(self) -> None:
        for pipe, member in zip(self._pipes, self._members):
            if member.is_alive() and not self.is_broken:
                pipe.send_bytes(b"")
        for member in self._members:
            member.join(20)
            member.kill()


def pool_of(world: int) -> Any:
    """A fixture of a module: a pool that its tests share."""

    @pytest.fixture(scope="module")
    def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
        processes = Processes(world, tmp_path_factory.mktemp(f"processes{world}"))
        yield processes
        processes.close()

    return pool


def expect_none(answers: list[list[str]]) -> None:
    """No process has found a problem."""
    problems = [problem for found in answers for problem in found]
    assert not problems, "\n".join(problems)
