/** What the broker of a cluster carries: beats of its workers and front ends, and their watches. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { clusterUrlOf } from "stratagem-runtime/internal/features/cluster/cluster-url";
import { ClusterConnection } from "stratagem-runtime/internal/features/cluster/connection";
import { freePort, HAS_NATS_SERVER, NatsServer } from "../../../test/support/nats-server.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines } from "../harness/live.ts";
import { processorTime } from "../harness/processor-time.ts";
import { announceWorkers } from "./announced-workers.ts";
import { gaugeOf, perSecond, type Traffic, trafficOf } from "./broker-traffic.ts";

const WORKERS = 1000;
const CONNECTIONS = 4;
const OWN = 'share="own"';
const FRONT_ENDS = ["one", "two"];
const MEASURED_MS = 20_000;
const SETTLING_MS = 2000;
const LOOK_MS = 250;
const LATEST_MS = 30_000;

export const broker: Experiment = {
  name: "broker",
  about: `messages of ${WORKERS} workers and ${FRONT_ENDS.length} front ends over one nats-server`,
  takes: "half a minute; it measures this machine, and needs nats-server",
  isExtra: true,
  run: measure,
};

async function measure({ page, folder }: Run): Promise<void> {
  if (!HAS_NATS_SERVER) {
    page.say("left out: there is no nats-server on this machine (Debian: nats-server)");
    return;
  }
  for (const line of machineLines()) page.say(line);
  const monitor = await freePort();
  const pidFile = join(folder, "nats.pid");
  const args = ["-m", String(monitor), "-P", pidFile];
  const nats = await NatsServer.start(join(folder, "nats"), ...args);
  const url = `nats://127.0.0.1:${nats.port}`;
  const ends: (() => unknown)[] = [() => nats.kill()];
  try {
    const connections: ClusterConnection[] = [];
    for (let at = 0; at < CONNECTIONS; at++) connections.push(await connected(url, at));
    ends.push(() => Promise.all(connections.map((connection) => connection.close())));
    const members = FRONT_ENDS.map((name) => startMember(url, name));
    ends.push(() => Promise.all(members.map(stopped)));
    ends.push(announceWorkers(connections, WORKERS));
    const shares = await settled(members);
    const natsPid = Number(readFileSync(pidFile, "utf8"));
    const varz = `http://127.0.0.1:${monitor}/varz`;
    const before = await look(varz, natsPid, members);
    await pause(MEASURED_MS);
    const after = await look(varz, natsPid, members);
    const rates = perSecond(before.traffic, after.traffic);
    const percent = (of: (looked: Looked) => number) => {
      const share = (of(after) - of(before)) / (after.traffic.atMs - before.traffic.atMs);
      return (100 * share).toFixed(1);
    };
    page.say(
      `\n${WORKERS} workers that beat once a second over ${CONNECTIONS} connections, ` +
        `${FRONT_ENDS.length} front ends with ${shares.join(" and ")} of them; ` +
        `${MEASURED_MS / 1000} s after they were all known`,
    );
    page.table(
      ["to nats-server", "messages/s", "KB/s"],
      [
        ["in", rates.inMessages.toFixed(0), (rates.inBytes / 1000).toFixed(0)],
        ["out", rates.outMessages.toFixed(0), (rates.outBytes / 1000).toFixed(0)],
      ],
    );
    page.say();
    page.table(
      ["process", "% of a core"],
      [
        ["nats-server", percent(({ natsMs }) => natsMs)],
        ...FRONT_ENDS.map((name, at) => [
          `membership and leases of front end ${name}`,
          percent(({ memberMs }) => memberMs[at] ?? Number.NaN),
        ]),
        [`this one, of ${WORKERS} workers`, percent(({ ownMs }) => ownMs)],
      ],
    );
    page.say(`load average after: ${loadavg()[0]?.toFixed(2)}`);
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

interface Looked {
  readonly traffic: Traffic;
  /** Processor time so far, ms. */
  readonly natsMs: number;
  readonly memberMs: readonly number[];
  readonly ownMs: number;
}

async function look(
  varz: string,
  natsPid: number,
  members: readonly ChildProcess[],
): Promise<Looked> {
  const traffic = trafficOf(await (await fetch(varz)).text(), performance.now());
  return {
    traffic,
    natsMs: processorTime(natsPid).ownMs,
    memberMs: members.map(({ pid = 0 }) => processorTime(pid).ownMs),
    ownMs: processorTime(process.pid).ownMs,
  };
}

async function connected(url: string, at: number): Promise<ClusterConnection> {
  const connection = await ClusterConnection.open({
    url: clusterUrlOf(url),
    clientName: `workers ${at}`,
    onNotice: (message) => process.stderr.write(`${message}\n`),
  });
  await new Promise<void>((resolve) => connection.onLink((link) => link !== null && resolve()));
  return connection;
}

function startMember(url: string, name: string): ChildProcess {
  return fork(new URL("./member-main.js", import.meta.url), [url, name]);
}

/** Waits until every worker is known to all, and held by one. @returns the shares. */
async function settled(members: readonly ChildProcess[]): Promise<number[]> {
  const latest = performance.now() + LATEST_MS;
  for (;;) {
    const texts = await Promise.all(members.map(told));
    const known = texts.map((text) => gaugeOf(text, "stratagem_cluster_workers"));
    const shares = texts.map((text) => gaugeOf(text, "stratagem_cluster_workers", OWN));
    const held = shares.reduce((sum, share) => sum + share, 0);
    const isEven = Math.max(...shares) - Math.min(...shares) <= 1;
    if (known.every((count) => count === WORKERS) && held === WORKERS && isEven) {
      await pause(SETTLING_MS);
      return shares;
    }
    if (performance.now() > latest) {
      throw new Error(`${LATEST_MS / 1000} s on, front ends know ${known} and hold ${shares}`);
    }
    await pause(LOOK_MS);
  }
}

async function told(member: ChildProcess): Promise<string> {
  const answered = once(member, "message");
  member.send("?");
  const [text] = await answered;
  return String(text);
}

async function stopped(member: ChildProcess): Promise<void> {
  if (member.exitCode !== null) return;
  const ended = once(member, "exit");
  member.kill("SIGTERM");
  await ended;
}
