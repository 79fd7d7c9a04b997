"""Compares the program's WordPiece with Hugging Face's BertTokenizer on every text of a SQuAD file: tokens and offsets.

python tools/compare_wordpiece.py WORDPIECE_EXCHANGE vocab.txt train-v1.1.json      (needs transformers)

WORDPIECE_EXCHANGE is the test program of tests/lab/text/wordpiece_exchange.cpp.
"""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile


def character_places(text):
    """Returns a list: byte of the text's UTF-8 -> number of characters that begin before it."""
    places = []
    for place, character in enumerate(text):
        places += [place] * len(character.encode())
    return [*places, len(text)]


def program_tokens(exchange, vocabulary, texts, lower=True):
    """Returns, per text, the program's tokens as (id, first character, end character)."""
    with tempfile.TemporaryDirectory() as folder:
        given, result = pathlib.Path(folder) / "texts.json", pathlib.Path(folder) / "result.json"
        given.write_text(json.dumps(texts), encoding="utf-8")
        subprocess.run([exchange, vocabulary, given, result, "lower" if lower else "cased"], check=True)
        lists = json.loads(result.read_text(encoding="utf-8"))
    found = []
    for text, tokens in zip(texts, lists, strict=True):
        place = character_places(text)
        # A token ends behind the character that its last byte belongs to.
        found.append([(number, place[begin], place[end - 1] + 1) for number, begin, end in tokens])
    return found


def reference_tokens(tokenizer, texts):
    """Returns what a tokenizer of transformers makes of the texts, in the form of program_tokens()."""
    encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, return_attention_mask=False, verbose=False)
    return [
        [(number, *offsets) for number, offsets in zip(numbers, places, strict=True)]
        for numbers, places in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]


def squad_texts(path):
    """Returns the contexts and the questions of a file, each once."""
    articles = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["data"]
    paragraphs = list(itertools.chain.from_iterable(article["paragraphs"] for article in articles))
    questions = [asked["question"] for paragraph in paragraphs for asked in paragraph["qas"]]
    return list(dict.fromkeys([paragraph["context"] for paragraph in paragraphs] + questions))


def main(exchange, vocabulary, squad):
    from transformers import BertTokenizer

    texts = squad_texts(squad)
    given = program_tokens(exchange, vocabulary, texts)
    wanted = reference_tokens(BertTokenizer(vocab=vocabulary), texts)
    wrong = [text for text, one, other in zip(texts, given, wanted, strict=True) if one != other]
    for text in wrong[:10]:
        print(f"differs: {text!r}")
    print(f"{len(texts)} texts, {sum(map(len, wanted))} tokens, {len(wrong)} texts differ")
    return 1 if wrong or not texts else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 4 else __doc__)
