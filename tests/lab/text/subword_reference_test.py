"""Compares the application of byte pair codes with the package subword-nmt, on codes that it learned from generated words.

python subword_reference_test.py TEXT_EXCHANGE    exits with 77 if subword-nmt is not installed
"""

import io
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    from subword_nmt.apply_bpe import BPE
    from subword_nmt.learn_bpe import learn_bpe
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

SYLLABLES = ["un", "ge", "ver", "lich", "keit", "tag", "baum", "ss", "aaa", "ä", "ü", "ß", "€", "-", "o", "n", "2"]


def random_line(generator):
    words = ["".join(generator.choice(SYLLABLES) for _ in range(generator.randrange(1, 5))) for _ in range(generator.randrange(12))]
    return generator.choice([" ", "  "]).join(words)


def main(exchange):
    generator = random.Random(3)
    training = [random_line(generator) for _ in range(300)]
    test = [random_line(generator) for _ in range(300)] + ["", " ", "x", "naïve façade 😀😀", "aaaaaaaaa", "Ünbekannt@@ @@"]
    learned = io.StringIO()
    learn_bpe(io.StringIO("\n".join(training)), learned, 120)
    codes = learned.getvalue()
    assert codes.startswith("#version: 0.2")
    old = codes.split("\n", 1)[1].replace("</w>", "") + "e r\nt </w>\n"
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "text").write_text("".join(line + "\n" for line in test), encoding="utf-8")
        for version, content in (("0.2", codes), ("0.1", old)):
            (folder / "codes").write_text(content, encoding="utf-8")
            output = subprocess.run([exchange, "segment", folder / "codes", folder / "text"], check=True, stdout=subprocess.PIPE).stdout
            bpe = BPE(io.StringIO(content))
            wanted = [bpe.segment(line) for line in test]
            got = output.decode().split("\n")[:-1]
            for line, ours, theirs in zip(test, got, wanted, strict=True):
                assert ours == theirs, (version, line, ours, theirs)
            split = sum("@@ " in line for line in wanted)
            assert split > 100, split
            print(f"version {version}: {len(test)} lines, {split} with words in several pieces")


if __name__ == "__main__":
    main(sys.argv[1])
