"""Writes the tables of docs/benchmarks.md, docs/distributed.md and docs/notes/cuda_step.md from bench/results/*.json.

python tools/make_benchmark_tables.py [--check] rewrites the text between the markers; with --check it writes nothing and
exits with 1 if a page would change.
"""

import json
import sys
import textwrap

import generated_text
from generated_text import ROOT

RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
CUDA_NOTES = ROOT / "docs" / "notes" / "cuda_step.md"
DISTRIBUTED = ROOT / "docs" / "distributed.md"
# The values of "benchmark" in the result files, which bench/cpu_step_bench.py, bench/cuda/cuda_step_bench.py,
# bench/python_step_bench.py, bench/peers_step_bench.py, bench/image_bench.py, `sing bench --json`, bench/text_training_bench.py,
# bench/sharded_step_bench.py, bench/sharded_muon_bench.py and bench/shard_sums_bench.py write.
CPU_STEP = "cpu_step"
CUDA_STEP = "cuda_step"
PYTHON_STEP = "python_step"
PEERS_STEP = "peers_step"
IMAGES = "images"
TRAINING_STEP = "training_step"
TEXT_TRAINING = "text_training"
SHARDED_STEP = "sharded_step"
SHARDED_MUON = "sharded_muon"
SHARD_SUMS = "shard_sums"
LINE_LENGTH = 125


def number(value, digits=3):
    """Formats with at least `digits` significant digits and no exponent: 0.0123, 1.23, 123, 1234."""
    whole = len(str(int(value))) if value >= 1 else 0
    leading_zeros = 0
    while 0 < value * 10 ** (leading_zeros + 1) < 1:
        leading_zeros += 1
    return f"{value:.{max(0, digits - whole + leading_zeros)}f}"


def wrapped(text):
    """Returns the lines of a paragraph."""
    return textwrap.wrap(text, LINE_LENGTH, break_long_words=False, break_on_hyphens=False)


def row_cells(row):
    time, ratio = row["milliseconds"], row["ratio_to_torch_fused_adamw"]
    return (
        row["title"],
        number(time["median"]),
        f"{ratio['median']:.2f}",
        f"{ratio['lower']:.2f}–{ratio['upper']:.2f}",
        f"{row['bytes_per_parameter']:g}",
        f"{row['share_of_copy_bandwidth']['median']:.2f}",
    )


def model_lines(model):
    copy = model["copy_gigabytes_per_second"]["median"]
    heading = (
        f"**{model['title']}**: {model['parameters']:,} parameters in {model['tensors']:,} tensors; "
        f"a copy moves {copy:.1f} GB/s."
    )
    yield from ("", heading, "")
    yield "| | ms per step | ratio to torch | quartiles | bytes per parameter | share of copy bandwidth |"
    yield "|---|---:|---:|---:|---:|---:|"
    for row in model["rows"]:
        yield "| " + " | ".join(row_cells(row)) + " |"


def check_lines(models):
    yield from ("", "Differences after the same steps, relative to the largest movement of a parameter:", "")
    yield "| | compared | steps | difference | allowed |"
    yield "|---|---|---:|---:|---:|"
    for model in models:
        for check in model["checks"]:
            yield (
                f"| {model['title']} | `{check['what']}` with `{check['against']}` | {check['steps']} "
                f"| {check['difference']:.1e} | {check['tolerance']:g} |"
            )


def result_lines(result):
    hardware = result["hardware"]
    caches = ", ".join(f"{name} {size}" for name, size in hardware["caches"].items())
    yield from ("", f"### {result['machine']}", "")
    yield from wrapped(
        f"{hardware['processor']}, {hardware['cores']} cores ({caches}), {result['threads']} threads, "
        f"{result['instruction_set']}; torch {result['torch']}; {result['compiler']}, {result['flags']}; "
        f"{result['rounds']} rounds on {result['date']}, commit {result['commit'][:12]}; "
        f"other programs used {result['other_load']:.1%} of the cores' time."
    )
    for model in result["models"]:
        yield from model_lines(model)
    yield from check_lines(result["models"])


