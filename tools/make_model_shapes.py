"""Writes bench/model_shapes.json: the parameter shapes of the models that the benchmarks step.

python tools/make_model_shapes.py [--check] writes the file; with --check it writes nothing and exits with 1 if the file would
change.

A model is a list of parts in the order of its parameters, each a list of shapes that is repeated `repeat` times.
"""

import json
import math
import sys

import generated_text

FILE = generated_text.ROOT / "bench" / "model_shapes.json"


def part(*shapes, repeat=1):
    return {"repeat": repeat, "shapes": [list(shape) for shape in shapes]}


def linear(outputs, inputs):
    return [(outputs, inputs), (outputs,)]


def transformer_block(width):
    """A pre-norm block: norm, query-key-value, projection, norm, and two layers of four times the width."""
    norm = [(width,), (width,)]
    attention = linear(3 * width, width) + linear(width, width)
    return norm + attention + norm + linear(4 * width, width) + linear(width, 4 * width)


def vit(width, layers, tokens=64, patch=16):
    """A ViT with one input channel, no class token and a linear head to the pixels of a patch."""
    return [
        part((width, 1, patch, patch), (width,), (1, tokens, width)),
        part(*transformer_block(width), repeat=layers),
        part((width,), (width,), *linear(patch * patch, width)),
    ]


def gpt2(width, layers, vocabulary=50257, context=1024):
    """GPT-2, whose head is the token embedding."""
    return [
        part((vocabulary, width), (context, width)),
        part(*transformer_block(width), repeat=layers),
        part((width,), (width,)),
    ]


def batch_norm_convolution(outputs, inputs, side):
    return [(outputs, inputs, side, side), (outputs,), (outputs,)]


def resnet18(classes=1000):
    shapes = batch_norm_convolution(64, 3, 7)
    inputs = 64
    for outputs in (64, 128, 256, 512):
        shapes += batch_norm_convolution(outputs, inputs, 3) + batch_norm_convolution(outputs, outputs, 3)
        if outputs != inputs:
            shapes += batch_norm_convolution(outputs, inputs, 1)
        shapes += 2 * batch_norm_convolution(outputs, outputs, 3)
        inputs = outputs
    return [part(*shapes, *linear(classes, inputs))]


def model(title, tensors, parts):
    """`tensors` is the number of tensors in the model's own code; the shapes above have to add up to it."""
    shapes = [shape for each in parts for shape in each["repeat"] * each["shapes"]]
    if len(shapes) != tensors:
        raise ValueError(f"[{title}] wanted {tensors} tensors, got {len(shapes)}")
    return {
        "title": title,
        "tensors": tensors,
        "parameters": sum(math.prod(shape) for shape in shapes),
        "parts": parts,
    }


def models():
    return {
        "resnet18": model("ResNet18", 62, resnet18()),
        "vit_s": model("ViT-S/16", 151, vit(384, 12)),
        "vit_b": model("ViT-B/16", 151, vit(768, 12)),
        "gpt2_124m": model("GPT-2 124M", 148, gpt2(768, 12)),
        "gpt2_1.5b": model("GPT-2 1.5B", 580, gpt2(1600, 48)),
        "ten_thousand": model("10 000 tensors of 64", 10000, [part((64,), repeat=10000)]),
    }


def text():
    lines = []
    for name, each in models().items():
        parts = ",\n".join(f"      {json.dumps(one)}" for one in each["parts"])
        head = ", ".join(f'"{key}": {json.dumps(each[key])}' for key in ("title", "tensors", "parameters"))
        lines.append(f'  "{name}": {{\n    {head},\n    "parts": [\n{parts}\n    ]\n  }}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    check = generated_text.parser(__doc__.splitlines()[0]).parse_args().check
    return generated_text.finish(FILE, text(), check, "tools/make_model_shapes.py")


if __name__ == "__main__":
    sys.exit(main())
