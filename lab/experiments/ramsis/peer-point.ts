/** Everybody at one point: a case and a load, the arrivals being the same for all. */
import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { PEER_NAMES } from "stratagem/internal/methods/ramsis/simulate/baseline-names";
import { baselineBundle } from "stratagem/internal/methods/ramsis/simulate/baselines/simulate-baseline";
import {
  type ClusterOptions,
  simulateCluster,
} from "stratagem/internal/methods/ramsis/simulate/cluster-simulation";
import type {
  PeerParameters,
  PeerSetting,
} from "stratagem/internal/methods/ramsis/simulate/peers/peer";
import {
  paperSetting,
  simulatePeer,
  triedSettings,
  tunedSettings,
} from "stratagem/internal/methods/ramsis/simulate/peers/simulate-peer";
import { ramsis } from "stratagem/internal/methods/ramsis/solve/ramsis";
import { loadApplication } from "stratagem/internal/spec/load-application";
import { readTrace } from "stratagem/internal/spec/trace";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { dispatcherOf } from "stratagem-runtime/internal/methods/ramsis/core/dispatcher-of";
import { ofMethod } from "../../../test/support/of-method.ts";
import { present, sum } from "../harness/numbers.ts";
import { type PolicySpec, roundRobin } from "./apps.ts";
import type { PeerSpec } from "./peer-cases.ts";

/** What is measured; it travels to another process. */
export interface PointTask {
  readonly name: string;
  readonly spec: PeerSpec;
  /** Where its files begin, which are its own. */
  readonly path: string;
  readonly load: { readonly qps: number } | { readonly trace: string };
  /** Of all seeds together. */
  readonly queries: number;
  readonly who: readonly string[];
}

/** Over all queries. */
export interface Served {
  readonly accuracy: number;
  readonly violations: number;
}

export interface Row extends Served {
  readonly who: string;
  readonly peer?: string;
  readonly setting?: PeerParameters;
  /** The best of all settings with no more violations than ours, where hindsight took more. */
  readonly within?: Served | null;
}

export interface Point {
  readonly name: string;
  /** Null for a trace. */
  readonly loadQps: number | null;
  /** Null where no policy of one load is stated. */
  readonly bounds: { readonly all: number; readonly served?: number } | null;
  /** Ours is the first. */
  readonly rows: readonly Row[];
}

/** Half of the last digit that is printed. */
export const SAME_ACCURACY = 5e-5;

/** The queries of a point are those of so many seeds, on which everybody is measured. */
const SEEDS = [1, 2];
/** As the simulate command draws them. */
const ARRIVAL_STREAM = 1;
const SERVICE_STREAM = 2;
/** Queries count that come after so many SLOs and before the last one, and in at least ten. */
const WARM_UP_SLOS = 40;
const COOL_DOWN_SLOS = 1;
const COUNTED_SLOS = 10;
const TRACE_LOADS = { from: 400, to: 4000, step: 200 };

type SimulatedRun = Omit<ClusterOptions, "serviceTimes" | "arrivalRng" | "serviceRng"> & {
  readonly seed: number;
};

export function measurePoint(task: PointTask): Point {
  const { name, load, who } = task;
  const pooled = solved(task, {});
  const beside = solved(task, roundRobin(100));
  const runs = runsOf(task);
  const ours = { who: "pooled (ours)", ...policyServed(pooled, runs) };
  const rows: Row[] = [
    ours,
    { who: "round-robin (RAMSIS)", ...policyServed(beside, runs) },
    tunedRow("fixed", "fixed variant", pooled, fixedSettings(pooled), runs),
  ];
  for (const peer of PEER_NAMES.filter((each) => who.includes(each))) {
    const { arrivals } = present(runs[0]);
    const paper = paperSetting(pooled, peer, arrivals);
    rows.push({ who: peer, setting: paper.parameters, ...servedBy(pooled, paper, runs) });
    const tried = triedSettings(pooled, peer, arrivals);
    const tuned = tunedRow(peer, `${peer} tuned`, pooled, tried, runs);
    const within = bestWithin(tuned, ours, pooled, tried, runs);
    rows.push({ ...tuned, ...(within === undefined ? {} : { within }) });
  }
  const loadQps = "qps" in load ? load.qps : null;
  return { name, loadQps, bounds: loadQps === null ? null : boundsOf(pooled), rows };
}

function boundsOf({ levels }: RamsisBundle): Point["bounds"] {
  const { upperBoundAccuracy, servedBoundAccuracy } = present(levels[0]).expected;
  return {
    all: upperBoundAccuracy,
    ...(servedBoundAccuracy === undefined ? {} : { served: servedBoundAccuracy }),
  };
}