def cuda_row(name, model):
    milliseconds = {key: model[key]["median_ms"] for key in ("torch_eager", "torch_graph", "sing_eager", "sing_graph")}
    low, high = model["sing_graph"]["quartiles_ms"]
    cells = (
        name,
        f"{model['tensors']:,}",
        number(milliseconds["torch_eager"]),
        number(milliseconds["torch_graph"]),
        number(milliseconds["sing_eager"]),
        f"{number(milliseconds['sing_graph'])} ({number(low)}–{number(high)})",
        f"{milliseconds['sing_graph'] / milliseconds['torch_graph']:.3f}",
        f"{milliseconds['sing_eager'] / milliseconds['torch_eager']:.2f}",
        f"{model['sing_host_us']:.0f}",
    )
    return "| " + " | ".join(cells) + " |"


def cuda_lines(result):
    machine = result["machine"]
    yield from ("", f"### {machine['gpu']}", "")
    yield from wrapped(
        f"{machine['multiprocessors']} multiprocessors, driver {machine['driver']}, torch {machine['torch']}, CUDA "
        f"{machine['cuda']}; a copy moves {result['copy_bytes_per_second'] / 1e12:.2f} TB/s; {result['date']}, commit "
        f"{result['commit'][:12]}. Times are milliseconds per step."
    )
    yield ""
    yield "| | tensors | torch | torch, graph | SING | SING, graph (quartiles) | graph ratio | ratio | host µs per call |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, model in result["models"].items():
        yield cuda_row(name, model)


def sweep_lines(result):
    """Yields the settings that were swept on every model, the fastest on the first model first."""
    sweeps = result["sweeps"]
    first = next(iter(sweeps.values()))
    yield from ("", f"{result['machine']['gpu']}, {result['date']}, commit {result['commit'][:12]}.", "")
    yield "| ms per step, graph replay | " + " | ".join(sweeps) + " |"
    yield "|---|" + "---:|" * len(sweeps)
    for setting in sorted(first, key=lambda each: first[each]["median_ms"]):
        times = " | ".join(f"{sweep[setting]['median_ms']:.4f}" for sweep in sweeps.values())
        yield f"| `{setting}` | {times} |"


def python_row(model):
    milliseconds, host, ratio = model["milliseconds"], model["host_milliseconds"]["sing"], model["ratio"]
    cells = (
        model["model"],
        f"{model['tensors']:,}",
        number(milliseconds["torch_fused_adamw"]["median"]),
        number(milliseconds["sing"]["median"]),
        f"{ratio['median']:.2f}",
        f"{ratio['lower']:.2f}–{ratio['upper']:.2f}",
        number(1e3 * host["median"]),
    )
    return "| " + " | ".join(cells) + " |"


def python_lines(result):
    yield from ("", f"### Python, {result['machine']}", "")
    yield from wrapped(
        f"{result['device']}, {result['threads']} threads; torch {result['torch']}, Python {result['python']}; "
        f"{result['rounds']} rounds on {result['date']}, commit {result['commit'][:12]}; other programs used "
        f"{result['other_load']:.1%} of the cores' time. Times are milliseconds per call of `step()`, over whole LookAhead periods."
    )
    yield ""
    yield "| | tensors | `torch.optim.AdamW(fused=True)` | `sing.SING` | ratio | quartiles | host µs per call |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    yield from map(python_row, result["models"])


def peers_row(rule):
    milliseconds, ratios = rule["milliseconds"], rule["ratio"]
    fastest = min(ratios, key=lambda title: milliseconds[title]["median"])
    others = ", ".join(f"{title} {number(milliseconds[title]['median'])}" for title in ratios if title != fastest)
    ratio = ratios[fastest]
    cells = (
        rule["rule"],
        number(milliseconds["sing"]["median"]),
        f"{fastest} {number(milliseconds[fastest]['median'])}",
        f"{ratio['median']:.2f}",
        f"{ratio['lower']:.2f}–{ratio['upper']:.2f}",
        others,
    )
    return "| " + " | ".join(cells) + " |"


def rounds_of(result):
    counts = [rule.get("rounds", result["rounds"]) for rule in result["rules"]]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def peers_lines(result):
    yield from ("", f"### Peers, {result['machine']}", "")
    yield from wrapped(
        f"{result['device']}, {result['threads']} threads; torch {result['torch']}; the tensors of `{result['model']}`; "
        f"{rounds_of(result)} rounds on {result['date']}, commit {result['commit'][:12]}; other programs used "
        f"{result['other_load']:.1%} of the cores' time. Times are milliseconds per call of `step()`."
    )
    yield ""
    yield "| rule | SING | fastest peer | ratio | quartiles | other peers |"
    yield "|---|---:|---:|---:|---:|---|"
    yield from map(peers_row, result["rules"])


