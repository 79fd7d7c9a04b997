"""Compares decoding, cropping, resizing and augmenting with torchvision's and Pillow's on the same parameters.

python torchvision_test.py IMAGE_EXCHANGE    exits with 77 if torchvision is not installed
"""

import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    import torchvision.transforms.functional as functional
    from PIL import Image
    from torchvision.transforms import InterpolationMode
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

BILINEAR = InterpolationMode.BILINEAR

# Positions are rounded to 1/2048 pixel and sines to 2^-16, which adds 1.8e-4 pixel at 16·√2 pixels from the center: at most 2.5e-4
# + 1.8e-4 on each axis, between neighbors that differ by at most 255.
AUGMENT_TOLERANCE = 255 * 2 * (2.5e-4 + 1.8e-4)
# Each of the two passes rounds to a whole level, which is an error of at most half a level; the other order may err as much in the
# opposite direction.
OTHER_ORDER = 2
# At a smaller scale the decoder averages over squares before the triangle filter: a slight blur, strongest where the scale is
# barely sufficient. On these waves, with deviation 70, it was measured at up to 6 levels of 255; a shift by eight pixels gives over
# 19.
SCALED_MEAN_DIFFERENCE = 7


def make_picture(width, height, seed):
    random = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    planes = []
    for _ in range(3):
        period_x, period_y, phase = random.uniform(12, 60), random.uniform(12, 60), random.uniform(0, 6)
        planes.append(127 + 100 * numpy.sin(6.2832 * (x / period_x + y / period_y) + phase))
    noise = random.normal(0, 4, (height, width, 3))
    return Image.fromarray(numpy.clip(numpy.stack(planes, -1) + noise, 0, 255).astype(numpy.uint8))


def make_files(folder):
    picture = make_picture(500, 375, 1)
    picture.save(folder / "half.jpg", quality=90)  # colors at half the size
    picture.save(folder / "full.jpg", quality=90, subsampling=0)
    picture.save(folder / "wide.jpg", quality=90, subsampling=1)
    picture.save(folder / "steps.jpg", quality=90, progressive=True)
    picture.convert("L").save(folder / "grey.jpg", quality=90)
    picture.convert("CMYK").save(folder / "inks.jpg", quality=90)
    return sorted(folder.glob("*.jpg"))


def crop_with(exchange, folder, crops):
    lines = []
    for number, (file, x, y, width, height, size, mirrored) in enumerate(crops):
        lines.append(f"{file} {x} {y} {width} {height} {size} {int(mirrored)} {folder / str(number)}")
    subprocess.run([exchange, "crop"], input="\n".join(lines), text=True, check=True)
    for number, (*_, size, _mirrored) in enumerate(crops):
        yield numpy.fromfile(folder / str(number), numpy.uint8).reshape(size, size, 3).astype(int)


def crop_of_pillow(file, x, y, width, height, size, mirrored):
    """Resizes across first, then down; by default Pillow chooses the order that it expects to be faster."""
    shown = Image.open(file).convert("RGB").crop((x, y, x + width, y + height))
    shown = shown.resize((size, height), Image.Resampling.BILINEAR).resize((size, size), Image.Resampling.BILINEAR)
    return numpy.asarray(functional.hflip(shown) if mirrored else shown).astype(int)


def crop_of_torchvision(file, x, y, width, height, size, mirrored):
    image = Image.open(file).convert("RGB")
    shown = functional.resized_crop(image, y, x, height, width, [size, size], BILINEAR)
    return numpy.asarray(functional.hflip(shown) if mirrored else shown).astype(int)


