/** The experiment of docs/experiments/truth.md: 60 promises against a live server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { truthPage } from "stratagem/internal/truth/page/truth-page";
import type { TruthDocument, TruthPoint } from "stratagem/internal/truth/truth-document";
import { CLI } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines } from "../harness/live.ts";
import { percent } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { ablationRows, heldBy } from "./ablation.ts";
import { APPLICATIONS, type TrialApplication } from "./applications.ts";
import { capacity } from "./capacity.ts";

const FOLDER = join(".stratagem", "truth");
const HOUR_FOLDER = join(".stratagem", "hour");
const HOUR_MINUTES = 60;
const LOADS = 3;
const RUNS = 3;
/** One of each method. */
const FIVE = ["letters", "scenes", "cascade", "scaling", "malleable"];
const EXIT_NOT_VERIFIED = 3;

const points: Experiment = {
  name: "points",
  about: "seven applications, three loads each, three runs: what was promised beside measured",
  takes: "about 45 minutes, on a machine that does nothing else",
  options: {
    app: `${APPLICATIONS.map(({ name }) => name).join(", ")}; all`,
    folder: `keeps what is found, and goes on from what it has; ${FOLDER}`,
    runs: `of each load; ${RUNS}`,
    seconds: "of each run; 10, and more where requests are few",
  },
  run: tryAll,
};

const hour: Experiment = {
  name: "hour",
  about: "an hour of load as promised, without an alarm of the servers: each application its part",
  takes: "an hour and the profiles, on a machine that does nothing else",
  options: {
    app: points.options?.["app"] ?? "",
    folder: `keeps what is found, and goes on from what it has; ${HOUR_FOLDER}`,
    minutes: `of all applications together; ${HOUR_MINUTES}`,
  },
  run: tryHour,
};

export const truth: readonly Experiment[] = [points, hour, capacity];

/** Ends with 3 unless every point holds. */
async function tryAll({ page, flags }: Run): Promise<void> {
  const names = APPLICATIONS.map(({ name }) => name);
  const chosen = flags.among("app", names) ?? names;
  const folder = flags.text("folder") ?? FOLDER;
  for (const line of machineLines()) page.say(line);
  const documents: TruthDocument[] = [];
  for (const application of APPLICATIONS) {
    if (!chosen.includes(application.name)) continue;
    const own = join(folder, application.name);
    const runs = flags.number("runs") ?? RUNS;
    const seconds = flags.number("seconds") ?? application.seconds;
    const found = await tryOne(application, own, { loads: LOADS, runs, seconds });
    documents.push(found);
    process.stderr.write(`${found.application}: ${found.held} of ${found.of}\n`);
  }
  report(page, documents);
  writeFileSync(join(folder, "truth.html"), truthPage(documents));
  if (documents.some(({ holds }) => !holds)) process.exitCode = EXIT_NOT_VERIFIED;
}

/** One long run at each load; ends with 3 after an alarm. */
async function tryHour({ page, flags }: Run): Promise<void> {
  const chosen =
    flags.among(
      "app",
      APPLICATIONS.map(({ name }) => name),
    ) ?? FIVE;
  const folder = flags.text("folder") ?? HOUR_FOLDER;
  const seconds = Math.round(
    (60 * (flags.number("minutes") ?? HOUR_MINUTES)) / chosen.length / LOADS,
  );
  for (const line of machineLines()) page.say(line);
  const rows: (string | number)[][] = [];
  let alarmed = 0;
  for (const application of APPLICATIONS.filter(({ name }) => chosen.includes(name))) {
    const extent = { loads: LOADS, runs: 1, seconds };
    const found = await tryOne(application, join(folder, application.name), extent);
    for (const { loadQps, queries, measured, machine, alarms, verdict } of found.points) {
      const pace = machine.pace?.toFixed(2) ?? "-";
      const late = percent(measured.violationRate);
      alarmed += alarms.length;
      rows.push([application.name, loadQps, queries, pace, late, verdict, alarms.length]);
      for (const said of alarms) page.say(`${application.name}: ${said}`);
    }
  }
  page.table(["application", "load/s", "queries", "pace", "late", "verdict", "alarms"], rows);
  page.say(`${alarmed} alarms in ${rows.length} runs of ${(seconds / 60).toFixed(0)} minutes`);
  if (alarmed > 0) process.exitCode = EXIT_NOT_VERIFIED;
}

interface Extent {
  readonly loads: number;
  readonly runs: number;
  readonly seconds: number;
}

/** What was found before is not measured again. */
async function tryOne(
  { name, inputs }: TrialApplication,
  folder: string,
  { loads, runs, seconds }: Extent,
): Promise<TruthDocument> {
  const document = join(folder, "truth.json");
  if (existsSync(document)) {
    process.stderr.write(`${document} is there from an earlier run; remove it to measure again\n`);
    return JSON.parse(readFileSync(document, "utf8"));
  }
  mkdirSync(folder, { recursive: true });
  const extent = { loads, runs, duration: `${seconds}s` };
  const counts = Object.entries(extent).flatMap(([option, value]) => [`--${option}`, `${value}`]);
  const args = ["truth", join("policies", name, "app.yaml"), "-o", folder, ...counts];
  const child = spawn(process.execPath, [CLI, ...args, ...inputs(folder)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code]: (number | null)[] = await once(child, "exit");
  if (code !== 0 && code !== EXIT_NOT_VERIFIED)
    throw new Error(`${name}: truth ended with ${code}`);
  return JSON.parse(readFileSync(document, "utf8"));
}

function report(page: Page, documents: readonly TruthDocument[]): void {
  const head = ["load/s", "run", "p50 ms", "measured", "p99 ms", "measured", "late", "measured"];
  page.table(
    ["application", ...head, "accuracy", "measured", "stolen", "verdict"],
    documents.flatMap(({ application, points }) => points.map((one) => rowOf(application, one))),
  );
  page.say();
  for (const { application, points } of documents) {
    for (const { loadQps, run, cause } of points.filter(({ holds }) => !holds)) {
      page.say(`${application} at ${loadQps}/s, run ${run}: ${cause}`);
    }
  }
  page.say();
  const all = documents.flatMap((one) => one.points);
  page.table(["predicted", "p50", "p99", "violations", "all three"], ablationRows(all));
  const held = heldBy(all, ({ holds }) => holds);
  page.say(`${held} of ${all.length} hold`);
}

function rowOf(application: string, point: TruthPoint): (string | number)[] {
  const { predicted, measured } = point;
  return [
    application,
    point.loadQps,
    point.run,
    oneDigit(predicted.p50Ms),
    oneDigit(measured.p50Ms),
    oneDigit(predicted.p99Ms),
    oneDigit(measured.p99Ms),
    percent(predicted.violationRate),
    percent(measured.violationRate),
    percent(predicted.accuracy),
    percent(measured.accuracy),
    percent(point.machine.stealShare),
    point.holds
      ? "holds"
      : point.checks
          .filter(({ holds }) => !holds)
          .map(nameOf)
          .join(", "),
  ];
}

function nameOf({ name }: { readonly name: string }): string {
  return name;
}

function oneDigit(ms: number | null): string {
  return ms === null ? "-" : ms.toFixed(1);
}
