"""Tests frameworks that shard models with FSDP2, on two processes and the CPU, against one process. DDP is in test_sharding.py."""

import pytest
import sharded_frameworks
import torch
from processes import expect_none, pool_of

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")

two = pool_of(2)


def test_accelerate_with_its_fsdp2_plugin_trains_and_resumes_as_one_process(two, tmp_path):
    pytest.importorskip("accelerate")
    expect_none(two.run(sharded_frameworks.accelerate, str(tmp_path)))


def test_lightning_with_model_parallel_strategy_trains_as_one_process(two):
    pytest.importorskip("lightning.pytorch")
    expect_none(two.run(sharded_frameworks.lightning))


@pytest.mark.parametrize("sharded", [False, True])
def test_the_hugging_face_trainer_trains_as_one_process(two, tmp_path, sharded):
    pytest.importorskip("transformers")
    expect_none(two.run(sharded_frameworks.transformers_trainer, str(tmp_path), sharded))


def test_fsdp1_needs_an_accelerator_itself(two):
    expect_none(two.run(sharded_frameworks.fully_sharded_data_parallel))
