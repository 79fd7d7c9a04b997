"""Tests that processes which wait for each other end a test with their stacks, and do not hang it."""

import time

import pytest
import torch
from processes import Processes

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")


def rank_of():
    return torch.distributed.get_rank()


def wait_for_nothing(tensor, placement):
    if torch.distributed.get_rank() == 1:
        time.sleep(3600)


def test_a_process_that_does_not_return_is_named_with_what_it_was_doing(tmp_path):
    pool = Processes(2, tmp_path)
    assert pool.run(rank_of) == [0, 1]
    pool.deadline = 5.0
    with pytest.raises(pytest.fail.Exception) as failure:
        pool.run(wait_for_nothing, "matrix", "Shard(0)")
    message = str(failure.value)
    assert "rank 1 has not returned from wait_for_nothing('matrix', 'Shard(0)') in 5 s" in message
    assert "in wait_for_nothing" in message  # a line of its stack
    pool.close()
