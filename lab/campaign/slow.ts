/**
 * Hundreds of clients that hold their connections, beside clients that behave: those are all
 * answered, and every connection that is held is ended by a limit of the server. Then more silent
 * connections than the server has room for, with the same rule.
 */
import { Agent } from "node:http";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { DEFAULT_LIMITS } from "stratagem-runtime/internal/server/applications/limits";
import { withServer } from "../experiments/harness/live.ts";
import type { Attack, Outcome, Part } from "./part.ts";
import {
  asked,
  connectionsGone,
  INFER_BODY,
  MODEL,
  startLetters,
  targetOf,
} from "./wire/letters.ts";
import type { Target } from "./wire/malformed-run.ts";
import { openSlow, SLOW_KINDS, type SlowClient } from "./wire/slow-clients.ts";

const DRIP_MS = 500;
/** Beyond the longest limit, on a machine that is busy. */
const PATIENCE_MS = DEFAULT_LIMITS.idleTimeoutMs + DEFAULT_LIMITS.headerTimeoutMs + 30_000;
const CALLERS = 4;
const CALL_EVERY_MS = 50;
/** Silent connections, more than the server has room for. */
const SILENT_COUNT = DEFAULT_LIMITS.maxConnections + 500;
const MADE_ROOM = 'stratagem_connections_ended_total{reason="made room"}';
const UNSENT = 'stratagem_buffered_bytes{what="http_answers"}';
const FLOOD_BATCH = 250;

export const SLOW: Part = {
  name: "slow",
  about: "slowloris of all kinds, and more silent connections than there is room for",
  unit: "slow clients",
  sizes: { full: 450, short: 45 },
  minutes: 3,
  run,
};

async function run({ size, say }: Attack): Promise<Outcome> {
  return withServer(startLetters(), async (server) => {
    const lost: string[] = [];
    const figures: Record<string, string> = {};
    const calls = callBeside(server.url);
    lost.push(...(await slowClients(targetOf(server), size, say, figures)));
    say("more silent connections than there is room for");
    lost.push(...(await flood(targetOf(server), server.url)));
    const { count, failures } = await calls.end();
    lost.push(...failures);
    await connectionsGone(server.url).catch((error: Error) => lost.push(error.message));
    const { text } = await asked(`${server.url}/metrics`);
    figures["silent connections that made room"] = seriesOf(text, MADE_ROOM);
    figures["requests beside"] = `${count}`;
    figures["bytes of answers left"] = seriesOf(text, UNSENT);
    return { tried: size + SILENT_COUNT + count, lost, figures };
  });
}

async function slowClients(
  target: Target,
  size: number,
  say: (line: string) => void,
  figures: Record<string, string>,
): Promise<string[]> {
  const startMs = performance.now();
  const open = new Set<SlowClient>();
  for (let index = 0; index < size; index++) {
    const kind = SLOW_KINDS[index % SLOW_KINDS.length];
    if (kind === undefined) break;
    const client = openSlow(target, kind, MODEL, DRIP_MS);
    open.add(client);
    void client.cut.then(() => {
      open.delete(client);
      const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
      figures[`last ${client.kind} cut, s`] = seconds;
    });
  }
  while (open.size > 0 && performance.now() - startMs < PATIENCE_MS) {
    await pause(5000);
    say(`${open.size} of ${size} slow clients are still connected`);
  }
  return [...open].map((client) => {
    client.stop();
    return `${client.kind}: still connected after ${PATIENCE_MS} ms`;
  });
}

/** New clients find room beside connections that send nothing. */
async function flood(target: Target, url: string): Promise<string[]> {
  const open = new Set<ReturnType<typeof connect>>();
  const lost: string[] = [];
  for (let opened = 0; opened < SILENT_COUNT; opened += FLOOD_BATCH) {
    for (let one = 0; one < FLOOD_BATCH; one++) {
      const socket = connect(target);
      socket.on("error", () => {}).on("close", () => open.delete(socket));
      socket.resume();
      open.add(socket);
    }
    await pause(20);
  }
  // A connection of its own, which the server has to make room for.
  const { status, text } = await asked(`${url}/v2/health/ready`);
  if (status !== 200) lost.push(`beside silent connections: ${status} ${text}`);
  for (const socket of open) socket.destroy();
  return lost;
}

/** Clients that behave: each asks, reads, and asks again. */
function callBeside(url: string): {
  end(): Promise<{ readonly count: number; readonly failures: readonly string[] }>;
} {
  const agent = new Agent({ keepAlive: true });
  let isEnded = false;
  let count = 0;
  const failures: string[] = [];
  const infer = `${url}/v2/models/${MODEL}/infer`;
  const call = async () => {
    while (!isEnded) {
      count++;
      try {
        const { status, text } = await asked(infer, INFER_BODY, agent);
        if (status !== 200) failures.push(`beside slow clients: ${status} ${text}`);
      } catch (error) {
        failures.push(`beside slow clients: unanswered, ${error}`);
      }
      await pause(CALL_EVERY_MS);
    }
  };
  const callers = Promise.all(Array.from({ length: CALLERS }, call));
  return {
    async end() {
      isEnded = true;
      await callers;
      agent.destroy();
      return { count, failures };
    },
  };
}

function seriesOf(metrics: string, series: string): string {
  const line = metrics.split("\n").find((one) => one.startsWith(`${series} `));
  return line?.split(" ").at(-1) ?? "unknown";
}
