/** Implements `stratagem capacity`: of a bundle or a spec by simulation, of a server by load. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { liveResult, simulatedResult } from "../../capacity/capacity-text.ts";
import {
  missingWorkers,
  type SimulatedLimits,
  simulatedCapacities,
} from "../../capacity/simulated.ts";
import { parseTimeMs } from "../../load/load-arguments.ts";
import type { CompilerMethod } from "../../methods/method.ts";
import { methodOf } from "../../methods/registry.ts";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import { readQuantity } from "../../spec/document/quantity.ts";
import type { LoadedApplication } from "../../spec/load-application.ts";
import { thinnedLoads } from "../../truth/truth-plan.ts";
import { defaultServiceTimes } from "../simulate/simulate.ts";

export interface CapacityFlags {
  readonly slo?: string;
  readonly late?: string;
  readonly confidence: string;
  /** Duration of all load on a server, ms. */
  readonly duration: number;
  readonly inputs?: string;
}

interface CapacitySurroundings extends SimulateWatch {
  /** Name and version, for compiling. */
  readonly compiler: string;
  readonly onNote: (line: string) => void;
}

const MOST_LIVE_MS = 300_000;
/** Loads of the table, beside the capacity. */
const ROW_LOADS = 4;
/** Workers of a spec's cluster that are also compiled for. */
const WORKER_FACTORS = [1, 0.5, 1.5, 2];
const DIGITS = 4;

/** @throws RuntimeError for an option, BundleError or InputError for a file. */
export async function capacityCommand(
  place: string,
  flags: CapacityFlags,
  around: CapacitySurroundings,
): Promise<CommandResult> {
  const sloMs = flags.slo === undefined ? null : parseTimeMs("--slo", flags.slo);
  const limit = flags.late === undefined ? null : parseShare("--late", "1%", flags.late);
  const confidence = parseShare("--confidence", "99%", flags.confidence);
  const limits = { sloMs, limit, confidence };
  if (/^https?:\/\//.test(place)) return liveCommand(place, flags, limits, around);
  const bundles = /\.(json|ya?ml)$/i.test(place)
    ? await compiledFor(place, around)
    : [(await loadBundle(place)).bundle];
  return simulatedFor(bundles, limits, around);
}

async function liveCommand(
  url: string,
  flags: CapacityFlags,
  limits: Omit<SimulatedLimits, "serviceTimes">,
  around: CapacitySurroundings,
): Promise<CommandResult> {
  const { duration: durationMs } = flags;
  const inputs = flags.inputs ?? null;
  if (durationMs > MOST_LIVE_MS) throw usage("--duration up to 5min", `${durationMs / 1000}s`);
  const { liveCapacity } = await import("../../capacity/live.ts");
  const { contentOf } = await import("../../truth/measure-point.ts");
  const { isFolder } = await import("../../truth/truth.ts");
  const isBodies = inputs !== null && isFolder(inputs, "--inputs");
  const content = contentOf(null, inputs, null, isBodies);
  const found = await liveCapacity({ url, ...limits, durationMs, content }, around);
  return liveResult(found, limits.confidence, around.signal.aborted);
}

/** @param bundles of the same application, each for another number of workers. */
async function simulatedFor(
  bundles: readonly Bundle[],
  limits: Omit<SimulatedLimits, "serviceTimes">,
  around: CapacitySurroundings,
): Promise<CommandResult> {
  const [first] = bundles;
  if (first === undefined) throw new RangeError("expected a bundle");
  const method = await methodOf(first);
  const asked = { ...limits, serviceTimes: defaultServiceTimes(first, method) };
  const rowLoads = thinnedLoads(first, ROW_LOADS);
  const found = [];
  for (const bundle of bundles) {
    const missing = bundles.length > 1 ? [0] : missingWorkers(bundle, method.scales);
    found.push(await simulatedCapacities(bundle, method, asked, { missing, rowLoads }, around));
  }
  const sizes = found.flatMap((one) => one.sizes);
  const accuracyCost = found[0]?.accuracyCost ?? null;
  const all = { sizes, accuracyCost, isInterrupted: around.signal.aborted };
  return simulatedResult(first, method, limits, all);
}

/** Compiles a spec in memory, for its own number of workers first, then for others. */
async function compiledFor(app: string, around: CapacitySurroundings): Promise<Bundle[]> {
  const { compiledFiles, loadAsked } = await import("../compile/compile.ts");
  const { LateModelReader } = await import("../compile/late-model-reader.ts");
  const { loaded, method } = await loadAsked({ app, solver: null, fanouts: null });
  const modelReader = new LateModelReader(around.signal);
  const { compiler, nowMs } = around;
  try {
    const bundles: Bundle[] = [];
    for (const sized of sizedApplications(loaded, method)) {
      const sources = { compiler, nowMs, modelReader, pool: around };
      bundles.push((await compiledFiles(sized, method, sources)).bundle);
    }
    return bundles;
  } finally {
    await modelReader.close();
  }
}

/** Each worker keeps its share of the loads. Plans that follow the load are of one cluster. */
function sizedApplications(loaded: LoadedApplication, method: CompilerMethod): LoadedApplication[] {
  const { application } = loaded;
  const { cluster, loads } = application;
  const sum = (pools: typeof cluster.pools) => pools.reduce((all, one) => all + one.workers, 0);
  const sized = (method.scales ? [1] : WORKER_FACTORS).map((factor) => {
    const pools = cluster.pools.map((pool) => {
      return { ...pool, workers: Math.max(1, Math.ceil(factor * pool.workers)) };
    });
    return { ...cluster, pools };
  });
  const counts = sized.map(({ pools }) => sum(pools));
  const distinct = sized.filter((_, index) => counts.indexOf(counts[index] ?? 0) === index);
  return distinct.map((own) => {
    const ratio = sum(own.pools) / sum(cluster.pools);
    const scaled = (qps: number) => Number((qps * ratio).toPrecision(DIGITS));
    const ownLoads =
      loads.kind === "adaptive"
        ? { ...loads, fromQps: scaled(loads.fromQps), toQps: scaled(loads.toQps) }
        : { ...loads, qps: loads.qps.map(scaled) };
    return { ...loaded, application: { ...application, cluster: own, loads: ownLoads } };
  });
}

/** @throws RuntimeError unless the text is a share between 0 and 1, exclusive. */
function parseShare(option: string, example: string, text: string): number {
  const reading = readQuantity(text, "none", true);
  if (reading.ok && reading.value > 0 && reading.value < 1) return reading.value;
  throw usage(`${option} between 0 and 1, such as ${example}`, `"${text}"`);
}

function usage(expected: string, found: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", `expected ${expected}, got ${found}`);
}
