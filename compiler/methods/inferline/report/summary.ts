/** Summary of an InferLine bundle: its plans, and a list of facts. */

import {
  type InferlineBundle,
  type InferlineLevel,
  type InferlineOptions,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { onDevice, startOrigin } from "stratagem-runtime/internal/describe/pool-device";
import { hardwareOf } from "stratagem-runtime/internal/methods/inferline/describe/plan-view";
import { arrivalText } from "../../../report/kit/arrival-text.ts";
import {
  type Facts,
  goalText,
  planFacts,
  type ReportedFile,
} from "../../../report/kit/plan-report.ts";
import { whichText } from "../../../report/kit/which-levels.ts";
import type { Markup } from "../../../report/markup.ts";
import {
  atMostText,
  counted,
  decimalText,
  msText,
  ratioText,
} from "../../../report/number-text.ts";

/** One paragraph. */
export function leadText(bundle: InferlineBundle): string {
  const { levels, slo } = bundle;
  const carried = levels.filter(({ feasible }) => feasible);
  return [
    goalText(bundle),
    ...costTexts(carried),
    ...beyondText(levels),
    ...violationTexts(carried, violationCeiling(slo), levels.length),
    heldOutText(carried),
  ]
    .filter((sentence) => sentence !== "")
    .join(" ");
}

/** Cost of the plans, the proven bound, and the simulated cost. */
function costTexts(carried: readonly InferlineLevel[]): string[] {
  const [lowest] = carried;
  if (lowest === undefined) return [];
  const cost = rangeText(carried.map(({ plan }) => plan.costPerHour));
  const worst = Math.max(...carried.map(({ solve }) => solve.provenGap));
  const most = Math.max(...carried.map(({ plan, solve }) => savingOf(plan.costPerHour, solve)));
  const isOptimal = carried.every(({ solve }) => solve.status === "optimal");
  const less = isOptimal ? "less" : `more than ${ratioText(worst)} less`;
  const than =
    most > 0.0005 ? `; the greedy ones alone would cost up to ${ratioText(most)} more` : "";
  return [
    `As planned they cost ${cost} an hour; by the estimator, no plan that keeps the goal on the ` +
      `sample of the traffic, less the margin, costs ${less}${than}.`,
    ...simulatedCostTexts(carried),
  ];
}

/** The same in the simulation, where the tuner follows the traffic. */
function simulatedCostTexts(carried: readonly InferlineLevel[]): string[] {
  const ratios = carried.map(({ plan, expected }) => expected.costPerHour / plan.costPerHour - 1);
  if (ratios.every((ratio) => Math.abs(ratio) < 0.0005)) return [];
  const cost = rangeText(carried.map(({ expected }) => expected.costPerHour));
  const most = Math.max(...ratios);
  const least = Math.min(...ratios);
  const than =
    most > 0.0005
      ? `up to ${ratioText(most)} more than planned`
      : `up to ${ratioText(-least)} less than planned`;
  return [
    "In the simulation, where the tuner adds and removes replicas with the traffic, " +
      "they cost " +
      `${cost} an hour: ${than}.`,
  ];
}

function rangeText(costs: readonly number[]): string {
  const [least, most] = [Math.min(...costs), Math.max(...costs)].map((one) => decimalText(one, 3));
  return least === most ? `${most}` : `${least} to ${most}`;
}

/** Whether the simulation keeps the goal. */
function violationTexts(
  carried: readonly InferlineLevel[],
  ceiling: number,
  count: number,
): string[] {
  if (carried.length === 0) return [];
  const over = carried.filter(({ expected }) => expected.violationRate > ceiling);
  const worst = Math.max(...carried.map(({ expected }) => expected.violationRate));
  if (over.length === 0) {
    return [`In the simulation ${atMostText(worst)} of the requests miss the goal's deadline.`];
  }
  const verb = over.length === 1 ? "misses" : "miss";
  return [
    `In the simulation ${whichText(over, count)} ${verb} it: up to ${ratioText(worst)} of the ` +
      `requests are late, of ${ratioText(ceiling)} allowed.`,
  ];
}

function savingOf(cost: number, { greedyCostPerHour }: InferlineLevel["solve"]): number {
  return greedyCostPerHour === null || cost === 0 ? 0 : greedyCostPerHour / cost - 1;
}

function beyondText(levels: readonly InferlineLevel[]): string[] {
  const beyond = levels.filter(({ feasible }) => !feasible);
  if (beyond.length === 0) return [];
  const most = Math.max(...beyond.map(({ capacityQps }) => capacityQps));
  return [
    `By the estimator, the pools have no plan for ${whichText(beyond, levels.length)}, only for ` +
      `up to ${decimalText(most, 1)}.`,
  ];
}

function heldOutText(carried: readonly InferlineLevel[]): string {
  const traces = carried.reduce((sum, { expected }) => sum + expected.heldOut.traces, 0);
  const met = carried.reduce((sum, { expected }) => sum + expected.heldOut.met, 0);
  if (traces === 0) return "";
  return `Of ${counted(traces, "held-out trace")}, ` + `${ratioText(met / traces)} meet the SLO.`;
}

const TUNER: Readonly<Record<InferlineOptions["tuner"], string>> = {
  joint: "with the level, by the last 40 s, the certain rise and the waiting queries",
  relative: "in proportion to the traffic above the envelope of the sample",
  paper: "by the rates of the envelope, as in the paper",
  none: "never; they stay as planned",
};

function tunerText({ tuner, tolerance }: InferlineOptions): string {
  const beyond = (tuner === "relative" || tuner === "joint") && tolerance > 0;
  return beyond ? `${TUNER[tuner]}, beyond ${tolerance} standard deviations` : TUNER[tuner];
}

/** A description list of the bundle's facts. */
export function bundleFacts(bundle: InferlineBundle, file: ReportedFile): Markup {
  const { cluster, policy, arrivals } = bundle;
  const pools = cluster.pools.map(
    (pool) =>
      `${hardwareOf(pool)}: ${counted(pool.workers, "worker")}${onDevice(pool)} at ` +
      `${decimalText(pool.pricePerHour ?? 0, 4)} an hour`,
  );
  const margin =
    policy.margin === "auto"
      ? "the least with which held-out traces meet the SLO"
      : ratioText(policy.margin);
  const seconds = decimalText(policy.sampleDurationMs / 1000, 1);
  const { sampleRequests } = policy;
  const least = sampleRequests === undefined ? "" : ` or ${sampleRequests} requests, if longer`;
  const length = arrivals.process === "trace" ? "" : ` of ${seconds} s${least}`;
  const facts: Facts = [
    ["Arrivals", arrivalText(arrivals)],
    ["Hardware", pools.join("; ")],
    ["Between tasks", msText(cluster.communicationLatencyMs)],
    ["Plans", policy.refine === "exact" ? "greedy, then improved by exact search" : "greedy"],
    ["Planned with", `${counted(policy.traces, "trace")}${length}`],
    ["Kept free of the SLO", margin],
    ["Replicas follow the traffic", tunerText(policy)],
    ["A replica starts in", `${msText(policy.activationMs)}${startOrigin(policy)}`],
  ];
  return planFacts(bundle, "SLO", facts, file);
}
