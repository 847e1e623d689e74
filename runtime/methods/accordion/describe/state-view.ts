/**
 * Decision of an Accordion bundle's scheduler about a query with a number of free places, and the
 * outcome of each number of places.
 */

import { RuntimeError } from "../../../base/errors.ts";
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { FixedRule } from "../core/fixed-rule.ts";
import { MalleableRule } from "../core/malleable-rule.ts";
import { classOfPlaces, NONE, PipelineTable } from "../core/pipeline-table.ts";
import { PlaceLedger } from "../core/place-ledger.ts";
import { PlacePaces } from "../core/place-paces.ts";
import type { PlaceRule } from "../core/place-rule.ts";
import { QueryRuns } from "../core/query-runs.ts";
import { ShapeChoice } from "../core/shape-choice.ts";

interface AskedState {
  /** Number of instances. */
  readonly batch: number;
  /** Free places of each pool. */
  readonly free: readonly number[];
  /** Time to the deadline. */
  readonly slackMs: number;
  /** Names of models; all unless one is requested. */
  readonly models: readonly string[];
}

export interface StateInspection extends Omit<AskedState, "models"> {
  readonly models: readonly ModelState[];
}

export interface ModelState {
  readonly model: string;
  readonly decision: PlaceDecision;
  /** Fewest places that meet the slack, free or not; null if no number does. */
  readonly need: PlaceChoice | null;
  /** Every number of places. */
  readonly alternatives: readonly PlaceChoice[];
}

export type PlaceDecision =
  | ({ readonly action: "start" } & PlaceChoice)
  /** Waits for other queries to end or, with a malleable scheduler, to give places up. */
  | {
      readonly action: "wait";
      /** Places missing from those it waits for. */
      readonly missing: number;
      /**
       * Below this slack the query starts on the free places, even if late; null: it waits for its
       * places.
       */
      readonly untilSlackMs: number | null;
    };

/** One way to run the query. */
export interface PlaceChoice {
  readonly executionPlaces: number;
  /** Places of each pool. */
  readonly places: readonly number[];
  readonly latencyMs: number;
  readonly meetsSlack: boolean;
  /** Whether so many are free. */
  readonly isFree: boolean;
}

const EXAMPLE = "batch=20,free=3,slack=400ms";
const KEYS: readonly string[] = ["batch", "free", "slack", "model"];

/**
 * Parses `batch=20,free=3,slack=400ms,model=NAME`, with an optional model; free places of several
 * pools as `free=3/1`; slack in ms or s, a bare number is ms. @throws RuntimeError RUNTIME_USAGE.
 */
export function parseState(text: string, bundle: AccordionBundle): AskedState {
  const fields = fieldsOf(text);
  const { maxBatch } = bundle.policy;
  const batch = fields.get("batch") ?? "";
  if (!/^[1-9]\d{0,8}$/.test(batch) || Number(batch) > maxBatch) {
    refuse(`batch="${batch}"`, `batch an integer from 1 to ${maxBatch}`);
  }
  const slack = fields.get("slack") ?? "";
  const match = /^(-?\d+(?:\.\d+)?)\s*(ms|s)?$/.exec(slack);
  if (match === null) return refuse(`slack="${slack}"`, "slack a time such as 400ms or 0.4s");
  const [, amount, unit] = match;
  return {
    batch: Number(batch),
    free: freeOf(fields.get("free") ?? "", bundle),
    slackMs: Number(amount) * (unit === "s" ? 1000 : 1),
    models: modelsOf(fields.get("model"), bundle),
  };
}

function fieldsOf(text: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (const part of text.split(",")) {
    const [key = "", value = "", ...rest] = part.split("=").map((side) => side.trim());
    if (!KEYS.includes(key) || rest.length > 0 || fields.has(key)) {
      refuse(`"${part}"`, "batch=COUNT,free=COUNT,slack=TIME and optionally model=NAME");
    }
    fields.set(key, value);
  }
  return fields;
}

function freeOf(text: string, bundle: AccordionBundle): number[] {
  const most = bundle.cluster.pools.map(() => 0);
  for (const pool of classOfPlaces(bundle)) most[pool] = (most[pool] ?? 0) + 1;
  const counts = text
    .split("/")
    .map((count) => (/^\d{1,9}$/.test(count) ? Number(count) : Number.NaN));
  if (
    counts.length !== most.length ||
    counts.some((count, pool) => !(count <= (most[pool] ?? 0)))
  ) {
    const pools = most.map((count) => `0 to ${count}`).join(" / ");
    refuse(`free="${text}"`, `free places of each pool in their order, ${pools}`);
  }
  return counts;
}

