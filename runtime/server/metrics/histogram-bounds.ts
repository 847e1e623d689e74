/** Bounds of the histograms that servers of several methods tell. */

export const SLACK_BOUNDS_MS = [-100, -10, 0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];

export const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64];
