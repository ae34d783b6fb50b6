"""Train the keyword spotter on synthetic speech and write everything else in this folder."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from examples import common
from examples.keywords.speech import COEFFICIENTS, FRAMES, HELD_OUT, WORDS, as_input, recordings

HERE = Path(__file__).parent
CHANNELS = 64


def network(channels: int = CHANNELS) -> nn.Module:
    """A depthwise-separable network, the shape of MLPerf Tiny's: 22,500 weights."""

    def normalized(conv: nn.Conv2d) -> list[nn.Module]:
        return [conv, nn.BatchNorm2d(conv.out_channels), nn.ReLU()]

    # Half of a 10x4 window at each side; one more behind, as a stride of two needs it.
    layers = [
        nn.ZeroPad2d((1, 1, 4, 5)),
        *normalized(nn.Conv2d(1, channels, (10, 4), stride=2, bias=False)),
    ]
    for _ in range(4):
        layers += normalized(nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False))
        layers += normalized(nn.Conv2d(channels, channels, 1, bias=False))
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(channels, len(WORDS))
    )


def main() -> None:
    """Synthesise, train, report, export."""
    common.seed_everything(1)
    recorded_train, label_train = recordings(6600, seed=1)
    recorded_test, label_test = recordings(*HELD_OUT)
    net = network()
    x_train = torch.from_numpy(as_input(recorded_train))
    common.fit(net, nn.CrossEntropyLoss(), x_train, torch.from_numpy(label_train), epochs=12, rate=5e-3)

    classifier = nn.Sequential(net, nn.Softmax(dim=1))
    correct = common.predict(classifier, as_input(recorded_test)).argmax(axis=1) == label_test
    print(f"held-out accuracy {correct.mean():.2%} ({correct.sum()} of {len(correct)})")
    for index, word in enumerate(WORDS):
        print(f"  {word:6} {correct[label_test == index].mean():.0%}")

    common.export_onnx(classifier, (1, 1, FRAMES, COEFFICIENTS), HERE / "keywords.onnx", any_batch=True)
    kept = slice(0, 330)
    np.savez_compressed(
        HERE / "test.npz", x=as_input(recorded_test[kept]), label=label_test[kept].astype(np.int8)
    )
    np.savez_compressed(HERE / "calib.npz", x=as_input(recorded_train[:110]))
    about = "One held-out recording of each word: 49 frames of 10 features"
    names = ", ".join(f'"{word}"' for word in WORDS)
    words = f"static const char *const words[{len(WORDS)}] = {{{names}}};\n\n"
    common.write_samples(HERE / "samples.h", about, recorded_test[: len(WORDS)], words)


if __name__ == "__main__":
    main()
