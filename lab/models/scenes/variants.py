"""The variants: detectors, from scenes to crops, and classifiers, from crops to one logit per letter."""

import torch
from torch import nn
from torch.nn import functional

CLASSES = 12
SCENE_SIDE = 128
CROP_SIDE = 32
# Pixels of the scene per cell of a detector's heat map.
CELL = 4
# Cells either side of a peak that must not be warmer: no two letters are closer than 29 pixels.
PEAK_REACH = 2


class FromBytes(nn.Module):
    """uint8 to float32, centred; the cast is part of the graph."""

    def forward(self, pixels):
        return pixels.float() * (1 / 64) - 1.5


def conv(inputs, outputs, kernel=3, stride=1, dilation=1):
    """Convolution, normalisation (folded into the weights on export), rectifier."""
    padding = dilation * (kernel // 2)
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class HeatMap(nn.Module):
    """
    uint8 [rows, 1, 128, 128] to float32 [rows, 3, 32, 32]: per cell the logit of a letter's centre
    being in it, and how far right and down of the cell's middle that centre is, in cells.
    """

    def __init__(self, blocks, width):
        super().__init__()
        self.blocks = nn.Sequential(FromBytes(), *blocks)
        self.head = nn.Conv2d(width, 3, 1)
        with torch.no_grad():
            self.head.bias.copy_(torch.tensor([-4.0, 0.0, 0.0]))

    def forward(self, scene):
        return self.head(self.blocks(scene))


class Detector(nn.Module):
    """
    A heat map and what follows from it, as one graph: peaks over the threshold, row by row of the
    batch, and the square of pixels around each. Nothing depends on the other rows of the batch.
    """

    def __init__(self, heat_map, threshold):
        super().__init__()
        self.heat_map = heat_map
        self.threshold = threshold

    def forward(self, scene):
        crop_count, row, x, y, logit = find_peaks(self.heat_map(scene), self.threshold)
        return cut_crops(scene, row, x, y), crop_count, torch.stack((x, y, logit.sigmoid()), 1)


def find_peaks(maps, threshold):
    """
    The cells above the threshold that no cell near them exceeds: how many per row of the batch, and
    the row, the place in pixels and the logit of each, all of the first row before any of the second.
    """
    logit = maps[:, 0:1]
    side = 2 * PEAK_REACH + 1
    is_peak = logit == functional.max_pool2d(logit, side, 1, PEAK_REACH)
    is_peak = (is_peak & (logit > threshold)).long()
    row, _, cell_y, cell_x = torch.nonzero(is_peak).unbind(1)
    peak = maps.permute(0, 2, 3, 1)[row, cell_y, cell_x]
    x = (cell_x.float() + 0.5 + peak[:, 1]) * CELL
    y = (cell_y.float() + 0.5 + peak[:, 2]) * CELL
    return is_peak.sum((1, 2, 3)), row, x, y, peak[:, 0]


def cut_crops(scene, row, x, y):
    """Like cutCrop of dataset.js, for many crops: uint8 [crops, 1, 32, 32]."""
    offset = torch.arange(CROP_SIDE) - CROP_SIDE // 2
    last = SCENE_SIDE - 1
    from_left = (torch.floor(x + 0.5).long().unsqueeze(1) + offset).clamp(0, last)
    from_top = (torch.floor(y + 0.5).long().unsqueeze(1) + offset).clamp(0, last)
    start = row.unsqueeze(1) * (SCENE_SIDE * SCENE_SIDE) + from_top * SCENE_SIDE
    index = start.unsqueeze(2) + from_left.unsqueeze(1)
    return scene.reshape(-1)[index].unsqueeze(1)


def mlp(pool, hidden):
    layers = [FromBytes()]
    if pool > 1:
        layers.append(nn.AvgPool2d(pool))
    layers.append(nn.Flatten())
    width = (CROP_SIDE // pool) ** 2
    for size in hidden:
        layers += [nn.Linear(width, size), nn.BatchNorm1d(size), nn.ReLU(inplace=True)]
        width = size
    return nn.Sequential(*layers, nn.Dropout(0.2), nn.Linear(width, CLASSES))


def cnn(blocks, flat):
    """Convolutions, then a linear layer over all `flat` remaining values."""
    return nn.Sequential(
        FromBytes(), *blocks, nn.Flatten(), nn.Dropout(0.1), nn.Linear(flat, CLASSES)
    )


def build(name):
    """The untrained network called `name`; of a detector, its heat map."""
    if name == "detector-s":
        return HeatMap([nn.AvgPool2d(2), conv(1, 12, 5, 2), conv(12, 16), conv(16, 16)], 16)
    if name == "detector-m":
        blocks = [conv(1, 12, 5, 2), conv(12, 24, 3, 2), conv(24, 48), conv(48, 48, 3, 1, 2)]
        return HeatMap(blocks + [conv(48, 48, 3, 1, 2)], 48)
    if name == "detector-l":
        blocks = [conv(1, 16, 5, 2), conv(16, 32), conv(32, 64, 3, 2), conv(64, 64)]
        blocks += [conv(64, 64, 3, 1, 2) for _ in range(3)] + [conv(64, 64)]
        return HeatMap(blocks, 64)
    if name == "mlp-s":
        return mlp(2, [48])
    if name == "mlp-m":
        return mlp(1, [192, 96])
    if name == "cnn-s":
        return cnn([conv(1, 16, 5, 2), conv(16, 32, 3, 2), conv(32, 48, 3, 2)], 48 * 4 * 4)
    if name == "cnn-m":
        blocks = [conv(1, 24, 5), conv(24, 48, 3, 2), conv(48, 64), conv(64, 64)]
        return cnn(blocks + [conv(64, 64, 3, 2), conv(64, 64, 3, 2)], 64 * 4 * 4)
    raise ValueError(f"no variant called {name}")


DETECTORS = ("detector-s", "detector-m", "detector-l")
CLASSIFIERS = ("mlp-s", "mlp-m", "cnn-s", "cnn-m")
