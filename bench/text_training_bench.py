"""Compares training steps of `sing bench translation|squad|lm` with the same models in PyTorch under torch.compile, in turns.

./dev run python bench/text_training_bench.py --translation FOLDER --squad FOLDER --vocabulary FILE --text PATH --gpt2 FOLDER
    [--only TASK,TASK] [--modes MODE,MODE] [--turns N] [--rounds N] [--machine NAME] [--profile FOLDER] [--print-only]

FOLDER and PATH are what `sing train` takes as --data. Each task is measured with one batch of `sing`, whose shapes the PyTorch
model takes too: one shape is the best case for torch.compile, which compiles each shape anew or for any shape. A turn is one
call of `sing bench` and as many steps of each mode of torch.compile; ratios are taken within a turn. Both sides train in bf16
(autocast in PyTorch), PyTorch with torch.optim.AdamW(fused=True), `sing` with the optimizer of --optimizer. The program writes
bench/results/text-<task>-<machine>.json and the tables of docs/benchmarks.md.
"""

import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import measurement
import torch
from measurement import make_benchmark_tables, ratios, spread
from torch import nn
from torch.nn import functional

PADDING = 1  # the number of the piece that fills up sentences
WARM_UP = 8  # steps before the first turn of a mode: compilation, and the recordings of reduce-overhead
TASKS = ("translation", "squad", "lm")
SIZES = {"squad": (6, 384, 12), "lm": (12, 768, 12)}  # blocks, width and heads of minilm-l6 and 124m


class Attention(nn.Module):
    """Attention with one matrix for queries, keys and values, or to other states with one for keys and values."""

    def __init__(self, width, heads, dropout, *, to_others=False, causal=False):
        super().__init__()
        self.heads, self.dropout, self.causal = heads, dropout, causal
        self.queries = nn.Linear(width, width) if to_others else None
        self.inputs = nn.Linear(width, (2 if to_others else 3) * width)
        self.out = nn.Linear(width, width)

    def forward(self, states, others=None, mask=None):
        if others is None:
            parts = self.inputs(states).chunk(3, -1)
        else:
            parts = (self.queries(states), *self.inputs(others).chunk(2, -1))
        queries, keys, values = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mixed = functional.scaled_dot_product_attention(
            queries, keys, values, mask, self.dropout if self.training else 0.0, self.causal
        )
        return self.out(mixed.transpose(1, 2).flatten(2))


class TranslatorLayer(nn.Module):
    """A pre-norm layer of the encoder, or with attention to the source, of the decoder."""

    def __init__(self, options, reads_source):
        super().__init__()
        width = options["width"]
        self.self_norm = nn.LayerNorm(width)
        self.self_attention = Attention(width, options["heads"], options["attention_dropout"], causal=reads_source)
        if reads_source:
            self.source_norm = nn.LayerNorm(width)
            self.source_attention = Attention(width, options["heads"], options["attention_dropout"], to_others=True)
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, options["feed_forward"]), nn.Linear(options["feed_forward"], width)
        self.dropout = nn.Dropout(options["dropout"])
        self.inner_dropout = nn.Dropout(options["activation_dropout"])

    def forward(self, states, mask=None, source=None, source_mask=None):
        states = states + self.dropout(self.self_attention(self.self_norm(states), mask=mask))
        if source is not None:
            states = states + self.dropout(self.source_attention(self.source_norm(states), source, source_mask))
        return states + self.dropout(self.down(self.inner_dropout(functional.relu(self.up(self.norm(states))))))