def image_row(row):
    rate, ratio = row["images_per_second"], row["ratio"]
    cells = (row["title"], f"{rate['median']:.0f}", f"{ratio['median']:.2f}", f"{ratio['lower']:.2f}–{ratio['upper']:.2f}")
    return "| " + " | ".join(cells) + " |"


def image_lines(result):
    yield from ("", f"### Images, {result['machine']}", "")
    yield from wrapped(
        f"{result['processor']}, one thread, processor time; crops of {result['size']} × {result['size']}; torchvision "
        f"{result['torchvision']}, Pillow {result['pillow']}; {result['rounds']} rounds on {result['date']}, commit "
        f"{result['commit'][:12]}."
    )
    for each in result["sets"]:
        yield from ("", f"**{each['title']}**: {each['images']:,} images of {each['mean_bytes']:,} bytes on average.", "")
        yield "| | images per second | ratio to torchvision | quartiles |"
        yield "|---|---:|---:|---:|"
        yield from map(image_row, each["rows"])


def training_lines(result):
    config, options = result["config"], result["config"]["options"]
    machine = (config["machine"]["gpus"] or [config["machine"]["processor"]])[0]
    yield from ("", f"### {options['model']} on {config['task']}", "")
    size = f" of {options['train_size']} × {options['train_size']} pixels" if "train_size" in options else ""
    yield from wrapped(
        f"{machine}; {config['parameters']:,} parameters, batches of {options['batch']}{size}, {options['precision']}; "
        f"{result['rounds']} rounds of {result['steps_a_round']} steps, commit {config['commit']}."
        + (f" {result['note']}" if "note" in result else "")
    )
    yield from ("", "| | ms per step | ratio | quartiles | examples per second |", "|---|---:|---:|---:|---:|")
    for row in result["training_step"]:
        time, ratio = row["milliseconds"], row["ratio"]
        rate = 1000 * options["batch"] / time["median"]
        yield (
            f"| {row['title']} | {number(time['median'])} | {ratio['median']:.2f} | {ratio['lower']:.2f}–{ratio['upper']:.2f} "
            f"| {rate:,.0f} |"
        )


def text_training_lines(result):
    config, options = result["config"], result["config"]["options"]
    matrices = [" × ".join(map(str, shape)) for shape in result["batch"]["parts"][0] if len(shape) == 2]
    shapes = " and ".join(dict.fromkeys(matrices))
    yield from ("", f"### {result['task']}, {result['machine']}", "")
    yield from wrapped(
        f"{result['device']}; torch {result['torch']}; {config['parameters']:,} parameters, {options['precision']}, "
        f"{result['batch']['units']:,} {result['unit']} per step in tensors of {shapes}; {result['turns']} turns of "
        f"{result['rounds']} rounds of 5 steps on {result['date']}, commit {result['commit'][:12]}."
    )
    yield ""
    yield f"| | ms per step | {result['unit']} per second | speed | quartiles |"
    yield "|---|---:|---:|---:|---:|"
    for row in result["rows"]:
        ratio = row["speed_ratio"]
        yield (
            f"| {row['title']} | {number(row['milliseconds']['median'])} | {row['units_per_second']:,.0f} | {ratio['median']:.2f} "
            f"| {ratio['lower']:.2f}–{ratio['upper']:.2f} |"
        )


def shard_machine_lines(result):
    yield ""
    yield from wrapped(
        f"{result['device']}, {result['cores']} cores, gloo, one thread per process; torch {result['torch']}; medians of "
        f"{result['rounds']} rounds on {result['date']}, commit {result['commit'][:12]}; other programs used "
        f"{result['other_load']:.0%} of the cores' time."
    )
    yield ""


