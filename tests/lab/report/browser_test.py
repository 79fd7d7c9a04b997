"""Opens a report in headless Chromium: its curves are drawn in their colors, its script runs, its console is silent.

python browser_test.py SING RUNS; exits with 77 (skipped) if there is no Chromium.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from browser import SIZE, open_page, pixels, run_tests  # noqa: E402

# Colors 0 to 2 of the page's light style, which the runs' curves have.
CURVES = ((0x1F, 0x6F, 0xD6), (0xD9, 0x48, 0x0F), (0x16, 0x87, 0x3E))

sing, runs = sys.argv[1:3] if len(sys.argv) > 2 else (None, None)


class Browser(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page = pathlib.Path(self.folder.name) / "report.html"
        subprocess.run([sing, "report", runs, "--out", self.page], check=True, stdout=subprocess.DEVNULL)

    def test_the_document_is_whole_and_the_console_silent(self):
        document, console = open_page(self.page, self.folder.name, "--dump-dom")
        self.assertEqual(console, [])
        self.assertIn('data-ready="yes"', document)
        charts = [json.loads(text) for text in re.findall(r'<script type="application/json">(.*?)</script>', document)]
        curves = [curve for chart in charts for curve in chart["curves"]]
        self.assertEqual(len(curves), 40)
        self.assertGreaterEqual(max(len(curve["points"]) for curve in curves), 20)
        self.assertEqual(document.count("<canvas"), 20, "the script drew each chart")

    def test_the_curves_are_on_the_screen(self):
        picture = self.page.with_suffix(".png")
        _, console = open_page(self.page, self.folder.name, f"--screenshot={picture}", "--blink-settings=preferredColorScheme=1")
        self.assertEqual(console, [])
        rows = pixels(picture)
        self.assertEqual((len(rows[0]), len(rows)), SIZE)
        # Only the part below the tables counts, because the tables' swatches have the same colors.
        for color in CURVES:
            drawn = sum(row.count(color) for row in rows[500:])
            self.assertGreater(drawn, 100, f"pixels of color {color}")

    def test_pointing_dragging_and_clicking_work(self):
        act = """<script>
          const {graph} = charts[0], canvas = document.querySelector(".chart canvas:last-of-type"), box = canvas.getBoundingClientRect();
          const act = (kind, target, x, y) => target.dispatchEvent(new MouseEvent(kind, {clientX: x, clientY: y, bubbles: true}));
          const at = (step) => box.left + graph.toDomXCoord(step), middle = box.top + box.height / 2;
          const say = (name, value) => { document.body.dataset[name] = value; };
          act("mousemove", canvas, at(109), middle);
          say("tip", document.querySelector(".chart .dygraph-legend").innerText);
          say("range", graph.yAxisRange().join(" "));
          act("mousedown", canvas, at(50), middle);
          act("mousemove", document, at(100), middle);
          act("mouseup", document, at(100), middle);
          say("zoom", graph.xAxisRange().join(" "));
          document.querySelector(".legend button").click();
          say("hidden", charts.filter(({graph}) => graph.visibility()[0] === false).length);
          document.getElementById("over-epochs").click();
          for (const run of document.querySelectorAll("details")) run.open = true;
          const heat = document.querySelector(".heat image"), spot = heat.getBoundingClientRect();
          act("mousemove", heat, spot.left + 2, spot.top + 2);
          document.body.dataset.norm = document.querySelector(".heat .tip").innerText;
          </script></body>"""
        self.page.write_text(self.page.read_text(encoding="utf-8").replace("</body>", act), encoding="utf-8")
        document, console = open_page(self.page, self.folder.name, "--dump-dom")
        self.assertEqual(console, [])
        tip = re.search(r'data-tip="([^"]*)"', document)[1]
        self.assertEqual(tip.splitlines()[0], "step 110")
        for name, loss in (("adamw_0", 0.0337), ("adamw_1", 0.03145), ("sing", 0.0217), ("diverged", 100)):
            shown = float(re.search(rf"^\s*{name}: ([\d.]+)$", tip, re.MULTILINE)[1])
            self.assertAlmostEqual(shown / loss, 1, delta=0.001, msg=name)
        # The largest loss of the runs that did not diverge is 0.07697.
        lowest, highest = map(float, re.search(r'data-range="([^"]*)"', document)[1].split())
        self.assertTrue(0 < lowest < 0.005 and 0.07697 < highest < 0.1, (lowest, highest))
        first, last = map(float, re.search(r'data-zoom="([^"]*)"', document)[1].split())
        self.assertAlmostEqual(first, 50, delta=1)
        self.assertAlmostEqual(last, 100, delta=1)
        self.assertIn('data-hidden="10"', document)
        # The norm of the layer is 0.46, from 0.3 and 0.4 times exp(-0.8 * 20 / 200).
        self.assertIn('data-norm="patch_embed.proj, step 20: about 0.46"', document)

    def test_a_fault_would_be_noticed(self):
        for fault in ("<script>undefinedFunction()</script>", '<img src="https://example.org/x.png">'):
            self.page.write_text(self.page.read_text(encoding="utf-8").replace("</body>", fault + "</body>"), encoding="utf-8")
            self.assertNotEqual(open_page(self.page, self.folder.name, "--dump-dom")[1], [], fault)


if __name__ == "__main__":
    run_tests()
