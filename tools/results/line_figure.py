"""Draws panels of lines as SVG, for README and documents, in colors for light and for dark pages."""

import dataclasses
import html
import math

THEMES = {
    "light": {
        "text": "#1f2328",
        "quiet": "#59636e",
        "grid": "#d1d9e0",
        "lines": ("#8c959f", "#d4a72c", "#0969da", "#cf222e", "#1a7f37", "#8250df", "#bf3989", "#953800", "#57606a", "#0a7ea4"),
    },
    "dark": {
        "text": "#f0f6fc",
        "quiet": "#9198a1",
        "grid": "#3d444d",
        "lines": ("#6e7681", "#d29922", "#4493f8", "#f85149", "#3fb950", "#ab7df8", "#db61a2", "#db6d28", "#b1bac4", "#39c5cf"),
    },
}
# Lengths in pixels.
WIDTH, MARGIN = 760, 12
PLOT_HEIGHT, GAP = 220, 26
LEFT, TITLE, TICKS, LEGEND_LINE = 52, 24, 36, 20
CHARACTER = 7  # width of a letter of 12 pixels


@dataclasses.dataclass(frozen=True)
class Line:
    label: str
    points: tuple  # (x, y), in the order of x; y is None where there is no value: drawn as a cross at the edge
    color: int  # place in the theme's colors


@dataclasses.dataclass(frozen=True)
class Panel:
    title: str
    x_title: str
    lines: tuple
    log_x: bool = False
    log_y: bool = False
    missing_at_top: bool = False  # where a cross stands: at the worse end
    markers: bool = True


def ticks(low, high, count=5):
    """Returns round numbers from `low` to `high`."""
    size = 10 ** math.floor(math.log10((high - low) / count))
    step = next(factor * size for factor in (1, 2, 5, 10) if (high - low) / (factor * size) <= count)
    first = math.ceil(low / step - 1e-9)
    return [step * place for place in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low, high):
    """Returns 1, 2 and 5 times powers of ten from `low` to `high`, or powers alone if these would be many."""
    factors = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [factor * 10.0**power for power in powers for factor in factors if low <= factor * 10.0**power <= high * (1 + 1e-9)]


class Axis:
    """Maps values to pixels between two ends."""

    def __init__(self, values, log, first, last, room):
        low, high = min(values), max(values)
        self.log, self.first, self.last = log, first, last
        if log:
            factor = (high / low) ** room if high > low else 2
            self.low, self.high = low / factor, high * factor
        else:
            extra = (high - low) * room if high > low else abs(high) or 1
            self.low, self.high = low - extra, high + extra

    def at(self, value):
        low, high, value = (math.log(each) if self.log else each for each in (self.low, self.high, value))
        return self.first + (self.last - self.first) * (value - low) / (high - low)

    def ticks(self):
        return log_ticks(self.low, self.high) if self.log else ticks(self.low, self.high)


def tick_text(value):
    return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e+") if 0 < abs(value) < 1e-2 else f"{value:g}"


class Drawing:
    """SVG elements; `y` is where the next row begins."""

    def __init__(self, colors):
        self.colors, self.elements, self.y = colors, [], MARGIN

    def text(self, x, y, text, color="quiet", extra=""):
        self.elements.append(f'<text x="{x:.1f}" y="{y:.1f}" fill="{self.colors[color]}"{extra}>{html.escape(text)}</text>')

    def rule(self, x1, y1, x2, y2):
        self.elements.append(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{self.colors["grid"]}" fill="none"/>')

    def legend(self, labels):
        """Draws label -> color, in as many rows as needed."""
        x = MARGIN
        for label, color in labels.items():
            width = 26 + CHARACTER * len(label)
            if x + width > WIDTH - MARGIN and x > MARGIN:
                x, self.y = MARGIN, self.y + LEGEND_LINE
            self.elements.append(f'<rect x="{x:.1f}" y="{self.y + 1}" width="12" height="12" rx="2" fill="{self.line_color(color)}"/>')
            self.text(x + 17, self.y + 11, label)
            x += width + 8
        self.y += LEGEND_LINE + 6

    def line_color(self, place):
        return self.colors["lines"][place % len(self.colors["lines"])]

    def panel(self, panel, left, width):
        top = self.y + TITLE
        x_values = [x for line in panel.lines for x, _ in line.points]
        y_values = [y for line in panel.lines for _, y in line.points if y is not None]
        across = Axis(x_values, panel.log_x, left + LEFT, left + width, 0.03)
        up = Axis(y_values, panel.log_y, top + PLOT_HEIGHT, top, 0.06)
        self.text(left, self.y + 12, panel.title, "text", ' font-weight="600"')
        for value in up.ticks():
            self.rule(across.first, up.at(value), across.last, up.at(value))
            self.text(across.first - 6, up.at(value) + 4, tick_text(value), extra=' text-anchor="end"')
        for value in across.ticks():
            self.rule(across.at(value), top + PLOT_HEIGHT, across.at(value), top + PLOT_HEIGHT + 4)
            self.text(across.at(value), top + PLOT_HEIGHT + 17, tick_text(value), extra=' text-anchor="middle"')
        self.text((across.first + across.last) / 2, top + PLOT_HEIGHT + 33, panel.x_title, extra=' text-anchor="middle"')
        for line in panel.lines:
            self.line(line, across, up, panel)

    def line(self, line, across, up, panel):
        color = self.line_color(line.color)
        # A missing value interrupts the line.
        parts, part = [], []
        for x, y in line.points:
            if y is None:
                parts, part = [*parts, part], []
            else:
                part.append((across.at(x), up.at(y)))
        for each in [*parts, part]:
            if len(each) > 1:
                path = "L".join(f"{x:.1f} {y:.1f}" for x, y in each)
                self.elements.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="2" stroke-linejoin="round"/>')
            for x, y in each if panel.markers or len(each) == 1 else ():
                self.elements.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>')
        edge = up.last + 6 if panel.missing_at_top else up.first - 6
        for x in (across.at(x) for x, y in line.points if y is None):
            self.elements.append(
                f'<path d="M{x - 3:.1f} {edge - 3:.1f}l6 6m0-6l-6 6" stroke="{color}" stroke-width="1.5" fill="none"/>'
            )

    def svg(self, description):
        height = self.y + MARGIN
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}" role="img"'
            ' font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="12">'
        )
        return "\n".join([head, f"<title>{html.escape(description)}</title>", *self.elements, "</svg>", ""])


def figure(panels, description, theme):
    """Returns the SVG of the panels, two in a row, under one legend."""
    drawing = Drawing(THEMES[theme])
    drawing.legend({line.label: line.color for panel in panels for line in panel.lines})
    for first in range(0, len(panels), 2):
        row = panels[first : first + 2]
        width = (WIDTH - 2 * MARGIN - GAP * (len(row) - 1)) / len(row)
        for place, panel in enumerate(row):
            drawing.panel(panel, MARGIN + place * (width + GAP), width)
        drawing.y += TITLE + PLOT_HEIGHT + TICKS + GAP // 2
    return drawing.svg(description)
