"""Measures training crops per second on one core, compared with torchvision with Pillow on the same files in the same run.

./dev run python bench/image_bench.py [--folder FOLDER]... [--rounds N] [--machine NAME] [--print-only]

A folder has ImageNet's layout; without one, only generated images of ImageNet's usual size are measured. The contestants
take turns; each turn goes once over the training images. Times are processor time of one thread, which other programs on
the machine do not change. The program writes bench/results/images-<machine>.json and the tables of docs/benchmarks.md.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import measurement
import numpy
import PIL
import torch
import torchvision
from measurement import make_benchmark_tables
from PIL import Image
from torchvision import transforms

SIZE = 192
GENERATED = 200


def make_folder(root):
    """Writes generated images of 500 × 375 pixels in two classes: waves and noise that compress like photographs (about 70 KB)."""
    random = numpy.random.default_rng(1)
    y, x = numpy.mgrid[0:375, 0:500]
    for number in range(GENERATED):
        planes = []
        for _ in range(3):
            waves = sum(
                numpy.sin(x / random.uniform(2, 60) + y / random.uniform(2, 60) + random.uniform(0, 6)) for _ in range(6)
            )
            planes.append(127 + 20 * waves + random.normal(0, 10, x.shape))
        for subset in ("train", "val") if number < 2 else ("train",):
            path = root / subset / str(number % 2) / f"{number}.JPEG"
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = numpy.clip(numpy.stack(planes, -1), 0, 255).astype(numpy.uint8)
            Image.fromarray(pixels).save(path, quality=90)


class Torchvision:
    """Decodes, applies RandomResizedCrop and a horizontal flip, and returns bytes as ours does, or the usual normalized floats."""

    def __init__(self, folder, floats):
        self.files = sorted(path for path in (folder / "train").rglob("*") if path.is_file())
        last = [transforms.PILToTensor()]
        if floats:
            last = [transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
        self.transform = transforms.Compose([transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip(), *last])

    def images_per_second(self, _round):
        start = time.process_time()
        for path in self.files:
            with open(path, "rb") as file:
                self.transform(Image.open(file).convert("RGB"))
        return len(self.files) / (time.process_time() - start)


class Sing:
    def __init__(self, program, path):
        self.command = [program, str(path), str(SIZE)]

    def images_per_second(self, number):
        done = subprocess.run([*self.command, str(2 * number), "1"], capture_output=True, text=True, check=True)
        seconds, images = done.stdout.split()
        return int(images) / float(seconds)


def measure(title, folder, programs, rounds, scratch):
    sing, bench = programs
    packs = {}
    for encoding in ("jpeg", "raw"):
        packs[encoding] = scratch / f"{folder.name}.{encoding}"
        subprocess.run(
            [sing, "data", "pack", "--from", folder, "--out", packs[encoding], "--format", encoding],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    contestants = {
        "torchvision, to bytes": Torchvision(folder, floats=False),
        "torchvision, to normalized floats": Torchvision(folder, floats=True),
        "sing, folder": Sing(bench, folder),
        "sing, pack of JPEGs": Sing(bench, packs["jpeg"]),
        "sing, raw pack": Sing(bench, packs["raw"]),
    }
    rates = {name: [] for name in contestants}
    for number in range(rounds + 1):  # the first round is not counted
        for name, contestant in contestants.items():
            rate = contestant.images_per_second(number)
            if number > 0:
                rates[name].append(rate)
    base = rates["torchvision, to bytes"]
    files = [path for path in (folder / "train").rglob("*") if path.is_file()]
    return {
        "title": title,
        "images": len(files),
        "mean_bytes": round(sum(path.stat().st_size for path in files) / len(files)),
        "rows": [
            {
                "title": name,
                "images_per_second": measurement.spread(each),
                "ratio": measurement.ratios(each, base),
            }
            for name, each in rates.items()
        ],
    }


def measure_all(options, programs):
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        make_folder(scratch / "generated")
        folders = {f"{GENERATED} generated pictures, 500 × 375": scratch / "generated"}
        folders.update({pathlib.Path(each).name: pathlib.Path(each) for each in options.folder})
        return [measure(title, folder, programs, options.rounds, scratch) for title, folder in folders.items()]


def main():
    parser = measurement.argument_parser(__doc__.splitlines()[0], rounds=7)
    parser.add_argument("--folder", action="append", default=[], help="another image folder to measure")
    options = parser.parse_args()
    programs = [shutil.which(name) for name in ("sing", "image_bench")]
    if None in programs:
        sys.exit("[image_bench] wanted sing and image_bench on PATH, got not both; ./dev run python bench/image_bench.py")
    torch.set_num_threads(1)
    hardware = measurement.hardware()
    machine = options.machine or measurement.machine_name(hardware)
    result = {
        **measurement.circumstances(make_benchmark_tables.IMAGES, machine),
        "processor": hardware["processor"],
        "size": SIZE,
        "torchvision": torchvision.__version__,
        "pillow": PIL.__version__,
        "rounds": options.rounds,
        "sets": measure_all(options, programs),
    }
    for each in result["sets"]:
        print(f"{each['title']}: {each['images']} images of {each['mean_bytes']} bytes")
        for row in each["rows"]:
            print(f"  {row['title']:36}{row['images_per_second']['median']:8.0f} images/s  {row['ratio']['median']:.2f}")
    measurement.write_result(options, f"images-{machine}", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
