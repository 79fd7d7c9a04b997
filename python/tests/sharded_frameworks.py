"""Training by frameworks that shard with FSDP2, compared with the same training in one process. Runs inside processes.Processes."""

from __future__ import annotations

import contextlib
import logging
import os
import warnings
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as distributed
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

import sing
from sharded_models import BATCH, differences, model_of, optimizer_of, trained_by_one

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"

STEPS = 6  # past a merge of LookAhead
KIND = "SING"
# transformers computes losses in float32, and the two sides round their sums differently: by 2⁻²⁴ of a gradient, and so of an
# update, which is below 2⁻⁵ here. Six steps may add up and grow such errors by 2⁹; a lost gradient changes a weight by more.
FLOAT32_LOSS = 2.0**-20


@contextlib.contextmanager
def launched() -> Iterator[None]:
    """The environment that torchrun gives its processes."""
    rank, world = str(distributed.get_rank()), str(distributed.get_world_size())
    given = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "LOCAL_WORLD_SIZE": world, "GROUP_RANK": "0"}
    given |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "tests"}
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def batch_of(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """This process's part of the batch that sharded_models.train() takes in a step."""
    rank, world = distributed.get_rank(), distributed.get_world_size()
    generator = torch.Generator().manual_seed(step)
    inputs = torch.randn(BATCH, 5, generator=generator, dtype=torch.float64).chunk(world)[rank]
    return inputs, torch.randn(BATCH, 3, generator=generator, dtype=torch.float64).chunk(world)[rank]


def not_sharded(model: torch.nn.Module) -> list[str]:
    return [] if all(isinstance(each, DTensor) for each in model.parameters()) else ["the parameters are no DTensors"]


@contextlib.contextmanager
def accelerate_state() -> Iterator[None]:
    """accelerate keeps its state per process; each use gets its own."""
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)
    try:
        yield
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)


def shard_by(accelerator: Any, plugin: Any) -> list[str]:
    """Puts an Accelerator for the CPU into the state that it has on GPUs with this plugin, which it leaves aside on the CPU."""
    from accelerate.state import PartialState
    from accelerate.utils import DistributedType

    problems = [] if accelerator.distributed_type == DistributedType.MULTI_CPU else ["accelerate shards on the CPU: say so in the docs"]
    PartialState._shared_state["distributed_type"] = DistributedType.FSDP
    accelerator.state.distributed_type = DistributedType.FSDP
    accelerator.state.fsdp_plugin = plugin
    return problems if accelerator.is_fsdp2 else [*problems, "accelerate is not in its FSDP2 state"]


def plugin_of() -> Any:
    from accelerate import FullyShardedDataParallelPlugin

    return FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="no_wrap", cpu_ram_efficient_loading=False, state_dict_type="SHARDED_STATE_DICT"
    )


def accelerate(folder: str) -> list[str]:
    """prepare() with an optimizer made over the plain parameters, save_state() and load_state()."""
    from accelerate import Accelerator

    def run(steps: range, load: bool) -> tuple[torch.nn.Module, Any, list[str]]:
        accelerator = Accelerator(cpu=True, fsdp_plugin=plugin_of())
        problems = shard_by(accelerator, plugin_of())
        model = model_of()
        model, optimizer = accelerator.prepare(model, optimizer_of(model, KIND))
        if load:
            accelerator.load_state(folder)
        for step in steps:
            inputs, targets = batch_of(step)
            optimizer.zero_grad()
            accelerator.backward(torch.nn.functional.mse_loss(model(inputs), targets))
            optimizer.step()
        return model, accelerator, problems + not_sharded(model)

    with launched(), accelerate_state():
        middle = 3  # in the middle of a period of LookAhead
        model, accelerator, problems = run(range(middle), load=False)
        problems += differences(model, trained_by_one(middle, KIND))
        accelerator.save_state(folder)
    with launched(), accelerate_state():
        model, _, more = run(range(middle, STEPS), load=True)
        return problems + more + differences(model, trained_by_one(STEPS, KIND))


