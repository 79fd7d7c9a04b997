// Contains the script of the page.
#include "lab/page/chart_library.hpp"
#include "lab/page/page_parts.hpp"

namespace sing::lab::page {

std::string page_script() {
  return std::string(chart_library_script()) + R"js(
"use strict";
const text = (value) => value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)
  ? Number(value.toPrecision(3)).toExponential() : String(Number(value.toPrecision(4)));

function placeIn(svg, event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
}

function tipOf(figure) {
  const tip = figure.appendChild(document.createElement("div"));
  tip.className = "tip hidden";
  return (event, lines) => {
    tip.classList.toggle("hidden", lines.length === 0);
    tip.replaceChildren(...lines);
    const box = figure.getBoundingClientRect();
    const x = event.clientX - box.left;
    tip.style.left = (x > box.width / 2 ? x - tip.offsetWidth - 14 : x + 14) + "px";
    tip.style.top = Math.max(0, event.clientY - box.top - tip.offsetHeight / 2) + "px";
  };
}

const DASHES = {dash1: [7, 4], dash2: [2, 3], dash3: [10, 3, 2, 3]};  // as in the style sheet
const charts = [];  // {graph, figure, curves}

// One row per distinct x, with [low, y, high] for each curve that has a point or a gap there.
function rowsOf(curves) {
  const rows = new Map();
  curves.forEach(({points}, at) => {
    for (const [x, y = NaN, low = y, high = y] of points) {
      if (!rows.has(x)) rows.set(x, [x, ...curves.map(() => null)]);
      rows.get(x)[at + 1] = [low, y, high];
    }
  });
  return [...rows.values()].sort((one, other) => one[0] - other[0]);
}

// Returns the range of the curves that did not diverge, or null if the library shall find the range.
function rangeOf({curves, zero}) {
  if (!zero && !curves.some(({diverged}) => diverged)) return null;
  const settled = curves.filter(({diverged, points}) => !diverged && points.some((point) => point.length > 1));
  const numbers = (settled.length > 0 ? settled : curves).flatMap(({points}) => points.flatMap((point) => point.slice(1)));
  const [low, high] = numbers.reduce(([least, most], number) => [Math.min(least, number), Math.max(most, number)], [Infinity, -Infinity]);
  const margin = (high - low || Math.abs(high) || 1) * 0.03;
  return zero ? [Math.min(0, low), Math.max(high, 0) + (high > 0 ? margin : 1)] : [low - (low > margin ? margin : 0), high + margin];
}

function colorsOf(figure, curves) {
  const probe = figure.appendChild(document.createElement("i"));
  const colors = curves.map(({style}) => {
    probe.className = style;
    return getComputedStyle(probe).getPropertyValue("--run").trim();
  });
  probe.remove();
  return colors;
}

// Marks the last point of each curve that diverged, which may lie outside the chart's range.
function markDiverged(context, area, graph, curves) {
  const colors = graph.getColors();
  context.font = "700 15px system-ui, sans-serif";
  context.textAlign = "center";
  curves.forEach(({label, diverged, points}, at) => {
    const last = points.filter((point) => point.length > 1).pop();
    if (!diverged || !last || !graph.getPropertiesForSeries(label).visible) return;
    const [x, y] = graph.toDomCoords(last[0], last[1]);
    context.fillStyle = colors[at];
    context.fillText("✕", x, Math.min(Math.max(y, area.y + 6), area.y + area.h - 6) + 5);
  });
}

function drawChart(figure) {
  const chart = JSON.parse(figure.querySelector("script").textContent);
  const {curves, x: name, log: [xLog, yLog]} = chart;
  const hasFew = curves.every(({points}) => points.length <= 40);
  const graph = new Dygraph(figure.querySelector(".plot"), rowsOf(curves), {
    labels: [" x", ...curves.map(({label}) => label)], xlabel: name, resizable: "passive",
    colors: colorsOf(figure, curves), gridLineColor: "#8888", gridLineWidth: 0.3, fillAlpha: 0.16, strokeWidth: 1.7,
    series: Object.fromEntries(curves.map(({label, style}) => [label, {strokePattern: DASHES[style.split(" ")[1]] ?? null}])),
    customBars: true, connectSeparatedPoints: true, drawPoints: hasFew, drawGapEdgePoints: true, pointSize: 2.5,
    logscale: yLog, valueRange: rangeOf(chart), xRangePad: 4, yRangePad: 4, legend: "follow",
    legendFormatter: ({x, xHTML, series}) => x === undefined ? "" : [xHTML, ...series
      .filter(({isVisible, y}) => isVisible && Number.isFinite(y)).sort((one, other) => other.y - one.y).slice(0, 16)
      .map(({dashHTML, color, labelHTML, yHTML}) => `<span style="color: ${color}">${dashHTML}</span> ${labelHTML}: ${yHTML}`)].join("<br>"),
    underlayCallback: (context, area, graph) => markDiverged(context, area, graph, curves),
    axes: {
      x: {logscale: xLog, axisLabelFormatter: text, valueFormatter: (value) => `${name} ${text(value)}`},
      y: {axisLabelFormatter: text, valueFormatter: text, axisLabelWidth: 60}},
  });
  charts.push({graph, figure, curves});
}

// The numbers of a heat map are the bytes of its picture.
function watchHeatMap(figure) {
  const svg = figure.querySelector("svg");
  const [low, high, top, header] = svg.dataset.levels.split(" ").map(Number);
  const [left, above, width, height] = svg.dataset.box.split(" ").map(Number);
  const steps = svg.dataset.steps.split(" ");
  const names = [...svg.querySelectorAll("text.y")].map((name) => name.textContent);
  const bytes = atob(svg.querySelector("image").getAttribute("href").split(",")[1]);
  const stride = Math.ceil(steps.length / 4) * 4;
  const show = tipOf(figure);
  svg.addEventListener("mousemove", (event) => {
    const place = placeIn(svg, event);
    const column = Math.floor((place.x - left) / width * steps.length);
    const row = Math.floor((place.y - above) / height * names.length);
    if (column < 0 || column >= steps.length || row < 0 || row >= names.length) return show(event, []);
    const level = bytes.charCodeAt(header + row * stride + column);
    const value = level <= top ? "about " + Number((low * Math.pow(high / low, level / top)).toPrecision(2))
      : level === top + 1 ? "not finite" : "not recorded";
    show(event, [`${names[row]}, step ${steps[column]}: ${value}`]);
  });
  svg.addEventListener("mouseleave", (event) => show(event, []));
}

for (const figure of document.querySelectorAll(".chart")) drawChart(figure);
for (const figure of document.querySelectorAll(".heat")) watchHeatMap(figure);
for (const button of document.querySelectorAll(".legend button")) {
  button.addEventListener("click", () => {
    const off = button.classList.toggle("off");
    for (const {graph, curves} of charts) {
      curves.forEach(({style}, at) => style.split(" ").includes(button.dataset.run) && graph.setVisibility(at, !off));
    }
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const {graph, figure, curves} of charts) graph.updateOptions({colors: colorsOf(figure, curves)});
});
document.documentElement.dataset.ready = "yes";
)js";
}

}  // namespace sing::lab::page
