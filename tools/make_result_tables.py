"""Writes the tables of trainings into the documents, from the run records under docs/results.

python tools/make_result_tables.py [--check] rewrites what stands between the markers, or exits with 1 if that would change
a page. Runs that differ in their seed alone share a row: mean ± standard deviation.
"""

import argparse
import json
import pathlib
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Folder under docs/results -> page, and what the paper reports for a method, by the method's title.
PAGES = {
    "rde": (
        "docs/rde.md",
        {
            "AdamW": ("78.13", "1.70"),
            "SING, norms frozen": ("96.56", "0.34"),
            "SING": ("96.56", "0.34"),
        },
    ),
}


def method_of(options):
    """The method's name in the tables, from a run's options."""
    if not options["optimizer"].startswith("sing-"):
        return {"adamw": "AdamW", "sgd": "SGD"}.get(options["optimizer"], options["optimizer"])
    title = "SING" if options["optimizer"] == "sing-adamw" else "SING around " + options["optimizer"].removeprefix("sing-")
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


def row(method, rate, runs, paper):
    ends = [run["end"] for run in runs]
    seeds = ", ".join(str(run["options"]["seed"]) for run in runs)
    cells = [method, f"{rate:g}", seeds]
    finished = [end for end in ends if end["status"] == "finished"]
    if len(finished) < len(ends):
        cells += [f"{len(ends) - len(finished)} of {len(ends)} {ends[0]['status']}", "", ""]
    else:
        cells += [
            spread([100 * end["final_accuracy"] for end in ends], 2),
            spread([100 * end["best_accuracy"] for end in ends], 2),
            spread([1000 * end["final_loss"] for end in ends], 2),
        ]
    cells += [spread([end["seconds"] / 60 for end in ends], 1), *paper.get(method, ("", ""))]
    return "| " + " | ".join(cells) + " |"


def table(folder, paper):
    groups = {}
    runs = [read_run(path) for path in sorted(folder.iterdir()) if (path / "config.json").is_file()]
    for run in runs:
        key = (method_of(run["options"]), run["options"]["learning_rate"])
        groups.setdefault(key, []).append(run)
    yield "| method | learning rate | seeds | accuracy, % | best, % | test loss × 1000 | minutes | paper: accuracy, % | paper: loss × 1000 |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|---:|"
    for (method, rate), group in sorted(groups.items()):
        yield row(method, rate, group, paper)
    commits = sorted({run["config"]["commit"] for run in runs})
    yield ""
    yield f"{len(runs)} runs; commit {', '.join(commits)}; one {runs[0]['config']['machine']['gpus'][0]}."


def page_with_table(page, name, paper):
    begin, end = (f"<!-- {name} results: generated, {word} -->" for word in ("begin", "end"))
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    lines = "\n".join(table(ROOT / "docs" / "results" / name, paper))
    return f"{before}{begin}\n{lines}\n{end}{after}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    check = parser.parse_args().check
    stale = False
    for name, (page, paper) in PAGES.items():
        path = ROOT / page
        old = path.read_text(encoding="utf-8")
        new = page_with_table(old, name, paper)
        if check and new != old:
            print(f"{page} is not what docs/results/{name} gives: run tools/make_result_tables.py", file=sys.stderr)
            stale = True
        elif not check:
            path.write_text(new, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
