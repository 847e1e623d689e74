"""Reads what write-dataset.js wrote."""

import numpy as np
import torch

from variants import SCENE_SIDE


def load(folder, name):
    """Scenes, uint8 [scenes, 1, 128, 128], and letters, float32 [letters, 4]: scene, class, x, y."""
    scenes = np.fromfile(folder / f"{name}-scenes.bin", dtype=np.uint8)
    objects = np.fromfile(folder / f"{name}-objects.bin", dtype=np.float32)
    return (
        torch.from_numpy(scenes.reshape(-1, 1, SCENE_SIDE, SCENE_SIDE)),
        torch.from_numpy(objects.reshape(-1, 4)),
    )
