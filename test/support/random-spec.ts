/** Small random applications of every method, at any unit of time. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { MethodName } from "../../compiler/spec/application.ts";
import { Rng } from "../../runtime/core/rng.ts";

const BATCHES = [1, 2, 4, 8];

/**
 * Writes the application of a seed, all of whose times are `factor` times as long, and the loads as
 * many times lower.
 * @returns the path of the spec.
 */
export function writeRandomSpec(
  folder: string,
  method: MethodName,
  seed: number,
  factor: number,
): string {
  mkdirSync(folder, { recursive: true });
  const { app, profile } = randomSpec(method, new Rng(seed, 7), factor);
  writeFileSync(join(folder, "p.json"), JSON.stringify(profile));
  const path = join(folder, "app.json");
  writeFileSync(path, JSON.stringify(app));
  return path;
}

function randomSpec(method: MethodName, rng: Rng, factor: number) {
  const between = (low: number, high: number) => low + (high - low) * rng.nextFloat();
  const whole = (low: number, high: number) => Math.floor(between(low, high + 1));
  const ms = (value: number) => `${value * factor} ms`;
  const isSingle = method === "ramsis" || method === "accordion";
  const chooses = method === "ramsis" || method === "loki";
  const taskCount = isSingle ? 1 : whole(2, 3);
  const variants: Record<string, object> = {};
  const longest: number[] = [];
  const tasks = Array.from({ length: taskCount }, (_, task) => {
    const count = chooses ? whole(2, 3) : 1;
    const own = Array.from({ length: count }, (__, rank) => {
      const name = `v${task}${rank}`;
      const firstMs = between(4, 8) * (1 + rank);
      const eachMs = firstMs * between(0.3, 0.8);
      const accuracy = 0.7 + 0.08 * rank + between(0, 0.05);
      const latencyMs = (cores: number) =>
        Object.fromEntries(
          BATCHES.map((b) => [b, (factor * (firstMs + eachMs * (b - 1))) / (0.4 + 0.6 * cores)]),
        );
      variants[name] = {
        accuracy,
        latencyMs: latencyMs(1),
        ...(method === "themis" && {
          byCores: Object.fromEntries([1, 2, 4].map((cores) => [cores, latencyMs(cores)])),
        }),
        ...(method === "accordion" && {
          latencyMs: { 1: factor * firstMs },
          speedups: { 2: between(1.6, 1.95), 4: between(2.5, 3.6) },
        }),
      };
      longest[task] = Math.max(longest[task] ?? 0, firstMs);
      return { name, profile: `p.json#${name}` };
    });
    const next = task + 1 < taskCount ? { to: [{ task: `t${task + 1}` }] } : {};
    return { name: `t${task}`, variants: own, ...next };
  });
  const pathMs = longest.reduce((sum, one) => sum + one, 0);
  const workers = method === "inferline" ? 40 : whole(3, 6) * taskCount;
  const capacityQps = (1000 * workers) / (taskCount * taskCount * pathMs);
  const slos = method === "loki" ? between(4, 7) : between(3, 6);
  const loads = [0.3, 0.65].map((part) => (part * capacityQps) / factor);
  const policy = {
    ramsis: {},
    loki: { headroom: "auto", modelLoad: ms(between(0, 50)) },
    inferline: { activation: ms(between(50, 400)) },
    themis: { maxBatch: 8, coldStart: ms(between(50, 400)), resize: ms(between(1, 20)) },
    accordion: { maxDepth: 4, executionPlaces: workers, maxBatch: 4, meanBatch: 2 },
  }[method];
  const pool = { name: "h", hardware: "h", workers, pricePerHour: 0.1 };
  const cluster = {
    pools: [method === "themis" ? { ...pool, workers: 4, cores: 4 } : pool],
  };
  const app = {
    version: 1,
    application: "random",
    slo: { latency: ms(slos * pathMs), maxViolationRate: "1%" },
    workload: { arrivals: { process: "poisson" }, loads },
    cluster,
    tasks,
    policy: {
      method,
      ...policy,
      ...(method === "accordion" && { reconfiguration: ms(between(0, 2)) }),
    },
  };
  return { app, profile: { format: "latency-profile/1", hardware: "h", variants } };
}
