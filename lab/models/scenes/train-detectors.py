"""Trains detectors: train-detectors.py DATA_FOLDER DETECTOR...; writes DATA_FOLDER/DETECTOR.pt."""

import pathlib
import sys
import time

import torch
from torch.nn import functional

import dataset
import thresholds
import variants

BATCH = 16
# Epochs and peak learning rate. Two more epochs at 2e-3 did nothing for detector-l.
SCHEDULES = {
    "detector-s": (8, 6e-3),
    "detector-m": (5, 4e-3),
    "detector-l": (3, 4e-3),
}
SEED = 7
# Standard deviation of the bell around a letter's centre, in cells.
SPREAD = 1.0
CELLS = variants.SCENE_SIDE // variants.CELL


def targets(scenes, objects):
    """
    Per scene and cell, float32 [scenes, 3, 32, 32]: a bell around each letter's centre that is 1 in
    the centre's cell, and the way from the cell's middle to the nearest centre, in cells.
    """
    middle = torch.arange(CELLS) + 0.5
    out = torch.zeros(scenes, 3, CELLS, CELLS)
    for scene, _, x, y in objects.tolist():
        right = (x / variants.CELL - middle).expand(CELLS, CELLS)
        down = (y / variants.CELL - middle).unsqueeze(1).expand(CELLS, CELLS)
        cell_x, cell_y = int(x // variants.CELL), int(y // variants.CELL)
        away = (middle - middle[cell_x]) ** 2 + (middle - middle[cell_y]).unsqueeze(1) ** 2
        bell = torch.exp(-away / (2 * SPREAD**2))
        here = out[int(scene)]
        is_nearer = bell > here[0]
        here[0] = torch.where(is_nearer, bell, here[0])
        here[1] = torch.where(is_nearer, right, here[1])
        here[2] = torch.where(is_nearer, down, here[2])
    return out


def flip(scene, target):
    """Mirrors and transposes a batch at random: a letter's mirror image is as much an object."""
    if torch.rand(()) < 0.5:
        scene, target = scene.flip(3), target.flip(3)
        target = target * torch.tensor([1.0, -1.0, 1.0]).view(1, 3, 1, 1)
    if torch.rand(()) < 0.5:
        scene, target = scene.flip(2), target.flip(2)
        target = target * torch.tensor([1.0, 1.0, -1.0]).view(1, 3, 1, 1)
    if torch.rand(()) < 0.5:
        scene, target = scene.transpose(2, 3), target[:, [0, 2, 1]].transpose(2, 3)
    return scene, target


def loss_of(maps, target):
    """
    The focal loss of CornerNet (equation 1, its alpha 2 and beta 4), by which a near miss costs
    less, and the mean absolute error of the ways to the centre.
    """
    logit, bell = maps[:, 0], target[:, 0]
    warmth = torch.sigmoid(logit)
    is_centre = bell == 1
    missed = (1 - warmth) ** 2 * functional.logsigmoid(logit) * is_centre
    false = (1 - bell) ** 4 * warmth**2 * functional.logsigmoid(-logit) * ~is_centre
    is_near = (bell > 0.3).unsqueeze(1)
    off = ((maps[:, 1:] - target[:, 1:]).abs() * is_near).sum()
    return -(missed.sum() + false.sum()) / is_centre.sum() + 0.5 * off / is_near.sum()


def train(net, scenes, target, epochs, peak_rate, calibration):
    """The learning rate rises to its peak and falls to nothing."""
    steps = epochs * (len(scenes) // BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), lr=peak_rate, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peak_rate, steps, pct_start=0.2)
    start = time.time()
    for epoch in range(epochs):
        net.train()
        order = torch.randperm(len(scenes))
        for i in range(0, len(scenes) - BATCH + 1, BATCH):
            chosen = order[i : i + BATCH]
            optimizer.zero_grad()
            scene, wanted = flip(scenes[chosen], target[chosen])
            loss = loss_of(net(scene.contiguous()), wanted)
            loss.backward()
            optimizer.step()
            schedule.step()
        net.eval()
        _, recall = thresholds.choose_threshold(net, *calibration)
        seconds = time.time() - start
        print(f"epoch {epoch + 1} calibration recall {recall:.4f} {seconds:.0f} s", flush=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    scenes, objects = dataset.load(folder, "train")
    calibration = dataset.load(folder, "calibration")
    torch.set_num_threads(1)
    target = targets(len(scenes), objects)
    for name in sys.argv[2:] or variants.DETECTORS:
        torch.manual_seed(SEED)
        net = variants.build(name)
        print(name, sum(p.numel() for p in net.parameters()), "parameters", flush=True)
        train(net, scenes, target, *SCHEDULES[name], calibration)
        torch.save(net.state_dict(), folder / f"{name}.pt")


main()
