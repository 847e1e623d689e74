/** Puts an accepted bundle through all that a reader does with one. */

import { diffBundles } from "stratagem/internal/gate/differences";
import { methodOf as compilerMethodOf } from "stratagem/internal/methods/registry";
import { isRuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle, Level } from "stratagem-runtime/internal/bundle/schema";
import { inspectBundle } from "stratagem-runtime/internal/bundles/inspect";
import { methodOf } from "stratagem-runtime/internal/methods/registry";
import { type AxesByFile, serveShortly } from "./serve.ts";

/** Requests of a simulation, and its longest time: a level may be for one request in a year. */
const SIMULATED = 12;
const MAX_SIMULATED_MS = 86_400_000;
/** A level whose promise took a longer simulation is not computed again. */
const MAX_RECOMPUTED = 500;
const MAX_TOLD_LEVELS = 3;
const WATCH = {
  jobs: 1,
  signal: new AbortController().signal,
  onProgress: () => {},
  nowMs: () => performance.now(),
};

export interface Surroundings {
  /** A bundle that it is compared with, and that is handed to its server. */
  readonly base: Bundle;
  readonly axesByFile: AxesByFile;
  /** Index of the level at whose load it is simulated, from the last one if it is negative. */
  readonly level?: number;
  /** Whether what its first level promises is computed again. */
  readonly recomputes?: boolean;
  /** Whether a server of the base is handed the bundle too. */
  readonly reloads?: boolean;
}

/** What was done with a bundle beside reading it; the rest was refused by name. */
export interface Driven {
  readonly isServed: boolean;
  readonly isRecomputed: boolean;
}

/** @throws whatever is no documented refusal, and Error for an output that is not sane. */
export async function drive(
  bundle: Bundle,
  { base, axesByFile, level = -1, recomputes = false, reloads = false }: Surroundings,
): Promise<Driven> {
  inspect(bundle, base);
  const isRecomputed = recomputes && (await recompute(bundle));
  await simulate(bundle, level);
  const isServed = await refusable(() => serveShortly(bundle, [base], axesByFile));
  if (reloads) await refusable(() => serveShortly(base, [bundle, base], axesByFile));
  return { isServed, isRecomputed };
}

function inspect(bundle: Bundle, base: Bundle): void {
  const method = methodOf(bundle);
  const told = inspectBundle(bundle, { byteCount: 1, sha256: "0".repeat(64) });
  checkSane(told, "inspect");
  checkText(method.summary(bundle, { ...told, formatVersion: 1 }));
  checkText(method.levelTable(bundle));
  checkText(method.decisions(bundle).text);
  for (const level of [...bundle.levels.keys()].slice(0, MAX_TOLD_LEVELS)) {
    const { text, json } = method.describeLevel(bundle, level);
    checkText(text);
    checkSane(json, "inspect --level");
  }
  checkSane(diffBundles(base, bundle), "diff");
}

/** What the first level promises, where that takes no long simulation. */
async function recompute(bundle: Bundle): Promise<boolean> {
  const method = await compilerMethodOf(bundle);
  const frame = method.frameOf(bundle);
  if (!method.isRecomputable(frame)) return false;
  const [level] = bundle.levels;
  if (level === undefined || promisedRequests(level) > MAX_RECOMPUTED) return false;
  checkSane(method.promised(frame, bundle, 0), "verify");
  return true;
}

interface Promise_ {
  readonly durationMs?: number;
  readonly requests?: number;
}

function promisedRequests(level: Level): number {
  const { loadQps } = level;
  const { expected, steady } = level as Level & {
    readonly expected?: Promise_;
    readonly steady?: { readonly expected: Promise_ };
  };
  const { durationMs = 0, requests = 0 } = expected ?? steady?.expected ?? {};
  return Math.max(requests, (loadQps * durationMs) / 1000);
}

async function simulate(bundle: Bundle, level: number): Promise<void> {
  const qps = bundle.levels.at(level)?.loadQps ?? 1;
  const asked = {
    arrivals: { kind: "poisson", qps },
    durationMs: Math.min((1000 * SIMULATED) / qps, MAX_SIMULATED_MS),
    seed: 1,
    serviceTimes: "p95",
    fanout: "rounded",
    stations: {},
    baseline: null,
  } as const;
  await refusable(async () => {
    const simulated = await compilerMethodOf(bundle);
    const { text, json } = await simulated.simulate(bundle, asked, WATCH);
    checkText(text);
    checkSane(json, "simulate");
  });
}

/** @returns whether it was not refused by name. */
async function refusable(act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    if (isRuntimeError(error)) return false;
    throw error;
  }
}

function checkText(text: string): void {
  const wrong = text.split("\n").find((line) => /\b(NaN|undefined|-?Infinity)\b/.test(line));
  if (wrong !== undefined) throw new Error(`a line says ${wrong}`);
}

/** Numbers are finite, but for times of what never ends. */
function checkSane(value: unknown, path: string): void {
  if (typeof value === "number" && Number.isNaN(value)) throw new Error(`${path} is not a number`);
  if (typeof value !== "object" || value === null) return;
  if (ArrayBuffer.isView(value)) {
    checkSane(Array.from(value as unknown as ArrayLike<number>), path);
    return;
  }
  for (const [key, item] of Object.entries(value)) checkSane(item, `${path}.${key}`);
}
