/** Sends one load to a live server, simulates it, and judges the result. */
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { AnsweredRequest } from "../explain/logged-request.ts";
import type { PlannedRequests } from "../load/planned-workload.ts";
import { leadInSeed } from "../load/run-load.ts";
import type { SimulateWatch } from "../processes/simulate-watch.ts";
import { type StallsSeen, watchStalls } from "../profile/serving/stall-watch.ts";
import type { ArrivalProcess } from "../simulate/arrivals.ts";
import { drawArrivals } from "../simulate/graph/drawn-requests.ts";
import type { ServiceTimeMode } from "../simulate/service-times.ts";
import type { StationOptions } from "../simulate/serving/stations.ts";
import { causeOf } from "./cause.ts";
import { checksOf, verdictOf } from "./checks.ts";
import type { LoadClient, LoadDone } from "./load-client.ts";
import type { LoadContent } from "./load-messages.ts";
import type { MachineSeen, MachineWatch } from "./machine-watch.ts";
import { measuredOutcome, measuredTimes } from "./measured.ts";
import { batchWork, paceFor, stretchBetween } from "./measured-pace.ts";
import { ablationOf, expected, type Prediction, promisedAt, stretchOf } from "./predicted.ts";
import type { FollowedArrivals, SentHistory } from "./sent-history.ts";
import type { ServerProcess } from "./server-process.ts";
import { timelineOf } from "./timeline.ts";
import type { EarlierTry, MachineShares, TruthPoint } from "./truth-document.ts";
import { leadInMs, type PlannedPoint } from "./truth-plan.ts";

/** Setup that all points of an application share. */
export interface Stand {
  readonly bundle: Bundle;
  readonly server: ServerProcess;
  readonly load: LoadClient;
  readonly machine: MachineWatch;
  /** Returns the requests of a point; the command line's if the method draws none. */
  readonly contentOf: (arrivals: ArrivalProcess, durationMs: number, seed: number) => LoadContent;
  readonly arrivalsAt: (loadQps: number) => ArrivalProcess;
  /** Null if all requests are drawn with those of a run, which earlier ones would change. */
  readonly history: SentHistory | null;
  readonly serviceTimes: ServiceTimeMode;
  readonly profileStealShare: number | null;
  readonly durationMs: number;
  /** Most repetitions of a run because of disturbances. */
  readonly retries: number;
  readonly watch: SimulateWatch;
  /** Waits, or rejects with the signal's reason. */
  readonly pause: (ms: number) => Promise<void>;
}

/**
 * Share of the processors from which a run may be repeated: used by other guests of the host,
 * beyond their use during profiling, and by other processes.
 */
const DISTURBED_SHARE = 0.05;
/** Timeout of a request in SLOs, and its minimum. */
const PATIENCE_SLOS = 5;
const LEAST_PATIENCE_MS = 10_000;
/** Processors that V8's threads of the load generator take in bursts, at most. */
const MOST_BURSTS = 0.07;
/** Time until the last lines of the access log are written. */
const LOG_MS = 300;

/** @param onSecond called with the elapsed seconds of the run. */
export async function measurePoint(
  stand: Stand,
  point: PlannedPoint,
  onSecond: (doneSeconds: number) => void,
): Promise<TruthPoint> {
  const { bundle, watch, durationMs, serviceTimes } = stand;
  const earlier: EarlierTry[] = [];
  for (;;) {
    const sent = await sendOnce(stand, point, onSecond);
    const stations = stationsBeside(bundle, sent.done);
    const followed = followedArrivals(stand, point, sent.done);
    const untilMs = followed.countedFromMs + lastMs(durationMs, sent.done.sent);
    const alike = { ...followed, durationMs: untilMs, seed: point.seed, pace: 1, stations };
    const pace = await paceOf(stand, alike, sent.stretch);
    const run = { ...alike, pace: pace ?? 1 };
    const predicted = await expected(bundle, run, serviceTimes, watch);
    const promised = promisedAt(bundle, point.loadQps, run.pace);
    const judged = judge(stand, { ...sent, pace }, promised, predicted);
    if (earlier.length < stand.retries && isDisturbed(stand, judged.machine)) {
      const { measured, machine, checks, holds, cause } = judged;
      earlier.push({ measured, machine, checks, holds, cause });
      continue;
    }
    const ablation = await ablationOf(bundle, run, sent.stalls, serviceTimes, watch);
    const said = { ...point, durationMs, queries: judged.queries, promised };
    const { queries: _, ...rest } = judged;
    return { ...said, predicted: predicted.outcome, ablation, ...rest, earlier };
  }
}

async function paceOf(
  { bundle, serviceTimes, watch }: Stand,
  run: Parameters<typeof stretchOf>[1],
  stretch: number | null,
): Promise<number | null> {
  if (stretch === null) return null;
  return paceFor(stretch, (pace) => stretchOf(bundle, { ...run, pace }, serviceTimes, watch));
}

