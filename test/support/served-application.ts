/** Applications of every method on a machine whose serving path was measured, by hand. */
import { openLevelSolver } from "../../compiler/commands/compile/level-solvers.ts";
import { type CompileOptions, compile } from "../../compiler/levels/compile.ts";
import { type LoadedApplication, loadApplication } from "../../compiler/spec/load-application.ts";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { decodeBundle, encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { writeSpec } from "./spec-file.ts";

const spread = (p50: number, p95: number, p99: number) => ({ p50, p95, p99, mean: 1.1 * p50 });

/** Two processors: a third worker has to wait for one of the others. */
export const SERVING = {
  processors: 2,
  requestBytes: 3136,
  requestMs: spread(0.3, 0.6, 1.2),
  batchMs: spread(0.2, 0.4, 0.8),
  answerMs: spread(0.1, 0.2, 0.4),
  wakeMs: spread(0.2, 0.5, 1),
  wireMs: spread(0.6, 1.5, 3),
  contention: [1, 1.15, 1.75],
};

const row = (p50: number) => ({ p50, p95: 1.1 * p50, p99: 1.2 * p50, mean: 1.02 * p50 });
const SMALL = { "1": row(4), "2": row(6), "4": row(10), "8": row(18) };
const LARGE = { "1": row(10), "2": row(16), "4": row(28) };

const variants = {
  small: {
    latencyMs: SMALL,
    byCores: { "1": SMALL, "2": { "1": row(2.4), "2": row(3.6), "4": row(6), "8": row(11) } },
    layers: { ms: [1, 1, 1, 1], overheadMs: 0 },
  },
  large: { latencyMs: LARGE },
};

export type Serving = Partial<typeof SERVING>;

const small = { name: "small", accuracy: 0.8, profile: "cpu.json#small" };
const large = { name: "large", accuracy: 0.9, profile: "cpu.json#large" };
const CHAIN = [
  { name: "gate", variants: [small], to: [{ task: "name" }] },
  { name: "name", variants: [small] },
];
const CHOICE = [
  { name: "gate", variants: [small], to: [{ task: "name" }] },
  { name: "name", variants: [small, large] },
];

/** Of each method what it serves, of loads that workers can carry. */
const METHODS = {
  ramsis: {
    tasks: [{ name: "classify", variants: [small, large] }],
    policy: { method: "ramsis", maxQueue: 8 },
    loads: [60, 150, 250],
    slo: "40 ms",
  },
  loki: { tasks: CHOICE, policy: { method: "loki" }, loads: [40, 80], slo: "60 ms" },
  inferline: {
    tasks: CHAIN,
    policy: { method: "inferline", sampleDuration: "20 s", traces: 2 },
    loads: [40, 120],
    slo: "40 ms",
  },
  themis: {
    tasks: CHAIN,
    policy: { method: "themis", maxBatch: 8, maxCores: 2 },
    loads: [40, 100],
    slo: "40 ms",
  },
  accordion: {
    tasks: [{ name: "look", variants: [small] }],
    policy: { method: "accordion", maxDepth: 2, meanBatch: 2, maxBatch: 8 },
    loads: [20, 60],
    slo: "60 ms",
  },
} as const;

export type ServedMethod = keyof typeof METHODS;

export interface Machine {
  /** Null where the profile says nothing of it. */
  readonly serving?: Serving | null;
  readonly workers?: number;
  /** As `communicationLatency` of the spec; left out for auto. */
  readonly hops?: string;
  readonly slo?: string;
  /** Or a range in which levels place themselves. */
  readonly loads?: readonly number[] | object;
}

const POOL = { jobs: 1, onProgress: () => {}, signal: new AbortController().signal };

/** What `compile` takes beside an application without models. */
export const SERVED_OPTIONS: CompileOptions = {
  compiler: "test",
  models: new Map(),
  opened: null,
  openLevelSolver: (frame) => openLevelSolver(frame, { isQuick: true }, POOL, () => 0),
};

/** @throws InputError where it is refused. */
export async function servedBundle(method: ServedMethod, machine: Machine = {}): Promise<Bundle> {
  const { bundle } = await compile(servedApplication(method, machine), SERVED_OPTIONS);
  return decodeBundle(encodeBundle(bundle));
}

/** @throws InputError where it is refused. */
export function servedApplication(method: ServedMethod, machine: Machine = {}): LoadedApplication {
  const { tasks, policy, loads, slo } = METHODS[method];
  const { serving = SERVING, workers = 3, hops } = machine;
  const pool = {
    name: "cpu",
    workers,
    cores: method === "themis" ? 1 : undefined,
    pricePerHour: 1,
  };
  const spec = {
    version: 1,
    application: "served",
    slo: { latency: machine.slo ?? slo, maxViolationRate: "2%" },
    workload: { arrivals: { process: "poisson" }, loads: machine.loads ?? loads },
    cluster: {
      pools: [JSON.parse(JSON.stringify(pool)) as object],
      ...(hops === undefined ? {} : { communicationLatency: hops }),
    },
    tasks,
    policy,
  };
  const profile = {
    format: "latency-profile/1",
    hardware: "two processors",
    variants,
    ...(serving === null ? {} : { serving }),
  };
  return loadApplication(writeSpec(spec, { "cpu.json": profile }));
}
