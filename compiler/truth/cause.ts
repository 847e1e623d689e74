/** Finds the cause of a failed point in the seconds of its run. */
import { meanOf } from "./timeline.ts";
import type { Check, MachineShares, MeasuredOutcome, TimelineSecond } from "./truth-document.ts";

/** Observations of a run. */
export interface Evidence {
  readonly checks: readonly Check[];
  readonly timeline: readonly TimelineSecond[];
  readonly machine: MachineShares;
  readonly measured: MeasuredOutcome;
  /** Share of the processors that other guests took while the profile was measured. */
  readonly profileStealShare: number | null;
}

/** Shares above the profile's, in points, from which they count as causes. */
const NOTABLE_STEAL = 0.02;
const NOTABLE_NEIGHBOURS = 0.03;
const NOTABLE_THROTTLING = 0.01;
/** Steal or neighbour share of a second from which it counts as disturbed. */
const LOST_SECOND = 0.05;
const NOTABLE_PACE = 1.15;
const BUSY_SERVER = 0.85;
const BUSY_MACHINE = 0.95;
/** Ratio to the prediction from which a latency counts as deviating. */
const FAR = 1.2;
const NOTABLE_LAG_MS = 5;

/** Returns a sentence; null if every check holds. */
export function causeOf(evidence: Evidence): string | null {
  const failed = evidence.checks.filter(({ holds }) => !holds);
  if (failed.length === 0) return null;
  const found = [
    stolen(evidence),
    throttled(evidence),
    neighbours(evidence),
    slowWorkers(evidence),
    busyServer(evidence),
    busyMachine(evidence),
    lateGenerator(evidence),
    lostRequests(evidence),
    otherVariants(failed),
  ].filter((sentence) => sentence !== null);
  return (found.length > 0 ? found : [remainder(evidence)]).join("; ");
}

/** Checks for processor time that the host gave to other guests. */
function stolen({ machine, timeline, profileStealShare }: Evidence): string | null {
  const { stealShare } = machine;
  const known = profileStealShare ?? 0;
  const lost = timeline.filter((one) => (one.stealShare ?? 0) > known + LOST_SECOND);
  const isNotable = stealShare !== null && stealShare > known + NOTABLE_STEAL;
  if (!isNotable && lost.length === 0) return null;
  const worst = lost.length === 0 ? (stealShare ?? 0) : (meanOf(stealsOf(lost)) ?? 0);
  const when = lost.length === 0 ? "" : ` in ${secondsText(lost.map(({ second }) => second))}`;
  const before = profileStealShare === null ? "unknown" : percentText(profileStealShare);
  return (
    `the machine lost ${percentText(worst)} of its processor time to other guests${when} ` +
    `(profile: ${before})`
  );
}

function throttled({ machine }: Evidence): string | null {
  const share = machine.throttledShare ?? 0;
  if (share < NOTABLE_THROTTLING) return null;
  return `the CPU quota stopped the control group in ${percentText(share)} of its periods`;
}

function neighbours({ machine: { neighbourShare } }: Evidence): string | null {
  if (neighbourShare === null || neighbourShare < NOTABLE_NEIGHBOURS) return null;
  return `other processes on this machine used ${percentText(neighbourShare)} of the processors`;
}

function stealsOf(seconds: readonly TimelineSecond[]): (number | null)[] {
  return seconds.map(({ stealShare }) => stealShare);
}

/** The promise assumes the mean pace; in slow periods the pace is worse. */
function slowWorkers({ machine: { pace } }: Evidence): string | null {
  if (pace === null || pace < NOTABLE_PACE) return null;
  return `batches took ${pace.toFixed(2)} times their profiled time on average`;
}

function busyServer({ machine, timeline }: Evidence): string | null {
  const busy = timeline.filter(({ serverShare }) => (serverShare ?? 0) > BUSY_SERVER);
  const share = machine.serverShare ?? 0;
  if (share > BUSY_SERVER) return `the server's process was busy ${percentText(share)}`;
  if (busy.length === 0) return null;
  const most = Math.max(...busy.map(({ serverShare }) => serverShare ?? 0));
  const seconds = secondsText(busy.map(({ second }) => second));
  return `the server's process was busy ${percentText(most)} in ${seconds}`;
}

function busyMachine({ machine: { busyShare, stealShare, generatorShare } }: Evidence) {
  if (busyShare === null || busyShare + (stealShare ?? 0) < BUSY_MACHINE) return null;
  const generator =
    generatorShare === null ? "" : `, the load generator ${percentText(generatorShare)} of them`;
  return `the processors were busy ${percentText(busyShare)} of the time${generator}`;
}

/** Latencies count from the time of sending, but a late generator changes the arrivals. */
function lateGenerator({ measured: { sendLagMs } }: Evidence): string | null {
  if (sendLagMs === null || sendLagMs.p99 < NOTABLE_LAG_MS) return null;
  return `the load generator sent 1 % of the requests ${msText(sendLagMs.p99)} late or more`;
}

function lostRequests({ measured: { errors } }: Evidence): string | null {
  const reasons = Object.entries(errors).map(([reason, count]) => `${count} with ${reason}`);
  return reasons.length === 0 ? null : `requests had no answer: ${reasons.join(", ")}`;
}

function otherVariants(failed: readonly Check[]): string | null {
  const accuracy = failed.find(({ name }) => name === "accuracy");
  const labels = failed.find(({ name }) => name === "labels");
  if (accuracy?.promised != null && accuracy.measured != null) {
    const kind = accuracy.measured < accuracy.promised ? "less" : "more";
    return `${kind} accurate variants answered than the simulation chose`;
  }
  if (labels === undefined) return null;
  return "the variants' accuracy on these inputs differs from the application's";
}

/** Describes, if there is no clear cause, which component deviated in which seconds. */
function remainder({ timeline }: Evidence): string {
  const far = timeline.filter((one) => {
    return (one.p99Ms ?? 0) > FAR * (one.predictedP99Ms ?? Number.POSITIVE_INFINITY);
  });
  if (far.length === 0) {
    const near = timeline.filter((one) => {
      return (one.p50Ms ?? 0) * FAR < (one.predictedP50Ms ?? 0);
    });
    if (near.length > 0) return "requests were faster than predicted in most seconds";
    return "no second stands out: latencies deviate slightly in all of them";
  }
  const mean = (of: (one: TimelineSecond) => number | null) => meanOf(far.map(of)) ?? 0;
  const inside = mean(({ queueMs }) => queueMs) + mean(({ computeMs }) => computeMs);
  const outside = mean(({ p50Ms }) => p50Ms) - inside;
  const parts =
    `queued ${msText(mean(({ queueMs }) => queueMs))} and computed ` +
    `${msText(mean(({ computeMs }) => computeMs))} on average, ` +
    `and ${msText(Math.max(0, outside))} were spent elsewhere`;
  return `in ${secondsText(far.map(({ second }) => second))} requests ${parts}`;
}

/** Formats `seconds 3–5 and 8`. */
export function secondsText(seconds: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const second of seconds) {
    const last = runs.at(-1);
    if (last !== undefined && second === last[1] + 1) last[1] = second;
    else runs.push([second, second]);
  }
  const ranges = runs.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`));
  const text = [ranges.slice(0, -1).join(", "), ranges.at(-1) ?? ""].filter(Boolean).join(" and ");
  return `${seconds.length === 1 ? "second" : "seconds"} ${text}`;
}

function percentText(share: number): string {
  return `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
}

function msText(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}
