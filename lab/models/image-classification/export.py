"""Writes trained variants as ONNX: export.py DATA_FOLDER OUTPUT_FOLDER VARIANT..."""

import pathlib
import sys

import torch

import variants

CLASSES = 20


def export(name, weights, path):
    net = variants.build(name, CLASSES)
    net.load_state_dict(torch.load(weights))
    net.eval()
    torch.onnx.export(
        net,
        torch.zeros(2, 4096, dtype=torch.uint8),
        str(path),
        opset_version=13,
        input_names=["pixels"],
        output_names=["logits"],
        dynamic_axes={"pixels": {0: "batch"}, "logits": {0: "batch"}},
    )


def main():
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for name in sys.argv[3:] or variants.NAMES:
        export(name, folder / f"{name}.pt", output / f"{name}.onnx")
        print(name, (output / f"{name}.onnx").stat().st_size, "bytes")


main()
