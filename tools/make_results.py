"""Writes every table and figure of training results into the documents, from the records under docs/results.

python tools/make_results.py [--check] rewrites the text between the markers of the pages and the pictures; with --check it writes
nothing and exits with 1 if a page or a picture would change. tools/train_experiments.py makes the records. The list of experiments
in docs/results.md says which rows have no records and which command trains them.
"""

import sys

import generated_text
from generated_text import ROOT
from results import changed_line, figures, tables
from results.experiments import EXPERIMENTS, NOT_POSSIBLE, SMALL_WIDTHS
from results.experiments import WIDTHS as WIDTHS_OF_VIT
from results.line_figure import THEMES, figure

COMMAND = "python tools/make_results.py"
NOT_TRAINED = "These experiments have not been trained. [The list of experiments](results.md#all-experiments) gives the commands."
PICTURES = ROOT / "docs" / "pictures"
TRANSLATION = ("translation_multi30k", "translation_tatoeba", "translation_iwslt14")
ENCODERS = ("squad_minilm", "squad_mpnet", "choice_codah", "choice_hellaswag")
LANGUAGE = ("lm_shakespeare", "lm_linux")
GRIDS = ("rde_small_rates", "rde_rates", "cifar100_rates")
INSTABILITY = ("rde_instability", "rde_instability_vit_b", "rde_instability_float32")
WIDTHS = {"Small rectangles: best learning rate": ("rde_small_width", SMALL_WIDTHS), "Rectangles: best learning rate": ("rde_width", WIDTHS_OF_VIT)}
# Part of docs/results.md -> its experiments.
SECTIONS = {
    "rates": GRIDS,
    "ablation": (
        *("rde_ablation", "rde_ablation_frozen", "rde_ablation_vit_b", "rde_ablation_vit_b_frozen"),
        *("rde_ablation_rates", "rde_small_ablation"),
    ),
    "optimizers": ("rde_optimizers", "rde_fixed", "rde_small"),
    "images": ("cifar100_short", "imagenette"),
    "instability": INSTABILITY,
    "limits": ("denoise", "rde_layer_scale"),
    "width": tuple(f"{prefix}_{width}" for prefix, widths in WIDTHS.values() for width in widths),
}
# Table of the list of all experiments -> its experiments. Every experiment is in one of them.
TABLES = {
    "[rectangles](rde.md#trainings-on-one-gpu), [one changed line](#one-changed-line)": ("rde",),
    "[rates](#score-against-learning-rate)": SECTIONS["rates"],
    "[ablation](#ablation)": SECTIONS["ablation"],
    "[optimizers](#hosts-and-other-optimizers)": SECTIONS["optimizers"],
    "[CIFAR-100](images.md#cifar-100-on-one-h200)": ("cifar100",),
    "[images](#images)": SECTIONS["images"],
    "[text](text.md#trainings)": (*TRANSLATION, *ENCODERS, *LANGUAGE),
    "[instability](#instability)": SECTIONS["instability"],
    "[limits](#limits-that-the-paper-names)": SECTIONS["limits"],
    "[width](#width)": SECTIONS["width"],
}
# Name of a picture's files -> its panels and what it shows.
FIGURES = {
    "rates": (lambda: figures.rate_panels(GRIDS), "Score on the validation set against learning rate, for AdamW and forms of SING"),
    "rates_text": (
        lambda: figures.rate_panels((*TRANSLATION, *ENCODERS, *LANGUAGE)),
        "Score on the validation set against learning rate on text, for AdamW and forms of SING",
    ),
    "loss_spikes": (
        lambda: [panel for name in INSTABILITY for panel in figures.loss_panels(EXPERIMENTS[name])],
        "Training loss without a warm-up, for AdamW and forms of SING",
    ),
    "width": (
        lambda: [
            panel
            for title, (prefix, widths) in WIDTHS.items()
            if (panel := figures.width_panel(title, {width: EXPERIMENTS[f"{prefix}_{width}"] for width in widths}))
        ],
        "Best learning rate against the width of a ViT, for AdamW and forms of SING",
    ),
}


def picture_lines(name, folder):
    """Returns the lines that show a picture on a page, whose pictures are in `folder`; none if it has no panel."""
    panels, description = FIGURES[name]
    if not panels():
        return []
    return [
        "<picture>",
        f'  <source media="(prefers-color-scheme: dark)" srcset="{folder}/{name}_dark.svg">',
        f'  <img alt="{description}" src="{folder}/{name}_light.svg">',
        "</picture>",
        "",
    ]


def tables_of(names, level="###"):
    """Returns the tables of the experiments that have records, each under its title."""
    lines = []
    for name in names:
        made = tables.table_of(EXPERIMENTS[name])
        if made:
            lines += [f"{level} {EXPERIMENTS[name].title}", "", *made, ""]
    return lines[:-1] or [NOT_TRAINED]


def state():
    """Returns the table of all experiments: how many contestants have all their runs, what is missing, and the command that trains it."""
    lines = ["| table | experiment | complete methods | missing | command |", "|---|---|---:|---|---|"]
    for title, names in TABLES.items():
        for experiment in (EXPERIMENTS[name] for name in names):
            missing, everyone = tables.missing(experiment), [contestant.title for contestant in experiment.contestants]
            command = f"`{tables.command(experiment)}`" if missing else ""
            what = "all" if missing == everyone else "; ".join(missing)
            lines.append(f"| {title} | {experiment.title} | {len(everyone) - len(missing)} of {len(everyone)} | {what} | {command} |")
    return [*lines, "", "The program cannot train:", "", *(f"- {what}: {why}." for what, why in NOT_POSSIBLE.items())]


def parts():
    """Returns page -> name of a generated part -> its lines."""
    one_line = changed_line.table()
    sections = {name: tables_of(names) for name, names in SECTIONS.items()}
    sections["rates"] = picture_lines("rates", "pictures") + sections["rates"]
    sections["width"] = picture_lines("width", "pictures") + sections["width"]
    sections["instability"] = picture_lines("loss_spikes", "pictures") + sections["instability"]
    return {
        "README.md": {"one changed line": one_line, "rates": picture_lines("rates", "docs/pictures")},
        "docs/results.md": {"one changed line": one_line, **sections, "experiments": state()},
        "docs/rde.md": {"rde results": tables.table_of(EXPERIMENTS["rde"])},
        "docs/images.md": {"cifar100 results": tables.table_of(EXPERIMENTS["cifar100"])},
        "docs/text.md": {
            "text rates": picture_lines("rates_text", "pictures"),
            "translation results": tables_of(TRANSLATION, "####"),
            "encoder results": tables_of(ENCODERS, "####"),
            "language results": tables_of(LANGUAGE, "####"),
        },
    }


def main():
    check = generated_text.parser(__doc__.splitlines()[0]).parse_args().check
    status = 0
    for page, made in parts().items():
        path = ROOT / page
        text = path.read_text(encoding="utf-8")
        for name, lines in made.items():
            text = generated_text.replaced(text, name, lines)
        status |= generated_text.finish(path, text, check, COMMAND)
    for name, (panels, description) in FIGURES.items():
        drawn = panels()
        for theme in THEMES if drawn else ():
            status |= generated_text.finish(PICTURES / f"{name}_{theme}.svg", figure(drawn, description, theme), check, COMMAND)
    return status


if __name__ == "__main__":
    sys.exit(main())
