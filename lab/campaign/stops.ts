/**
 * Stops servers by SIGTERM under load, of clients that keep connections, open new ones, send bodies
 * in halves and pipeline: whoever has sent a request gets an answer.
 */
import { setTimeout as pause } from "node:timers/promises";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { startServe } from "../experiments/harness/live.ts";
import { chosenMethods, requestsOf, type ServedMethod, untilReady } from "./load/served-method.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import { Clients, fatesText } from "./stopping/clients.ts";

/** The load goes on for so long before the signal, and at most so much longer. */
const LEAST_MS = 200;
const MORE_MS = 500;
/** Mean pause of each of 17 clients. */
const GAP_MS = 20;
/** Of a stop: connections that the kernel may accept while the listener closes. */
const MOST_RESET = 1;

export const STOPS: Part = {
  name: "stops",
  about: "stops servers of every method by SIGTERM under load",
  unit: "stops",
  sizes: { full: 200, short: 5 },
  minutes: 15,
  run,
};

async function run({ size, seed, say }: Attack): Promise<Outcome> {
  const methods = chosenMethods().filter(({ spec }) => spec === undefined);
  const requests = await Promise.all(methods.map(requestsOf));
  const rng = new Rng(seed, 1);
  const lost: string[] = [];
  const byStatus = new Map<number, number>();
  let [sent, unanswered, reset, longestMs] = [0, 0, 0, 0];
  for (let at = 0; at < size; at++) {
    const served = methods[at % methods.length];
    const messages = requests[at % methods.length]?.messages;
    if (served === undefined || messages === undefined) continue;
    const stop = await stopOne(served, messages, LEAST_MS + MORE_MS * rng.nextFloat());
    sent += stop.clients.sent;
    longestMs = Math.max(longestMs, stop.tookMs);
    const { fates } = stop.clients;
    for (const [status, count] of fates.byStatus) {
      byStatus.set(status, (byStatus.get(status) ?? 0) + count);
    }
    unanswered += fates.unanswered.length;
    reset += fates.resetUnheard;
    const told = `stop ${at}, ${served.name}`;
    if (fates.unanswered.length > 0) {
      lost.push(`${told}: no answer for ${fates.unanswered.join(", ")}`);
    }
    if (fates.resetUnheard > MOST_RESET) {
      lost.push(`${told}: ${fates.resetUnheard} connections were reset`);
    }
    if (stop.code !== 0) lost.push(`${told}: it ended with ${stop.code}`);
    const answers = `${fatesText(fates)}, unanswered ${fates.unanswered.length}`;
    say(`${told}: ${stop.clients.sent} sent, ${answers}, over in ${stop.tookMs} ms`);
  }
  const figures = {
    requests: String(sent),
    answers: fatesText({ byStatus }),
    unanswered: String(unanswered),
    "reset while the listener closed": String(reset),
    "longest stop": `${longestMs} ms`,
  };
  return { tried: size, lost, figures };
}

async function stopOne(
  { policy, models }: ServedMethod,
  messages: readonly Uint8Array[],
  ms: number,
) {
  const args = ["--models", models, "--no-means-check", "--standby", "0"];
  const server = await startServe(policy, args, { isQuiet: true });
  await untilReady(server.url);
  const clients = new Clients(Number(new URL(server.url).port), messages, GAP_MS);
  clients.begin();
  await pause(ms);
  const startMs = performance.now();
  const code = await server.stop();
  const tookMs = Math.round(performance.now() - startMs);
  await clients.gone();
  return { code, tookMs, clients };
}
