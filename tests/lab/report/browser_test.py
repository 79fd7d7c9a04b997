"""Opens a report in headless Chromium: its curves are drawn in their colors, its script runs, its console is silent.

python browser_test.py SING RUNS; exits with 77 (skipped) if there is no Chromium.
"""

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
        curves = re.findall(r'<path class="curve [^>]* d="(M[^"]*)"', document)
        self.assertEqual(len(curves), 40)
        self.assertGreaterEqual(max(curve.count("L") for curve in curves), 20)
        self.assertEqual(document.count('class="cursor"'), 10, "the script prepared each chart")

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

    def test_pointing_and_clicking_work(self):
        act = """<script>
          const svg = document.querySelector(".chart svg"), box = svg.getBoundingClientRect();
          const move = (target, x, y) => target.dispatchEvent(new MouseEvent("mousemove", {clientX: x, clientY: y, bubbles: true}));
          move(svg, box.left + box.width / 2, box.top + box.height / 2);
          document.body.dataset.tip = document.querySelector(".chart .tip").innerText;
          document.querySelector(".legend button").click();
          document.body.dataset.hidden = document.querySelectorAll(".curve.hidden").length;
          for (const run of document.querySelectorAll("details")) run.open = true;
          const heat = document.querySelector(".heat image"), spot = heat.getBoundingClientRect();
          move(heat, spot.left + 2, spot.top + 2);
          document.body.dataset.norm = document.querySelector(".heat .tip").innerText;
          </script></body>"""
        self.page.write_text(self.page.read_text(encoding="utf-8").replace("</body>", act), encoding="utf-8")
        document, console = open_page(self.page, self.folder.name, "--dump-dom")
        self.assertEqual(console, [])
        tip = re.search(r'data-tip="([^"]*)"', document)[1]
        # The middle of the drawing is at step 109. The losses there are the fixture's, to the tenth of a pixel they are drawn with.
        self.assertEqual(tip.splitlines()[0], "step 110")
        for name, loss in (("adamw_0", 0.0337), ("adamw_1", 0.0314), ("sing", 0.0217), ("diverged", 100)):
            shown = float(re.search(rf"^{name}: ([\d.]+)$", tip, re.MULTILINE)[1])
            self.assertAlmostEqual(shown / loss, 1, delta=0.02, msg=name)
        self.assertIn('data-hidden="10"', document)
        # The norm of the layer is 0.46, from 0.3 and 0.4 times exp(-0.8 * 20 / 200).
        self.assertIn('data-norm="patch_embed.proj, step 20: about 0.46"', document)

    def test_a_fault_would_be_noticed(self):
        for fault in ("<script>undefinedFunction()</script>", '<img src="https://example.org/x.png">'):
            self.page.write_text(self.page.read_text(encoding="utf-8").replace("</body>", fault + "</body>"), encoding="utf-8")
            self.assertNotEqual(open_page(self.page, self.folder.name, "--dump-dom")[1], [], fault)


if __name__ == "__main__":
    run_tests()
