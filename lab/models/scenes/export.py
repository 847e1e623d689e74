"""Writes trained variants as ONNX: export.py DATA_FOLDER OUTPUT_FOLDER VARIANT..."""

import pathlib
import sys

import torch

import dataset
import variants
from thresholds import choose_threshold


def export_detector(heat_map, threshold, path):
    torch.onnx.export(
        variants.Detector(heat_map, threshold).eval(),
        torch.randint(0, 255, (2, 1, 128, 128), dtype=torch.uint8),
        str(path),
        opset_version=13,
        input_names=["scene"],
        output_names=["crops", "crop_count", "boxes"],
        dynamic_axes={
            "scene": {0: "rows"},
            "crops": {0: "crops"},
            "crop_count": {0: "rows"},
            "boxes": {0: "crops"},
        },
    )


def export_classifier(net, path):
    torch.onnx.export(
        net,
        torch.zeros(2, 1, 32, 32, dtype=torch.uint8),
        str(path),
        opset_version=13,
        input_names=["crop"],
        output_names=["logits"],
        dynamic_axes={"crop": {0: "rows"}, "logits": {0: "rows"}},
    )


def main():
    folder, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(1)
    for name in sys.argv[3:] or variants.DETECTORS + variants.CLASSIFIERS:
        net = variants.build(name)
        net.load_state_dict(torch.load(folder / f"{name}.pt"))
        net.eval()
        path = output / f"{name}.onnx"
        if name in variants.DETECTORS:
            threshold, recall = choose_threshold(net, *dataset.load(folder, "calibration"))
            print(name, f"threshold {threshold:.4f} calibration recall {recall:.4f}")
            export_detector(net, threshold, path)
        else:
            export_classifier(net, path)
        print(name, path.stat().st_size, "bytes", flush=True)


if __name__ == "__main__":
    main()
