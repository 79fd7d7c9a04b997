// Contains the script of the page: plain JavaScript without libraries or requests.
#include "lab/page/page_parts.hpp"

namespace sing::lab::page {

std::string_view page_script() {
  return R"js(
"use strict";
const text = (value) => value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)
  ? value.toExponential(2) : String(Number(value.toPrecision(4)));

// An axis as drawn: "log|linear low high from to". Returns the number at a place.
function axisOf(description) {
  const [scale, ...numbers] = description.split(" ");
  const [low, high, from, to] = numbers.map(Number);
  return (place) => {
    const share = (place - from) / (to - from);
    return scale === "log" ? low * Math.pow(high / low, share) : low + share * (high - low);
  };
}

function pointsOf(path) {
  return [...path.getAttribute("d").matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map((match) => [Number(match[1]), Number(match[2])]);
}

function placeIn(svg, event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
}

function tipOf(figure) {
  const tip = figure.appendChild(document.createElement("div"));
  tip.className = "tip hidden";
  return (event, lines) => {
    tip.classList.toggle("hidden", lines.length === 0);
    tip.replaceChildren(...lines.map(([label, value, style]) => {
      const line = document.createElement("div");
      if (style) line.appendChild(document.createElement("i")).className = "swatch " + style;
      line.append(label + (value === "" ? "" : ": " + value));
      return line;
    }));
    const box = figure.getBoundingClientRect();
    const x = event.clientX - box.left;
    tip.style.left = (x > box.width / 2 ? x - tip.offsetWidth - 14 : x + 14) + "px";
    tip.style.top = Math.max(0, event.clientY - box.top - tip.offsetHeight / 2) + "px";
  };
}

function nearest(points, x) {
  return points.reduce((best, point) => Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best);
}

function watchChart(figure) {
  const svg = figure.querySelector("svg");
  const [xOf, yOf] = [axisOf(svg.dataset.x), axisOf(svg.dataset.y)];
  const [from, to] = svg.dataset.x.split(" ").slice(3).map(Number);
  const [bottom, top] = svg.dataset.y.split(" ").slice(3);
  const curves = [...svg.querySelectorAll(".curve")].map((path) => ({path, points: pointsOf(path)}));
  const cursor = svg.appendChild(document.createElementNS(svg.namespaceURI, "path"));
  cursor.setAttribute("class", "cursor");
  const show = tipOf(figure);
  svg.addEventListener("mousemove", (event) => {
    const x = placeIn(svg, event).x;
    const seen = curves.filter(({path}) => !path.classList.contains("hidden"));
    if (x < from - 4 || x > to + 4 || seen.length === 0) return show(event, []);
    const found = seen.map(({path, points}) => ({path, point: nearest(points, x)})).sort((one, other) => one.point[1] - other.point[1]);
    const at = found.map(({point}) => point[0]).reduce((best, place) => Math.abs(place - x) < Math.abs(best - x) ? place : best);
    cursor.setAttribute("d", `M${at} ${top}V${bottom}`);
    show(event, [[`${svg.dataset.name} ${text(xOf(at))}`, ""], ...found.slice(0, 16).map(({path, point}) =>
      [path.dataset.label, (Math.abs(point[1]) < 1e5 ? "" : "beyond ") + text(yOf(point[1])), path.getAttribute("class").replace("curve", "")])]);
  });
  svg.addEventListener("mouseleave", (event) => { cursor.removeAttribute("d"); show(event, []); });
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
    show(event, [[`${names[row]}, step ${steps[column]}`, value]]);
  });
  svg.addEventListener("mouseleave", (event) => show(event, []));
}

for (const figure of document.querySelectorAll(".chart")) watchChart(figure);
for (const figure of document.querySelectorAll(".heat")) watchHeatMap(figure);
for (const button of document.querySelectorAll(".legend button")) {
  button.addEventListener("click", () => {
    const off = button.classList.toggle("off");
    for (const part of document.querySelectorAll(".chart ." + button.dataset.run)) part.classList.toggle("hidden", off);
  });
}
document.documentElement.dataset.ready = "yes";
)js";
}

}  // namespace sing::lab::page
