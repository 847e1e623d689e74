/** Bounds of the histograms that servers of several methods tell. */

export const SLACK_BOUNDS_SECONDS = [
  ...[-0.1, -0.01, 0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
];

export const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64];
