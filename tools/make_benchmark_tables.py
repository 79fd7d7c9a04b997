"""Writes the tables of docs/benchmarks.md from bench/results/*.json.

python tools/make_benchmark_tables.py [--check] rewrites what stands between the markers, or exits with 1 if that would
change the page.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PAGE = ROOT / "docs" / "benchmarks.md"
# Values of "benchmark" in the result files: tools/run_bench.py, bench/cuda/cuda_step_bench.py, bench/python_step_bench.py,
# bench/peers_step_bench.py, bench/image_bench.py and `sing bench --json` write them.
CPU_STEP = "cpu_step"
CUDA_STEP = "cuda_step"
PYTHON_STEP = "python_step"
PEERS_STEP = "peers_step"
IMAGES = "images"
TRAINING_STEP = "training_step"


def number(value, digits=3):
    """At least `digits` significant ones, no exponent: 0.0123, 1.23, 123, 1234."""
    whole = len(str(int(value))) if value >= 1 else 0
    leading_zeros = 0
    while 0 < value * 10 ** (leading_zeros + 1) < 1:
        leading_zeros += 1
    return f"{value:.{max(0, digits - whole + leading_zeros)}f}"


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
        f"the copy moves {copy:.1f} GB/s."
    )
    yield from ("", heading, "")
    yield "| | ms a step | of torch | quartiles | bytes a parameter | of copy |"
    yield "|---|---:|---:|---:|---:|---:|"
    for row in model["rows"]:
        yield "| " + " | ".join(row_cells(row)) + " |"
    for check in model["checks"]:
        yield ""
        yield (
            f"Checked in the same run: after {check['steps']} steps `{check['what']}` and `{check['against']}` differ by "
            f"{check['difference']:.1e} of the largest movement (allowed {check['tolerance']:g})."
        )


def result_lines(result):
    hardware = result["hardware"]
    caches = ", ".join(f"{name} {size}" for name, size in hardware["caches"].items())
    yield from ("", f"### {result['machine']}", "")
    yield (
        f"{hardware['processor']}, {hardware['cores']} cores ({caches}), {result['threads']} threads, "
        f"{result['instruction_set']}; torch {result['torch']}; {result['compiler']}, {result['flags']}; "
        f"{result['rounds']} rounds on {result['date']}, commit {result['commit'][:12]}; "
        f"other programs used {result['other_load']:.1%} of the cores' time."
    )
    for model in result["models"]:
        yield from model_lines(model)


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
    yield (
        f"{machine['multiprocessors']} multiprocessors, driver {machine['driver']}, torch {machine['torch']}, CUDA "
        f"{machine['cuda']}; a copy moves {result['copy_bytes_per_second'] / 1e12:.2f} TB/s; {result['date']}, commit "
        f"{result['commit'][:12]}. Milliseconds a step; the last column is the time a call keeps the host."
    )
    yield ""
    yield "| | tensors | torch | torch, graph | SING | SING, graph (quartiles) | graph ratio | ratio | host µs |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, model in result["models"].items():
        yield cuda_row(name, model)
    for name, sweep in result["sweeps"].items():
        fastest = sorted(sweep.items(), key=lambda each: each[1]["median_ms"])
        yield from ("", f"Ways to order the work, `{name}`, graph replay, ms a step:", "")
        yield ", ".join(f"{way} {measured['median_ms']:.4f}" for way, measured in fastest) + "."


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
    yield (
        f"{result['device']}, {result['threads']} threads; torch {result['torch']}, Python {result['python']}; "
        f"{result['rounds']} rounds on {result['date']}, commit {result['commit'][:12]}; other programs used "
        f"{result['other_load']:.1%} of the cores' time. Milliseconds a call of `step()`, whole LookAhead periods."
    )
    yield ""
    yield "| | tensors | `torch.optim.AdamW(fused=True)` | `sing.SING` | ratio | quartiles | host µs |"
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
    yield (
        f"{result['device']}, {result['threads']} threads; torch {result['torch']}; the tensors of `{result['model']}`; "
        f"{rounds_of(result)} rounds on {result['date']}, commit {result['commit'][:12]}; other programs used "
        f"{result['other_load']:.1%} of the cores' time. Milliseconds a call of `step()`."
    )
    yield ""
    yield "| rule | ours | fastest peer | ratio | quartiles | other peers |"
    yield "|---|---:|---:|---:|---:|---|"
    yield from map(peers_row, result["rules"])


def image_row(row):
    rate, ratio = row["images_per_second"], row["ratio"]
    cells = (row["title"], f"{rate['median']:.0f}", f"{ratio['median']:.2f}", f"{ratio['lower']:.2f}–{ratio['upper']:.2f}")
    return "| " + " | ".join(cells) + " |"


def image_lines(result):
    yield from ("", f"### Images, {result['machine']}", "")
    yield (
        f"{result['processor']}, one thread, processor time; crops of {result['size']} × {result['size']}; torchvision "
        f"{result['torchvision']}, Pillow {result['pillow']}; {result['rounds']} rounds on {result['date']}, commit "
        f"{result['commit'][:12]}."
    )
    for each in result["sets"]:
        yield from ("", f"**{each['title']}**: {each['images']:,} images of {each['mean_bytes']:,} bytes on average.", "")
        yield "| | images a second | of torchvision | quartiles |"
        yield "|---|---:|---:|---:|"
        yield from map(image_row, each["rows"])


def training_lines(result):
    config, options = result["config"], result["config"]["options"]
    machine = (config["machine"]["gpus"] or [config["machine"]["processor"]])[0]
    yield from ("", f"### {options['model']} on {config['task']}", "")
    size = f" of {options['train_size']} × {options['train_size']} pixels" if "train_size" in options else ""
    yield (
        f"{machine}; {config['parameters']:,} parameters, batches of {options['batch']}{size}, {options['precision']}; "
        f"{result['rounds']} rounds of {result['steps_a_round']} steps, commit {config['commit']}."
        + (f" {result['note']}" if "note" in result else "")
    )
    yield from ("", "| | ms a step | ratio | quartiles | examples a second |", "|---|---:|---:|---:|---:|")
    for row in result["training_step"]:
        time, ratio = row["milliseconds"], row["ratio"]
        rate = 1000 * options["batch"] / time["median"]
        yield (
            f"| {row['title']} | {number(time['median'])} | {ratio['median']:.2f} | {ratio['lower']:.2f}–{ratio['upper']:.2f} "
            f"| {rate:,.0f} |"
        )


TABLES = {
    CPU_STEP: result_lines,
    CUDA_STEP: cuda_lines,
    PYTHON_STEP: python_lines,
    PEERS_STEP: peers_lines,
    IMAGES: image_lines,
    TRAINING_STEP: training_lines,
}


def results():
    files = sorted(RESULTS.glob("*.json"))
    return [each for each in (json.loads(file.read_text(encoding="utf-8")) for file in files) if isinstance(each, dict)]


def page_with_table(page, benchmark, lines_of):
    begin, end = f"<!-- {benchmark}: generated, begin -->", f"<!-- {benchmark}: generated, end -->"
    before, begin_found, rest = page.partition(begin)
    _, end_found, after = rest.partition(end)
    if not (begin_found and end_found):
        raise ValueError(f"[{PAGE.name}] wanted the lines '{begin}' and '{end}', got not both")
    lines = [line for each in results() if each.get("benchmark") == benchmark for line in lines_of(each)]
    return "\n".join([before + begin, *lines, "", end + after])


def page_with_tables(page):
    for benchmark, lines_of in TABLES.items():
        page = page_with_table(page, benchmark, lines_of)
    return page


def write():
    PAGE.write_text(page_with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    if not parser.parse_args().check:
        write()
        return 0
    page = PAGE.read_text(encoding="utf-8")
    if page != page_with_tables(page):
        print(f"{PAGE.name} is not what the results give: run tools/make_benchmark_tables.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
