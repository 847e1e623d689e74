/** What becomes of one stream under every method: means over the seeds. */
import type { AccordionSimulationResult } from "stratagem/internal/methods/accordion/simulate/simulate";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { meanOf, present } from "../harness/numbers.ts";
import { type DrawnStream, drawnStream, type StreamOptions } from "./drawn-streams.ts";
import { placeMethods, type Settings, simulated } from "./place-methods.ts";
import { PLACES } from "./table-one.ts";

export interface Figures {
  readonly sloMs: number;
  readonly queries: number;
  readonly violationRate: number;
  readonly lateShare: number;
  readonly latencyMs: number;
  readonly latencyInSlos: number;
  readonly highInSlos: number;
  readonly throughputQps: number;
  readonly active: number;
  readonly occupancy: number;
  /** Share of the time with all places busy. */
  readonly full: number;
  readonly makespanMs: number;
}

/** Figures by method. */
export type Cell = ReadonlyMap<string, Figures>;

export function streamCell(
  bundle: AccordionBundle,
  options: Omit<StreamOptions, "seed" | "low">,
  { seeds, low, dropout }: Settings,
  timelineStepMs?: number,
): Cell {
  const drawn = seeds.map((seed) => drawnStream(bundle, { ...options, seed, low }));
  const steps = timelineStepMs === undefined ? {} : { timelineStepMs };
  const cells = Object.entries(placeMethods(dropout)).map(([method, policy]) => {
    const runs = drawn.map((one) => figuresOf(one, simulated(one, policy, steps)));
    return [method, meanFigures(runs)] as const;
  });
  return new Map(cells);
}

export function figuresBy(cell: Cell, method: string): Figures {
  return present(cell.get(method), method);
}

/** Queries served per second over those of 1-Stage. */
export function normalQps({ throughputQps }: Figures, cell: Cell): number {
  return throughputQps / figuresBy(cell, "one-stage").throughputQps;
}

/** Late queries are a share of means, as the other figures are means. */
function meanFigures(runs: readonly (Figures & { late: number })[]): Figures {
  const mean = (of: (run: Figures & { late: number }) => number) => meanOf(runs, of);
  const queries = mean((run) => run.queries);
  return {
    sloMs: mean((run) => run.sloMs),
    queries,
    violationRate: mean((run) => run.violationRate),
    lateShare: mean((run) => run.late) / queries,
    latencyMs: mean((run) => run.latencyMs),
    latencyInSlos: mean((run) => run.latencyInSlos),
    highInSlos: mean((run) => run.highInSlos),
    throughputQps: mean((run) => run.throughputQps),
    active: mean((run) => run.active),
    occupancy: mean((run) => run.occupancy),
    full: mean((run) => run.full),
    makespanMs: mean((run) => run.makespanMs),
  };
}

function figuresOf({ bundle }: DrawnStream, result: AccordionSimulationResult) {
  const sloMs = bundle.slo.latencyMs;
  const latencyMs = result.latencyMs?.mean ?? Number.NaN;
  return {
    sloMs,
    queries: result.queries,
    violationRate: result.violationRate,
    late: result.late,
    lateShare: result.late / result.queries,
    latencyMs,
    latencyInSlos: latencyMs / sloMs,
    highInSlos: highInSlos(bundle, result),
    throughputQps: result.throughputQps,
    active: result.activeQueries.mean,
    occupancy: result.occupancy,
    full: meanOf(result.timeline?.busyPlaces ?? [], (busy) => (busy > PLACES - 0.5 ? 1 : 0)),
    makespanMs: result.makespanMs,
  };
}

/** Mean latency of those of high priority, in SLOs. */
export function highInSlos({ slo }: AccordionBundle, result: AccordionSimulationResult): number {
  return (result.byPriority.high.latencyMs?.mean ?? Number.NaN) / slo.latencyMs;
}
