/** Summary of an Accordion bundle: its promises, and a list of facts. */

import {
  type AccordionBundle,
  type AccordionLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { onDevice } from "stratagem-runtime/internal/describe/pool-device";
import { placesByPool } from "stratagem-runtime/internal/methods/accordion/bundle/place-shapes";
import { SCHEDULER_WORDS } from "stratagem-runtime/internal/methods/accordion/describe/scheduler-words";
import { arrivalText } from "../../../report/kit/arrival-text.ts";
import { type Facts, planFacts, type ReportedFile } from "../../../report/kit/plan-report.ts";
import type { Markup } from "../../../report/markup.ts";
import { counted, decimalText, listText, msText, ratioText } from "../../../report/number-text.ts";
import { fewestPlaces, largestBatch } from "./depths.ts";
import { comparedSchedulers, type SchedulerSummary } from "./scheduler-table.ts";
import type { ScheduledRun } from "./simulated-schedulers.ts";
import { isMalleable } from "./simulated-schedulers.ts";

/** More levels than this are summarized by their ends. */
const MAX_LISTED_LEVELS = 4;

/** One paragraph. */
export function leadText(bundle: AccordionBundle, runs: readonly ScheduledRun[]): string {
  const { application, levels, slo, policy, tasks } = bundle;
  const models = tasks.flatMap(({ variants }) => variants);
  const ceiling = ratioText(1 - violationCeiling(slo));
  const most = Math.min(policy.maxDepth, policy.executionPlaces);
  return [
    `${application} serves ${counted(models.length, "model")} on ` +
      `${counted(policy.executionPlaces, "execution place")}, at most ${counted(most, "place")} ` +
      `for one query; the goal is that ${ceiling} of the queries are done within ` +
      `${msText(slo.latencyMs)} of their arrival.`,
    ...heldTexts(levels, violationCeiling(slo)),
    ...hopelessTexts(bundle),
    ...comparisonTexts(comparedSchedulers(bundle, runs)),
  ].join(" ");
}

/** Loads at which the SLO is met, and violations at the others. */
function heldTexts(levels: readonly AccordionLevel[], ceiling: number): string[] {
  const held = levels.filter(({ feasible }) => feasible);
  const missed = levels.filter(({ feasible }) => !feasible);
  const worst = (some: readonly AccordionLevel[]): string =>
    ratioText(Math.max(...some.map(({ expected }) => expected.violationRate)));
  if (missed.length === 0) {
    const which =
      ["", "the one level", "both levels"][levels.length] ?? `all ${levels.length} levels`;
    return [
      `It is kept at ${which}, ${loadsText(levels)}: at most ${worst(held)} miss it, of ` +
        `${ratioText(ceiling)} allowed.`,
    ];
  }
  const allowed = `${ratioText(ceiling)} allowed`;
  const over = `at ${loadsText(missed)} up to ${worst(missed)} miss it, of ${allowed}`;
  if (held.length === 0) return [`It is kept at no level: ${over}.`];
  return [`It is kept at ${held.length} of ${levels.length} levels, ${loadsText(held)}; ${over}.`];
}

function loadsText(levels: readonly Pick<AccordionLevel, "loadQps">[]): string {
  const loads = levels.map(({ loadQps }) => decimalText(loadQps, 2));
  return loads.length > MAX_LISTED_LEVELS
    ? `${loads[0]} to ${loads.at(-1)} queries/s`
    : `${listText(loads)} queries/s`;
}

/** Queries that are too slow on any number of places. */
function hopelessTexts(bundle: AccordionBundle): string[] {
  const { maxBatch } = bundle.policy;
  const limits = bundle.tasks.flatMap(({ variants }) =>
    variants.map((model) => ({ model, most: largestBatch(fewestPlaces(bundle, model)) })),
  );
  const short = limits.filter(({ most }) => most < maxBatch);
  if (short.length === 0) return ["Queries of every size can meet it when they start at once."];
  const texts = short.slice(0, MAX_LISTED_LEVELS).map(({ model, most }) => {
    return most === 0
      ? `of ${model.name} none can meet it`
      : `of ${model.name} those of up to ${counted(most, "instance")} can`;
  });
  const more = short.length - texts.length;
  const others = more > 0 ? `, and so on for ${counted(more, "other model")}` : "";
  return [
    `Not every query can be that fast, even alone: ${texts.join(", ")}${others}, where ` +
      `${maxBatch} are allowed.`,
  ];
}

function comparisonTexts(summaries: readonly SchedulerSummary[]): string[] {
  const [own, ...others] = summaries;
  if (own === undefined || others.length === 0) return [];
  const rates = others.map(
    (one) => `${ratioText(one.violationRate)} (${ratioText(one.highRate)}) under ${one.scheduler}`,
  );
  return [
    "In simulations of the same queries, averaged over the levels, " +
      `${ratioText(own.violationRate)} miss it (${ratioText(own.highRate)} of those of high ` +
      `priority); ${listText(rates)}.`,
  ];
}

/** A description list of the bundle's facts. */
export function bundleFacts(bundle: AccordionBundle, file: ReportedFile): Markup {
  const { policy, arrivals } = bundle;
  const facts: Facts = [
    ["Execution places", placesText(bundle)],
    ["Places of one query", `1 to ${Math.min(policy.maxDepth, policy.executionPlaces)}`],
    ["Scheduler", `${policy.scheduler}: ${SCHEDULER_WORDS[policy.scheduler]}`],
    ["Other places for a running query", reshapeText(bundle)],
    ["Low priority", lowPriorityText(bundle)],
    [
      "Timing",
      policy.timing === "pipelined"
        ? "pipelined: the first instance goes through all stages, every further one takes one step"
        : "of the paper: batch × time of one instance / speed-up",
    ],
    [
      "Simulated queries",
      `${arrivalText(arrivals)}; ${decimalText(policy.meanBatch, 1)} instances on average ` +
        `(log-normal, σ ${decimalText(policy.batchSigma, 2)}), ${policy.maxBatch} at most; ` +
        `${ratioText(policy.lowShare)} of low priority`,
    ],
  ];
  return planFacts(bundle, "SLO", facts, file);
}

/** Number of places, and their pools. */
function placesText({ cluster, policy }: AccordionBundle): string {
  const used = placesByPool(cluster.pools, policy.executionPlaces);
  const total = cluster.pools.length > 1 ? `${decimalText(policy.executionPlaces)}: ` : "";
  const pools = cluster.pools.map(({ name, hardware, workers, ...on }, pool) => {
    const count = used[pool] ?? 0;
    const idle = count < workers ? ` of ${counted(workers, "worker")}` : "";
    const kind = hardware === null || hardware === name ? "" : ` (${hardware})`;
    return `${count}${idle} of pool ${name}${kind}${onDevice(on)}`;
  });
  return `${total}${pools.join(", ")}`;
}

function reshapeText({ policy }: AccordionBundle): string {
  if (!isMalleable(policy.scheduler)) return "never: it keeps those it starts with";
  const costMs = msText(policy.reconfigurationMs);
  const cost = `cost it ${costMs} and the instances that are in the pipeline`;
  return policy.regrow
    ? `${cost}; it gets more when that saves one of high priority from being late, or when ` +
        "nothing waits and it ends earlier"
    : `${cost}; released places do not come back`;
}

/** Treatment of clients' low-priority queries. */
export function lowPriorityText({ policy, slo }: Pick<AccordionBundle, "policy" | "slo">): string {
  const behind = "waits behind all of high priority";
  const { dropAfterSlos } = policy;
  if (dropAfterSlos === null) return `${behind}; never dropped`;
  const windowMs = dropAfterSlos * slo.latencyMs;
  const window =
    dropAfterSlos === 1
      ? "the SLO"
      : `${decimalText(dropAfterSlos, 2)} × SLO (${msText(windowMs)})`;
  return policy.dropout === "arrival"
    ? `${behind}, and is dropped on arrival if predicted to take longer than ${window}`
    : `${behind}, and is dropped once it is certain to take longer than ${window}`;
}
