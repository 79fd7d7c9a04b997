"""Draws the step times of README.md as bars, from bench/results/h200.json and bench/results/amd-epyc-2-cores.json.

python tools/make_step_figure.py [--check] writes docs/pictures/step_time_light.svg and docs/pictures/step_time_dark.svg; with
--check it writes nothing and exits with 1 if a picture would change.
"""

import dataclasses
import html
import json
import sys

import generated_text
from generated_text import ROOT
from make_benchmark_tables import RESULTS, number

PICTURES = ROOT / "docs" / "pictures"
COMMAND = "python tools/make_step_figure.py"
TORCH, SING, UNFUSED = "torch's fused AdamW", "SING (AdamW, LookAhead)", "SING, operation by operation as the authors' file"
GPU_MODELS = {"resnet18": "ResNet18", "vit_s": "ViT-S", "gpt2_124m": "GPT-2 124M", "gpt2_1.5b": "GPT-2 1.5B"}
CPU_MODEL = "ViT-S/16"
THEMES = {
    "light": {"text": "#1f2328", "quiet": "#59636e", TORCH: "#8c959f", SING: "#0969da", UNFUSED: "#d4a72c"},
    "dark": {"text": "#f0f6fc", "quiet": "#9198a1", TORCH: "#6e7681", SING: "#4493f8", UNFUSED: "#bb8009"},
}
# Lengths in pixels.
WIDTH, MARGIN, LABELS, TIMES = 760, 12, 100, 130  # the columns left and right of the bars
BAR, BAR_GAP, GROUP_GAP, LINE = 14, 3, 10, 20


@dataclasses.dataclass(frozen=True)
class Group:
    """The bars of one model: series -> milliseconds per step, and series -> times to torch's."""

    title: str
    times: dict
    ratios: dict


def gpu_groups(result):
    """Yields the times of replayed CUDA graphs, which leave out what a call costs the host."""
    for name, title in GPU_MODELS.items():
        model = result["models"][name]
        times = {TORCH: model["torch_graph"]["median_ms"], SING: model["sing_graph"]["median_ms"]}
        yield Group(title, times, {SING: times[SING] / times[TORCH]})


def cpu_groups(result):
    [model] = [each for each in result["models"] if each["title"] == CPU_MODEL]
    rows = {row["name"]: row for row in model["rows"]}
    names = {TORCH: "torch_fused_adamw", SING: "sing_adamw", UNFUSED: "unfused_sing_adamw"}
    times = {series: rows[name]["milliseconds"]["median"] for series, name in names.items()}
    ratios = {series: rows[names[series]]["ratio_to_torch_fused_adamw"]["median"] for series in (SING, UNFUSED)}
    yield Group("ViT-S", times, ratios)


class Drawing:
    """SVG elements from top to bottom; `y` is where the next one begins."""

    def __init__(self, colors):
        self.colors, self.lines, self.y = colors, [], MARGIN

    def text(self, x, y, text, color="text", extra=""):
        self.lines.append(f'<text x="{x:g}" y="{y:g}" fill="{self.colors[color]}"{extra}>{html.escape(text)}</text>')

    def legend(self):
        x = MARGIN
        for series in (TORCH, SING, UNFUSED):
            self.lines.append(f'<rect x="{x}" y="{self.y}" width="12" height="12" rx="2" fill="{self.colors[series]}"/>')
            self.text(x + 18, self.y + 11, series, "quiet")
            x += 40 + 7 * len(series)
        self.y += LINE + GROUP_GAP

    def panel(self, title, groups):
        """Draws the groups, each scaled to its longest bar."""
        self.text(MARGIN, self.y + 12, title, "text", ' font-weight="600"')
        self.y += LINE + 4
        for group in groups:
            height = len(group.times) * (BAR + BAR_GAP)
            self.text(MARGIN, self.y + height / 2 + 3, group.title)
            longest = max(group.times.values())
            for series, time in group.times.items():
                length = (WIDTH - 2 * MARGIN - LABELS - TIMES) * time / longest
                self.lines.append(
                    f'<rect x="{LABELS + MARGIN}" y="{self.y}" width="{length:.1f}" height="{BAR}" rx="2" fill="{self.colors[series]}"/>'
                )
                ratio = f"  (× {group.ratios[series]:.2f})" if series in group.ratios else ""
                self.text(LABELS + MARGIN + length + 6, self.y + 11, f"{number(time)} ms{ratio}", "quiet")
                self.y += BAR + BAR_GAP
            self.y += GROUP_GAP

    def svg(self, description):
        height = self.y + MARGIN - GROUP_GAP
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img"'
            ' font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="12">'
        )
        return "\n".join([head, f"<title>{html.escape(description)}</title>", *self.lines, "</svg>", ""])


def picture(colors, gpu, cpu):
    drawing = Drawing(colors)
    drawing.legend()
    drawing.panel(f"{gpu['machine']['gpu']}, one step, replayed CUDA graph", gpu_groups(gpu))
    drawing.y += GROUP_GAP
    drawing.panel(f"{cpu['hardware']['processor']}, {cpu['threads']} threads, one step", cpu_groups(cpu))
    return drawing.svg("Time of one optimizer step: torch's fused AdamW, SING, and SING operation by operation")


def main():
    arguments = generated_text.parser(__doc__.splitlines()[0]).parse_args()
    gpu, cpu = (json.loads((RESULTS / name).read_text(encoding="utf-8")) for name in ("h200.json", "amd-epyc-2-cores.json"))
    return max(
        generated_text.finish(PICTURES / f"step_time_{theme}.svg", picture(colors, gpu, cpu), arguments.check, COMMAND)
        for theme, colors in THEMES.items()
    )


if __name__ == "__main__":
    sys.exit(main())
