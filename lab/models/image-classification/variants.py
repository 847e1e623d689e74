"""The variants: networks from 64 x 64 grey levels to one logit per letter."""

import torch
from torch import nn


class FromBytes(nn.Module):
    """uint8 [batch, 4096] to float32 [batch, 1, 64, 64], centred; the cast is part of the graph."""

    def forward(self, pixels):
        return (pixels.float() * (1 / 64) - 1.5).view(-1, 1, 64, 64)


def conv(inputs, outputs, kernel=3, stride=1):
    """Convolution, normalisation (folded into the weights on export), rectifier."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


def mlp(pool, hidden, classes):
    side = 64 // pool
    layers = [FromBytes(), nn.AvgPool2d(pool), nn.Flatten()]
    width = side * side
    for size in hidden:
        layers += [nn.Linear(width, size), nn.BatchNorm1d(size), nn.ReLU(inplace=True)]
        width = size
    return nn.Sequential(*layers, nn.Dropout(0.2), nn.Linear(width, classes))


def cnn(blocks, flat, classes, pool=1):
    """Convolutions, then a linear layer over all `flat` remaining values."""
    layers = [FromBytes()]
    if pool > 1:
        layers.append(nn.AvgPool2d(pool))
    layers += blocks
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.1), nn.Linear(flat, classes))


def build(name, classes):
    """The untrained network called `name`."""
    if name == "mlp-s":
        return mlp(4, [96], classes)
    if name == "mlp-m":
        return mlp(2, [256, 128], classes)
    if name == "cnn-xs":
        return cnn([conv(1, 8, 3, 2), conv(8, 16, 3, 2)], 16 * 8 * 8, classes, pool=2)
    if name == "cnn-s":
        blocks = [conv(1, 16, 3, 2), conv(16, 32, 3, 2), conv(32, 48, 3, 2)]
        return cnn(blocks, 48 * 4 * 4, classes, pool=2)
    if name == "cnn-m":
        blocks = [conv(1, 16, 5, 2), conv(16, 32, 3, 2), conv(32, 48, 3, 2), conv(48, 64, 3, 2)]
        return cnn(blocks, 64 * 4 * 4, classes)
    if name == "cnn-l":
        blocks = [conv(1, 16, 5, 2), conv(16, 32, 3, 2), conv(32, 32), conv(32, 64, 3, 2)]
        blocks += [conv(64, 64), conv(64, 96, 3, 2)]
        return cnn(blocks, 96 * 4 * 4, classes)
    if name == "cnn-xl":
        blocks = [conv(1, 16, 5, 2), conv(16, 32), conv(32, 64, 3, 2), conv(64, 64), conv(64, 64)]
        blocks += [conv(64, 128, 3, 2), conv(128, 128), conv(128, 128, 3, 2)]
        return cnn(blocks, 128 * 4 * 4, classes)
    raise ValueError(f"no variant called {name}")


NAMES = ("mlp-s", "mlp-m", "cnn-xs", "cnn-s", "cnn-m", "cnn-l", "cnn-xl")