def compare_crops(exchange, folder):
    files = make_files(folder)
    boxes = [(0, 0, 500, 375), (37, 51, 201, 160), (16, 32, 150, 199), (301, 200, 199, 175), (250, 100, 40, 30), (499, 374, 1, 1)]
    # The size is at least half the box, so the file is decoded at full scale.
    crops = [
        (file, *box, size, size % 2 == 1)
        for file in files
        for box in boxes
        for size in (224, 193)
        if box[2] < 2 * size or box[3] < 2 * size
    ]
    same = 0
    for crop, found in zip(crops, crop_with(exchange, folder, crops)):
        difference = numpy.abs(found - crop_of_pillow(*crop)).max()
        assert difference == 0, (crop, difference)
        difference = numpy.abs(found - crop_of_torchvision(*crop)).max()
        assert difference <= OTHER_ORDER, (crop, difference)
        same += difference == 0
    print(f"{len(crops)} crops: the bytes of Pillow, and of torchvision for {same} of them")
    scaled = [(file, *box, size, False) for file in files for box in boxes[:3] for size in (64, 32, 16)]
    worst, least_aside = 0.0, 255.0
    for crop, found in zip(scaled, crop_with(exchange, folder, scaled)):
        file, x, y, *rest = crop
        worst = max(worst, numpy.abs(found - crop_of_torchvision(*crop)).mean())
        if rest[0] < 500:
            aside = crop_of_torchvision(file, x + 8, y, *rest)
            least_aside = min(least_aside, numpy.abs(found - aside).mean())
    assert worst < SCALED_MEAN_DIFFERENCE, worst
    assert least_aside > 2 * SCALED_MEAN_DIFFERENCE, least_aside
    print(f"{len(scaled)} crops at a smaller scale: mean difference at most {worst:.2f} of 255, {least_aside:.2f} aside")


def augment_of_torchvision(image, origin_x, origin_y, mirrored, degrees, pad):
    padded = functional.pad(image.float(), [pad, pad, pad, pad])
    size = image.shape[-1]
    shown = functional.crop(padded, origin_y + pad, origin_x + pad, size, size)
    shown = functional.hflip(shown) if mirrored else shown
    return functional.rotate(shown, degrees, interpolation=BILINEAR)


def compare_augmentations(exchange, folder, channels, size):
    random = numpy.random.default_rng(2)
    pixels = random.integers(0, 256, (5, channels, size, size), dtype=numpy.uint8)
    pixels.tofile(folder / "pixels")
    rows = [(k % 5, *random.integers(-4, 5, 2), bool(k % 2), random.uniform(-15, 15)) for k in range(40)]
    rows += [(0, 0, 0, False, 0.0), (1, 4, -4, True, 0.0), (2, 0, 0, False, 15.0), (3, 0, 0, False, 90.0)]
    lines = "\n".join(f"{i} {x} {y} {int(mirrored)} {float(degrees)!r}" for i, x, y, mirrored, degrees in rows)
    arguments = [folder / "pixels", str(len(pixels)), str(channels), str(size), folder / "augmented"]
    subprocess.run([exchange, "augment", *arguments], input=lines, text=True, check=True)
    found = torch.from_numpy(numpy.fromfile(folder / "augmented", numpy.float32)).view(-1, channels, size, size)
    assert len(found) == len(rows)
    worst = 0.0
    for (index, x, y, mirrored, degrees), image in zip(rows, found):
        wanted = augment_of_torchvision(torch.from_numpy(pixels[index]), int(x), int(y), mirrored, degrees, 4)
        difference = (image - wanted).abs().max().item()
        exact = degrees in (0.0, 90.0)
        # grid_sample computes its coordinates in float32.
        assert difference <= (1e-2 if exact else AUGMENT_TOLERANCE), ((index, x, y, mirrored, degrees), difference)
        worst = max(worst, difference)
    print(f"{len(rows)} augmentations of {channels} × {size} × {size}: worst difference {worst:.3f} of 255")


def main(exchange):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compare_crops(exchange, folder)
        compare_augmentations(exchange, folder, 3, 32)
        compare_augmentations(exchange, folder, 1, 28)


if __name__ == "__main__":
    main(sys.argv[1])