class Translator(nn.Module):
    """fairseq's pre-norm Transformer with sinusoidal positions; the target's table is the output layer."""

    def __init__(self, options, pieces, longest):
        super().__init__()
        self.width, self.smoothing = options["width"], options["label_smoothing"]
        if options["share_embeddings"]:
            self.target_table = self.source_table = nn.Embedding(pieces, self.width, PADDING)
        else:
            self.source_table = nn.Embedding(pieces, self.width, PADDING)
            self.target_table = nn.Embedding(pieces, self.width, PADDING)
        half = self.width // 2
        angles = torch.arange(longest)[:, None] * torch.exp(torch.arange(half) * (-math.log(10000) / (half - 1)))
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], 1))
        self.encoder = nn.ModuleList(TranslatorLayer(options, False) for _ in range(options["layers"]))
        self.decoder = nn.ModuleList(TranslatorLayer(options, True) for _ in range(options["layers"]))
        self.encoder_norm, self.decoder_norm = nn.LayerNorm(self.width), nn.LayerNorm(self.width)
        self.dropout = nn.Dropout(options["dropout"])

    def embed(self, table, pieces):
        return self.dropout(table(pieces) * math.sqrt(self.width) + self.positions[: pieces.size(1)])

    def forward(self, source, inputs, targets):
        mask = (source != PADDING)[:, None, None, :]
        states = self.embed(self.source_table, source)
        for layer in self.encoder:
            states = layer(states, mask)
        encoded = self.encoder_norm(states)
        states = self.embed(self.target_table, inputs)
        for layer in self.decoder:
            states = layer(states, source=encoded, source_mask=mask)
        logits = functional.linear(self.decoder_norm(states), self.target_table.weight)
        return functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), ignore_index=PADDING, label_smoothing=self.smoothing
        )


class EncoderLayer(nn.Module):
    """BERT's post-norm layer."""

    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states, mask):
        states = self.attention_norm(self.dropout(self.attention(states, mask=mask)) + states)
        return self.norm(self.dropout(self.down(functional.gelu(self.up(states)))) + states)