/** The policy of every load of a spec, solved here. */
function solved({ path, spec, load }: PointTask, policy: PolicySpec): RamsisBundle {
  const { variants, sloMs, workers, maxQueue, arrivals } = spec;
  const profile = { format: "latency-profile/1", hardware: "reference", variants };
  const profilePath = `${path}-profile.json`;
  writeFileSync(profilePath, JSON.stringify(profile));
  const app = {
    version: 1,
    application: "peers",
    slo: { latency: `${sloMs} ms` },
    workload: { arrivals, loads: "qps" in load ? [load.qps] : TRACE_LOADS },
    cluster: { workers },
    tasks: [
      {
        name: "task",
        variants: Object.keys(variants).map((name) => {
          return { name, profile: `${basename(profilePath)}#${name}` };
        }),
      },
    ],
    policy: { method: "ramsis", maxQueue, ...policy },
  };
  const own = `${path}.${policy["balancer"] ?? "pooled"}.json`;
  writeFileSync(own, JSON.stringify(app));
  const { application } = loadApplication(own);
  const frame = ramsis.frame(ofMethod("ramsis", application), new Map());
  if (application.loads.kind !== "list") throw new TypeError("these loads are a list");
  const levels = application.loads.qps.map((qps) => ramsis.solveLevel(frame, qps));
  return { ...frame, levels, provenance: { compiler: "bench", inputs: [] } };
}

/** What is simulated: of a steady load some queries with each seed, of a trace all with one. */
function runsOf({ spec, load, queries }: PointTask): readonly SimulatedRun[] {
  if ("trace" in load) {
    const trace = readTrace(load.trace);
    const durationMs = trace.kind === "rates" ? trace.endMs : (trace.arrivalMs.at(-1) ?? 0) + 1;
    return [{ arrivals: { kind: "trace", trace }, durationMs, seed: present(SEEDS[0]) }];
  }
  const { arrivals: own, sloMs } = spec;
  const { qps } = load;
  const wantedMs = (1000 * queries) / SEEDS.length / qps;
  const fromMs = WARM_UP_SLOS * sloMs;
  const untilMs = fromMs + Math.max(wantedMs, COUNTED_SLOS * sloMs);
  const durationMs = untilMs + COOL_DOWN_SLOS * sloMs;
  const arrivals =
    own.process === "gamma"
      ? ({ kind: "gamma", qps, cv2: own.cv2 } as const)
      : ({ kind: "poisson", qps } as const);
  return SEEDS.map((seed) => ({ arrivals, durationMs, counted: { fromMs, untilMs }, seed }));
}

function optionsOf({ seed, ...run }: SimulatedRun): ClusterOptions {
  return {
    ...run,
    serviceTimes: "p95",
    arrivalRng: new Rng(seed, ARRIVAL_STREAM),
    serviceRng: new Rng(seed, SERVICE_STREAM),
  };
}

function fixedSettings(bundle: RamsisBundle): PeerSetting[] {
  const variants = present(bundle.tasks[0]).variants.filter(({ dominated }) => !dominated);
  return variants.map(({ name: variant }) => ({
    parameters: { variant },
    open: () => dispatcherOf(baselineBundle(bundle, { kind: "fixed", variant }, () => 0)),
  }));
}

function tunedRow(
  peer: string,
  who: string,
  bundle: RamsisBundle,
  settings: readonly PeerSetting[],
  runs: readonly SimulatedRun[],
): Row {
  const tunedFor = { ...present(runs[0]), serviceTimes: "p95" } as const;
  const { setting } = present(tunedSettings(bundle, settings, tunedFor)[0]);
  return { who, peer, setting: setting.parameters, ...servedBy(bundle, setting, runs) };
}

/**
 * Where hindsight has more accuracy than ours at the price of violations: the best of all settings
 * with no more violations than ours, chosen on the very arrivals that are measured. Undefined where
 * there is nothing to look for, null where nothing is found.
 */
function bestWithin(
  tuned: Served,
  ours: Served,
  bundle: RamsisBundle,
  settings: readonly PeerSetting[],
  runs: readonly SimulatedRun[],
): Served | null | undefined {
  if (tuned.accuracy <= ours.accuracy + SAME_ACCURACY) return undefined;
  const [best = null] = settings
    .map((setting) => servedBy(bundle, setting, runs))
    .filter(({ violations }) => violations <= ours.violations)
    .sort((a, b) => b.accuracy - a.accuracy);
  return best;
}

function policyServed(bundle: RamsisBundle, runs: readonly SimulatedRun[]): Served {
  return served(runs.map((run) => simulateCluster(bundle, dispatcherOf(bundle), optionsOf(run))));
}

function servedBy(
  bundle: RamsisBundle,
  setting: PeerSetting,
  runs: readonly SimulatedRun[],
): Served {
  return served(runs.map((run) => simulatePeer(bundle, setting, optionsOf(run))));
}

interface Counted {
  readonly queries: number;
  readonly satisfied: number;
  readonly accuracyPerQuery: number | null;
}

function served(outcomes: readonly Counted[]): Served {
  const queries = sum(outcomes.map((outcome) => outcome.queries));
  const satisfied = sum(outcomes.map((outcome) => outcome.satisfied));
  const accuracy = sum(outcomes.map((one) => one.queries * (one.accuracyPerQuery ?? 0)));
  return { accuracy: accuracy / queries, violations: (queries - satisfied) / queries };
}
