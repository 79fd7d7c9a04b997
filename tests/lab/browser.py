"""Runs headless Chromium for the tests of pages: opens a page and returns its document, its console and its pixels."""

import shutil
import struct
import subprocess
import sys
import unittest
import zlib

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = (1200, 1600)

browser = next(filter(None, map(shutil.which, BROWSERS)), None)


def open_page(page, folder, *options):
    """Returns what Chromium prints for a page: (its document, console messages)."""
    done = subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
         f"--user-data-dir={folder}/profile", f"--window-size={SIZE[0]},{SIZE[1]}", "--enable-logging=stderr",
         "--host-resolver-rules=MAP * ~NOTFOUND", *options, page.as_uri()],
        capture_output=True, text=True, encoding="utf-8", timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def pixels(path):
    """Returns the width and the rows of an 8-bit RGB or RGBA PNG, as lists of (red, green, blue)."""
    data = path.read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and kind in (2, 6), (depth, kind)
    at, packed = 8, b""
    while at < len(data):
        size = struct.unpack(">I", data[at:at + 4])[0]
        packed += data[at + 8:at + 8 + size] if data[at + 4:at + 8] == b"IDAT" else b""
        at += size + 12
    raw, step = zlib.decompress(packed), 3 if kind == 2 else 4
    before, rows = bytearray(width * step), []
    for y in range(height):
        start = y * (width * step + 1)
        rule, row = raw[start], bytearray(raw[start + 1:start + 1 + width * step])
        for x in range(len(row)):
            left = row[x - step] if x >= step else 0
            above, corner = before[x], before[x - step] if x >= step else 0
            if rule == 4:
                guess = left + above - corner
                row[x] = (row[x] + min((left, above, corner), key=lambda each: abs(guess - each))) & 255
            else:
                row[x] = (row[x] + (0, left, above, (left + above) // 2)[rule]) & 255
        rows.append([tuple(row[x:x + 3]) for x in range(0, len(row), step)])
        before = row
    return rows


def run_tests():
    """Runs the tests of the calling script, or exits with 77 (skipped) if there is no browser."""
    if browser is None:
        print(f"skipped: none of {', '.join(BROWSERS)} is installed (tools/packages.txt)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
