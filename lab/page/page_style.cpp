// Contains the style sheet of the page.
#include "lab/page/chart_library.hpp"
#include "lab/page/page_parts.hpp"

namespace sing::lab::page {

std::string page_style() {
  return std::string(chart_library_style()) + R"css(
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2129; --faint: #6b7280; --line: #e3e5ea; --lift: #f6f7f9;
  --c0: #1f6fd6; --c1: #d9480f; --c2: #16873e; --c3: #a32cc4; --c4: #b07d00; --c5: #0b8a99; --c6: #d6246e; --c7: #6b5b4d;
  --c8: #5e60ce; --c9: #6a8f00; --bad: #c92a2a; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181d; --ink: #e6e8ec; --faint: #9aa1ad; --line: #2c313a;
  --lift: #1d2128; --c0: #6cb0ff; --c1: #ff8a4c; --c2: #5ad17f; --c3: #d68cf0; --c4: #f0c04a; --c5: #4fd3e3; --c6: #ff7fb2;
  --c7: #c7b299; --c8: #a3a5ff; --c9: #b7dd4a; --bad: #ff8080; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 84rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } small, .note { color: var(--faint); }
table { border-collapse: collapse; font-size: .87rem; } .wide { overflow-x: auto; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
td { font-variant-numeric: tabular-nums; } th { color: var(--faint); font-weight: 500; } #shared td { white-space: normal; }
td.number { text-align: right; } td.diverged, .failed { color: var(--bad); font-weight: 600; }
.swatch { display: inline-block; width: 1.6em; margin-right: .5em; vertical-align: middle; border-top: 3px solid var(--run); }
.swatch.dash1 { border-top-style: dashed; } .swatch.dash2 { border-top-style: dotted; } .swatch.dash3 { border-top-style: double; }
.legend { position: sticky; top: 0; z-index: 1; margin: 0 -.3rem; padding: .4rem 0; background: var(--paper); }
.legend button { font: inherit; font-size: .85rem; color: inherit; background: none; border: 0; padding: .1rem .4rem; cursor: pointer; }
.legend button.off { opacity: .35; text-decoration: line-through; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(32rem, 100%), 1fr)); gap: 1rem 2rem; }
.charts.even { grid-template-columns: repeat(auto-fill, minmax(min(32rem, 100%), 1fr)); } a { color: var(--c0); }
figure { margin: 0; position: relative; } figcaption { font-weight: 600; margin: .4rem 0 .2rem; }
svg { display: block; width: 100%; height: auto; overflow: visible; }
svg text { font: 11px system-ui, sans-serif; fill: var(--faint); } text.x { text-anchor: middle; } text.y { text-anchor: end; }
.heat text { font-size: 9.5px; } .heat image { image-rendering: pixelated; }
.axis { stroke: var(--faint); fill: none; }
.curve { fill: none; stroke: var(--run); stroke-width: 1.7; stroke-linejoin: round; } circle { fill: var(--run); }
.plot .dygraph-axis-label { font-size: 11px; color: var(--faint); }
.plot .dygraph-label { font-size: 12px; font-weight: normal; color: var(--faint); }
.plot .dygraph-legend { width: auto; padding: .35rem .6rem; border: 1px solid var(--line); border-radius: 4px; background: var(--lift);
  color: var(--ink); font-size: .8rem; text-align: left; white-space: nowrap; font-variant-numeric: tabular-nums; }
.plot .dygraph-legend:empty { display: none; }
.color0 { --run: var(--c0); } .color1 { --run: var(--c1); } .color2 { --run: var(--c2); } .color3 { --run: var(--c3); }
.color4 { --run: var(--c4); } .color5 { --run: var(--c5); } .color6 { --run: var(--c6); } .color7 { --run: var(--c7); }
.color8 { --run: var(--c8); } .color9 { --run: var(--c9); }
.data { fill: var(--c4); background: var(--c4); } .model { fill: var(--c0); background: var(--c0); }
.optimizer { fill: var(--c2); background: var(--c2); } b.data, b.model, b.optimizer { display: inline-block; width: .8em; height: .8em; margin-left: .8em; }
.times { max-width: 64rem; } .picture img { max-width: 100%; min-width: min(28rem, 100%); image-rendering: pixelated; }
.sample pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.key { margin: .2rem 0 1rem; font-size: .85rem; } .key .swatch { margin-left: 1.2em; } .ball { stroke: var(--paper); stroke-width: 1.5; }
.hidden { display: none; }
.tip { position: absolute; z-index: 2; pointer-events: none; padding: .35rem .6rem; border: 1px solid var(--line); border-radius: 4px;
  background: var(--lift); font-size: .8rem; white-space: nowrap; font-variant-numeric: tabular-nums; }
table.cells td { text-align: center; border: 1px solid var(--paper); } table.cells thead th + th { text-align: center; } table.cells tbody th { border: 0; } table.cells td.best { outline: 3px solid var(--c1); outline-offset: -3px; font-weight: 700; }
details > summary { cursor: pointer; margin: .5rem 0; }
input[name=over] { margin: 1.5rem .3rem 0 0; } input[name=over] + label { margin-right: 1rem; }
#over-epochs:checked ~ main .by-step, #over-steps:checked ~ main .by-epoch { display: none; }
@media print { .legend { position: static; } }
)css";
}

}  // namespace sing::lab::page
