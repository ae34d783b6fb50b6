"""Train the autoencoder on sounds of a healthy fan and write everything else in this folder."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from examples import common
from examples.anomaly.machine import BANDS, FAULTS, FRAMES, Fault, features, record

HERE = Path(__file__).parent
SCALE = 32  # the network sees feature / 32
INPUTS = FRAMES * BANDS


def network() -> nn.Module:
    """Dense layers down to eight numbers and back up, the shape of MLPerf Tiny's: 51,000 weights."""
    sizes = [INPUTS, 64, 64, 8, 64, 64]
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(sizes):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-1], INPUTS))


def recordings(faults: list[Fault | None], seed: int) -> npt.NDArray[np.int8]:
    """Features [count, 320] of one recording for each entry."""
    generator = np.random.default_rng(seed)
    return np.stack([features(record(fault, generator)) for fault in faults])


def as_input(recorded: npt.NDArray[np.int8]) -> common.FloatArray:
    """What the network reads."""
    return recorded.astype(np.float32) / np.float32(SCALE)


def main() -> None:
    """Synthesise, train, report, export."""
    common.seed_everything(1)
    recorded_train = recordings([None] * 6000, seed=1)
    faults_test = [None, *FAULTS] * 50 + [None] * 150
    recorded_test = recordings(faults_test, seed=2)
    net = network()
    x_train = torch.from_numpy(as_input(recorded_train))
    common.fit(net, nn.MSELoss(), x_train, x_train, epochs=30, rate=5e-3)

    def error(recorded: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
        x = as_input(recorded)
        return np.asarray(np.mean((common.predict(net, x) - x) ** 2, axis=1))

    label = np.array([fault is not None for fault in faults_test])
    score = error(recorded_test)
    print(f"held-out AUC {roc_auc_score(label, score):.3f} ({label.sum()} of {len(label)} are faulty)")
    for fault in FAULTS:
        alike = [other in (None, fault) for other in faults_test]
        print(f"  {fault:8} {roc_auc_score(label[alike], score[alike]):.3f}")

    common.export_onnx(net, (1, INPUTS), HERE / "anomaly.onnx")
    np.savez_compressed(HERE / "test.npz", x=as_input(recorded_test), label=label.astype(np.int8))
    np.savez_compressed(HERE / "calib.npz", x=as_input(recorded_train[:128]))
    threshold = np.quantile(error(recorded_train), 0.95)
    about = "A healthy fan and four faulty ones, not trained on: 5 frames of 64 mel bands"
    limit = (
        "/* 95 % of the healthy recordings have a smaller mean squared error. */\n"
        f"static const float threshold = {threshold:.9g}f;\n\n"
    )
    common.write_samples(HERE / "samples.h", about, recorded_test[: 1 + len(FAULTS)], limit)


if __name__ == "__main__":
    main()
