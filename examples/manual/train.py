"""Train a tokenizer and a language model on the manual that comes with Python, and write the model."""

from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.nn import functional

from examples import common
from examples.manual.llama import POSITIONS, WORDS, Decoder, save

HERE = Path(__file__).parent
END = "<|end|>"  # begins and ends a text
STEPS, BATCH, LENGTH, RATE = 600, 12, 128, 4e-3
Ids = npt.NDArray[np.int64]


def texts() -> list[str]:
    """The topics of `help()`, with their lines joined to paragraphs."""
    return [topic.replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n") for topic in topics.values()]


def tokenizer() -> Tokenizer:
    """Byte-level BPE of 512 tokens, as GPT-2 has it."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=WORDS,
        special_tokens=[AddedToken(END, normalized=False)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts(), trainer)
    end = made.token_to_id(END)
    made.post_processor = processors.TemplateProcessing(f"{END} $A", special_tokens=[(END, end)])
    return made


def batches(ids: Ids, steps: int, batch: int, length: int) -> list[torch.Tensor]:
    """Stretches of the text, each with one token more than it is long."""
    rng = np.random.default_rng(1)
    starts = rng.integers(0, len(ids) - length - 1, (steps, batch))
    return [torch.from_numpy(np.stack([ids[i : i + length + 1] for i in row])) for row in starts]


def train(net: Decoder, ids: Ids, steps: int, batch: int = BATCH, length: int = LENGTH) -> list[float]:
    """The loss of each step, in nats a token."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=0.01, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=RATE, total_steps=steps, pct_start=0.1)
    losses = []
    for step, tokens in enumerate(batches(ids, steps, batch, length)):
        optimizer.zero_grad()
        logits = net(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % 50 == 49:
            print(f"step {step + 1} of {steps}: loss {np.mean(losses[-50:]):.3f}", flush=True)
    return losses


def main() -> None:
    """Train, report, write."""
    common.seed_everything(1)
    made = tokenizer()
    all_ids = np.concatenate([made.encode(text).ids for text in texts()]).astype(np.int64)
    held_out = len(all_ids) // 20
    net = Decoder()
    print(f"{sum(weights.numel() for weights in net.parameters()):,} weights, {len(all_ids):,} tokens")
    train(net, all_ids[:-held_out], STEPS)
    with torch.no_grad():
        rows = all_ids[-held_out:][: held_out // POSITIONS * POSITIONS].reshape(-1, POSITIONS)
        tokens = torch.from_numpy(rows)
        logits = net(tokens[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    print(f"held-out loss {loss.item():.3f} nats a token")
    folder = HERE / "model"
    folder.mkdir(exist_ok=True)
    save(net, folder, made.token_to_id(END))
    made.save(str(folder / "tokenizer.json"))


if __name__ == "__main__":
    main()