class Questions(nn.Module):
    """A BERT encoder with scores of the answer's first and last token."""

    def __init__(self, words, depth, width, heads, dropout):
        super().__init__()
        self.words, self.positions, self.types = nn.Embedding(words, width), nn.Embedding(512, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(EncoderLayer(width, heads, dropout) for _ in range(depth))
        self.scores = nn.Linear(width, 2)

    def forward(self, ids, types, lengths, begins, ends):
        states = self.words(ids) + self.types(types) + self.positions.weight[: ids.size(1)]
        states = self.dropout(self.norm(states))
        is_token = torch.arange(ids.size(1), device=ids.device) < lengths[:, None]
        for layer in self.layers:
            states = layer(states, is_token[:, None, None, :])
        scores = self.scores(states).float().masked_fill(~is_token[:, :, None], -torch.inf)
        return (functional.cross_entropy(scores[..., 0], begins) + functional.cross_entropy(scores[..., 1], ends)) / 2


class GptBlock(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, dropout, causal=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states):
        states = states + self.dropout(self.attention(self.attention_norm(states)))
        return states + self.dropout(self.down(functional.gelu(self.up(self.norm(states)))))


class Gpt(nn.Module):
    """GPT-2 with exact GELU; the embedding is the output layer."""

    def __init__(self, tokens, context, depth, width, heads, dropout):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(tokens, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens):
        inputs, targets = tokens[:, :-1], tokens[:, 1:]
        states = self.dropout(self.tokens(inputs) + self.positions.weight[: inputs.size(1)])
        for block in self.blocks:
            states = block(states)
        logits = functional.linear(self.norm(states), self.tokens.weight)
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def random_lengths(rows, longest, total, generator):
    """Returns lengths of at most `longest`, one of them equal to it, that sum up to about `total`."""
    lengths = torch.full((rows,), longest)
    while lengths.sum() > total:
        row = torch.randint(1, rows, (), generator=generator) if rows > 1 else 0
        lengths[row] = max(1, lengths[row] - 1)
    return lengths


def rows_of(lengths, longest, values, generator):
    ids = torch.randint(2, values, (len(lengths), longest), generator=generator)
    return ids.masked_fill_(torch.arange(longest) >= lengths[:, None], PADDING)


def vocabulary_of(options):
    """Returns the number of pieces, words or tokens that a recorded run of `sing` has in its vocabulary."""
    if "vocabulary" in options:
        return len(pathlib.Path(options["vocabulary"]).read_text(encoding="utf-8").splitlines())
    if "tokenizer" in options:
        folder = pathlib.Path(options["tokenizer"].removeprefix("gpt2:"))
        return len(json.loads((folder / "encoder.json").read_text(encoding="utf-8")))
    index = json.loads((pathlib.Path(options["data"]) / "index.json").read_text(encoding="utf-8"))
    return index["target_pieces"]


def model_and_batch(task, result, device):
    """Returns the PyTorch model of a result of `sing bench` and a batch of its shapes and number of tokens."""
    options, generator = result["config"]["options"], torch.Generator().manual_seed(1)
    batch = result["batches"][0]
    shapes, units = batch["parts"][0], batch["units"]
    vocabulary = vocabulary_of(options)
    if task == "lm":
        model = Gpt(vocabulary, options["context"], *SIZES[task], options["dropout"])
        tensors = (torch.randint(0, vocabulary, shapes[0], generator=generator),)
    elif task == "squad":
        (rows, longest) = shapes[0]
        lengths = random_lengths(rows, longest, units, generator)
        model = Questions(vocabulary, *SIZES[task], options["dropout"])
        places = [(torch.rand(rows, generator=generator) * lengths).long() for _ in range(2)]
        ids = rows_of(lengths, longest, vocabulary, generator)
        tensors = (ids, torch.randint(0, 2, (rows, longest), generator=generator), lengths, *places)
    else:
        (rows, longest_source), (_, longest) = shapes
        lengths = random_lengths(rows, longest, units, generator)
        source_lengths = random_lengths(rows, longest_source, units * longest_source / longest, generator)
        model = Translator(options, vocabulary, max(longest, longest_source))
        targets = rows_of(lengths, longest, vocabulary, generator)
        inputs = targets.roll(1, 1)
        tensors = (rows_of(source_lengths, longest_source, vocabulary, generator), inputs, targets)
    return model.to(device), [tensor.to(device) for tensor in tensors]


class Compiled:
    """Trains a compiled model with one batch."""

    def __init__(self, task, result, mode, device):
        torch.manual_seed(0)
        model, self.batch = model_and_batch(task, result, device)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05, fused=True)
        self.model = torch.compile(model, mode=mode, dynamic=False)
        self.device = device
        for _ in range(WARM_UP):
            loss = self.step()
        assert math.isfinite(loss.item())

    def step(self):
        torch.compiler.cudagraph_mark_step_begin()
        with torch.autocast(self.device, torch.bfloat16):
            loss = self.model(*self.batch)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def milliseconds(self, rounds, steps):
        """Returns the median over rounds of the time per step, as `sing bench` does."""
        found = []
        for _ in range(rounds):
            torch.accelerator.synchronize()
            start = time.perf_counter()
            for _ in range(steps):
                self.step()
            torch.accelerator.synchronize()
            found.append(1e3 * (time.perf_counter() - start) / steps)
        return statistics.median(found)

    def profile(self, path, steps=5):
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            for _ in range(steps):
                self.step()
            torch.accelerator.synchronize()
        profile.export_chrome_trace(str(path))


def sing_command(task, options):
    """Returns the arguments of `sing bench` for a task."""
    common = ["--precision", "bf16", "--device", "cuda", "--optimizer", options.optimizer]
    if task == "translation":
        model = ["--attention-dropout", "0.1", "--activation-dropout", "0.1"]
        return ["--data", options.translation, *model, "--batch", str(options.translation_batch), *common]
    if task == "squad":
        model = ["--model", "minilm-l6", "--vocabulary", options.vocabulary, "--length", "384"]
        return ["--data", options.squad, *model, "--batch", str(options.squad_batch), *common]
    model = ["--size", "124m", "--context", "1024", "--tokenizer", f"gpt2:{options.gpt2}"]
    return ["--data", options.text, *model, "--batch", str(options.lm_batch), *common]


def run_sing(task, options, *more):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "result.json"
        command = [options.sing, "bench", task, *sing_command(task, options), "--rounds", str(options.rounds)]
        done = subprocess.run([*command, "--json", str(file), *more], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"[text_training_bench] wanted {' '.join(command)} to end well, got {done.stderr}")
        return json.loads(file.read_text(encoding="utf-8"))


