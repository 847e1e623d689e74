/** Summary of a pipeline's plans, and a list of facts. */

import {
  type LokiBundle,
  type LokiLevel,
  type LokiOptions,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { onDevice } from "stratagem-runtime/internal/describe/pool-device";
import {
  type Facts,
  loadsText,
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
import { capacityOf, stepChangeOf } from "./plan-marks.ts";
import { serverCount } from "./server-figures.ts";

/** One paragraph. */
export function leadText(bundle: LokiBundle): string {
  const { levels, slo, application } = bundle;
  const [lowest] = levels;
  const highest = levels.at(-1);
  if (lowest === undefined || highest === undefined) return "";
  const capacity = `${decimalText(capacityOf(bundle), 1)} requests/s`;
  return [
    `With ${counted(serverCount(bundle), "server")} and a deadline of ${msText(slo.latencyMs)}, ` +
      `these plans serve ${application}, a pipeline of ${counted(bundle.tasks.length, "task")}, ` +
      `${loadsText(levels)}; by the profiles the servers can carry ${capacity}.`,
    stepText(bundle, lowest, highest),
    ...shedText(levels, capacity),
    violationText(bundle),
  ].join(" ");
}

function loadText({ loadQps }: LokiLevel): string {
  return `${decimalText(loadQps, 2)} requests/s`;
}

/** Reaction to load: more servers, then less accuracy. */
function stepText(bundle: LokiBundle, lowest: LokiLevel, highest: LokiLevel): string {
  const change = stepChangeOf(bundle);
  const accuracies = (from: LokiLevel): string =>
    from === highest
      ? `with a planned accuracy of ${ratioText(highest.plan.accuracy)}`
      : `with a planned accuracy from ${ratioText(from.plan.accuracy)} to ` +
        `${ratioText(highest.plan.accuracy)}`;
  if (change === null) {
    return lowest.plan.step === "hardware"
      ? `Only the most accurate variants run, on ${serverRange(lowest, highest)}, ` +
          `${accuracies(lowest)}.`
      : "Every level has the most accurate mix of variants that the solver found for it, on " +
          `${serverRange(lowest, highest)}, ${accuracies(lowest)}.`;
  }
  const last = bundle.levels.findLast(({ plan }) => plan.step === "hardware") ?? lowest;
  const first = bundle.levels.find(({ plan }) => plan.step === "accuracy") ?? highest;
  return (
    `Up to ${loadText(last)} only the most accurate variants run, on ` +
    `${serverRange(lowest, last)}; from ${loadText(first)} on, accuracy gives way instead, ` +
    `${accuracies(first)}.`
  );
}

function serverRange({ plan: from }: LokiLevel, { plan: to }: LokiLevel): string {
  if (from.servers === to.servers) return counted(to.servers, "server");
  return `${decimalText(from.servers)} to ${counted(to.servers, "server")}`;
}

function shedText(levels: readonly LokiLevel[], capacity: string): string[] {
  const beyond = levels.filter(({ feasible }) => !feasible);
  if (beyond.length === 0) return [];
  return [
    `No plan carries ${whichText(beyond, levels.length)}: the requests above ${capacity} are shed.`,
  ];
}

/** Carried levels that exceed the ceiling in their simulation, and a remedy. */
function violationText({ levels, slo, policy }: LokiBundle): string {
  const ceiling = violationCeiling(slo);
  const carried = levels.filter(({ feasible }) => feasible);
  const over = carried.filter(({ expected }) => expected.violationRate > ceiling);
  if (carried.length === 0) return "";
  const worst = Math.max(...carried.map(({ expected }) => expected.violationRate));
  if (over.length === 0) {
    const which = levels.length === carried.length ? "every level" : "every level it carries";
    return (
      `In the simulation, ${which} keeps the ceiling: ${atMostText(worst)} of the ` +
      `requests miss the deadline, of ${ratioText(ceiling)} allowed.`
    );
  }
  const help = policy.headroom === "auto" ? "" : " Plans with headroom: auto allow for queues.";
  const verb = over.length === 1 ? "exceeds" : "exceed";
  return (
    `In the simulation, ${whichText(over, levels.length)} ${verb} the ceiling of ` +
    `${ratioText(ceiling)}: up to ${ratioText(worst)} of the requests miss the deadline.${help}`
  );
}

const ROUTING: Readonly<Record<LokiOptions["routing"], string>> = {
  plan: "by the shares of the plan",
  "most-accurate-first": "most accurate first",
  auto: "by the shares of the plan near its load, otherwise most accurate first",
};

const DROP: Readonly<Record<LokiOptions["drop"], string>> = {
  none: "never",
  "last-task": "before the last task, if its time is too short",
  "per-task": "after a task that took longer than its budget",
  reroute: "after a task that took longer than its budget, unless a faster server compensates",
  deadline: "if no remaining path is fast enough for its deadline",
};

/** A description list of the bundle's facts. */
export function bundleFacts(bundle: LokiBundle, file: ReportedFile): Markup {
  const { cluster, policy, arrivals } = bundle;
  const pools = cluster.pools.map(
    ({ name, workers, hardware, ...on }) =>
      `${name}: ${counted(workers, "server")}${hardware === null ? "" : ` (${hardware})`}` +
      onDevice(on),
  );
  const headroom =
    policy.headroom === "auto" ? "the least that keeps the ceiling" : ratioText(policy.headroom);
  const facts: Facts = [
    ["Arrivals", arrivals.process === "gamma" ? `gamma, CV² ${arrivals.cv2}` : arrivals.process],
    ["Servers", pools.join("; ")],
    ["Capacity", `${decimalText(capacityOf(bundle), 1)} requests/s`],
    ["Between servers", msText(cluster.communicationLatencyMs)],
    [
      "Plans",
      `${bundle.method}: execution may take ${ratioText(policy.sloFraction)} of the ` +
        `deadline; headroom ${headroom}`,
    ],
    ["Paths of requests", ROUTING[policy.routing]],
    ["A query is dropped", DROP[policy.drop]],
    [
      "Variants of a batch",
      policy.stagePolicy === "fixed"
        ? "that of the server"
        : "chosen by tables where that is possible",
    ],
  ];
  return planFacts(bundle, "Deadline (SLO)", facts, file);
}
