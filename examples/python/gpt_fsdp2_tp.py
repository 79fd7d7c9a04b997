"""Trains a small GPT on the text of this file with FSDP2 x tensor parallelism, by sing.SING.

torchrun --nproc-per-node 4 examples/python/gpt_fsdp2_tp.py    two-way FSDP2 times two-way tensor parallelism, on the CPU
python examples/python/gpt_fsdp2_tp.py                         the same losses on one process
"""

from __future__ import annotations

import os
import pathlib

import torch
import torch.distributed as distributed
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import sing

WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 64, 4, 2, 32, 8


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        def heads(y: Tensor) -> Tensor:  # under tensor parallelism a process has some of the heads
            return y.unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)

        attended = nn.functional.scaled_dot_product_attention(
            heads(self.query(x)), heads(self.key(x)), heads(self.value(x)), is_causal=True
        )
        return self.out(attended.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm2, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def parallelize(model: GPT, mesh: DeviceMesh) -> None:
    """Cuts each block's matrices over the axis "tp" of the mesh, then every parameter over its axis "dp"."""
    for block in model.blocks:
        plan = {
            "attention.query": ColwiseParallel(),
            "attention.key": ColwiseParallel(),
            "attention.value": ColwiseParallel(),
            "attention.out": RowwiseParallel(),
            "up": ColwiseParallel(),
            "down": RowwiseParallel(),
        }
        parallelize_module(block, mesh["tp"], plan)
        fully_shard(block, mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])


def train(steps: int = 20, learning_rate: float = 0.02) -> list[float]:
    """Trains on the processes that torchrun started, or on this one; returns the losses over the whole batches."""
    data = torch.tensor(list(pathlib.Path(__file__).read_bytes()))
    is_distributed = "WORLD_SIZE" in os.environ
    torch.manual_seed(0)
    model = GPT(vocabulary=128)
    shard, shards = 0, 1
    if is_distributed:
        distributed.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (distributed.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))
        parallelize(model, mesh)
        shard, shards = mesh["dp"].get_local_rank(), mesh["dp"].size()
    optimizer = sing.SING(model.named_parameters(), lr=learning_rate, normalize="size_calibrated")
    losses = []
    for step in range(steps):
        generator = torch.Generator().manual_seed(step)
        starts = torch.randint(len(data) - CONTEXT - 1, (BATCH,), generator=generator)
        rows = torch.stack([data[start : start + CONTEXT + 1] for start in starts])
        rows = rows.chunk(shards)[shard]  # those of this process's place along "dp"
        loss = nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total = loss.detach().clone()
        if is_distributed:
            distributed.all_reduce(total, group=mesh["dp"].get_group())
        losses.append(float(total) / shards)
    if is_distributed:
        distributed.destroy_process_group()
    return losses


if __name__ == "__main__":
    for step, loss in enumerate(train()):
        if int(os.environ.get("RANK", 0)) == 0:
            print(f"step {step:3}  loss {loss:.6f}")
