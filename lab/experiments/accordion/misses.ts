/** Which queries of high priority are late, and what was decided about them when they came. */
import { simulateAccordion } from "stratagem/internal/methods/accordion/simulate/simulate";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";
import { PipelineTable } from "stratagem-runtime/internal/methods/accordion/core/pipeline-table";
import type { Experiment, Run } from "../harness/experiment.ts";
import { meanOf, percent, present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { type DrawnStream, DURATION_MS, drawnStream, STREAMS } from "./drawn-streams.ts";
import { freshOptions, freshSettings } from "./fresh-settings.ts";
import { ACCORDIONS } from "./place-methods.ts";
import { tableOne } from "./table-one.ts";
import { type WatchedQuery, WatchedScheduler } from "./watched-scheduler.ts";

/** A query that misses its deadline by less is in time: times are sums. */
const ROUNDING_MS = 1e-6;
const FRESH = { seeds: 10, first: 3001 };
/** Of the worst stream, queries whose course is told. */
const TOLD = 8;

/** High priority of one stream. */
interface Watched {
  readonly title: string;
  readonly drawn: DrawnStream;
  readonly queries: readonly WatchedQuery[];
}

export const misses: Experiment = {
  name: "misses",
  about: "which queries of high priority are late, and what was decided when they came",
  takes: "half a minute",
  options: freshOptions(FRESH),
  run: tellAll,
};

async function tellAll({ page, flags, folder }: Run): Promise<void> {
  const { low, loads = [1], timings, seeds } = freshSettings(flags, FRESH);
  for (const timing of timings) {
    const bundle = await tableOne(folder, timing);
    for (const load of loads) {
      const streams = STREAMS.flatMap((_, stream) =>
        seeds.map((seed) => {
          const drawn = drawnStream(bundle, { stream, slo: "moderate", load, seed, low });
          return watched(`stream ${stream + 1}, seed ${seed}`, drawn);
        }),
      );
      page.say(`\nModerate SLO, offered load ${load.toFixed(2)}, ${timing} timing`);
      const [worst] = streams.toSorted((one, other) => lateShare(other) - lateShare(one));
      tell(page, bundle, present(worst));
    }
  }
}

function watched(title: string, drawn: DrawnStream): Watched {
  let scheduler: WatchedScheduler | undefined;
  const policy = { ...drawn.bundle.policy, ...ACCORDIONS["accordion"] };
  simulateAccordion(
    { ...drawn.bundle, policy },
    {
      arrivals: { kind: "queries", queries: drawn.queries },
      durationMs: DURATION_MS,
      seed: 1,
      schedulerOf: (bundle, options) => {
        scheduler = new WatchedScheduler(bundle, options);
        return scheduler;
      },
    },
  );
  const queries = present(scheduler).watched.filter(({ isHigh }) => isHigh);
  return { title, drawn, queries };
}

function tell(page: Page, bundle: AccordionBundle, { title, drawn, queries }: Watched): void {
  const { latencyMs: sloMs } = drawn.bundle.slo;
  const table = new PipelineTable(bundle);
  const names = present(bundle.tasks[0]).variants.map(({ name }) => name);
  const late = queries.filter(isLate);
  page.say(
    `The worst is ${title}: SLO ${(sloMs / 1000).toFixed(2)} s, ` +
      `${percent(late.length / queries.length)} of high priority late`,
  );
  const rows = [...kindsOf(queries, names)].flatMap(([kind, alike]) => {
    const lateOnes = alike.filter(isLate);
    if (lateOnes.length === 0) return [];
    const { model, batch } = present(alike[0]);
    return [[kind, alike.length, lateOnes.length, ...needs(table, model, batch, sloMs)]];
  });
  page.table(
    [
      "model, instances",
      "queries",
      "late",
      "places",
      "can wait, ms",
      "cost",
      "at most, ms",
      "cost",
    ],
    rows.toSorted((one, other) => Number(other[2]) - Number(one[2])),
  );
  for (const lateOne of late.slice(0, TOLD)) page.say(`  ${courseOf(lateOne, names)}`);
  const mean = (of: (query: WatchedQuery) => number) => meanOf(late, of).toFixed(1);
  page.say(
    `  late ones found ${mean((one) => one.freePlaces)} places free, ` +
      `${mean((one) => one.waiting)} queries before them or of low priority waiting, ` +
      `${mean((one) => one.highPlaces)} places with high and ` +
      `${mean((one) => one.lowPlaces)} with low priority`,
  );
}

function kindsOf(
  queries: readonly WatchedQuery[],
  names: readonly string[],
): Map<string, WatchedQuery[]> {
  const kinds = new Map<string, WatchedQuery[]>();
  for (const query of queries) {
    const kind = `${names[query.model]}, ${query.batch}`;
    const alike = kinds.get(kind);
    if (alike === undefined) kinds.set(kind, [query]);
    else alike.push(query);
  }
  return kinds;
}

/**
 * The fewest places that have it on time and the most, how long it can wait for them, and how many
 * times the time of one place it takes up on them.
 */
function needs(table: PipelineTable, model: number, batch: number, sloMs: number): string[] {
  const shapes = Array.from({ length: table.shapeCount }, (_, shape) => shape);
  const least = shapes.find((shape) => table.latencyMs(model, shape, batch) <= sloMs);
  if (least === undefined) return ["none", "-", "-", "-", "-"];
  const oneMs = table.latencyMs(model, 0, batch);
  const of = (shape: number) => {
    const ms = table.latencyMs(model, shape, batch);
    return [(sloMs - ms).toFixed(0), ((table.sizeOf(shape) * ms) / oneMs).toFixed(2)];
  };
  return [String(table.sizeOf(least)), ...of(least), ...of(table.shapeCount - 1)];
}

function courseOf(query: WatchedQuery, names: readonly string[]): string {
  const { model, batch, cameMs, freePlaces, waiting, highPlaces, lowPlaces, steps } = query;
  const course = steps.map(({ atMs, places }) => {
    const passedMs = `${(atMs - cameMs).toFixed(0)} ms`;
    return places === 0 ? `done after ${passedMs}` : `${places} after ${passedMs}`;
  });
  return (
    `${(cameMs / 1000).toFixed(1)} s: ${names[model]}, ${batch}: ${freePlaces} free, ` +
    `${waiting} wait, ${highPlaces} high, ${lowPlaces} low; ${course.join(", ")}`
  );
}

function isLate({ steps, deadlineMs }: WatchedQuery): boolean {
  return (steps.at(-1)?.atMs ?? Number.NaN) > deadlineMs + ROUNDING_MS;
}

function lateShare({ queries }: Watched): number {
  return queries.filter(isLate).length / queries.length;
}
