/** Our policies beside other systems, with their papers' settings and with hindsight. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PEER_NAMES } from "stratagem/internal/methods/ramsis/simulate/baseline-names";
import type { Experiment, Run } from "../harness/experiment.ts";
import type { Flags } from "../harness/flags.ts";
import { present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { inProcesses } from "../harness/processes.ts";
import { type PeerCase, peerCases } from "./peer-cases.ts";
import { type Point, type PointTask, type Row, SAME_ACCURACY, type Served } from "./peer-point.ts";

export const peers: Experiment = {
  name: "peers",
  about: "other systems on the same arrivals, load by load: all 119 points",
  takes: "fifteen minutes and more",
  options: {
    case: "cases with this word: image, sentiment, detection, pascal, ampere, 2x, 5x, gamma, …",
    loads: "queries/s, in place of those of the cases",
    queries: "of each point; 100000",
    who: "of the peers only these",
    processes: "that measure points; 2",
    json: "file that gets all points",
  },
  run: compareAll,
};

/** Everything is seeded: the same build prints the same tables, whatever `--processes`. */
async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const words = flags.texts("case") ?? [];
  const cases = peerCases().filter(({ name }) =>
    words.every((word) => name.split(" ").includes(word)),
  );
  if (cases.length === 0) throw new Error(`no case has ${words.join(" and ")}`);
  const tasks = cases.flatMap((each) => tasksOf(each, flags, folder));
  const worker = new URL("./peer-worker.js", import.meta.url);
  const jobs = flags.number("processes") ?? 2;
  const points = await inProcesses<PointTask, Point>(worker, tasks, jobs);
  for (const { name, about } of cases) {
    page.say(`\n${name}: ${about}`);
    print(
      page,
      points.filter((point) => point.name === name),
    );
  }
  summarise(page, points);
  const file = flags.text("json");
  if (file !== undefined) writeFileSync(file, JSON.stringify(points));
}

/** One task for each load; a trace is one task. */
function tasksOf({ name, spec, load }: PeerCase, flags: Flags, folder: string): PointTask[] {
  const own = flags.numbers("loads");
  const loads =
    "trace" in load ? [load] : (own ?? load.qps).map((qps): PointTask["load"] => ({ qps }));
  return loads.map((one) => ({
    name,
    spec,
    path: join(folder, `${name}-${"qps" in one ? one.qps : "trace"}`.replaceAll(" ", "-")),
    load: one,
    queries: flags.number("queries") ?? 100_000,
    who: flags.texts("who")?.flatMap((text) => text.split(",")) ?? PEER_NAMES,
  }));
}

/** A row for each that was measured, a column for each load. */
function print(page: Page, points: readonly Point[]): void {
  const first = present(points[0]);
  const cells = first.rows.map(({ who }, at) => [
    who,
    ...points.map((point) => cellOf(present(point.rows[at]), point)),
  ]);
  const bounds = (["all", "served"] as const).flatMap((key) => {
    const values = points.map((point) => point.bounds?.[key]);
    if (values.every((value) => value === undefined)) return [];
    const label = key === "all" ? "bound, drops allowed" : "bound, all served";
    return [[label, ...values.map((value) => (value === undefined ? "-" : hundredths(value)))]];
  });
  page.say(
    "accuracy per query % (violations %); * above ours in accuracy, with no more violations",
  );
  page.table(["queries/s", ...points.map(loadText)], [...cells, ...bounds]);
  page.say(
    "\nfrontier: whom nobody beats in accuracy per query and in attainment, most accurate first",
  );
  for (const point of points) {
    const named = frontier(point.rows).map(
      ({ who, accuracy, violations }) =>
        `${who} ${hundredths(accuracy)} @ ${hundredths(1 - violations)}`,
    );
    page.say(`  ${loadText(point)}: ${named.join("; ")}`);
  }
  page.say("\nwhat hindsight chose");
  for (const point of points) {
    for (const { who, setting = {} } of point.rows.filter(({ peer }) => peer !== undefined)) {
      const pairs = Object.entries(setting).map(([key, value]) => `${key} ${value}`);
      page.say(`  ${loadText(point)} ${who}: ${pairs.join(", ")}`);
    }
  }
}

function loadText({ loadQps }: Point): string {
  return loadQps === null ? "trace" : String(loadQps);
}

function oursOf({ rows }: Point): Row {
  return present(rows[0]);
}

function cellOf(row: Row, point: Point): string {
  const mark = isAbove(row, oursOf(point)) ? "*" : "";
  return `${hundredths(row.accuracy)} (${short(row.violations)})${mark}`;
}

/** More accuracy per query than rounding shows as the same, and no more violations. */
function isAbove(row: Served, ours: Served): boolean {
  return row.accuracy > ours.accuracy + SAME_ACCURACY && row.violations <= ours.violations;
}

function frontier(rows: readonly Row[]): Row[] {
  const isBeaten = (row: Row) =>
    rows.some(
      (other) =>
        other.accuracy >= row.accuracy &&
        other.violations <= row.violations &&
        (other.accuracy > row.accuracy || other.violations < row.violations),
    );
  return rows.filter((row) => !isBeaten(row)).sort((a, b) => b.accuracy - a.accuracy);
}

function summarise(page: Page, points: readonly Point[]): void {
  const isPeer = ({ who }: Row) => !who.startsWith("pooled") && !who.startsWith("round-robin");
  const those = (holds: (row: Row, ours: Row) => boolean) =>
    points.flatMap((point) => {
      const ours = oursOf(point);
      const rows = point.rows.filter((row) => isPeer(row) && holds(row, ours));
      return rows.map((row) => ({ point, row, ours }));
    });
  const line = (point: Point, row: Row, ours: Row) =>
    `  ${point.name} ${point.loadQps ?? ""}: ${row.who} ${textOf(row)}, ours ${textOf(ours)}`;
  const beaten = those(isAbove);
  page.say(
    `\n${points.length} points; a peer is above ours in accuracy per query, with no more ` +
      `violations, ${beaten.length} times`,
  );
  for (const { point, row, ours } of beaten) page.say(line(point, row, ours));
  const others = those((row, ours) => row.accuracy > ours.accuracy + SAME_ACCURACY);
  page.say(`more accurate than ours, with whatever violations, ${others.length} times`);
  for (const { point, row, ours } of others) {
    const { within } = row;
    const best = within === undefined ? "" : `; with no more than our violations ${textOf(within)}`;
    page.say(line(point, row, ours) + best);
  }
}

function textOf(row: Served | null): string {
  return row === null ? "none" : `${(100 * row.accuracy).toFixed(3)} (${short(row.violations)})`;
}

function hundredths(value: number): string {
  return (100 * value).toFixed(2);
}

/** A ratio in percent, as short as it can be said. */
function short(ratio: number): string {
  const percent = 100 * ratio;
  if (percent === 0) return "0";
  return percent < 0.01 ? percent.toExponential(0) : percent.toFixed(percent < 1 ? 2 : 1);
}
