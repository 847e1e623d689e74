/** Random problems of one model endpoint with a serving path and a tight SLO. */
import { type LoadedApplication, loadApplication } from "../../compiler/spec/load-application.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { writeSpec } from "./spec-file.ts";

export interface RandomServed {
  readonly sloMs: number;
  /** Ascending, from little to more than what the fastest variant carries. */
  readonly loads: readonly number[];
  /** The same application at some loads. */
  readonly at: (loads: readonly number[]) => LoadedApplication;
}

/** A problem whose SLO is 3 to 50 times the fastest batch. The same for the same seed. */
export function randomServed(seed: number): RandomServed {
  const rng = new Rng(seed, 77);
  const between = (low: number, high: number) =>
    low * Math.exp(Math.log(high / low) * rng.nextFloat());
  const fastestMs = between(0.4, 8);
  const sloMs = Number((fastestMs * between(3, 50)).toFixed(2));
  const workers = Math.ceil(between(0.2, 6));
  const largest = [4, 8, 16][Math.floor(3 * rng.nextFloat())] ?? 8;
  const sizes = Array.from({ length: Math.log2(largest) + 1 }, (_, power) => 2 ** power);
  // Below 1: a batch takes less time per query than one alone.
  const growth = between(0.35, 0.95);
  const spread = between(1.03, 1.6);
  const times = [1, between(1.3, 2.5), between(2.6, 7)].map((slower) => {
    const rows = sizes.map((size) => {
      const p50 = fastestMs * slower * size ** growth;
      return [
        size,
        { p50, p95: p50 * spread, p99: p50 * spread ** 1.6, mean: p50 * (1 + (spread - 1) / 4) },
      ];
    });
    return { latencyMs: Object.fromEntries(rows) as object };
  });
  // Of the SLO, what the path takes.
  const pathMs = sloMs * between(0.02, 0.15);
  const tail = between(1.5, 5);
  const row = (part: number) => {
    const p50 = part * pathMs;
    return { p50, p95: p50 * Math.sqrt(tail), p99: p50 * tail, mean: 1.1 * p50 };
  };
  const perQueryMs = Math.min(...sizes.map((size) => (fastestMs * size ** growth) / size));
  // The server's process is never the bottleneck.
  const server = Math.min(1, (0.4 * perQueryMs) / workers / pathMs);
  const serving = {
    processors: Math.max(1, Math.ceil(between(0.5, 2) * workers)),
    requestBytes: 3136,
    requestMs: row(0.4 * server),
    batchMs: row(0.3 * server),
    answerMs: row(0.3 * server),
    wakeMs: row(0.2),
    wireMs: row(0.5),
    contention: [1, between(1, 1.2), between(1.2, 1.6)],
  };
  const names = ["small", "middle", "large"];
  const variants = Object.fromEntries(names.map((name, at) => [name, times[at]]));
  const profile = { format: "latency-profile/1", hardware: "random", variants, serving };
  const most = workers / perQueryMs;
  const loads = [0.08, 0.25, 0.45, 0.65].map((part) => Number((1000 * part * most).toPrecision(3)));
  const ceiling = ["0.1%", "1%", "2%"][Math.floor(3 * rng.nextFloat())];
  const at = (chosen: readonly number[]) => {
    const spec = {
      version: 1,
      application: "random",
      slo: { latency: `${sloMs} ms`, maxViolationRate: ceiling },
      workload: { arrivals: { process: "poisson" }, loads: chosen },
      cluster: { pools: [{ name: "cpu", workers }] },
      tasks: [
        {
          name: "classify",
          variants: names.map((name, index) => {
            return { name, accuracy: 0.75 + 0.1 * index, profile: `cpu.json#${name}` };
          }),
        },
      ],
      policy: { method: "ramsis", maxQueue: largest },
    };
    return loadApplication(writeSpec(spec, { "cpu.json": profile }));
  };
  return { sloMs, loads, at };
}
