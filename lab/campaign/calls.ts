/**
 * Calls of gRPC whose messages are not finished, are slow, or are bombs, beside a client that
 * behaves: what the server holds stays below its limit, every call is ended by it, and its memory
 * comes back.
 */
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { DEFAULT_LIMITS } from "stratagem-runtime/internal/server/applications/limits";
import { startServe, withServer } from "../experiments/harness/live.ts";
import { residentMb } from "./bodies/server-figures.ts";
import { HOLD_MS, LoopHolds } from "./load/loop-holds.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import { HELD_KINDS, type HeldCall, HeldClient, type HeldKind } from "./wire/held-calls.ts";
import { asked, INFER_BODY, MODEL } from "./wire/letters.ts";

/** A smaller campaign uses one connection, and says nothing of times. */
const LEAST_WHOLE = 40;
/** Time within which the limits of bodies end every call, on a busy machine. */
const LONGEST_MS = DEFAULT_LIMITS.bodyTimeoutMs + 5000;
/** Within this time memory is back. */
const BACK_MS = 60_000;
const LOOK_MS = 100;
/** Memory that the server may have beyond its limit of requests: its own, and what is collected. */
const OWN_MB = 350;
const HELD = 'stratagem_buffered_bytes{what="requests"}';

export const CALLS: Part = {
  name: "calls",
  about: "gRPC messages that are unfinished, slow or bombs, on one connection and on many",
  unit: "calls of each kind",
  sizes: { full: 40, short: 10 },
  minutes: 12,
  run,
};

async function run({ size, say, folder }: Attack): Promise<Outcome> {
  const args = ["--models", "models/image-classification", "--grpc", "127.0.0.1:0"];
  const limits = ["--limit", "grpcMaxMessage=64MiB"];
  const holds = new LoopHolds(join(folder, "holds"));
  const starting = startServe("policies/letters/bundle.msgpack", [...args, ...limits], {
    isQuiet: true,
    env: holds.env,
  });
  return withServer(starting, async (server) => {
    const lost: string[] = [];
    const figures: Record<string, string> = {};
    const before = residentMb(server.pid).now;
    holds.begin();
    let tried = 0;
    for (const kind of HELD_KINDS) {
      for (const connections of size < LEAST_WHOLE ? [1] : [1, size]) {
        const told = await attackWith(server, kind, size, connections);
        tried += size;
        const where = connections === 1 ? "one connection" : `${connections} connections`;
        say(`${kind}, ${where}: ${told.text}`);
        lost.push(...told.lost.map((one) => `${kind}, ${where}: ${one}`));
      }
    }
    const { alone: heldMs } = holds.end();
    if (size >= LEAST_WHOLE && heldMs > HOLD_MS) {
      lost.push(`the event loop was held for ${heldMs.toFixed(0)} ms`);
    }
    if (size >= LEAST_WHOLE) await pause(BACK_MS);
    const { now, peak } = residentMb(server.pid);
    if (peak > before + DEFAULT_LIMITS.maxBytesInFlight / 2 ** 20 + OWN_MB) {
      lost.push(`peak RSS ${peak.toFixed(0)} MB`);
    }
    if (now > before + OWN_MB) lost.push(`RSS a minute later ${now.toFixed(0)} MB`);
    figures["loop held"] = `at most ${heldMs.toFixed(0)} ms of processor`;
    figures["RSS before, at most, a minute later"] =
      `${[before, peak, now].map((one) => one.toFixed(0)).join(", ")} MB`;
    return { tried, lost, figures };
  });
}

interface Found {
  readonly text: string;
  readonly lost: readonly string[];
}

async function attackWith(
  server: { readonly url: string; readonly grpcUrl: string; readonly pid: number },
  kind: HeldKind,
  calls: number,
  connections: number,
): Promise<Found> {
  const startMs = performance.now();
  const clients = Array.from({ length: connections }, () => new HeldClient(server.grpcUrl));
  const open = new Set<HeldCall>();
  const countByStatus = new Map<string, number>();
  for (let index = 0; index < calls; index++) {
    const call = (clients[index % connections] as HeldClient).open(kind);
    open.add(call);
    void call.ended.then((status) => {
      open.delete(call);
      countByStatus.set(status, (countByStatus.get(status) ?? 0) + 1);
    });
  }
  const lost: string[] = [];
  let [heldMb, refused, asks] = [0, 0, 0];
  // A stream may stay open as long as its client sends whole messages.
  const mayStay = kind.startsWith("a whole") || kind.startsWith("thousands");
  const longestMs = mayStay ? 10_000 : LONGEST_MS;
  let peakMb = 0;
  while (open.size > 0 && performance.now() - startMs < longestMs) {
    const { text } = await asked(`${server.url}/metrics`);
    heldMb = Math.max(heldMb, seriesOf(text, HELD) / 2 ** 20);
    peakMb = Math.max(peakMb, residentMb(server.pid).now);
    const { status } = await asked(`${server.url}/v2/models/${MODEL}/infer`, INFER_BODY);
    asks++;
    if (status !== 200) refused++;
    await pause(LOOK_MS);
  }
  if (open.size > 0 && !mayStay) lost.push(`${open.size} calls are still open`);
  for (const client of clients) client.close();
  await pause(500);
  const { text } = await asked(`${server.url}/metrics`);
  const left = seriesOf(text, HELD);
  if (left !== 0) lost.push(`${left} bytes are still counted`);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
  const ends = [...countByStatus].map(([status, count]) => `${status} x ${count}`).join(" ");
  const figures = `RSS ${peakMb.toFixed(0)} MB, counted ${heldMb.toFixed(0)} MiB`;
  return {
    text: `${seconds} s, ${figures}, ends: ${ends}, beside: ${refused} of ${asks} refused`,
    lost,
  };
}

function seriesOf(metrics: string, series: string): number {
  const line = metrics.split("\n").find((one) => one.startsWith(`${series} `));
  return Number(line?.split(" ").at(-1));
}
