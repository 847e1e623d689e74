/** Applications whose times are near the ends of what a spec and a profile may state. */
import { describe, expect, it } from "vitest";
import { openLevelSolver } from "../../../compiler/commands/level-solvers.ts";
import { compile } from "../../../compiler/levels/compile.ts";
import { InputError } from "../../../compiler/spec/input-error.ts";
import { loadApplication } from "../../../compiler/spec/load-application.ts";
import { MAX_MS, MIN_MS } from "../../../runtime/bundle/limits.ts";
import { decodeBundle, encodeBundle } from "../../../runtime/checked-bundle.ts";
import { Rng } from "../../../runtime/core/rng.ts";
import { casesOf } from "../../support/cases.ts";
import { writeSpec } from "../../support/spec-file.ts";

const POOL = { jobs: 1, onProgress: () => {}, signal: new AbortController().signal };

/** Methods whose simulations have no tick of a second. */
const METHODS = ["ramsis", "loki"] as const;
type Method = (typeof METHODS)[number];

/** @param longMs the latency objective. */
function specOf(method: Method, longMs: number, seed: number) {
  const rng = new Rng(seed, 1);
  const between = (low: number, high: number) => low + (high - low) * rng.nextFloat();
  const clamped = (ms: number) => Math.min(MAX_MS, Math.max(MIN_MS, ms));
  const aloneMs = longMs * between(0.02, 0.3);
  const growth = between(0.3, 1);
  const rows = (factor: number, sizes: readonly number[]) =>
    Object.fromEntries(
      sizes.map((size) => [size, clamped(factor * aloneMs * (1 + growth * (size - 1)))]),
    );
  const measured = (factor: number) => {
    const latencyMs = rows(factor, method === "ramsis" ? [1, 2, 4] : [1, 2, 4, 8]);
    const variant = { accuracy: between(0.5, 1), latencyMs };
    return variant;
  };
  const profile = {
    format: "latency-profile/1",
    hardware: "h",
    percentile: 95,
    variants: { small: measured(1), large: measured(1.5) },
  };
  const use = (name: string) => ({ name, profile: `times.json#${name}` });
  const isChain = method !== "ramsis";
  const variants = method === "ramsis" || method === "loki" ? ["small", "large"] : ["small"];
  const workers = 1 + Math.floor(between(1, 8));
  const tasks = [
    { name: "a", variants: variants.map(use), ...(isChain ? { to: [{ task: "b" }] } : {}) },
    ...(isChain ? [{ name: "b", variants: [use("small")] }] : []),
  ];
  const own = {
    ramsis: { maxQueue: 8 },
    loki: { modelLoad: `${clamped(longMs)} ms` },
  };
  const spec = {
    version: 1,
    application: "bounds",
    slo: { latency: `${longMs} ms` },
    workload: {
      arrivals: { process: "poisson" },
      loads: [Math.max(1e-6, (between(0.1, 2) * 1000 * workers) / aloneMs / 3)],
    },
    cluster: {
      communicationLatency: `${Math.min(60_000, longMs * between(0, 0.02))} ms`,
      pools: [
        {
          name: "h",
          hardware: "h",
          workers,
          pricePerHour: 1,
        },
      ],
    },
    tasks,
    policy: { method, ...own[method] },
  };
  return writeSpec(spec, { "times.json": profile });
}

async function outcomeOf(path: string): Promise<"compiled" | "refused"> {
  try {
    const { bundle } = await compile(loadApplication(path), {
      compiler: "test",
      models: new Map(),
      opened: null,
      openLevelSolver: (frame) => openLevelSolver(frame, { isQuick: true }, POOL, () => 0),
    });
    decodeBundle(encodeBundle(bundle));
    return "compiled";
  } catch (error) {
    // A bundle that its own reader refuses is no InputError.
    if (error instanceof InputError) return "refused";
    throw error;
  }
}

describe.each(METHODS)("%s", (method) => {
  it("compiles batches of hours, or names what it refuses", { timeout: 60_000 }, async () => {
    const count = casesOf(24, 2);
    let compiled = 0;
    for (let seed = 1; seed <= count; seed++) {
      if ((await outcomeOf(specOf(method, 7e6, seed))) === "compiled") compiled++;
    }
    expect(compiled).toBeGreaterThan(count / 4);
  });
});
