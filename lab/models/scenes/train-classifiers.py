"""Trains classifiers: train-classifiers.py DATA_FOLDER CLASSIFIER...; writes DATA_FOLDER/CLASSIFIER.pt."""

import pathlib
import sys
import time

import torch
from torch import nn

import dataset
import variants

BATCH = 128
PEAK_RATE = 4e-3
EPOCHS = {"mlp-s": 16, "mlp-m": 16, "cnn-s": 8, "cnn-m": 4}
SEED = 7
# Pixels a training crop is off its letter's centre, at most, either way on both axes.
JITTER = 2.5


def cut(scenes, objects, jitter):
    """Crops, uint8 [letters, 1, 32, 32], and classes, int64 [letters]."""
    place = objects[:, 2:4] + jitter * (2 * torch.rand(len(objects), 2) - 1)
    crops = [
        variants.cut_crops(scenes, objects[i : i + 1000, 0].long(), *place[i : i + 1000].unbind(1))
        for i in range(0, len(objects), 1000)
    ]
    return torch.cat(crops), objects[:, 1].long()


def accuracy(net, crops, labels):
    net.eval()
    with torch.no_grad():
        hits = sum(
            (net(crops[i : i + 500]).argmax(1) == labels[i : i + 500]).sum().item()
            for i in range(0, len(labels), 500)
        )
    return hits / len(labels)


def train(net, scenes, objects, epochs, calibration):
    """The learning rate rises to its peak and falls to nothing; every epoch cuts the crops anew."""
    steps = epochs * (len(objects) // BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), lr=PEAK_RATE, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, PEAK_RATE, steps, pct_start=0.2)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    start = time.time()
    for epoch in range(epochs):
        net.train()
        crops, labels = cut(scenes, objects, JITTER)
        order = torch.randperm(len(labels))
        for i in range(0, len(labels) - BATCH + 1, BATCH):
            chosen = order[i : i + BATCH]
            optimizer.zero_grad()
            loss = loss_of(net(crops[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            schedule.step()
        hits = accuracy(net, *calibration)
        seconds = time.time() - start
        print(f"epoch {epoch + 1} calibration {hits:.4f} {seconds:.0f} s", flush=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    training = dataset.load(folder, "train")
    calibration = cut(*dataset.load(folder, "calibration"), 0)
    torch.set_num_threads(1)
    for name in sys.argv[2:] or variants.CLASSIFIERS:
        torch.manual_seed(SEED)
        net = variants.build(name)
        print(name, sum(p.numel() for p in net.parameters()), "parameters", flush=True)
        train(net, *training, EPOCHS[name], calibration)
        torch.save(net.state_dict(), folder / f"{name}.pt")


main()
