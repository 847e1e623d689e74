"""Trains variants: train.py DATA_FOLDER VARIANT...; writes DATA_FOLDER/VARIANT.pt."""

import pathlib
import sys
import time

import numpy as np
import torch
from torch import nn

import variants

BATCH = 128
CLASSES = 20
PEAK_RATE = 4e-3
# Rounds of training, one after another: epochs and peak learning rate.
ROUNDS = {
    "mlp-s": [(12, PEAK_RATE)],
    "mlp-m": [(5, PEAK_RATE)],
    "cnn-xs": [(6, PEAK_RATE)],
    "cnn-s": [(5, PEAK_RATE)],
    "cnn-m": [(4, PEAK_RATE)],
    "cnn-l": [(4, PEAK_RATE)],
    "cnn-xl": [(2, PEAK_RATE), (1, 2e-3)],
}
SEED = 7


def load(folder, name):
    """Pixels, uint8 [count, 4096], and labels, int64 [count]."""
    pixels = np.fromfile(folder / f"{name}-pixels.bin", dtype=np.uint8).reshape(-1, 4096)
    labels = np.fromfile(folder / f"{name}-labels.bin", dtype=np.uint8)
    return torch.from_numpy(pixels), torch.from_numpy(labels).long()


def accuracy(net, pixels, labels):
    net.eval()
    with torch.no_grad():
        hits = sum(
            (net(pixels[i : i + 500]).argmax(1) == labels[i : i + 500]).sum().item()
            for i in range(0, len(labels), 500)
        )
    return hits / len(labels)


def train(net, pixels, labels, epochs, peak_rate, held_out):
    """One round: the learning rate rises to its peak and falls to nothing."""
    steps = epochs * (len(labels) // BATCH)
    optimizer = torch.optim.AdamW(net.parameters(), lr=peak_rate, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peak_rate, steps, pct_start=0.2)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    start = time.time()
    for epoch in range(epochs):
        net.train()
        order = torch.randperm(len(labels))
        for i in range(0, len(labels) - BATCH + 1, BATCH):
            chosen = order[i : i + BATCH]
            optimizer.zero_grad()
            loss = loss_of(net(pixels[chosen]), labels[chosen])
            loss.backward()
            optimizer.step()
            schedule.step()
        hits = accuracy(net, *held_out)
        seconds = time.time() - start
        print(f"epoch {epoch + 1} held-out {hits:.4f} {seconds:.0f} s", flush=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    training, held_out = load(folder, "train"), load(folder, "held-out")
    torch.set_num_threads(1)
    for name in sys.argv[2:] or variants.NAMES:
        torch.manual_seed(SEED)
        net = variants.build(name, CLASSES)
        print(name, sum(p.numel() for p in net.parameters()), "parameters", flush=True)
        for index, (epochs, peak_rate) in enumerate(ROUNDS[name]):
            train(net, *training, epochs, peak_rate, held_out)
            torch.manual_seed(SEED + index + 1)
        torch.save(net.state_dict(), folder / f"{name}.pt")


main()
