/** A level of an Accordion bundle: simulates its load with the production scheduler. */
import {
  type AccordionBundle,
  type AccordionLevel,
  type PlaceExpected,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import type { AccordionFrame } from "../../model/frames.ts";
import { steadyArrivals } from "../../simulate/arrivals.ts";
import { expectedTimes } from "../../simulate/latency-sample.ts";
import { simulateAccordion } from "./simulate/simulate.ts";
import { capacityQps as capacityQpsOf } from "./solve/capacity.ts";

const SEED = 1;
/**
 * Queries to simulate for a level: enough to determine a violation rate of 1 % to about a tenth of
 * it.
 */
const QUERIES = 20_000;
/** Minimum duration in SLOs, so that the start with all places free matters little. */
const MIN_SLOS = 100;

/** Maximum queries, as a multiple of `QUERIES`. */
const MOST = 5;

/** The same frame and load give the same level, bit for bit. */
export function simulatedLevel(frame: AccordionFrame, loadQps: number): AccordionLevel {
  const { stretch = 1 } = frame.cluster.serving ?? {};
  const capacityQps = capacityQpsOf(frame) / stretch;
  const expected = placeExpectation(frame, loadQps);
  const feasible = loadQps <= capacityQps && expected.violationRate <= violationCeiling(frame.slo);
  return { loadQps, feasible, capacityQps, expected };
}

/** The same frame and load give the same numbers, bit for bit. */
function placeExpectation(frame: AccordionFrame, loadQps: number): PlaceExpected {
  const { arrivals, slo } = frame;
  const enoughMs = (1000 * QUERIES) / loadQps;
  const durationMs = Math.min(Math.max(enoughMs, MIN_SLOS * slo.latencyMs), MOST * enoughMs);
  const outcome = simulateAccordion(bundleAt(frame, loadQps), {
    arrivals: steadyArrivals(arrivals, loadQps),
    durationMs,
    seed: SEED,
  });
  const { queries } = outcome;
  const share = (count: number): number => (queries === 0 ? 0 : count / queries);
  return {
    violationRate: outcome.violationRate,
    droppedRate: share(outcome.dropped),
    ...expectedTimes(outcome),
    occupancy: outcome.occupancy,
    activeQueries: outcome.activeQueries.mean,
    reconfigurations: share(outcome.reconfigurations),
    queries,
    seed: SEED,
    durationMs,
  };
}

function bundleAt(frame: AccordionFrame, loadQps: number): AccordionBundle {
  const expected: PlaceExpected = {
    violationRate: 0,
    droppedRate: 0,
    latencyMsP50: 0,
    latencyMsP99: 0,
    occupancy: 0,
    activeQueries: 0,
    reconfigurations: 0,
    queries: 0,
    seed: SEED,
    durationMs: 1,
  };
  const level: AccordionLevel = { loadQps, feasible: false, capacityQps: loadQps, expected };
  return { ...frame, levels: [level], provenance: { compiler: "", inputs: [] } };
}
