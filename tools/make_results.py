"""Writes every table and figure of training results into the documents, from the records under docs/results.

python tools/make_results.py [--check] rewrites the text between the markers of the pages and the pictures; with --check it writes
nothing and exits with 1 if a page or a picture would change. tools/train_experiments.py makes the records. The list of experiments
in docs/results.md says which rows have no records and which command trains them.
"""

import sys

import generated_text
import paired_table
import rate_points
import result_table
import training_figures
from experiments import EXPERIMENTS, SMALL_WIDTHS
from experiments import WIDTHS as WIDTHS_OF_VIT
from generated_text import ROOT
from line_figure import THEMES, figure
from training_records import read_tunings

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
    "ablation": ("rde_ablation", "rde_ablation_frozen", "rde_ablation_vit_b", "rde_small_ablation"),
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
    "rates": (lambda: training_figures.rate_panels(GRIDS), "Score on the validation set against learning rate, for AdamW and forms of SING"),
    "rates_text": (
        lambda: training_figures.rate_panels((*TRANSLATION, *ENCODERS, *LANGUAGE)),
        "Score on the validation set against learning rate on text, for AdamW and forms of SING",
    ),
    "loss_spikes": (
        lambda: [panel for name in INSTABILITY for panel in training_figures.loss_panels(EXPERIMENTS[name])],
        "Training loss without a warm-up, for AdamW and forms of SING",
    ),
    "width": (
        lambda: [
            panel
            for title, (prefix, widths) in WIDTHS.items()
            if (panel := training_figures.width_panel(title, {width: EXPERIMENTS[f"{prefix}_{width}"] for width in widths}))
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


def table_of(experiment):
    """Returns the lines of the experiment's table; of its tunings, if nothing else has been trained."""
    if experiment.grid:
        return rate_points.table(experiment)
    return result_table.table(experiment) or rate_points.tuning_table(experiment)


def tables(names, level="###"):
    """Returns the tables of the experiments that have records, each under its title."""
    lines = []
    for name in names:
        made = table_of(EXPERIMENTS[name])
        if made:
            lines += [f"{level} {EXPERIMENTS[name].title}", "", *made, ""]
    return lines[:-1] or [NOT_TRAINED]


def state():
    """Returns the table of all experiments: which contestants have runs, which have none, and the command that trains those."""
    lines = ["| table | experiment | contestants with runs | without | command |", "|---|---|---:|---|---|"]
    for title, names in TABLES.items():
        for experiment in (EXPERIMENTS[name] for name in names):
            missing, all_of_them = result_table.missing(experiment), len(experiment.contestants)
            without = "all" if len(missing) == all_of_them else "; ".join(missing)
            tuned = len(read_tunings(experiment.name))
            without += f"; tuned: {tuned}" if missing and tuned else ""
            command = f"`{result_table.command(experiment)}`" if missing else ""
            lines.append(f"| {title} | {experiment.title} | {all_of_them - len(missing)} of {all_of_them} | {without} | {command} |")
    return lines


def parts():
    """Returns page -> name of a generated part -> its lines."""
    changed_line = paired_table.table()
    sections = {name: tables(names) for name, names in SECTIONS.items()}
    sections["rates"] = picture_lines("rates", "pictures") + sections["rates"]
    sections["width"] = picture_lines("width", "pictures") + sections["width"]
    sections["instability"] = picture_lines("loss_spikes", "pictures") + sections["instability"]
    return {
        "README.md": {"one changed line": changed_line, "rates": picture_lines("rates", "docs/pictures")},
        "docs/results.md": {"one changed line": changed_line, **sections, "experiments": state()},
        "docs/rde.md": {"rde results": table_of(EXPERIMENTS["rde"])},
        "docs/images.md": {"cifar100 results": table_of(EXPERIMENTS["cifar100"])},
        "docs/text.md": {
            "text rates": picture_lines("rates_text", "pictures"),
            "translation results": tables(TRANSLATION, "####"),
            "encoder results": tables(ENCODERS, "####"),
            "language results": tables(LANGUAGE, "####"),
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
