/**
 * Stops, and then kills, each worker of a served policy in turn, under load: what clients lose by
 * it, and how soon it is over.
 */

import { setTimeout as pause } from "node:timers/promises";
import { assert } from "stratagem-runtime/internal/core/assert";
import { CLI } from "../experiments/harness/cli.ts";
import { startServer } from "../experiments/harness/live.ts";
import { metricOf, metricsOf, sumOf } from "../experiments/harness/metrics.ts";
import { HUNG_CASES, type HungCase } from "./hung-cases.ts";
import { workersOf } from "./load/process-watch.ts";
import { type Asked, OpenLoad } from "./open-load.ts";
import type { Attack, Outcome, Part } from "./part.ts";

/** Time that a worker's end is watched for. */
const WATCH_MS = 4000;
/** One that nobody ends, for longer than any limit on what it runs. */
const LONGEST_WATCH_MS = 40_000;
const WARM_UP_MS = 3000;
/** An answer later than its deadline by so much is one nobody waits for any more. */
const TOO_LATE_MS = 1000;
/** What a stop may disturb, where a standby is there. */
const DISTURBED_MS = 1000;
/** A server whose command line is another build's, for comparison. */
const OTHER_CLI = process.env["STRATAGEM_CAMPAIGN_CLI"];

export const HUNG: Part = {
  name: "hung",
  about: "stops (SIGSTOP) and kills each worker of every method in turn, under load",
  unit: "rounds of all workers",
  sizes: { full: 1, short: 0 },
  minutes: 6,
  run,
};

async function run(attack: Attack): Promise<Outcome> {
  const lost: string[] = [];
  const figures: Record<string, string> = {};
  let tried = 0;
  for (const one of HUNG_CASES) {
    for (const signal of ["SIGSTOP", "SIGKILL"] as const) {
      // The short form is one stop of one method.
      if (attack.size === 0 && (one !== HUNG_CASES[0] || signal === "SIGKILL")) continue;
      const { undisturbed, ends } = await attackOne(one, signal, attack);
      tried += ends.length;
      lost.push(...ends.flatMap((end) => harmsOf(one, end, undisturbed)));
      figures[`${one.name} ${signal}`] = figureOf(ends);
      attack.say(`${one.name}, ${signal}: ${figureOf(ends)}`);
    }
  }
  return { tried, lost, figures };
}

/** What clients saw of one worker's end. */
interface End {
  readonly what: string;
  /** Requests that were answered with an error, and not answered at all. */
  readonly failed: number;
  readonly unanswered: number;
  /** From the stop to the last answer that failed or came too late; 0 where none did. */
  readonly disturbedMs: number;
  readonly longestMs: number;
  readonly tooLate: number;
  readonly asked: number;
  readonly reasons: string;
}

async function attackOne(
  one: HungCase,
  signal: "SIGSTOP" | "SIGKILL",
  { size, seed, say }: Attack,
): Promise<{ undisturbed: End; ends: End[] }> {
  const serve = ["serve", "--policy", one.policy, "--models", one.models];
  const args = [OTHER_CLI ?? CLI, ...serve, "--http", "127.0.0.1:0", "--json"];
  const server = await startServer(args, { isQuiet: true });
  const load = new OpenLoad(server.url, one, seed);
  // Judged when all is answered that is.
  const judged: (() => End)[] = [];
  try {
    await load.begin();
    await pause(WARM_UP_MS);
    const beforeMs = performance.now();
    await pause(WATCH_MS);
    judged.push(() => endOf(`${one.name}: nothing stopped`, one, load.asked, beforeMs));
    for (let round = 0; round < Math.max(1, size); round++) {
      const workers = workersOf(server.pid);
      for (const [index, pid] of workers.slice(0, size === 0 ? 1 : workers.length).entries()) {
        if (!workersOf(server.pid).includes(pid)) continue;
        const atMs = performance.now();
        process.kill(pid, signal);
        const untilMs = atMs + (await goneAfterMs(server.pid, pid, atMs)) + WATCH_MS / 2;
        await wholeAgain(server.pid, server.url, workers.length);
        const what = `${one.name}: ${signal} of worker ${index + 1} of ${workers.length}`;
        judged.push(() => endOf(what, one, load.asked, atMs, untilMs));
      }
    }
    say(`${one.name}: ${await countsOf(server.url)}`);
    await load.end();
    const [undisturbed, ...ends] = judged.map((judge) => judge());
    assert(undisturbed !== undefined, "the first was judged");
    for (const end of [undisturbed, ...ends]) say(toldOf(end));
    return { undisturbed, ends };
  } finally {
    await load.end();
    await server.stop();
  }
}