def lightning() -> list[str]:
    """Trainer.fit() with ModelParallelStrategy, which runs on the CPU."""
    import lightning.pytorch as pytorch_lightning
    from lightning.pytorch.strategies import ModelParallelStrategy

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    class Module(pytorch_lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = model_of()

        def configure_model(self) -> None:
            mesh = self.device_mesh["data_parallel"]
            fully_shard(self.network[0], mesh=mesh)
            fully_shard(self.network, mesh=mesh)

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            return torch.nn.functional.mse_loss(self.network(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return optimizer_of(self.network, KIND)

    with launched():
        world = distributed.get_world_size()
        trainer = pytorch_lightning.Trainer(
            accelerator="cpu",
            devices=world,
            strategy=ModelParallelStrategy(data_parallel_size=world, tensor_parallel_size=1),
            max_epochs=1,
            use_distributed_sampler=False,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        module = Module()
        trainer.fit(module, torch.utils.data.DataLoader([batch_of(step) for step in range(STEPS)], batch_size=None))
        return not_sharded(module.network) + differences(module.network, trained_by_one(STEPS, KIND))


class Tokens(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 8 * STEPS

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        ids = (torch.arange(12) * (index + 1)) % 17
        return {"input_ids": ids, "labels": ids}


def language_model() -> torch.nn.Module:
    import transformers

    transformers.set_seed(3)
    config = transformers.GPT2Config(
        vocab_size=17, n_positions=12, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0, tie_word_embeddings=False,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config).double()


def language_model_of_one_process() -> torch.nn.Module:
    model, data = language_model(), Tokens()
    optimizer = sing.SING(model.parameters(), lr=0.02)
    for step in range(STEPS):
        batch = [data[index] for index in range(8 * step, 8 * step + 8)]
        optimizer.zero_grad()
        model(**{key: torch.stack([each[key] for each in batch]) for key in batch[0]}).loss.backward()
        optimizer.step()
    return model


def transformers_trainer(folder: str, sharded: bool) -> list[str]:
    """The Hugging Face Trainer: DDP, as it trains on the CPU whatever fsdp_config says, or the FSDP2 that accelerate would choose."""
    import transformers

    class InOrder(transformers.Trainer):
        def _get_train_sampler(self, *arguments: Any) -> Any:
            return torch.utils.data.SequentialSampler(self.train_dataset)

    with launched(), accelerate_state():
        arguments = transformers.TrainingArguments(
            output_dir=folder,
            max_steps=STEPS,
            per_device_train_batch_size=8 // distributed.get_world_size(),
            max_grad_norm=0.0,
            lr_scheduler_type="constant",
            use_cpu=True,
            disable_tqdm=True,
            report_to=[],
            logging_strategy="no",
            save_strategy="no",
            fsdp="full_shard",
            fsdp_config={"version": 2},
        )
        trainer = InOrder(
            language_model(), arguments, train_dataset=Tokens(), optimizer_cls_and_kwargs=(sing.SING, {"lr": 0.02})
        )
        problems = ["the Trainer shards on the CPU: say so in the docs"] if trainer.is_fsdp_enabled else []
        if sharded:
            problems += shard_by(trainer.accelerator, plugin_of())
            trainer.is_fsdp_enabled = True
        trainer.train()
        model = trainer.model_wrapped if sharded else trainer.model
        if sharded:
            problems += not_sharded(model)
        return problems + differences(model, language_model_of_one_process(), FLOAT32_LOSS)


def fully_sharded_data_parallel() -> list[str]:
    """FSDP1 refuses the CPU itself; its parameters without an accelerator are made by the class that it uses."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    try:
        FullyShardedDataParallel(model_of())
        message = "none"
    except RuntimeError as error:
        message = str(error)
    wanted = "FSDP needs a non-CPU accelerator device, but no accelerator device is detected."
    return [] if message == wanted or torch.accelerator.is_available() else [f"FSDP1 says {message}"]