function modelsOf(name: string | undefined, { tasks }: AccordionBundle): string[] {
  const names = tasks.flatMap(({ variants }) => variants.map((variant) => variant.name));
  if (name === undefined) return names;
  if (!names.includes(name)) refuse(`model="${name}"`, `model one of ${names.join(", ")}`);
  return [name];
}

function refuse(found: string, allowed: string): never {
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--state: expected ${allowed}, got ${found}; an example is --state ${EXAMPLE}`,
  );
}

/** Decides by the rule of the server, as if the other places ran queries that keep their places. */
export function inspectState(
  bundle: AccordionBundle,
  { models, ...state }: AskedState,
): StateInspection {
  const names = bundle.tasks.flatMap(({ variants }) => variants.map(({ name }) => name));
  return {
    ...state,
    models: models.map((name) =>
      modelState(bundle, { ...state, model: names.indexOf(name) }, name),
    ),
  };
}

/** Ids of the query in question, and of the holder of places that are not free. */
const QUERY = 0;
const OTHERS = 1;

interface Asked extends Omit<AskedState, "models"> {
  readonly model: number;
}

function modelState(bundle: AccordionBundle, asked: Asked, name: string): ModelState {
  const { model, batch, slackMs } = asked;
  const table = new PipelineTable(bundle);
  const ledger = ledgerOf(bundle, asked.free);
  const paces = new PlacePaces(bundle, table, ledger, { adapt: false });
  const runs = new QueryRuns(table, 2, ledger.placeCount, paces);
  const choice = new ShapeChoice(table, ledger, runs);
  const rule = ruleOf(bundle, table, ledger, runs, choice);
  runs.open(QUERY, { model, batch, isHigh: true, deadlineMs: slackMs }, 0);
  const placeChoice = (shape: number): PlaceChoice => ({
    executionPlaces: table.sizeOf(shape),
    places: bundle.cluster.pools.map((_, pool) => table.countOf(shape, pool)),
    latencyMs: table.latencyMs(model, shape, batch),
    meetsSlack: table.latencyMs(model, shape, batch) <= slackMs,
    isFree: choice.isFree(shape),
  });
  const least = choice.least(QUERY, slackMs);
  const started = rule.shapeFor(QUERY, 0);
  return {
    model: name,
    decision:
      started === NONE
        ? waiting(table, ledger, rule, slackMs)
        : { action: "start", ...placeChoice(started) },
    need: least === NONE ? null : placeChoice(least),
    alternatives: Array.from({ length: table.shapeCount }, (_, shape) => placeChoice(shape)).filter(
      ({ latencyMs }) => Number.isFinite(latencyMs),
    ),
  };
}

function ledgerOf(bundle: AccordionBundle, free: readonly number[]): PlaceLedger {
  const classes = classOfPlaces(bundle);
  const ledger = new PlaceLedger(classes, bundle.cluster.pools.length);
  for (const place of classes.keys()) ledger.comeUp(place);
  for (const [pool, count] of free.entries()) {
    while (ledger.freeOf(pool) > count) ledger.take(pool, OTHERS);
  }
  return ledger;
}

function ruleOf(
  { policy, slo }: AccordionBundle,
  table: PipelineTable,
  ledger: PlaceLedger,
  runs: QueryRuns,
  choice: ShapeChoice,
): PlaceRule {
  const { scheduler, reconfigurationMs, regrow } = policy;
  if (scheduler === "accordion") {
    const options = { reconfigurationMs, isEager: regrow };
    return new MalleableRule(table, ledger, runs, choice, options);
  }
  const depth = scheduler === "bbs" ? "slo-conforming" : scheduler;
  return new FixedRule(depth, slo.latencyMs, choice);
}

function waiting(
  table: PipelineTable,
  ledger: PlaceLedger,
  rule: PlaceRule,
  slackMs: number,
): PlaceDecision {
  const startsAtMs = rule.startsAtMs(QUERY);
  const untilSlackMs = Number.isFinite(startsAtMs) ? slackMs - startsAtMs : null;
  // Its deadline is missed: it takes any place, but no place is free.
  if (startsAtMs < 0) return { action: "wait", missing: 1, untilSlackMs };
  const wanted = rule.foretoldShape(QUERY, 0);
  let missing = 0;
  for (let pool = 0; pool < table.classCount; pool++) {
    missing += Math.max(0, table.countOf(wanted, pool) - ledger.freeOf(pool));
  }
  return { action: "wait", missing, untilSlackMs };
}