/** @param untilMs those that were sent later count for the next. */
function endOf(
  what: string,
  { sloMs }: HungCase,
  all: readonly Asked[],
  atMs: number,
  untilMs = atMs + WATCH_MS / 2,
): End {
  const own = all.filter(({ sentMs, endMs }) => endMs >= atMs && sentMs < untilMs);
  const failed = own.filter(({ status }) => status !== 200 && status !== undefined);
  const took = own.map(({ sentMs, endMs }) => endMs - sentMs);
  const disturbed = own.filter(
    ({ status, sentMs, endMs }) => status !== 200 || endMs - sentMs > 2 * sloMs,
  );
  const endsMs = disturbed.map(({ endMs }) => endMs - atMs).filter(Number.isFinite);
  const reasons = new Map<string, number>();
  for (const { status, reason } of failed) {
    const words = `${status} ${reason}`.replace(/\d+ ms/, "… ms").slice(0, 70);
    reasons.set(words, 1 + (reasons.get(words) ?? 0));
  }
  return {
    what,
    asked: own.length,
    failed: failed.length,
    unanswered: own.filter(({ endMs }) => endMs === Number.POSITIVE_INFINITY).length,
    disturbedMs: Math.max(0, ...endsMs),
    longestMs: Math.max(0, ...took),
    tooLate: own.filter(
      ({ status, sentMs, endMs }) => status === 200 && endMs - sentMs > sloMs + TOO_LATE_MS,
    ).length,
    reasons: [...reasons].map(([words, count]) => `${count} x ${words}`).join("; "),
  };
}

/** What was lost by it, in one line; nothing if it did no harm beyond its batch. */
function harmsOf({ batch, hasStandby }: HungCase, end: End, undisturbed: End): string[] {
  const harms: string[] = [];
  // On a machine that disturbs them anyway, how long it took says nothing.
  const isCalm = undisturbed.failed === 0 && undisturbed.disturbedMs === 0;
  const anyhow = (undisturbed.failed / Math.max(1, undisturbed.asked)) * end.asked;
  if (end.unanswered > 0) harms.push(`${end.unanswered} requests were not answered`);
  if (end.tooLate > 0) harms.push(`${end.tooLate} were answered 200 too late`);
  if (end.failed - anyhow > batch)
    harms.push(`${end.failed} failed, more than a batch of ${batch}`);
  if (hasStandby && isCalm && end.disturbedMs > DISTURBED_MS) {
    harms.push(`it took ${Math.round(end.disturbedMs)} ms to be over`);
  }
  return harms.length === 0 ? [] : [`${end.what}: ${harms.join("; ")}`];
}

function toldOf(end: End): string {
  const { what, asked, failed, unanswered, tooLate, disturbedMs, longestMs, reasons } = end;
  const counts = `${asked} asked, ${failed} failed, ${unanswered} unanswered, ${tooLate} too late`;
  return (
    `${what}: ${counts}, over after ${Math.round(disturbedMs)} ms, ` +
    `longest answer ${Math.round(longestMs)} ms ${reasons}`
  );
}

function figureOf(ends: readonly End[]): string {
  const most = (of: (end: End) => number) => Math.round(Math.max(0, ...ends.map(of)));
  const sum = (of: (end: End) => number) => ends.reduce((total, end) => total + of(end), 0);
  return (
    `${ends.length} ends: failed ${sum((end) => end.failed)} of ${sum((end) => end.asked)} ` +
    `(at most ${most((end) => end.failed)} by one), unanswered ${sum((end) => end.unanswered)}, ` +
    `too late ${sum((end) => end.tooLate)}, over after ${most((end) => end.disturbedMs)} ms, ` +
    `longest answer ${most((end) => end.longestMs)} ms`
  );
}

/** How long a worker that was stopped or killed was there; the watch goes on in any case. */
async function goneAfterMs(server: number, pid: number, atMs: number): Promise<number> {
  let goneMs = Number.NaN;
  while (performance.now() < atMs + WATCH_MS || Number.isNaN(goneMs)) {
    const isGone = !workersOf(server).includes(pid);
    if (isGone && Number.isNaN(goneMs)) goneMs = performance.now() - atMs;
    if (performance.now() > atMs + LONGEST_WATCH_MS) return LONGEST_WATCH_MS;
    await pause(250);
  }
  return goneMs;
}

/** As many workers as before, all ready; not for longer than any replacement takes. */
async function wholeAgain(pid: number, url: string, workers: number): Promise<void> {
  for (let tries = 0; tries < 40; tries++) {
    const metrics = await metricsOf(url);
    const ready = sumOf(metrics, "workers", 'state="ready"');
    if (workersOf(pid).length >= workers && ready > 0) break;
    await pause(250);
  }
  await pause(1500);
}

async function countsOf(url: string): Promise<string> {
  const metrics = await metricsOf(url);
  const lost = sumOf(metrics, "workers_lost_total");
  const hung = sumOf(metrics, "workers_lost_total", 'reason="hung"');
  const retried = metricOf(metrics, "queries_retried_total");
  const dropped = sumOf(metrics, "queries_dropped_total");
  return `workers lost ${lost}, hung ${hung}, queries retried ${retried}, dropped ${dropped}`;
}
