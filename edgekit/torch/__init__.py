"""PyTorch beside EdgeKit: models as graphs, and training with the arithmetic of the device.

    import edgekit.torch as ek

    graph = ek.convert(model, (x,))                          # torch.export inside
    net = ek.prepare_qat(model, (x,), calibration)           # an nn.Module: train it as any other
    loss = ek.distillation(net(x), model(x))                 # the float model as a teacher
    best = ek.Best(quantized, (held_x,), score)              # offer it a graph after each epoch
    graph = net.convert()                                    # the same integers in the simulator and in C
    small = ek.prune(model, (x,), calibration, macs=0.3)     # small.module: the same class, smaller layers

Needs the extra `torch`.
"""

from edgekit.torch.best import Best
from edgekit.torch.distill import distillation
from edgekit.torch.export import convert
from edgekit.torch.prune import PrunedModule, prune
from edgekit.torch.qat import Qat, prepare_qat

__all__ = ["Best", "PrunedModule", "Qat", "convert", "distillation", "prepare_qat", "prune"]
