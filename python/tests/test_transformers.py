"""Tests the Hugging Face Trainer with a tiny GPT-2 made here: a custom optimizer, checkpoint and resume."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_OFFLINE"] = "1"

import pytest
import torch

import sing
from sing.attach import attach
from sing.groups import param_groups
from sing.schedules import WarmupCosine

transformers = pytest.importorskip("transformers")

STEPS, MIDDLE = 12, 7  # in the middle of a LookAhead period

KINDS = {
    "attach": lambda groups: attach(torch.optim.AdamW(groups, lr=0.02)),
    "SING": lambda groups: sing.SING(groups, lr=0.02),
}


class AttachedAdamW:
    """The Trainer calls an object that is not an Optimizer class twice: without arguments, then with the model."""

    def __call__(self, model, **options):
        return attach(torch.optim.AdamW(param_groups(model, 0.1), **options))


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        ids = (torch.arange(12) * (index + 1)) % 17
        return {"input_ids": ids, "labels": ids}


def make_model():
    transformers.set_seed(3)
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=17, n_positions=12, n_embd=8, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    )


def make_arguments(folder, steps):
    return transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        save_steps=MIDDLE,
        per_device_train_batch_size=4,
        use_cpu=True,
        disable_tqdm=True,
        report_to=[],
        logging_strategy="no",
        seed=11,
    )


def by_optimizers(kind, folder, steps):
    model = make_model()
    optimizer = KINDS[kind](param_groups(model, 0.1, output_rows=True))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, WarmupCosine(warmup_steps=2, total_steps=STEPS))
    return transformers.Trainer(model, make_arguments(folder, steps), train_dataset=Tokens(), optimizers=(optimizer, scheduler))


def by_class_and_arguments(kind, folder, steps):
    given = (AttachedAdamW if kind == "attach" else sing.SING, {"lr": 0.02})
    return transformers.Trainer(make_model(), make_arguments(folder, steps), train_dataset=Tokens(), optimizer_cls_and_kwargs=given)


def weights(trainer):
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def different(one, other):
    return {name for name in one if not torch.equal(one[name], other[name])}


@pytest.mark.parametrize("make", [by_optimizers, by_class_and_arguments])
@pytest.mark.parametrize("kind", KINDS)
def test_a_resumed_run_has_the_weights_of_an_uninterrupted_one(kind, make, tmp_path):
    start = make(kind, tmp_path / "start", STEPS)
    before = weights(start)
    whole = make(kind, tmp_path / "whole", STEPS)
    whole.train()
    assert different(before, weights(whole)) == set(before)

    # The scheduler of optimizer_cls_and_kwargs is made for max_steps, so the first run is set to the full length and stopped early.
    checkpoint = tmp_path / "whole" / f"checkpoint-{MIDDLE}"
    resumed = make(kind, tmp_path / "resumed", STEPS)
    resumed.train(resume_from_checkpoint=str(checkpoint))
    assert resumed.state.global_step == STEPS
    assert {group["lookahead_step"] for group in resumed.optimizer.state_dict()["param_groups"]} == {STEPS}
    assert different(weights(whole), weights(resumed)) == set()


def test_output_rows_reach_the_transposed_layers(tmp_path):
    trainer = by_optimizers("attach", tmp_path, 1)
    axes = {name: group["centralize_axis"] for group in trainer.optimizer.param_groups for name in group["param_names"]}
    assert axes["transformer.h.0.attn.c_attn.weight"] == axes["transformer.h.0.mlp.c_fc.weight"] == 1
    assert axes["transformer.wte.weight"] == 0
    trainer.train()
