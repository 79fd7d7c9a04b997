"""Opens the page of `sing theory` in headless Chromium: figures are drawn, the balls move, the console is silent.

python browser_test.py SING; exits with 77 (skipped) if there is no Chromium.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from browser import open_page, pixels, run_tests  # noqa: E402

sing = sys.argv[1] if len(sys.argv) > 1 else None
# Colors 0 and 1 of the page's light style.
SING, GRADIENT_DESCENT = (0x1F, 0x6F, 0xD6), (0xD9, 0x48, 0x0F)


class Browser(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page = pathlib.Path(self.folder.name) / "theory.html"
        subprocess.run([sing, "theory", "figures", "--report", self.page], check=True, stdout=subprocess.DEVNULL)

    def with_script(self, script):
        """Returns the document after the script has run at the end of the page."""
        text = self.page.read_text(encoding="utf-8")
        self.page.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
        # Animations begin after the load event; in virtual time the timer that waits for them expires before the document is
        # returned.
        document, console = open_page(self.page, self.folder.name, "--dump-dom", "--virtual-time-budget=1000")
        self.assertEqual(console, [])
        return document

    def test_the_document_is_whole_and_the_console_silent(self):
        document, console = open_page(self.page, self.folder.name, "--dump-dom")
        self.assertEqual(console, [])
        self.assertIn('data-ready="yes"', document)
        self.assertEqual(document.count('class="ball '), 2)
        self.assertEqual(document.count("<canvas"), 6, "the script drew each chart")
        self.assertEqual(len(re.findall(r'"label":"D = \d+"', document)), 5)

    def test_the_figures_are_on_the_screen(self):
        picture = self.page.with_suffix(".png")
        open_page(self.page, self.folder.name, f"--screenshot={picture}", "--blink-settings=preferredColorScheme=1")
        rows = pixels(picture)
        for color in (SING, GRADIENT_DESCENT):
            self.assertGreater(sum(row.count(color) for row in rows), 300, f"pixels of color {color}")

    def test_the_balls_move_to_their_minima(self):
        document = self.with_script("""
          addEventListener("load", () => setTimeout(() => {
            const svg = document.querySelector(".descent svg"), places = [];
            svg.pauseAnimations();
            for (const time of [0, 14.9]) {
              svg.setCurrentTime(time);
              for (const ball of svg.querySelectorAll(".ball")) places.push(parseFloat(getComputedStyle(ball).cx));
            }
            document.body.dataset.places = places.join(" ");
          }));""")
        start, other_start, second, wide = map(float, re.search(r'data-places="([^"]*)"', document)[1].split())
        self.assertEqual(start, other_start)
        # The drawing maps -4.1 ... 6.2 to 8 ... 632: the second minimum is at 0.054, the wide one at 3.
        self.assertAlmostEqual(second, 8 + 624 * (0.054 + 4.1) / 10.3, delta=2)
        self.assertAlmostEqual(wide, 8 + 624 * (3 + 4.1) / 10.3, delta=2)

    def test_pointing_at_a_chart_names_its_numbers(self):
        document = self.with_script("""
          const canvas = document.querySelector(".chart canvas:last-of-type"), box = canvas.getBoundingClientRect();
          canvas.dispatchEvent(new MouseEvent("mousemove",
            {clientX: box.left + charts[0].graph.toDomXCoord(3), clientY: box.top + box.height / 2, bubbles: true}));
          document.body.dataset.tip = document.querySelector(".chart .dygraph-legend").innerText;""")
        tip = re.search(r'data-tip="([^"]*)"', document)[1].splitlines()
        self.assertEqual(tip[0], "learning rate 3")
        shown = dict(line.strip().split(": ") for line in tip[1:])
        self.assertEqual(sorted(shown), ["gradient descent", "gradient descent + SING"])
        self.assertEqual(set(shown.values()), {"10"})


if __name__ == "__main__":
    run_tests()
