"""Writes the tables of trainings into the documents, from the run records under docs/results.

python tools/make_result_tables.py [--check] rewrites what stands between the markers, or exits with 1 if that would change
a page. Runs that differ in their seed alone share a row: mean ± standard deviation.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Page:
    """Where the runs of a folder under docs/results are shown, and what the paper has for a method's title."""

    path: str
    loss_factor: int  # the loss is shown this many times as large
    paper: dict  # title -> (accuracy in %, loss), as text


PAGES = {
    "rde": Page(
        "docs/rde.md",
        1000,
        {
            "AdamW": ("78.13", "1.70"),
            "SING, norms frozen": ("96.56", "0.34"),
            "SING": ("96.56", "0.34"),
        },
    ),
    "cifar100": Page(
        "docs/images.md",
        1,
        {
            "SGD, norms frozen": ("75.63", ""),
            "AdamW, norms frozen": ("77.95 ± 0.15", ""),
            "SING, norms frozen": ("78.24 ± 0.21", ""),
        },
    ),
}


def method_of(options):
    """The method's name in the tables, from a run's options."""
    host = options["optimizer"].removeprefix("sing-")
    if host == options["optimizer"]:
        title = {"adamw": "AdamW", "sgd": "SGD"}.get(host, host)
    else:
        title = "SING" if host == "adamw" else f"SING around {host}"
    if options["normalize"] == "size_calibrated":
        title += ", unit RMS" if options["reference_size"] == 1 else ", size-calibrated"
    return title + (", norms frozen" if options.get("freeze_norms") else "")


def read_run(folder):
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return {"config": config, "options": config["options"], "end": json.loads(lines[-1])}


def spread(values, digits):
    mean = f"{statistics.mean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


def row(method, rate, decay, runs, page):
    ends = [run["end"] for run in runs]
    seeds = ", ".join(str(run["options"]["seed"]) for run in runs)
    cells = [method, f"{rate:g}", f"{decay:g}", seeds]
    finished = [end for end in ends if end["status"] == "finished"]
    if len(finished) < len(ends):
        cells += [f"{len(ends) - len(finished)} of {len(ends)} {ends[0]['status']}", "", ""]
    else:
        cells += [
            spread([100 * end["final_accuracy"] for end in ends], 2),
            spread([100 * end["best_accuracy"] for end in ends], 2),
            spread([page.loss_factor * end["final_loss"] for end in ends], 2),
        ]
    cells += [spread([end["seconds"] / 60 for end in ends], 1), *page.paper.get(method, ("", ""))]
    return "| " + " | ".join(cells) + " |"


def table(folder, page):
    groups = {}
    runs = [read_run(path) for path in sorted(folder.iterdir()) if (path / "config.json").is_file()]
    for run in runs:
        key = (method_of(run["options"]), run["options"]["learning_rate"], run["options"]["weight_decay"])
        groups.setdefault(key, []).append(run)
    loss = "loss" if page.loss_factor == 1 else f"loss × {page.loss_factor}"
    yield (
        f"| method | learning rate | weight decay | seeds | accuracy, % | best, % | test {loss} | minutes "
        f"| paper: accuracy, % | paper: {loss} |"
    )
    yield "|---|---:|---:|---|---:|---:|---:|---:|---:|---:|"
    for (method, rate, decay), group in sorted(groups.items()):
        yield row(method, rate, decay, group, page)
    commits = sorted({run["config"]["commit"] for run in runs})
    yield ""
    yield f"{len(runs)} runs; commit {', '.join(commits)}; one {runs[0]['config']['machine']['gpus'][0]}."


def page_with_table(text, name, page):
    begin, end = (f"<!-- {name} results: generated, {word} -->" for word in ("begin", "end"))
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    lines = "\n".join(table(ROOT / "docs" / "results" / name, page))
    return f"{before}{begin}\n{lines}\n{end}{after}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    stale = False
    for name, page in PAGES.items():
        path = ROOT / page.path
        old = path.read_text(encoding="utf-8")
        new = page_with_table(old, name, page)
        if check and new != old:
            print(f"{page.path} is not what docs/results/{name} gives: run tools/make_result_tables.py", file=sys.stderr)
            stale = True
        elif not check:
            path.write_text(new, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
