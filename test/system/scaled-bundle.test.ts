/** The clusters of docs/many-machines.md are compiled for what they are. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scaledBundle } from "../../lab/experiments/scale/scaled-bundle.ts";

test("a cluster over a network has a table for its own times and its own load", async () => {
  const folder = mkdtempSync(join(tmpdir(), "scaled-bundle-"));
  try {
    const sketch = { workers: 100, roundTripMs: 1, loadQps: 6000 };
    const { bundle } = await scaledBundle(folder, sketch);
    const { serviceTimes } = bundle.tasks[0] ?? expect.unreachable();
    const { slackMs, maxQueue } = bundle.decisionSpace;
    // One query of the fastest variant takes 21.921 ms without the network.
    expect(serviceTimes.decisionMs.data[0]).toBeCloseTo(22.921, 9);
    // A table rounds slack down: without the very times of batches these start too late or never.
    const steps = new Set(Array.from({ length: 101 }, (_, step) => (step * 150) / 100));
    const others = [...slackMs.data].filter((ms) => !steps.has(ms));
    const times = new Set(serviceTimes.decisionMs.data);
    expect(others.length).toBeGreaterThan(5);
    expect(others.filter((ms) => !times.has(ms))).toEqual([]);
    // What comes within an SLO has room in the queue.
    expect(maxQueue).toBeGreaterThanOrEqual(6000 * 0.15);
    expect(bundle.levels.map(({ loadQps }) => loadQps)).toEqual([6000]);
    expect(bundle.cluster.pools.map(({ workers }) => workers)).toEqual([100]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
