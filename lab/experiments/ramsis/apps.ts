/** The ImageNet classifiers of the paper, compiled and simulated with the command line. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Expected, RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { compiled, stratagemJson } from "../harness/cli.ts";
import type { Flags } from "../harness/flags.ts";
import { writeReferenceApp } from "../harness/reference.ts";

/** Options of `policy` in a spec. */
export type PolicySpec = Readonly<Record<string, unknown>>;

/** Loads as in a spec. */
type LoadsSpec = readonly number[] | Readonly<Record<string, number | string>>;

export const FROM_QPS = 400;
export const TO_QPS = 4000;
const SLO_MS = 150;

/** What `simulate` counts of a run. */
export interface Outcome {
  readonly satisfied: number;
  readonly accuracyPerSatisfied: number;
  readonly accuracyPerQuery: number;
  readonly violationRate: number;
}

interface CompiledApp {
  readonly path: string;
  readonly levels: RamsisBundle["levels"];
  /** Of the first level. */
  readonly expected: Expected;
  readonly compileMs: number;
}

/** The option `--policy`, which takes what a spec has under `policy`. */
export const POLICY_OPTION = { policy: "JSON of another policy on trial, in place of ours" };

export function policiesOf(flags: Flags): readonly PolicySpec[] | undefined {
  return flags.texts("policy")?.map((text) => JSON.parse(text) as PolicySpec);
}

export function roundRobin(steps: number): PolicySpec {
  return { balancer: "round-robin", discretization: { kind: "fixed", steps } };
}

export function policyText({ discretization, ...rest }: PolicySpec): string {
  const steps = (discretization as { steps?: number } | undefined)?.steps;
  const grid = discretization === undefined ? [] : [`${steps ?? "model-based"} steps`];
  const others = Object.entries(rest).map(([key, value]) => `${key} ${value}`);
  return ["ramsis", ...grid, ...others].join(", ");
}

/** @param folder where files of this number of workers and policy are written over. */
export async function compileApp(
  folder: string,
  workers: number,
  loads: LoadsSpec,
  policy: PolicySpec,
): Promise<CompiledApp> {
  // The script knows lists of loads only, so what the spec says of them is put in afterwards.
  const app = writeReferenceApp("ramsis", join(folder, `app-${workers}`), [
    ...["--workers", workers, "--slo", SLO_MS, "--loads", FROM_QPS],
    ...["--policy", JSON.stringify(policy)],
  ]);
  const spec = JSON.parse(readFileSync(app, "utf8"));
  spec.workload.loads = loads;
  writeFileSync(app, JSON.stringify(spec));
  const own = `${Object.values(policy).join("-")}.msgpack`.replace(/[^\w.-]/g, "");
  const out = join(folder, `${workers}-${own}`);
  const { bundle, path, compileMs } = await compiled("ramsis", app, out);
  const [level] = bundle.levels;
  if (level === undefined) throw new RangeError("a bundle has a level");
  return { path, levels: bundle.levels, expected: level.expected, compileMs };
}

export function simulate(path: string, ...args: (string | number)[]): Promise<Outcome> {
  return stratagemJson<Outcome>("simulate", path, ...args);
}

/** Under a steady Poisson load. */
export function simulateSteady(
  path: string,
  loadQps: number,
  seconds: number,
  seed: number,
): Promise<Outcome> {
  const load = ["--arrivals", `poisson:${loadQps}`, "--duration", `${seconds}s`, "--seed", seed];
  return simulate(path, ...load);
}
