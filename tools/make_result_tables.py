"""Writes the tables of training results into the documents, from the run records under docs/results.

python tools/make_result_tables.py [--check] rewrites the text between the markers; with --check it writes nothing and exits
with 1 if a page would change. Runs that differ only in their seed share a row: mean ± standard deviation.
tools/keep_run_records.py writes the records.
"""

import dataclasses
import sys

import generated_text
from generated_text import ROOT
from training_records import grouped, method_of, provenance, read_runs, spread


@dataclasses.dataclass(frozen=True)
class Page:
    """The page that shows the runs of one file under docs/results, and the paper's figures by method."""

    path: str
    loss_factor: int  # the table shows the loss multiplied by this
    paper: dict  # method -> (accuracy in %, loss), as text


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


def row(method, rate, decay, runs, page):
    ends = [run["end"] for run in runs]
    seeds = ", ".join(str(run["config"]["options"]["seed"]) for run in runs)
    cells = [method, f"{rate:g}", f"{decay:g}", seeds]
    unfinished = [end["status"] for end in ends if end["status"] != "finished"]
    if unfinished:
        cells += [f"{len(unfinished)} of {len(ends)} {unfinished[0]}", "", ""]
    else:
        cells += [
            spread([100 * end["final_accuracy"] for end in ends], 2),
            spread([100 * end["best_accuracy"] for end in ends], 2),
            spread([page.loss_factor * end["final_loss"] for end in ends], 2),
        ]
    cells += [spread([end["seconds"] / 60 for end in ends], 1), *page.paper.get(method, ("", ""))]
    return "| " + " | ".join(cells) + " |"


def table(name, page):
    runs = read_runs(name)

    def key(run):
        options = run["config"]["options"]
        return method_of(options).title, options["learning_rate"], options["weight_decay"]

    loss = "loss" if page.loss_factor == 1 else f"loss × {page.loss_factor}"
    yield (
        f"| method | learning rate | weight decay | seeds | accuracy, % | best, % | test {loss} | minutes "
        f"| paper: accuracy, % | paper: {loss} |"
    )
    yield "|---|---:|---:|---|---:|---:|---:|---:|---:|---:|"
    for (method, rate, decay), group in grouped(runs, key).items():
        yield row(method, rate, decay, group, page)
    yield ""
    yield provenance(runs)


def main():
    check = generated_text.parser(__doc__.splitlines()[0]).parse_args().check
    status = 0
    for name, page in PAGES.items():
        path = ROOT / page.path
        text = generated_text.replaced(path.read_text(encoding="utf-8"), f"{name} results", table(name, page))
        status |= generated_text.finish(path, text, check, "tools/make_result_tables.py")
    return status


if __name__ == "__main__":
    sys.exit(main())
