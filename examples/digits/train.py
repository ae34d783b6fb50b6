"""Train the digit classifier on scikit-learn's 8x8 images and write everything else in this folder."""

from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from examples import common

HERE = Path(__file__).parent
WHITE = 16  # pixels are 0 .. 16; the network sees pixel / 16


def network() -> nn.Module:
    """Three convolutions, two poolings, one dense layer: 6,300 weights."""

    def conv(inputs: int, outputs: int) -> list[nn.Module]:
        return [
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]

    return nn.Sequential(
        *conv(1, 12),
        *conv(12, 16),
        nn.MaxPool2d(2),
        *conv(16, 24),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.2),
        nn.Linear(24 * 2 * 2, 10),
    )


def shifted(images: common.FloatArray) -> common.FloatArray:
    """The images moved by one pixel to each side: a camera never centres a digit."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = [(1, 1), (0, 1), (2, 1), (1, 0), (1, 2)]
    return np.concatenate([padded[:, :, dy : dy + 8, dx : dx + 8] for dy, dx in moves])


def main() -> None:
    """Train, report, export."""
    common.seed_everything(1)
    digits = load_digits()
    images = (digits.images[:, None] / WHITE).astype(np.float32)
    x_train, x_test, label_train, label_test = train_test_split(
        images, digits.target.astype(np.int64), test_size=0.25, random_state=1, stratify=digits.target
    )
    net = network()
    x_shifted, label_shifted = torch.from_numpy(shifted(x_train)), torch.from_numpy(np.tile(label_train, 5))
    common.fit(net, nn.CrossEntropyLoss(), x_shifted, label_shifted, epochs=12, rate=1e-2)

    classifier = nn.Sequential(net, nn.Softmax(dim=1))
    correct = common.predict(classifier, x_test).argmax(axis=1) == label_test
    print(f"held-out accuracy {correct.mean():.2%} ({correct.sum()} of {len(correct)})")

    common.export_onnx(classifier, (1, 1, 8, 8), HERE / "digits.onnx")
    np.savez_compressed(HERE / "test.npz", x=x_test, label=label_test.astype(np.int8))
    np.savez_compressed(HERE / "calib.npz", x=x_train[:128])
    first_of_each = [int(np.flatnonzero(label_test == digit)[0]) for digit in range(10)]
    pixels = np.rint(x_test[first_of_each] * WHITE).astype(np.uint8)
    about = "Ten held-out digits, 0 to 9: 8x8 pixels from 0 (paper) to 16 (ink)"
    common.write_samples(HERE / "samples.h", about, pixels)


if __name__ == "__main__":
    main()
