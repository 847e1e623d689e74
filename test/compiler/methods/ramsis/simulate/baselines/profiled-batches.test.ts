/** Baselines and peers run no batch of a variant that is larger than its largest profiled one. */
import { describe, expect, it } from "vitest";
import { SINGLE_BASELINES } from "../../../../../../compiler/methods/ramsis/baselines.ts";
import type { Baseline } from "../../../../../../compiler/methods/ramsis/simulate/baseline-names.ts";
import { ramsis } from "../../../../../../compiler/methods/ramsis/solve/ramsis.ts";
import type { Application, RamsisPolicy } from "../../../../../../compiler/spec/application.ts";
import type { RamsisBundle } from "../../../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../../../runtime/core/rng.ts";
import { simulatedAs } from "../../../../../support/beaten.ts";
import { bucketApplication } from "../../../../../support/bucket-frame.ts";
import { tinyBundle } from "../../../../../support/tiny-bundle.ts";

const SIZES = [1, 2, 4, 16];
const BALANCERS = ["pooled", "round-robin", "shortest-queue"] as const;
const QUERIES = 4_000;

/** Variants of random times, each profiled up to another batch. */
function randomApplication(seed: number, balancer: RamsisPolicy["balancer"]) {
  const rng = new Rng(seed, 41);
  const sizes = seed % 3 === 0 ? [1, 2] : [];
  const application = bucketApplication({ sizes, balancer, workers: 1 + (seed % 3) });
  const classes = [
    { name: "fast", latencyMs: 60, share: 0.5, maxViolationRate: null },
    { name: "slow", latencyMs: 100, share: 0.5, maxViolationRate: null },
  ];
  const slo = { ...application.slo, ...(seed % 3 === 1 && balancer === "pooled" && { classes }) };
  const tasks = application.tasks.map((task) => {
    const [first] = task.variants;
    if (first === undefined) throw new RangeError("the application has a variant");
    const variants = Array.from({ length: 3 }, (_, at) => {
      const profiled = SIZES.slice(0, 2 + Math.floor(3 * rng.nextFloat()));
      const baseMs = 4 + 12 * rng.nextFloat();
      const perQueryMs = 0.5 + 4 * rng.nextFloat();
      const rowsOf = (size: number) =>
        profiled.map((batch) => {
          return { batch, latencyMs: baseMs + size * perQueryMs * batch, quantiles: null };
        });
      const buckets = first.profile.buckets?.map((bucket, index) => {
        return { ...bucket, rows: rowsOf(1 + index) };
      });
      const name = `v${at}`;
      const rows = rowsOf(2);
      const profile = { ...first.profile, variant: name, rows, ...(buckets && { buckets }) };
      const accuracy = 0.5 + 0.4 * rng.nextFloat();
      return { ...first, name, accuracy, profile, profiles: [profile] };
    });
    return { ...task, variants };
  });
  const policy = { ...application.policy, maxQueue: 32 };
  const made: Application<RamsisPolicy> = { ...application, slo, tasks, policy };
  const largest = new Map(
    tasks.flatMap((task) =>
      task.variants.map(({ name, profile }) => [name, profile.rows.at(-1)?.batch ?? 0] as const),
    ),
  );
  return { made, largest };
}

/** The bundle of an application with a level that no baseline looks at. */
function bundleOf(application: Application<RamsisPolicy>, loadQps: number): RamsisBundle {
  const { levels, provenance } = tinyBundle({ loadsQps: [loadQps] });
  const frame = ramsis.frame(application, new Map());
  return { ...frame, levels, provenance };
}

function baselineOf(name: string, variant: string): Baseline {
  if (name.startsWith("fixed")) return { kind: "fixed", variant };
  return { kind: name, tuned: false } as Baseline;
}

const seeds = Array.from({ length: 12 }, (_, seed) => seed);

describe.each(SINGLE_BASELINES)("the baseline %s", (name) => {
  it.each(seeds)("keeps to the batches of random profile %i", (seed) => {
    const balancer = BALANCERS[Math.floor(seed / 3) % BALANCERS.length] ?? "pooled";
    const { made, largest } = randomApplication(seed, balancer);
    // More than the workers carry, so that queues are full.
    const loadQps = 1_200;
    const bundle = bundleOf(made, loadQps);
    const chosen = bundle.tasks[0]?.variants.filter(({ dominated }) => !dominated) ?? [];
    for (const { name: variant } of name.startsWith("fixed") ? chosen : chosen.slice(0, 1)) {
      const { byVariant } = simulatedAs(baselineOf(name, variant), bundle, {
        arrivals: { kind: "poisson", qps: loadQps },
        durationMs: (1000 * QUERIES) / loadQps,
        seed,
        serviceTimes: "p95",
      });
      for (const [ran, { meanBatch }] of Object.entries(byVariant)) {
        expect(meanBatch ?? 0, ran).toBeLessThanOrEqual(largest.get(ran) ?? 0);
      }
    }
  });
});
