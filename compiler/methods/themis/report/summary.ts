/** Summary of a Themis bundle: its plans, and a list of facts. */

import {
  type ThemisBundle,
  type ThemisLevel,
  type ThemisOptions,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { onDevice, startOrigin } from "stratagem-runtime/internal/describe/pool-device";
import { planView } from "stratagem-runtime/internal/methods/themis/describe/plan-view";
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
export function leadText(bundle: ThemisBundle): string {
  const { levels, slo } = bundle;
  const carried = levels.filter(({ feasible }) => feasible);
  return [
    goalText(bundle),
    ...coreTexts(carried),
    ...accuracyTexts(bundle, carried),
    ...beyondTexts(levels),
    ...violationTexts(carried, violationCeiling(slo), levels.length),
  ].join(" ");
}

function coreTexts(carried: readonly ThemisLevel[]): string[] {
  const cores = carried.map(({ steady }) => steady.cores);
  if (cores.length === 0) return [];
  const [least, most] = [Math.min(...cores), Math.max(...cores)];
  const range = least === most ? counted(most, "core") : `${least} to ${counted(most, "core")}`;
  const kinds = [
    kindText(carried, "horizontal", "one-core instances"),
    kindText(carried, "vertical", "one instance per task"),
  ];
  return [`They take ${range}; by the model, ${kinds.join(", and ")}.`];
}

/** Empty if there are no variants to choose among. */
function accuracyTexts(bundle: ThemisBundle, carried: readonly ThemisLevel[]): string[] {
  const all = carried.flatMap(({ steady, loadQps }) => {
    return planView(bundle, steady, loadQps).accuracy ?? [];
  });
  if (all.length === 0) return [];
  const [least, most] = [Math.min(...all), Math.max(...all)];
  const range = least === most ? ratioText(most) : `${ratioText(least)} to ${ratioText(most)}`;
  return [`Each load has the most accurate variants that fit: ${range}.`];
}

/** Cost of one kind of plan beside the followed plans, over all levels that have one. */
function kindText(
  carried: readonly ThemisLevel[],
  kind: "horizontal" | "vertical",
  name: string,
): string {
  const having = carried.filter((level) => level[kind] !== null);
  if (having.length === 0) return `${name} alone carry none of these loads`;
  const sum = having.reduce((total, level) => total + (level[kind]?.cores ?? 0), 0);
  const followed = having.reduce((total, { steady }) => total + steady.cores, 0);
  const ratio = sum / followed - 1;
  const cost =
    Math.abs(ratio) < 0.0005
      ? "the same"
      : `${decimalText(100 * Math.abs(ratio), 1)}% ${ratio > 0 ? "more" : "less"}`;
  const where =
    having.length === carried.length
      ? ""
      : ` at the ${having.length} of ${carried.length} loads with such a plan`;
  return `${name} alone would take ${cost}${where}`;
}

function beyondTexts(levels: readonly ThemisLevel[]): string[] {
  const beyond = levels.filter(({ feasible }) => !feasible);
  if (beyond.length === 0) return [];
  const most = Math.max(...beyond.map(({ capacityQps }) => capacityQps));
  return [
    `By the model, the pool has no plan for ${whichText(beyond, levels.length)}, only for up to ` +
      `${decimalText(most, 1)}.`,
  ];
}

function violationTexts(carried: readonly ThemisLevel[], ceiling: number, count: number): string[] {
  if (carried.length === 0) return [];
  const over = carried.filter(({ steady }) => steady.expected.violationRate > ceiling);
  const worst = Math.max(...carried.map(({ steady }) => steady.expected.violationRate));
  if (over.length === 0) {
    return [`In simulations of random arrivals, ${atMostText(worst)} of the requests miss it.`];
  }
  const verb = over.length === 1 ? "exceeds" : "exceed";
  return [
    `In simulations of random arrivals, ${whichText(over, count)} ${verb} the ceiling of ` +
      `${ratioText(ceiling)}: up to ${ratioText(worst)} of the requests miss it.`,
  ];
}

const SCALING: Readonly<Record<ThemisOptions["scaling"], string>> = {
  joint: "cores at once, and instances of the joint plan once the load is steady",
  themis: "cores at once, and one-core instances once the load is steady",
  horizontal: "only instances of one core",
  vertical: "only cores, with one instance for each task",
};

/** Describes the reaction to load changes. */
export function scalingText({ policy }: ThemisBundle): string {
  const { scaling, tickMs, stableTicks, resizeMs, coldStartMs, extraCores } = policy;
  const steps = [
    `The load is polled every ${timeText(tickMs)}.`,
    scaling === "horizontal"
      ? "When it exceeds the plan's capacity, instances of one core are started, which " +
        `takes ${timeText(coldStartMs)}${startOrigin(policy)}.`
      : "When it exceeds the plan's capacity, all instances of a task get the same, larger " +
        `number of cores, which takes ${timeText(resizeMs)}.`,
    ...(scaling === "horizontal"
      ? []
      : [
          "If all cores of the instances are not enough, more instances are started, with " +
            `${extraCores === "one" ? "one core" : "as many cores"} each, which takes ` +
            `${timeText(coldStartMs)}${startOrigin(policy)}: they are in bold.`,
        ]),
    `Once ${counted(stableTicks, "poll")} in a row ` +
      `${stableTicks === 1 ? "agrees" : "agree"} with the forecast, the plan for the load is ` +
      "put in place: new instances first, and only when they are ready the old ones become " +
      "smaller or stop.",
  ];
  return steps.join(" ");
}

function timeText(ms: number): string {
  return ms < 1000 ? msText(ms) : `${decimalText(ms / 1000, 1)} s`;
}

/** A description list of the bundle's facts. */
export function bundleFacts(bundle: ThemisBundle, file: ReportedFile): Markup {
  const { cluster, policy, arrivals } = bundle;
  const pools = cluster.pools.map(
    ({ hardware, name, workers, cores, ...on }) =>
      `${hardware ?? name}: ${counted(workers, "worker")} of ${counted(cores ?? 1, "core")}` +
      onDevice(on),
  );
  const quantile =
    policy.quantile === "auto"
      ? "the lowest quantile that keeps the ceiling"
      : `quantile ${policy.quantile}`;
  const facts: Facts = [
    ["Arrivals", arrivalText(arrivals)],
    ["Pool", pools.join("; ")],
    ["Between tasks", msText(cluster.communicationLatencyMs)],
    ["Scaling", SCALING[policy.scaling]],
    ["Solver", policy.solver === "exact" ? "exact" : "the paper's dynamic programmes"],
    [
      "Waiting",
      policy.queueing === "paper"
        ? "for the batch alone, as in the paper"
        : `for the batch and in the queue, ${quantile}`,
    ],
    ["Limits", `batches of ${policy.maxBatch}, ${counted(policy.maxCores, "core")} an instance`],
    ["Forecast", policy.predictor],
    [
      "Given up",
      policy.dropAfterSlos === null
        ? "never"
        : `when older than ${decimalText(policy.dropAfterSlos, 2)} × SLO` +
          (policy.dropRule === "rest" ? " at the end of its path" : ""),
    ],
  ];
  return planFacts(bundle, "SLO", facts, file);
}
