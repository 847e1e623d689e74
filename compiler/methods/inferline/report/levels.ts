/**
 * The levels one by one: a table of all, what its numbers mean, and for each what runs where, for
 * which traffic, and why it is not cheaper.
 */

import * as Plot from "@observablehq/plot";
import {
  type InferlineBundle,
  type InferlineLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { longestPathMs } from "stratagem-runtime/internal/core/graph/longest-path";
import { inferlineMissed } from "stratagem-runtime/internal/methods/inferline/describe/missed";
import {
  planView,
  trafficView,
} from "stratagem-runtime/internal/methods/inferline/describe/plan-view";
import {
  type CheaperHardware,
  type TaskLimits,
  taskLimits,
} from "stratagem-runtime/internal/methods/inferline/describe/task-limits";
import { definitionList } from "../../../report/definition-list.ts";
import { drawFigure } from "../../../report/figure.ts";
import { feasibleCell, missedWords } from "../../../report/kit/feasible-cell.ts";
import { limited } from "../../../report/kit/limited-cell.ts";
import { levelParts, levelsTable, limitedMs, wordTable } from "../../../report/kit/plan-report.ts";
import { chip, type PipelineVariantKey } from "../../../report/kit/variant-keys.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { counted, decimalText, msText, ratioText } from "../../../report/number-text.ts";
import { tableRow } from "../../../report/table-row.ts";
import { replicasOf } from "./cost-figures.ts";
import { keyOf } from "./hardware-keys.ts";

/** One row per level. */
export function provisioningTable(bundle: InferlineBundle): Markup {
  const { levels, slo } = bundle;
  const ceiling = violationCeiling(slo);
  const rows = levels.map((level) => {
    const { loadQps, plan, sample, expected, solve } = level;
    const { greedyCostPerHour } = solve;
    const greedy = greedyCostPerHour === null ? "–" : decimalText(greedyCostPerHour, 3);
    const violations = limited(expected.violationRate > ceiling, ratioText(expected.violationRate));
    const { heldOut } = expected;
    return tableRow([
      decimalText(loadQps, 2),
      planCell(level),
      decimalText(replicasOf(level)),
      decimalText(plan.costPerHour, 3),
      greedy,
      proofText(solve),
      ratioText(sample.margin),
      limitedMs(sample.estimate.p99Ms, slo),
      html`<td>${decimalText(heldOut.met)} of ${decimalText(heldOut.traces)}</td>`,
      decimalText(expected.latencyMsP50, 1),
      limitedMs(expected.latencyMsP99, slo),
      violations,
      decimalText(expected.costPerHour, 3),
      feasibleCell(level.feasible, inferlineMissed(bundle, level)),
    ]);
  });
  return levelsTable(
    html`<tr><th></th><th colspan="5">plan</th><th colspan="3">traces</th
      ><th colspan="4">simulated</th><th>
</th></tr>`,
    [
      "requests/s",
      "planned for",
      "replicas",
      "cost/h",
      "greedy",
      "proof",
      "margin",
      "p99, ms",
      "held-out met",
      "p50, ms",
      "p99, ms",
      "violations",
      "cost/h",
      "feasible",
    ],
    rows,
  );
}

function planCell({ feasible, capacityQps }: InferlineLevel): Markup {
  return limited(!feasible, decimalText(capacityQps, 2));
}

function proofText({ status, provenGap }: InferlineLevel["solve"]): string {
  if (status === "infeasible") return "–";
  return status === "optimal" ? "optimal" : `gap ${ratioText(provenGap)}`;
}

/** One sentence for each number of the table and of the levels. */
export function meanings({ slo }: InferlineBundle): Markup {
  const ceiling = ratioText(violationCeiling(slo));
  const entries: readonly (readonly [string, string])[] = [
    [
      "Requests/s, planned for",
      "The load of the level, and the load of its plan, which is lower if " +
        "the pools cannot carry the level's.",
    ],
    ["Cost", "Cost of all replicas per hour, in the currency of the prices."],
    ["Greedy", "Cost of the plan of the greedy search alone."],
    [
      "Proof",
      "Optimal if, by the estimator, no plan that meets the SLO less the margin on the " +
        "sample is cheaper; a gap is how much cheaper one could be at most. It compares planned " +
        "costs; the cost with the tuner is simulated.",
    ],
    ["Margin", "Part of the SLO that the plan keeps free, for traffic unlike the sample."],
    [
      "p50, p99",
      "Median and 99th percentile of the time from a request's arrival to its last answer: by " +
        "the estimator on the sample, and in the simulation; a p99 is red above " +
        `${msText(slo.latencyMs)}.`,
    ],
    [
      "Held-out met",
      "Traces that were drawn like the sample but not used for planning, on which the plan " +
        "alone meets the SLO.",
    ],
    ["Violations", `Share of the requests that are late; red above ${ceiling}.`],
    ["Simulated cost", "Mean over the simulation of running and starting replicas."],
    [
      "Feasible",
      "Whether there is a plan for the load, and which limits it misses, by how much; " +
        "violations are those of the simulation.",
    ],
    [
      "s, ρ",
      "Queries of a task per request, and load over the throughput of all its replicas " +
        "with whole batches.",
    ],
    [
      "Envelope",
      "Highest rate of the sample in windows of every length: values above the mean at " +
        "the left are bursts.",
    ],
  ];
  return definitionList(entries);
}

/** One expandable part for each level. */
export function levelDetails(bundle: InferlineBundle, keys: readonly PipelineVariantKey[]): Markup {
  return levelParts(bundle.levels, (level, index) => {
    const { plan } = level;
    const missed = missedWords(inferlineMissed(bundle, level));
    const beyond = level.feasible ? "" : html`, <span class="over">not feasible: ${missed}</span>`;
    return {
      note: html`${counted(replicasOf(level), "replica")}, ${decimalText(plan.costPerHour, 3)} an
hour${beyond}`,
      body: html`<p>${planText(bundle, level)}</p>
<div class="plan"><div>${stageTable(bundle, level, keys)}${limitTable(bundle, level)}</div><figure>
<h3>Traffic envelope</h3>${drawEnvelope(level, index)}</figure></div>`,
    };
  });
}

function planText(bundle: InferlineBundle, level: InferlineLevel): string {
  const { plan, sample, capacityQps, feasible } = level;
  const pathMs = longestPathMs(
    bundle,
    plan.stages.map(({ latencyMs }) => latencyMs),
  );
  const other = feasible
    ? ""
    : `The pools have no plan for this load: this one is for ${decimalText(capacityQps, 1)} ` +
      "requests/s. ";
  return (
    `${other}The longest path takes ${msText(pathMs)} with whole batches and no waiting. ` +
    `The sample has ${counted(sample.requests, "request")} in ` +
    `${decimalText(sample.durationMs / 1000, 1)} s, ${decimalText(sample.meanQps, 1)} per ` +
    `second on average and ${decimalText(sample.peakQps, 1)} in the busiest 5 s.`
  );
}

function stageTable(
  bundle: InferlineBundle,
  level: InferlineLevel,
  keys: readonly PipelineVariantKey[],
): Markup {
  const rows = planView(bundle, level).stages.map((stage, task) => {
    const key = keyOf(keys, task, level.plan.stages[task]?.pool ?? 0);
    return tableRow([
      html`<td>${chip(key)} ${stage.task}</td>`,
      stage.hardware,
      decimalText(stage.replicas),
      stage.batch,
      decimalText(stage.latencyMs, 1),
      decimalText(stage.throughputQps, 1),
      decimalText(stage.scaleFactor, 3),
      decimalText(stage.provisioningRatio, 3),
    ]);
  });
  return wordTable(
    { title: "Tasks", className: "words" },
    ["task", "hardware", "replicas", "batch", "ms", "queries/s each", "s", "ρ"],
    rows,
  );
}

function limitTable(bundle: InferlineBundle, level: InferlineLevel): Markup {
  const limitMs = bundle.slo.latencyMs * (1 - level.sample.margin);
  const rows = taskLimits(bundle, level).map((limits) =>
    tableRow([
      limits.task,
      replicaText(limits),
      batchText(limits, limitMs),
      hardwareText(limits, limitMs),
    ]),
  );
  return wordTable(
    { title: "Why it is not cheaper", className: "words limits" },
    ["task", "a replica less", "a larger batch", "cheaper hardware"],
    rows,
  );
}

function replicaText({ oneReplicaLess }: TaskLimits): string {
  if (oneReplicaLess === null) return "none left";
  const ratio = `ρ ${decimalText(oneReplicaLess.provisioningRatio, 3)}`;
  return oneReplicaLess.binds === "throughput" ? `${ratio}: overloaded` : `${ratio}: queues`;
}

function batchText({ nextBatch }: TaskLimits, limitMs: number): string {
  if (nextBatch === null) return "none profiled";
  const path = `${decimalText(nextBatch.pathMs, 1)} of ${msText(limitMs)}`;
  return nextBatch.binds === "latency"
    ? `${nextBatch.batch}: too slow, ${path}`
    : `${nextBatch.batch}: fits, ${path}; costs the same`;
}

function hardwareText({ cheaperHardware }: TaskLimits, limitMs: number): string {
  if (cheaperHardware.length === 0) return "none";
  return cheaperHardware.map((one) => `${one.hardware}: ${boundText(one, limitMs)}`).join("; ");
}

function boundText(cheaper: CheaperHardware, limitMs: number): string {
  const { binds, pathMs, leastReplicas, leastCostPerHour } = cheaper;
  if (binds === "latency")
    return `too slow, ${decimalText(pathMs, 1)} of ${msText(limitMs)} at batch 1`;
  const least = `${counted(leastReplicas, "replica")} at least`;
  if (binds === "workers") return `${least}, more than available`;
  return binds === "cost"
    ? `${least}, ${decimalText(leastCostPerHour, 3)} an hour`
    : `${least}, queues not counted`;
}

const TIMES = [0.1, 1, 10, 100, 1000, 10_000, 60_000];

/** @param index of the level, for identifiers. */
function drawEnvelope({ sample, loadQps }: InferlineLevel, index: number): Markup {
  const { envelope, meanQps } = trafficView(sample);
  const shortest = envelope[0]?.windowMs ?? 1;
  const highest = Math.max(meanQps, ...envelope.map(({ qps }) => qps));
  const text = {
    id: `envelope-${index}`,
    title: `Traffic envelope at ${decimalText(loadQps, 2)} requests/s`,
    description:
      `The highest rate is ${decimalText(envelope[0]?.qps ?? 0, 1)} requests/s in ` +
      `${timeText(shortest)} and ${decimalText(envelope.at(-1)?.qps ?? 0, 1)} in a minute; ` +
      `the mean is ${decimalText(meanQps, 1)}.`,
  };
  const from = shortest / 1.4;
  const ticks = TIMES.filter((ms) => ms >= from);
  return drawFigure(text, {
    height: 210,
    x: { type: "log", domain: [from, 80_000], label: "length of the window, logarithmic" },
    y: { domain: [0, highest * 1.1], label: "highest rate, requests/s", ticks: 5, grid: true },
    marks: [
      // The default logarithmic axis would leave out the text of 60 s, which is no power of ten.
      Plot.axisX(ticks, { text: ticks.map(timeText) }),
      Plot.ruleY([meanQps], { stroke: "currentColor", strokeDasharray: "2 3", strokeWidth: 1.2 }),
      Plot.text(["mean"], {
        frameAnchor: "left",
        y: () => meanQps,
        dx: 4,
        dy: 8,
        fillOpacity: 0.75,
      }),
      Plot.line(envelope, { x: "windowMs", y: "qps", stroke: "currentColor", strokeWidth: 2 }),
      Plot.dot(envelope, {
        x: "windowMs",
        y: "qps",
        r: 2.6,
        fill: "currentColor",
        title: ({ windowMs, requests, qps }) =>
          `${decimalText(requests)} requests in ${timeText(windowMs)}: ` +
          `${decimalText(qps, 1)} requests/s`,
      }),
    ],
  });
}

function timeText(ms: number): string {
  return ms < 1000 ? `${decimalText(ms, 1)} ms` : `${decimalText(ms / 1000, 1)} s`;
}
