/** Profiles, compiles, serves, loads and compares an application, each step in its own process. */
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { processorsOf, quotaText } from "stratagem-runtime/internal/base/control-groups";
import { type Bundle, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import * as z from "zod";
import { StepError } from "../base/errors.ts";
import { readProcessorTicks, sharesBetween } from "../load/processor-time.ts";
import { methodOf } from "../methods/registry.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
import type { Application } from "../spec/application.ts";
import { loadApplication } from "../spec/load-application.ts";
import { LoadClient } from "./load-client.ts";
import { watchMachine } from "./machine-watch.ts";
import { contentOf, measurePoint, type Stand } from "./measure-point.ts";
import { modelFolder } from "./model-folder.ts";
import { serviceTimesOf } from "./predicted.ts";
import { SentHistory } from "./sent-history.ts";
import { runCommand, type ServerProcess, startServerProcess } from "./server-process.ts";
import type { TruthDocument, TruthPoint, Verdict } from "./truth-document.ts";
import {
  type PlannedPoint,
  SETTLING_BEATS,
  settlingMs,
  WARM_UP_MS,
  WARM_UP_QUERIES,
} from "./truth-plan.ts";

interface TruthOptions {
  /** Path of the application spec. */
  readonly app: string;
  /** Output folder for bundle, log and, if measured, the profile. */
  readonly folder: string;
  /** Profile of this machine; null to measure one with `profileOptions`. */
  readonly profile: string | null;
  readonly profileOptions: readonly string[];
  /** Additional options of `serve`. */
  readonly serveOptions: readonly string[];
  /** Rows to send, or a folder of bodies; null for zeros. */
  readonly inputs: string | null;
  readonly isInputsFolder: boolean;
  /** File with the class of each row; null if unknown. */
  readonly labels: string | null;
  readonly durationMs: number;
  readonly retries: number;
  /** Chooses the loads to send from the compiled levels. */
  readonly pointsOf: (bundle: Bundle) => readonly PlannedPoint[];
}

export interface TruthSurroundings extends SimulateWatch {
  readonly epochMs: () => number;
  readonly every: (intervalMs: number, callback: () => void) => () => void;
  readonly pause: (ms: number) => Promise<void>;
  /** Called with messages during the work. */
  readonly onNote: (line: string) => void;
  /** Called with each judged point. */
  readonly onPoint: (point: TruthPoint) => void;
}

/** @throws InputError for the spec, StepError for a step, the signal's reason. */
export async function runTruth(
  options: TruthOptions,
  around: TruthSurroundings,
): Promise<TruthDocument> {
  const { profile, stealShare } = await profiled(options, around);
  const bundlePath = join(options.folder, "bundle.msgpack");
  // Promises are measured even if they break the spec's requirements.
  const compiling = ["compile", options.app, "--profile", profile, "-o", bundlePath];
  await step([...compiling, "--require", "none"], around);
  const { bundle } = await loadBundle(bundlePath);
  const { application } = loadApplication(options.app, { profile });
  const folder = options.folder;
  const models = await modelFolder(bundle, bundlePath, application, folder);
  const log = join(folder, `access.${process.pid}.log`);
  const flags = ["--models", models, ...options.serveOptions];
  const server = await startServerProcess(bundlePath, flags, log, around.signal);
  const load = new LoadClient(around.signal);
  try {
    const served = { bundle, application, server, load, stealShare };
    const stand = await standOf(options, around, served);
    try {
      const points = await measurePoints(stand, options.pointsOf(bundle), around);
      return documentOf(stand, points);
    } finally {
      stand.machine.end();
    }
  } finally {
    await Promise.allSettled([load.close(), server.stop()]);
  }
}

/** Accepts a noisy profile: the run is about the machine in its current state. */
async function profiled(options: TruthOptions, around: TruthSurroundings) {
  const { profile: known } = options;
  if (known !== null) return { profile: known, stealShare: await stealShareOf(known) };
  const profile = join(options.folder, "profile.json");
  await rm(profile, { force: true });
  const before = readProcessorTicks();
  const measure = ["profile", options.app];
  const inputs = servingInputs(options);
  const all = [...measure, "-o", profile, ...options.profileOptions, "--serving", ...inputs];
  const code = await runCommand(all, around.signal);
  if (code === EXIT_BAD_INPUT) {
    around.onNote(
      "profiling failed; using its measurements if noise was the reason, so promises may not hold",
    );
    const left = existsSync(profile) ? [...measure, "--serving", profile, ...inputs] : all;
    await step([...left, "--force"], around);
  } else if (code !== 0) throw new StepError("profile", code);
  const shares = sharesBetween(before, readProcessorTicks());
  return { profile, stealShare: shares?.stealShare ?? null };
}

/** Measures the serving path with the same rows that are sent. */
function servingInputs({ inputs, isInputsFolder }: TruthOptions): string[] {
  return inputs === null || isInputsFolder ? [] : ["--inputs", inputs];
}

const quietSchema = z.object({ serving: z.object({ stealShare: z.number() }) });

/** Reads the steal share from the profile's measurement; null if unknown. */
async function stealShareOf(profile: string): Promise<number | null> {
  try {
    const found = quietSchema.safeParse(JSON.parse(await readFile(profile, "utf8")));
    return found.success ? found.data.serving.stealShare : null;
  } catch {
    return null;
  }
}

const EXIT_BAD_INPUT = 65;

async function step(args: readonly string[], { signal }: TruthSurroundings): Promise<void> {
  const code = await runCommand(args, signal);
  if (code !== 0) throw new StepError(args[0] ?? "", code);
}

interface Served {
  readonly bundle: Bundle;
  readonly application: Application;
  readonly server: ServerProcess;
  readonly load: LoadClient;
  readonly stealShare: number | null;
}

async function standOf(
  options: TruthOptions,
  around: TruthSurroundings,
  { bundle, application, server, load, stealShare }: Served,
): Promise<Stand> {
  const method = await methodOf(bundle);
  const oneS = { kind: "poisson", qps: 1 } as const;
  const hasOwnRequests =
    bundle.slo.classes !== undefined || method.requestsOf(bundle, oneS, 1, 1) !== null;
  const { inputs, labels, isInputsFolder } = options;
  return {
    bundle,
    server,
    load,
    machine: watchMachine(server.pid, [load.pid], around.epochMs, around.every),
    contentOf: (arrivals, durationMs, seed) => {
      const planned = method.requestsOf(bundle, arrivals, durationMs, seed);
      return contentOf(planned, inputs, labels, isInputsFolder);
    },
    arrivalsAt: arrivalsOf(application),
    history: hasOwnRequests ? null : new SentHistory(beatMsOf(bundle.slo), SETTLING_BEATS),
    serviceTimes: await serviceTimesOf(bundle, around),
    profileStealShare: stealShare,
    durationMs: options.durationMs,
    retries: options.retries,
    watch: around,
    pause: around.pause,
  };
}

/** Returns the arrivals of the spec at a load; Poisson arrivals if the spec has a trace. */
function arrivalsOf({ arrivals }: Application): (loadQps: number) => ArrivalProcess {
  return (qps) => {
    if (arrivals.process === "gamma") return { kind: "gamma", qps, cv2: arrivals.cv2 };
    return { kind: "poisson", qps };
  };
}

async function measurePoints(
  stand: Stand,
  points: readonly PlannedPoint[],
  around: TruthSurroundings,
): Promise<TruthPoint[]> {
  const [first] = points;
  if (first === undefined) return [];
  around.onProgress(0, points.length, "warming up the server");
  await warmUp(stand, first);
  const seconds = Math.ceil(stand.durationMs / 1000);
  const total = points.length * seconds;
  const measured: TruthPoint[] = [];
  for (const [index, point] of points.entries()) {
    const name = `${point.loadQps} requests/s`;
    const report = (done: number): void => around.onProgress(index * seconds + done, total, name);
    report(0);
    const judged = await measurePoint(stand, point, report);
    measured.push(judged);
    around.onPoint(judged);
  }
  return measured;
}

/**
 * Sends requests at full speed, since a cold server uses several times the processor time, and then
 * the first load until plans follow it.
 */
async function warmUp(
  { bundle, server, load, contentOf, arrivalsAt, history }: Stand,
  first: PlannedPoint,
) {
  const durationMs = settlingMs(bundle.slo);
  if (durationMs === null) return;
  const arrivals = arrivalsAt(first.loadQps);
  const { startEpochMs, sent } = await load.send(
    {
      url: server.url,
      content: contentOf(arrivals, durationMs, first.seed),
      hasClasses: bundle.slo.classes !== undefined,
      arrivals,
      durationMs,
      seed: first.seed,
      sloMs: bundle.slo.latencyMs,
      warmUpQueries: WARM_UP_QUERIES,
      warmUpLimitMs: WARM_UP_MS,
      leadInMs: 0,
      timeoutMs: 60_000,
    },
    () => {},
  );
  history?.add(startEpochMs, sent.sentMs);
}

function documentOf(stand: Stand, points: readonly TruthPoint[]): TruthDocument {
  const { bundle, serviceTimes, profileStealShare } = stand;
  const countOf = (wanted: Verdict) => points.filter(({ verdict }) => verdict === wanted).length;
  const [processor] = cpus();
  const processors = processorsOf();
  return {
    format: "truth/1",
    application: bundle.application,
    method: bundle.method,
    machine: {
      processors: processors.count,
      quota: quotaText(processors),
      cpu: processor?.model ?? "unknown",
      profileStealShare,
    },
    slo: { latencyMs: bundle.slo.latencyMs, ceiling: violationCeiling(bundle.slo) },
    latenciesWithout: bundle.cluster.serving === undefined ? ["serving path"] : [],
    serviceTimes,
    points,
    held: countOf("holds"),
    better: countOf("better"),
    of: points.length,
    holds: countOf("broken") + countOf("slower") === 0,
  };
}
