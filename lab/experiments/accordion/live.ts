/**
 * Malleable pipelines under load: queries of all models, sizes and priorities against a live
 * server, every change of the places of a running query, and beside what was measured what a
 * simulation of the same queries says. Server, workers and load generator share the machine. Ends
 * with 1 if a query was lost.
 */
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { drawQueries } from "stratagem/internal/methods/accordion/simulate/queries";
import {
  type AccordionSimulationResult,
  simulateAccordion,
} from "stratagem/internal/methods/accordion/simulate/simulate";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { openBundle } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { type LiveServer, machineLines, startRecorded, withServer } from "../harness/live.ts";
import { metricsOf, sumOf } from "../harness/metrics.ts";
import { ascending, ms, percent, present, quantile } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { reportOutcomes } from "./live-outcomes.ts";
import { type PlaceAnswer, PlaceClient } from "./place-client.ts";
import { type PlaceEntry, reportReshapes } from "./reshapes.ts";

const SEED = 7;
/** Time for what the server has told to get here. */
const TOLD_MS = 500;

export const live: Experiment = {
  name: "live",
  about: "policies/malleable served, every change of a running query, measured beside simulated",
  takes: "a minute, on a machine that does nothing else",
  options: {
    bundle: "policies/malleable/bundle.msgpack",
    models: "folder; that of the bundle",
    qps: "queries per second; those of the highest level",
    seconds: "60",
  },
  isExtra: true,
  run: serveAll,
};

async function serveAll({ page, flags }: Run): Promise<void> {
  const path = flags.text("bundle") ?? "policies/malleable/bundle.msgpack";
  const bundle = await openBundle("accordion", path);
  const qps = flags.number("qps") ?? present(bundle.levels.at(-1)).loadQps;
  const durationMs = 1000 * (flags.number("seconds") ?? 60);
  const queries = drawQueries(bundle, { kind: "poisson", qps }, durationMs, SEED);
  const log: PlaceEntry[] = [];
  const onEntry = (entry: PlaceEntry) => log.push(entry);
  const starting = startRecorded(path, flags.text("models") ?? dirname(path), onEntry);
  await withServer(starting, async (server) => {
    const client = new PlaceClient(server.url, bundle, new Rng(SEED, 99));
    for (const line of machineLines()) page.say(line);
    for (const line of statedLines(bundle, qps, durationMs)) page.say(line);
    await client.warmUp();
    await pause(TOLD_MS);
    log.length = 0;
    const startMs = performance.now();
    const answers = await client.sendAll(queries, startMs);
    await pause(TOLD_MS);
    const simulated = simulateAccordion(bundle, {
      arrivals: { kind: "queries", queries },
      durationMs,
      seed: SEED,
      withLatencies: true,
    });
    const shiftMs = performance.timeOrigin + startMs - server.originMs;
    reportReshapes(page, bundle, log, shiftMs);
    reportOutcomes(page, bundle, queries, answers, simulated);
    await reportTotals(page, server, answers, simulated);
  });
}

/** What the bundle promises of its models, and of the level nearest to the load. */
function statedLines(bundle: AccordionBundle, qps: number, durationMs: number): string[] {
  const { executionPlaces, scheduler, regrow, timing } = bundle.policy;
  const level =
    bundle.levels.findLast(({ loadQps }) => loadQps <= qps) ?? present(bundle.levels[0]);
  const { violationRate, droppedRate, latencyMsP99 } = level.expected;
  const policy = `${scheduler}${regrow ? " with regrowth" : ""}, ${timing}`;
  return [
    `${executionPlaces} places, SLO ${bundle.slo.latencyMs} ms, ${policy}; ` +
      `${qps} queries/s for ${durationMs / 1000} s`,
    ...present(bundle.tasks[0]).variants.map(({ name, pipelines, layerCount }) => {
      const stages = pipelines.flatMap((pipeline, shape) => {
        if (pipeline === null) return [];
        const depth = bundle.shapes.shape[1] === 1 ? shape + 1 : `shape ${shape}`;
        const stageMs = Array.from(pipeline.stageMs, (one) => one.toFixed(1)).join("+");
        return [`${depth}: ${stageMs} ms, step ${pipeline.stepMs.toFixed(1)}`];
      });
      return `${name}, ${layerCount} layers; ${stages.join("; ")}`;
    }),
    `level of ${level.loadQps} queries/s: violations ${percent(violationRate)}, dropped ` +
      `${percent(droppedRate)}, p99 ${latencyMsP99.toFixed(1)} ms simulated`,
  ];
}

async function reportTotals(
  page: Page,
  { url }: LiveServer,
  answers: readonly PlaceAnswer[],
  simulated: AccordionSimulationResult,
): Promise<void> {
  const metrics = await metricsOf(url);
  const changes = (direction: string) =>
    sumOf(metrics, "scaling_actions_total", `direction="${direction}"`);
  const { shrinks, grows } = simulated;
  page.say(
    `${changes("down")} shrinks, ${changes("up")} growths ` + `(simulated ${shrinks} and ${grows})`,
  );
  const byStatus = new Map<number, number>();
  for (const { status } of answers) byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
  const statuses = [...byStatus].map(([status, count]) => `${status}: ${count}`).join(", ");
  const lost = answers.filter(({ status }) => status !== 200 && status !== 503).length;
  const lag = ms(quantile(ascending(answers.map(({ lagMs }) => lagMs)), 0.99));
  page.say(
    `${answers.length} queries sent (send lag p99 ${lag}), ` +
      `answers by status ${statuses}; ${lost} lost`,
  );
  if (lost > 0) process.exitCode = 1;
}
