"""Chooses a detector's threshold on the calibration scenes, which no weight was trained on."""

import torch

from variants import find_peaks

# A crop shows a letter whose centre is at most this far from the crop's, in pixels.
MATCH_DISTANCE = 5
# Of the crops a detector proposes on the calibration scenes, the share that show a letter.
PRECISION = 0.9
# Peaks below are not looked at: odds of a letter under 1 in 400.
LOWEST_LOGIT = -6.0
SCENES_AT_ONCE = 50


def rank(heat_map, scenes, objects):
    """
    All peaks, highest first: their logits, and whether each shows a letter that no higher peak has
    claimed (the nearest of those within reach).
    """
    found = find_all(heat_map, scenes)
    found = found[found[:, 3].argsort(descending=True)]
    letters_of = [objects[objects[:, 0] == scene, 2:4] for scene in range(len(scenes))]
    is_claimed = [torch.zeros(len(letters), dtype=torch.bool) for letters in letters_of]
    is_hit = torch.zeros(len(found), dtype=torch.bool)
    for i, (scene, x, y, _) in enumerate(found.tolist()):
        distance = (letters_of[int(scene)] - torch.tensor([x, y])).norm(dim=1)
        distance[is_claimed[int(scene)]] = float("inf")
        if len(distance) > 0 and distance.min() <= MATCH_DISTANCE:
            is_claimed[int(scene)][distance.argmin()] = True
            is_hit[i] = True
    return found[:, 3], is_hit


def find_all(heat_map, scenes):
    """Scene, x, y and logit of every peak above LOWEST_LOGIT, float32 [peaks, 4]."""
    found = []
    with torch.no_grad():
        for first in range(0, len(scenes), SCENES_AT_ONCE):
            maps = heat_map(scenes[first : first + SCENES_AT_ONCE])
            _, row, x, y, logit = find_peaks(maps, LOWEST_LOGIT)
            found.append(torch.stack(((row + first).float(), x, y, logit), 1))
    return torch.cat(found)


def choose_threshold(heat_map, scenes, objects):
    """The lowest logit at which the peaks from it up still reach PRECISION, and their recall."""
    logits, is_hit = rank(heat_map, scenes, objects)
    precision = is_hit.cumsum(0) / torch.arange(1, len(is_hit) + 1)
    reaching = torch.nonzero(precision >= PRECISION)
    last = int(reaching.max()) if len(reaching) > 0 else 0
    return float(logits[last]), int(is_hit[: last + 1].sum()) / len(objects)
