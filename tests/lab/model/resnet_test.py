"""Compares the C++ ResNets with torchvision's: names, logits, gradients, running statistics, for the same weights.

python resnet_test.py RESNET_EXCHANGE    exits with 77 if torchvision is not installed
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
    import torchvision
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Both sides compute in double and differ in the order of their sums: about 50 layers of sums of up to 4608 products, each rounded
# to 1.1e-16, amplified by batch normalization over few values. Any float32 arithmetic would appear as 1e-7.
RELATIVE = 1e-10
CLASSES = 7


class BlurPoolConv2d(torch.nn.Module):
    """Replaces a convolution as FFCV does (libffcv/ffcv-imagenet, train_imagenet.py)."""

    def __init__(self, conv):
        super().__init__()
        kernel = torch.tensor([[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]]) / 16.0
        self.conv = conv
        self.register_buffer("blur_filter", kernel.repeat(conv.in_channels, 1, 1, 1), persistent=False)

    def forward(self, images):
        blurred = torch.nn.functional.conv2d(
            images, self.blur_filter, stride=1, padding=(1, 1), groups=self.conv.in_channels, bias=None
        )
        return self.conv(blurred)


def apply_blurpool(module):
    for name, child in module.named_children():
        if isinstance(child, torch.nn.Conv2d) and max(child.stride) > 1 and child.in_channels >= 16:
            setattr(module, name, BlurPoolConv2d(child))
        else:
            apply_blurpool(child)


def make_model(name, stem, blurpool):
    torch.manual_seed(20260801)
    model = getattr(torchvision.models, name)(num_classes=CLASSES)
    if stem == "cifar":
        model.conv1 = torch.nn.Conv2d(3, 64, 3, stride=1, padding=1, bias=False)
        model.maxpool = torch.nn.Identity()
    if blurpool:
        apply_blurpool(model)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.5)
            torch.nn.init.normal_(module.bias, std=0.2)
    return model.double()


def plain_name(name):
    return name.replace(".conv.", ".")


def wanted(model, images, labels):
    found = {}
    model.train()
    found["logits"] = model(images)
    loss = torch.nn.functional.cross_entropy(found["logits"], labels, label_smoothing=0.1)
    loss.backward()
    found["loss"] = loss.float().double()
    for name, parameter in model.named_parameters():
        found["gradient." + plain_name(name)] = parameter.grad
    for name, buffer in model.named_buffers():
        if not name.endswith("blur_filter"):
            found["buffer." + name] = buffer
    model.eval()
    found["evaluation"] = model(images)
    found["mirrored"] = (model(images) + model(images.flip(3))) / 2
    return {name: tensor.detach() for name, tensor in found.items()}


def compare(exchange, name, stem, blurpool, layout):
    model = make_model(name, stem, blurpool)
    generator = torch.Generator().manual_seed(3)
    size = 64 if stem == "imagenet" else 32
    images = torch.randn(4, 3, size, size, generator=generator, dtype=torch.float64)
    labels = torch.randint(CLASSES, (4,), generator=generator)
    with tempfile.TemporaryDirectory() as folder:
        weights = {plain_name(key): tensor.contiguous() for key, tensor in model.state_dict().items()}
        save_file(weights, f"{folder}/weights.safetensors")
        save_file({"images": images, "labels": labels}, f"{folder}/input.safetensors")
        subprocess.run(
            [exchange, folder, name, stem, "blurpool" if blurpool else "plain", layout], check=True
        )
        result = load_file(pathlib.Path(folder) / "result.safetensors")
    reference = wanted(model, images, labels)
    assert set(result) == set(reference), set(result) ^ set(reference)
    worst = 0.0
    for key, tensor in reference.items():
        assert result[key].shape == tensor.shape, key
        scale = tensor.abs().max().item() or 1.0
        difference = (result[key].double() - tensor.double()).abs().max().item() / scale
        # The loss is computed in float32.
        assert difference <= (2e-7 if key == "loss" else RELATIVE), (name, stem, blurpool, layout, key, difference)
        worst = max(worst, difference if key != "loss" else 0.0)
    print(f"{name} {stem} {'blurpool' if blurpool else 'plain'} {layout}: {len(result)} tensors, worst {worst:.1e}")
    return reference["logits"]


def main(exchange):
    compare(exchange, "resnet18", "imagenet", False, "contiguous")
    plain = compare(exchange, "resnet18", "cifar", False, "contiguous")
    blurred = compare(exchange, "resnet18", "cifar", True, "channels_last")
    assert (plain - blurred).abs().max() > 1e-2, "the blur changes nothing"
    compare(exchange, "resnet34", "imagenet", True, "contiguous")


if __name__ == "__main__":
    main(sys.argv[1])
