/** Capacity of a live server, several times: how often the interval covers the median estimate. */
import { join } from "node:path";
import { stratagemJson } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines, startServe, withServer } from "../harness/live.ts";

const BUNDLE = join("policies", "letters", "bundle.msgpack");
const MODELS = join("models", "image-classification");
const RUNS = 10;
const SECONDS = 90;
/** Of ten. */
const WANTED_SHARE = 0.9;
const EXIT_NOT_VERIFIED = 3;

interface Found {
  readonly holdsQps: number | null;
  readonly failsQps: number | null;
  readonly estimateQps: number | null;
  readonly samples: number;
  readonly notes: readonly string[];
}

export const capacity: Experiment = {
  name: "capacity",
  about: "the capacity of a live server, ten times, beside the simulated one",
  takes: "about 15 minutes, on a machine that does nothing else",
  isExtra: true,
  options: {
    bundle: `policy bundle to serve; ${BUNDLE}`,
    models: `folder of its models; ${MODELS}`,
    runs: `how often; ${RUNS}`,
    seconds: `of load in a run; ${SECONDS}`,
    inputs: "rows to send; zeros",
  },
  run: tryAll,
};

/** Ends with 3 unless the intervals of nine in ten cover the median of all estimates. */
async function tryAll({ page, flags }: Run): Promise<void> {
  const bundle = flags.text("bundle") ?? BUNDLE;
  const models = flags.text("models") ?? MODELS;
  const inputs = flags.text("inputs");
  const runs = flags.number("runs") ?? RUNS;
  for (const line of machineLines()) page.say(line);
  const simulated = await stratagemJson<Found>("capacity", bundle);
  const load = ["--duration", `${flags.number("seconds") ?? SECONDS}s`];
  const sent = inputs === undefined ? load : [...load, "--inputs", inputs];
  const found = await withServer(startServe(bundle, ["--models", models]), async ({ url }) => {
    const all: Found[] = [];
    for (let run = 0; run < runs; run++) {
      all.push(await stratagemJson<Found>("capacity", url, ...sent));
      process.stderr.write(`run ${run + 1}: ${text(all.at(-1))}\n`);
    }
    return all;
  });
  const estimates = found.flatMap(({ estimateQps }) => estimateQps ?? []).sort((a, b) => a - b);
  const middle = (estimates.length - 1) / 2;
  const [low = 0, high = 0] = [estimates[Math.floor(middle)], estimates[Math.ceil(middle)]];
  const median = (low + high) / 2;
  const rows = found.map((one, run) => {
    return [`${run + 1}`, ...figures(one), one.samples, covers(one, median) ? "yes" : "no"];
  });
  const head = ["run", "holds/s", "fails/s", "estimate/s", "requests", "covers the median"];
  page.table(head, [...rows, ["simulated", ...figures(simulated), simulated.samples, "-"]]);
  for (const { notes } of found) for (const note of notes) page.say(note);
  const covering = found.filter((one) => covers(one, median)).length;
  const closed = found.filter((one) => one.holdsQps !== null && one.failsQps !== null).length;
  page.say(`median ${Math.round(median)}/s; ${covering} of ${runs} intervals cover it`);
  page.say(`${closed} of ${runs} intervals have both ends`);
  if (covering < WANTED_SHARE * runs) process.exitCode = EXIT_NOT_VERIFIED;
}

function figures({ holdsQps, failsQps, estimateQps }: Found): string[] {
  return [holdsQps, failsQps, estimateQps].map((qps) => (qps === null ? "-" : String(qps)));
}

function text(found: Found | undefined): string {
  return found === undefined ? "" : figures(found).join(", ");
}

/** An open end covers all loads beyond the other. */
function covers({ holdsQps, failsQps }: Found, loadQps: number): boolean {
  return (holdsQps ?? 0) <= loadQps && loadQps <= (failsQps ?? Number.POSITIVE_INFINITY);
}
