/** Bodies that are wrong, long, deep or bombs, sent to a server whose health a client asks for. */
import { setTimeout as sleep } from "node:timers/promises";
import { type LiveServer, startServe } from "../experiments/harness/live.ts";
import { attacksOn } from "./bodies/attacks.ts";
import { Connection } from "./bodies/connection.ts";
import { BodyGenerator, type HostileRequest } from "./bodies/generated.ts";
import { type HealthWatch, watchHealth } from "./bodies/health.ts";
import { type Sent, sendGenerated, sendOne } from "./bodies/load.ts";
import {
  type Buckets,
  isAlive,
  loopBuckets,
  loopDelays,
  residentMb,
  waitedForCoreS,
} from "./bodies/server-figures.ts";
import type { Attack, Outcome, Part } from "./part.ts";

const POLICY = "policies/letters/bundle.msgpack";
const MODELS = "models/image-classification";
const PATH = "/v2/models/letters/infer";
const INPUT = { name: "pixels", datatype: "UINT8", width: 4096, elementBytes: 1 };
const MAX_ROWS = 64;

const CONNECTIONS = 8;
/** Clients that send the same attack at once, and then all attacks at once. */
const TOGETHER = 4;
const CROWD = 40;
/** A smaller campaign measures times but says nothing of them: other work may hold the cores. */
const LEAST_TIMED = 50_000;
const LATER_MS = 60_000;

export const BODIES: Part = {
  name: "bodies",
  about: "request bodies: generated, quadratic, deep, bombs; a health client beside them",
  unit: "bodies",
  sizes: { full: 100_000, short: 500 },
  minutes: 6,
  run: attackBodies,
};

interface House {
  readonly server: LiveServer;
  readonly port: number;
  readonly sent: Sent;
  readonly health: HealthWatch;
  readonly before: Buckets;
}

async function attackBodies({ size, seed, say }: Attack): Promise<Outcome> {
  const attacks = attacksOn(INPUT, MAX_ROWS);
  const server = await startServe(POLICY, ["--models", MODELS], { isQuiet: true });
  try {
    const port = Number(new URL(server.url).port);
    const sent: Sent = { lost: [], countByStatus: new Map() };
    const before = await loopBuckets(server.url);
    const house = { server, port, sent, health: watchHealth(port), before };
    const waitedS = waitedForCoreS(server.pid);
    const tried = await sendAll(house, attacks, { size, seed, say });
    const isTimed = size >= LEAST_TIMED;
    const figures = await figuresOf(house, waitedS, isTimed, say);
    const lost = [...sent.lost, ...(isTimed ? figures.lost : [])];
    return { tried, lost, figures: figures.told };
  } finally {
    await server.stop();
  }
}

/** @returns how many bodies. */
async function sendAll(
  { server, port, sent }: House,
  attacks: readonly HostileRequest[],
  { size, seed, say }: Pick<Attack, "size" | "seed" | "say">,
): Promise<number> {
  const rounds = size >= LEAST_TIMED ? TOGETHER : 1;
  let tried = 0;
  for (const attack of attacks) {
    const rssMb = residentMb(server.pid).now.toFixed(0);
    say(`${attack.name}: ${attack.body.length} bytes, ${rounds} at once, server at ${rssMb} MB`);
    await Promise.all(Array.from({ length: rounds }, () => sendAlone(port, attack, sent)));
    tried += rounds;
  }
  if (size >= LEAST_TIMED) {
    const crowd = Array.from({ length: CROWD }, (_, index) => index % attacks.length);
    await Promise.all(
      crowd.map(async (first) => {
        for (const attack of [...attacks.slice(first), ...attacks.slice(0, first)]) {
          await sendAlone(port, attack, sent);
        }
      }),
    );
    tried += CROWD * attacks.length;
    say(`all of them from ${CROWD} clients: ${told(sent)}`);
  }
  const generator = new BodyGenerator(seed, INPUT);
  const count = Math.max(0, size - tried);
  const generated = await sendGenerated(port, PATH, generator, count, CONNECTIONS, (done) => {
    if (done % 20_000 === 0) say(`${done} generated bodies`);
  });
  sent.lost.push(...generated.lost);
  for (const [status, times] of generated.countByStatus) {
    sent.countByStatus.set(status, (sent.countByStatus.get(status) ?? 0) + times);
  }
  say(`all sent: ${told(sent)}`);
  return tried + count;
}

async function sendAlone(port: number, attack: HostileRequest, sent: Sent) {
  const connection = new Connection(port);
  await sendOne(connection, PATH, attack, sent);
  connection.close();
}

async function figuresOf(
  { server, health, before, sent }: House,
  waitedS: number,
  isTimed: boolean,
  say: (line: string) => void,
) {
  await health.stop();
  const lost: string[] = [];
  if (!isAlive(server.pid)) return { lost: ["the server ended"], told: {} };
  const { count, within50Ms, longest } = await loopDelays(server.url, before);
  const peakMb = residentMb(server.pid).peak;
  const coreS = waitedForCoreS(server.pid) - waitedS;
  if (within50Ms < count) {
    lost.push(
      `${count - within50Ms} delays of the loop above 50 ms, the longest up to ${longest} s`,
    );
  }
  if (health.failures > 0) lost.push(`${health.failures} failed answers on its health`);
  const later: Record<string, string> = {};
  if (isTimed) {
    say("waiting a minute for its memory to come back");
    await sleep(LATER_MS);
    later["RSS a minute later"] = `${residentMb(server.pid).now.toFixed(0)} MB`;
  }
  return {
    lost,
    told: {
      answers: told(sent),
      "longest loop delay": `<= ${longest} s of ${count} ticks`,
      "longest health answer": `${health.longestMs.toFixed(0)} ms`,
      "loop waited for a core": `${coreS.toFixed(1)} s`,
      "peak RSS": `${peakMb.toFixed(0)} MB`,
      ...later,
    },
  };
}

/** Statuses, each with how often; 0 is no answer. */
function told({ countByStatus }: Sent): string {
  const pairs = [...countByStatus].sort(([a], [b]) => a - b);
  return pairs.map(([status, count]) => `${status} x ${count}`).join(" ");
}