/** Returns arrivals as they were sent: a busy generator sends later than scheduled. */
function followedArrivals(
  { bundle, history, arrivalsAt }: Stand,
  { loadQps, seed }: PlannedPoint,
  { startEpochMs, sent }: LoadDone,
): FollowedArrivals {
  if (history === null) {
    const trace = { kind: "arrivals", arrivalMs: sent.sentMs.toSorted() } as const;
    return { arrivals: { kind: "trace", trace, startQps: loadQps }, countedFromMs: 0 };
  }
  const beforeMs = leadInMs(bundle.slo);
  const leadIn = drawArrivals(arrivalsAt(loadQps), beforeMs, leadInSeed(seed));
  history.add(startEpochMs - beforeMs, leadIn);
  const followed = history.before(startEpochMs, sent.sentMs);
  history.add(startEpochMs, sent.sentMs);
  return followed;
}

/** End of a run, after the last request was sent. */
function lastMs(durationMs: number, { sentMs }: LoadDone["sent"]): number {
  return sentMs.reduce((last, ms) => Math.max(last, ms + 1), durationMs);
}

/** Includes the bursts of the load generator if the bundle models contention. */
function stationsBeside({ cluster }: Bundle, { result }: LoadDone): StationOptions {
  if (cluster.serving === undefined) return {};
  const used = result.processors.generatorShare * cluster.serving.processors;
  return { neighbours: Math.min(MOST_BURSTS, used) };
}

/** Result and observations of a run. */
interface Sent {
  readonly done: LoadDone;
  readonly served: readonly AnsweredRequest[];
  readonly alarms: readonly string[];
  readonly seen: MachineSeen;
  /** Stalls by the host; null if none were observed. */
  readonly stalls: StallsSeen | null;
  /** Service times of batches over those expected; null if the server states none. */
  readonly stretch: number | null;
}

async function sendOnce(
  stand: Stand,
  { loadQps, seed }: PlannedPoint,
  onSecond: (doneSeconds: number) => void,
): Promise<Sent> {
  const { bundle, server, load, durationMs } = stand;
  const { latencyMs: sloMs, classes } = bundle.slo;
  const arrivals = stand.arrivalsAt(loadQps);
  const order = {
    url: server.url,
    content: stand.contentOf(arrivals, durationMs, seed),
    hasClasses: classes !== undefined,
    arrivals,
    durationMs,
    seed,
    sloMs,
    warmUpQueries: 0,
    warmUpLimitMs: 0,
    leadInMs: leadInMs(bundle.slo),
    timeoutMs: Math.max(LEAST_PATIENCE_MS, PATIENCE_SLOS * sloMs),
  };
  const workBefore = batchWork(await server.metrics());
  server.alarms();
  const endStalls = watchStalls(stand.pause);
  const done = await load.send(order, onSecond).finally(() => endStalls(null));
  // The rate of stalls is of this run; their length is known only from the profile.
  const stalls = endStalls(bundle.cluster.serving?.stalls?.ms ?? null);
  await stand.pause(LOG_MS);
  const { startEpochMs } = done;
  const endEpochMs = startEpochMs + durationMs;
  const served = (await server.served()).filter(({ timeMs }) => {
    return timeMs >= startEpochMs && timeMs < endEpochMs;
  });
  const alarms = server.alarms();
  const seen = stand.machine.between(startEpochMs, endEpochMs);
  const stretch = stretchBetween(workBefore, batchWork(await server.metrics()));
  return { done, served, alarms, seen, stalls, stretch };
}

function judge(
  stand: Stand,
  { done, served, alarms, seen, pace }: Omit<Sent, "stretch"> & Pick<MachineShares, "pace">,
  promised: TruthPoint["promised"],
  { outcome, times }: Prediction,
) {
  const { bundle, durationMs, profileStealShare } = stand;
  const sloMs = bundle.slo.latencyMs;
  const { startEpochMs, sent, result } = done;
  const measured = measuredOutcome(sent, result, sloMs, times.latencyMs);
  const machine: MachineShares = {
    stealShare: seen.stealShare,
    generatorShare: result.processors.generatorShare,
    busyShare: seen.busyShare,
    serverShare: seen.serverShare,
    neighbourShare: seen.neighbourShare,
    throttledShare: seen.throttledShare,
    pace,
  };
  const ceiling = violationCeiling(bundle.slo);
  const requests = result.queries;
  const checks = checksOf({ promised, predicted: outcome, measured, ceiling, requests });
  const seconds = timelineOf({
    durationMs,
    sloMs,
    measured: measuredTimes(sent),
    predicted: times,
    served,
    startEpochMs,
    samples: seen.samples,
  });
  const evidence = { checks, timeline: seconds, machine, measured, profileStealShare };
  return {
    queries: result.queries,
    alarms,
    measured,
    machine,
    checks,
    holds: checks.every(({ holds }) => holds),
    verdict: verdictOf(checks),
    cause: causeOf(evidence),
    timeline: seconds,
  };
}

function isDisturbed(
  { profileStealShare }: Stand,
  { stealShare, neighbourShare }: MachineShares,
): boolean {
  return (
    (stealShare ?? 0) > (profileStealShare ?? 0) + DISTURBED_SHARE ||
    (neighbourShare ?? 0) > DISTURBED_SHARE
  );
}

/** Returns the method's requests, or those of the command line. */
export function contentOf(
  planned: PlannedRequests | null,
  inputs: string | null,
  labels: string | null,
  isFolder: boolean,
): LoadContent {
  if (planned !== null) return { kind: "planned", requests: planned };
  if (inputs !== null && isFolder) return { kind: "bodies", folder: inputs };
  return { kind: "rows", inputs, labels };
}