def measure(task, options):
    """Returns the times of all contestants in turns. The first result of `sing` gives the shapes."""
    result = run_sing(task, options)
    device = "cuda"
    compiled = {f"PyTorch, torch.compile, {mode}": Compiled(task, result, mode, device) for mode in options.modes.split(",")}
    counts = {contestant.parameters for contestant in compiled.values()}
    if counts != {result["config"]["parameters"]}:
        sys.exit(f"[text_training_bench] {task}: wanted {result['config']['parameters']} parameters as in sing, got {counts}")
    if options.profile:
        pathlib.Path(options.profile).mkdir(parents=True, exist_ok=True)
        for name, contestant in compiled.items():
            contestant.profile(pathlib.Path(options.profile) / f"{task}-{name.split()[-1]}.json")
        run_sing(task, options, "--trace", str(pathlib.Path(options.profile) / f"{task}-sing.json"))
    times = {}
    for _ in range(options.turns):
        for name, contestant in compiled.items():
            times.setdefault(name, []).append(contestant.milliseconds(options.rounds, result["steps_a_round"]))
        result = run_sing(task, options)
        for row in result["training_step"]:
            times.setdefault("sing, " + row["title"], []).append(row["milliseconds"]["median"])
    fastest = min(compiled, key=lambda name: spread(times[name])["median"])
    return {
        "task": task,
        "config": result["config"],
        "batch": result["batches"][0],
        "unit": result["unit"],
        "rows": [
            {
                "title": name,
                "milliseconds": spread(each),
                "units_per_second": 1e3 * result["units_a_step"] / spread(each)["median"],
                "speed_ratio": ratios(times[fastest], each),
            }
            for name, each in times.items()
        ],
    }


def main():
    parser = measurement.argument_parser(__doc__.splitlines()[0], rounds=10)
    parser.set_defaults(machine="h200")
    parser.add_argument("--translation", default="data/translation", help="folder of `sing data text`")
    parser.add_argument("--squad", default="data/squad", help="folder of SQuAD v1.1")
    parser.add_argument("--vocabulary", default="data/vocab.txt", help="WordPiece tokens of the encoder")
    parser.add_argument("--text", default="data/lm", help="text of the language model")
    parser.add_argument("--gpt2", default="data/gpt2", help="folder of GPT-2's tokenizer")
    parser.add_argument("--only", default=",".join(TASKS))
    parser.add_argument("--optimizer", default="sing-adamw", help="that of sing")
    parser.add_argument("--translation-batch", type=int, default=16384, help="tokens")
    parser.add_argument("--squad-batch", type=int, default=32, help="windows")
    parser.add_argument("--lm-batch", type=int, default=16, help="windows of 1024 tokens")
    parser.add_argument("--modes", default="default,reduce-overhead", help="of torch.compile")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--profile", help="folder for traces of a few steps of each contestant")
    options = parser.parse_args()
    options.sing = shutil.which("sing")
    if options.sing is None:
        sys.exit("[text_training_bench] wanted sing on PATH, got no such program; ./dev run python bench/text_training_bench.py")
    if not torch.cuda.is_available():
        sys.exit("[text_training_bench] wanted a CUDA device, got none")
    for task in options.only.split(","):
        result = {
            **measurement.circumstances(make_benchmark_tables.TEXT_TRAINING, options.machine),
            "device": torch.cuda.get_device_name(),
            "torch": torch.__version__,
            "turns": options.turns,
            "rounds": options.rounds,
            **measure(task, options),
        }
        print(f"{task}: {result['config']['parameters']:,} parameters, batch {result['batch']}")
        for row in result["rows"]:
            ratio = row["speed_ratio"]
            print(
                f"  {row['title']:45}{row['milliseconds']['median']:9.3f} ms{row['units_per_second']:12,.0f} {result['unit']}/s"
                f"{ratio['median']:7.2f} ({ratio['lower']:.2f}–{ratio['upper']:.2f})",
                flush=True,
            )
        torch.compiler.reset()
        torch.cuda.empty_cache()
        measurement.write_result(options, f"text-{task}-{options.machine}", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
