"""Times a SING-AdamW + LookAhead step on a GPU against torch's fused AdamW.

python bench/cuda/cuda_step_bench.py LIBRARY [--models NAME...] [--sweep NAME...] [--profile NAME] [--result FILE]
    [--commit HASH]

Both optimizers run in one process on the same gradients, once eagerly and once as a CUDA graph replay. A
sample is the time of a whole LookAhead period (5 steps) between two events, divided by 5. The four
contestants take turns; medians over the periods are printed and written as JSON.
"""

import argparse
import ctypes
import datetime
import json
import pathlib
import statistics
import subprocess
import time

import torch

PERIOD = 5
NON_FINITE = {"skip_tensor": 0, "skip_step": 1}
DEFAULT = {
    "chunk": 4096,
    "tile": 2048,
    "small": 2048,
    "window_mb": 20,
    "beyond_mb": 12,
    "beyond_large_mb": 48,
    "non_finite": "skip_tensor",
}


class Options(ctypes.Structure):
    _fields_ = [
        ("stream", ctypes.c_void_p),
        ("chunk_elements", ctypes.c_int64),
        ("tile_elements", ctypes.c_int64),
        ("small_elements", ctypes.c_int64),
        ("window_bytes", ctypes.c_int64),
        ("beyond_bytes", ctypes.c_int64),
        ("beyond_large_bytes", ctypes.c_int64),
        ("non_finite", ctypes.c_int64),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("parameter", ctypes.c_void_p),
        ("gradient", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("shape", ctypes.c_int64 * 4),
    ]


class Sing:
    """Runs SING on torch tensors through the shim library."""

    def __init__(self, library, parameters, gradients, stream, tuning):
        self.library = library
        tensors = (Tensor * len(parameters))()
        for entry, parameter, gradient in zip(tensors, parameters, gradients):
            shape = list(parameter.shape) + [0] * (4 - parameter.dim())
            entry.parameter, entry.gradient = parameter.data_ptr(), gradient.data_ptr()
            entry.rank, entry.shape = parameter.dim(), (ctypes.c_int64 * 4)(*shape)
        options = Options(
            stream.cuda_stream,
            tuning["chunk"],
            tuning["tile"],
            tuning["small"],
            int(tuning["window_mb"] * 2**20),
            int(tuning["beyond_mb"] * 2**20),
            int(tuning["beyond_large_mb"] * 2**20),
            NON_FINITE[tuning["non_finite"]],
        )
        self.handle = library.sing_bench_create(ctypes.byref(options), tensors, len(parameters))
        if not self.handle:
            raise RuntimeError("[cuda_step_bench] wanted an optimizer, got the error above")

    def step(self):
        if self.library.sing_bench_step(self.handle) != 0:
            raise RuntimeError("[cuda_step_bench] wanted a step, got the error above")

    def close(self):
        self.library.sing_bench_destroy(self.handle)
        self.handle = None


def load(path):
    library = ctypes.CDLL(str(path))
    library.sing_bench_create.restype = ctypes.c_void_p
    library.sing_bench_create.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.sing_bench_step.argtypes = [ctypes.c_void_p]
    library.sing_bench_destroy.argtypes = [ctypes.c_void_p]
    library.sing_bench_scratch_bytes.restype = ctypes.c_int64
    library.sing_bench_scratch_bytes.argtypes = [ctypes.c_void_p]
    return library


def shapes_of(model):
    return [tuple(shape) for part in model["parts"] for _ in range(part["repeat"]) for shape in part["shapes"]]


def capture(stream, step):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    return graph.replay


def milliseconds(stream, step):
    """Returns the time per step of one period. The device is idle at its start, so the time includes the host's first launch."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record(stream)
    for _ in range(PERIOD):
        step()
    end.record(stream)
    end.synchronize()
    return begin.elapsed_time(end) / PERIOD


def interleaved(stream, contestants, periods):
    samples = {name: [] for name in contestants}
    for name, step in contestants.items():
        milliseconds(stream, step)
    for _ in range(periods):
        for name, step in contestants.items():
            samples[name].append(milliseconds(stream, step))
    return samples


def host_microseconds(stream, step, steps=50):
    """Returns the median time that a call takes on the host while the device is idle."""
    times = []
    for _ in range(steps):
        stream.synchronize()
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * 1e6)
    stream.synchronize()
    return statistics.median(times)


def copy_bandwidth(stream):
    """Returns the bytes per second, read and written, of a 4 GB copy: the memory's practical limit."""
    source = torch.empty(2**30, dtype=torch.float32, device="cuda")
    target = torch.empty_like(source)
    times = [milliseconds(stream, lambda: target.copy_(source)) for _ in range(5)]
    return 2 * source.numel() * 4 / (statistics.median(times) * 1e-3)


def summary(samples):
    quartiles = statistics.quantiles(samples, n=4, method="inclusive")
    return {"median_ms": statistics.median(samples), "quartiles_ms": [quartiles[0], quartiles[2]], "periods": len(samples)}


def make_tensors(model):
    generator = torch.Generator(device="cuda").manual_seed(1)
    shapes = shapes_of(model)
    parameters = [torch.randn(s, device="cuda", generator=generator) * 0.02 for s in shapes]
    gradients = [torch.randn(s, device="cuda", generator=generator) * 1e-3 for s in shapes]
    return parameters, gradients


def check_finite(parameters):
    if not all(bool(torch.isfinite(p).all()) for p in parameters[:50]):
        raise RuntimeError("[cuda_step_bench] wanted finite parameters after the benchmark, got others")


def make_fused_adamw(parameters, gradients):
    """Holds torch's optimizer with its own copy of the parameters."""
    theirs = [p.clone().requires_grad_() for p in parameters]
    for parameter, gradient in zip(theirs, gradients):
        parameter.grad = gradient
    return torch.optim.AdamW(theirs, lr=1e-3, weight_decay=1e-2, fused=True, capturable=True)


class Pair:
    """Holds torch's optimizer and SING's. They share the gradients; SING's parameters are shared by all pairs."""

    def __init__(self, library, stream, parameters, gradients):
        self.torch = make_fused_adamw(parameters, gradients)
        self.sing = Sing(library, parameters, gradients, stream, DEFAULT)
        self.torch.step()
        self.sing.step()
        stream.synchronize()
        self.contestants = {
            "torch_eager": self.torch.step,
            "torch_graph": capture(stream, self.torch.step),
            "sing_eager": self.sing.step,
            "sing_graph": capture(stream, self.sing.step),
        }

    def close(self):
        del self.contestants
        torch.cuda.synchronize()
        self.sing.close()


def pair_count(model):
    """Returns how many pairs to pool: three, or as many as fit, because the addresses of the arrays change a step's time by half a
    percent."""
    return max(1, min(3, int(90e9 // (24 * model["parameters"]))))


def measure_model(library, stream, model, periods):
    parameters, gradients = make_tensors(model)
    start = [p.clone() for p in parameters[:50]]
    pairs = [Pair(library, stream, parameters, gradients) for _ in range(pair_count(model))]
    if all(bool((a == b).all()) for a, b in zip(start, parameters)):
        raise RuntimeError("[cuda_step_bench] wanted a step that changes parameters, got one that does not")
    contestants = {(name, k): step for k, pair in enumerate(pairs) for name, step in pair.contestants.items()}
    samples = interleaved(stream, contestants, -(-periods // len(pairs)))
    check_finite(parameters)
    result = {
        name: summary([value for k in range(len(pairs)) for value in samples[name, k]]) for name in pairs[0].contestants
    }
    result["sing_host_us"] = host_microseconds(stream, pairs[0].sing.step)
    result["torch_host_us"] = host_microseconds(stream, pairs[0].torch.step)
    result["scratch_bytes"] = library.sing_bench_scratch_bytes(pairs[0].sing.handle)
    result["parameters"], result["tensors"], result["pairs"] = model["parameters"], model["tensors"], len(pairs)
    del contestants
    for pair in pairs:
        pair.close()
    return result


SWEEP = (
    [{}]  # the defaults
    + [{"window_mb": w} for w in (12, 24, 48, 100, 400)]
    + [{"beyond_mb": b} for b in (8, 16, 20)]
    + [{"beyond_large_mb": b} for b in (12, 24, 96)]
    # The three are changed together: changing only one would leave the other distances as they are.
    + [{"window_mb": b, "beyond_mb": b, "beyond_large_mb": b} for b in (4, 8)]
    + [{"chunk": c} for c in (2048, 8192)]
    + [{"tile": t} for t in (1024, 4096)]
    + [{"non_finite": "skip_step"}]
)


def sweep_model(library, stream, model, periods):
    """Times graph replays of every tuning, interleaved as far as their states fit into memory together."""
    parameters, gradients = make_tensors(model)
    state_bytes = 12 * model["parameters"]
    together = max(1, int(60e9 // state_bytes))
    samples = {}
    for first in range(0, len(SWEEP), together):
        optimizers, contestants = [], {}
        for change in SWEEP[first : first + together]:
            ours = Sing(library, parameters, gradients, stream, {**DEFAULT, **change})
            ours.step()
            stream.synchronize()
            optimizers.append(ours)
            name = ",".join(f"{key}={value}" for key, value in change.items()) or "default"
            contestants[name] = capture(stream, ours.step)
        samples.update(interleaved(stream, contestants, periods))
        del contestants
        torch.cuda.synchronize()
        for ours in optimizers:
            ours.close()
    check_finite(parameters)
    return {name: summary(values) for name, values in samples.items()}


def profile_model(library, stream, model, tuning):
    """Takes twelve eager steps for a profiler, and launches no other kernels of ours."""
    parameters, gradients = make_tensors(model)
    ours = Sing(library, parameters, gradients, stream, {**DEFAULT, **tuning})
    for _ in range(12):
        ours.step()
    torch.cuda.synchronize()
    ours.close()


def print_row(name, result):
    torch_graph, sing_graph = result["torch_graph"]["median_ms"], result["sing_graph"]["median_ms"]
    torch_eager, sing_eager = result["torch_eager"]["median_ms"], result["sing_eager"]["median_ms"]
    floor = result["parameters"] * 28 / result["copy_bytes_per_second"] * 1e3
    print(
        f"{name:14s} torch eager {torch_eager:8.4f} graph {torch_graph:8.4f} | sing eager {sing_eager:8.4f} "
        f"graph {sing_graph:8.4f} | graph ratio {sing_graph / torch_graph:5.3f} eager ratio {sing_eager / torch_eager:5.3f} "
        f"| 28 B floor {floor:7.4f} | host us {result['sing_host_us']:6.1f} (torch {result['torch_host_us']:6.1f})",
        flush=True,
    )


def machine():
    properties = torch.cuda.get_device_properties(0)
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "gpu": properties.name,
        "multiprocessors": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
        "driver": driver,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--sweep", nargs="*", default=[])
    parser.add_argument("--profile")
    parser.add_argument("--tuning", type=json.loads, default={}, help="changes to the default tuning for --profile, as JSON")
    parser.add_argument("--periods", type=int, default=40)
    parser.add_argument("--result", type=pathlib.Path)
    parser.add_argument("--commit", default="none", help="the measured commit, for the result file")
    arguments = parser.parse_args()
    library = load(arguments.library)
    shapes = json.loads((pathlib.Path(__file__).parent.parent / "model_shapes.json").read_text(encoding="utf-8"))
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        if arguments.profile:
            profile_model(library, stream, shapes[arguments.profile], arguments.tuning)
            return
        result = {
            "benchmark": "cuda_step",
            "date": datetime.date.today().isoformat(),
            "commit": arguments.commit,
            "machine": machine(),
            "copy_bytes_per_second": copy_bandwidth(stream),
            "models": {},
            "sweeps": {},
        }
        print(f"copy {result['copy_bytes_per_second'] / 1e12:.2f} TB/s", flush=True)

        def save():
            if arguments.result:
                arguments.result.parent.mkdir(parents=True, exist_ok=True)
                arguments.result.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")

        for name in arguments.models:
            measured = measure_model(library, stream, shapes[name], arguments.periods)
            measured["copy_bytes_per_second"] = result["copy_bytes_per_second"]
            result["models"][name] = measured
            print_row(name, measured)
            save()
            torch.cuda.empty_cache()
        for name in arguments.sweep:
            result["sweeps"][name] = sweep_model(library, stream, shapes[name], max(5, arguments.periods // 4))
            for tuning, measured in sorted(result["sweeps"][name].items(), key=lambda each: each[1]["median_ms"]):
                print(f"{name:14s} {measured['median_ms']:8.4f} ms  {tuning}", flush=True)
            save()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