def sharded_step_lines(result):
    yield from shard_machine_lines(result)
    yield (
        "| | tensors | processes | torch's fused AdamW, ms | `sing.SING`, ms | ratio | `sing.AdamW`, ms | ratio | SING: ratio to plain tensors "
        "| the same, fastest turns | torch: ratio to plain tensors |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in result["rows"]:
        ms, ratio, plain, fastest = row["milliseconds"], row["ratio"], row["ratio_to_plain"], row["fastest_milliseconds"]
        cells = (
            row["model"],
            f"{row['tensors']}",
            f"{row['processes']}",
            number(ms["torch_fused_adamw"]["median"]),
            number(ms["sing"]["median"]),
            f"{ratio['sing']['median']:.2f}",
            number(ms["sing_adamw"]["median"]),
            f"{ratio['sing_adamw']['median']:.2f}",
            f"{plain['sing']['median']:.2f}",
            f"{fastest['sing'] / fastest['sing_plain']:.2f}",
            f"{plain['torch_fused_adamw']['median']:.2f}",
        )
        yield "| " + " | ".join(cells) + " |"


def sharded_muon_lines(result):
    yield from shard_machine_lines(result)
    yield (
        "| processes | `sing.Muon`, ms | `torch.optim.Muon`, ms | ratio | all matrices on every process, ms | ratio | collectives, SING and torch "
        "| KB sent per process | the two exchanges, ms | all-gather, ms |"
    )
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in result["rows"]:
        ms, ratio, count = row["milliseconds"], row["ratio"], row["collectives"]
        cells = (
            f"{row['processes']}",
            number(ms["sing"]["median"]),
            number(ms["torch"]["median"]),
            f"{ratio['torch']['median']:.2f}",
            number(ms["all"]["median"]),
            f"{ratio['all']['median']:.2f}",
            f"{count['sing']}, {count['torch']}",
            f"{row['bytes_sent_per_process'] / 1e3:,.0f}",
            number(ms["there_and_back"]["median"]),
            number(ms["gather"]["median"]),
        )
        yield "| " + " | ".join(cells) + " |"


def shard_sums_lines(result):
    yield from shard_machine_lines(result)
    yield "| processes | step, ms | packed vector, KB | ms | share of the step | sums of rows, KB | ms | share of the step |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in result["rows"]:
        ms, share, doubles = row["milliseconds"], row["share_of_step"], row["doubles"]
        cells = [f"{row['processes']}", number(ms["step"]["median"])]
        for name in ("packed", "rows"):
            cells += [f"{8 * doubles[name] / 1e3:,.1f}", number(ms[name]["median"]), f"{share[name]['median']:.1%}"]
        yield "| " + " | ".join(cells) + " |"


# Page -> name of each generated part, the benchmark that it shows and the function that writes it.
PARTS = {
    PAGE: (
        (CPU_STEP, CPU_STEP, result_lines),
        (CUDA_STEP, CUDA_STEP, cuda_lines),
        (PYTHON_STEP, PYTHON_STEP, python_lines),
        (PEERS_STEP, PEERS_STEP, peers_lines),
        (IMAGES, IMAGES, image_lines),
        (TRAINING_STEP, TRAINING_STEP, training_lines),
        (TEXT_TRAINING, TEXT_TRAINING, text_training_lines),
    ),
    CUDA_NOTES: (("cuda_sweep", CUDA_STEP, sweep_lines),),
    DISTRIBUTED: (
        (SHARDED_STEP, SHARDED_STEP, sharded_step_lines),
        (SHARDED_MUON, SHARDED_MUON, sharded_muon_lines),
        (SHARD_SUMS, SHARD_SUMS, shard_sums_lines),
    ),
}


def results(benchmark):
    found = (json.loads(file.read_text(encoding="utf-8")) for file in sorted(RESULTS.glob("*.json")))
    return [each for each in found if isinstance(each, dict) and each.get("benchmark") == benchmark]


def page_with_tables(page):
    text = page.read_text(encoding="utf-8")
    for name, benchmark, lines_of in PARTS[page]:
        lines = [line for result in results(benchmark) for line in lines_of(result)]
        text = generated_text.replaced(text, name, [*lines, ""])
    return text


def write(check=False):
    """Writes or compares the pages; returns the exit status."""
    statuses = [
        generated_text.finish(page, page_with_tables(page), check, "tools/make_benchmark_tables.py") for page in PARTS
    ]
    return max(statuses)


def main():
    return write(generated_text.parser(__doc__.splitlines()[0]).parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
