/** The store, the members and the models of a cluster over a real NATS. */
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect } from "vitest";
import { type AnnouncedState, Announcer } from "../../runtime/cluster/announcer.ts";
import { clusterUrlOf } from "../../runtime/cluster/cluster-url.ts";
import { ClusterConnection } from "../../runtime/cluster/connection.ts";
import { BEAT_MS, SILENT_MS } from "../../runtime/cluster/member-book.ts";
import { ClusterMembership, type Every, timerEvery } from "../../runtime/cluster/membership.ts";
import { fetchModel } from "../../runtime/cluster/model-objects.ts";
import { clusterPackages } from "../../runtime/cluster/nats-packages.ts";
import { NatsStore } from "../../runtime/cluster/nats-store.ts";
import { CutLine } from "../support/cut-line.ts";
import { HAS_NATS_SERVER, NatsServer } from "../support/nats-server.ts";
import { STORE_CASES } from "../support/store-cases.ts";
import { testWith } from "./needs.ts";

const packages = await clusterPackages("test").catch(() => null);
const parts = "nats-server and the packages @nats-io/transport-node, jetstream, kv and obj";
const test = testWith(parts, HAS_NATS_SERVER && packages !== null);

const folder = mkdtempSync(join(tmpdir(), "stratagem-cluster-"));
const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

afterAll(() => rmSync(folder, { recursive: true }));

async function natsServer(): Promise<NatsServer> {
  const server = await NatsServer.start(mkdtempSync(join(folder, "nats-")));
  ends.push(() => server.kill());
  return server;
}

async function lineTo(port: number): Promise<CutLine> {
  const line = await CutLine.to(port);
  ends.push(() => line.close());
  return line;
}

async function connected(port: number): Promise<ClusterConnection> {
  const connection = await ClusterConnection.open({
    url: clusterUrlOf(`nats://127.0.0.1:${port}/tried`),
    clientName: "test",
    onNotice: () => {},
  });
  ends.push(() => connection.close());
  return connection;
}

/** Once there is a link, or none. */
async function untilAway(connection: ClusterConnection, isAway: boolean): Promise<void> {
  await new Promise<void>((resolve) => {
    if (connection.isAway === isAway) return resolve();
    const end = connection.onLink((link) => {
      if ((link === null) !== isAway) return;
      queueMicrotask(() => end());
      resolve();
    });
  });
}

for (const [name, run] of Object.entries(STORE_CASES)) {
  test(`over NATS, ${name}`, async () => {
    const nats = await natsServer();
    const line = await lineTo(nats.port);
    const [one, other] = [await connected(line.port), await connected(nats.port)];
    await Promise.all([one, other].map((connection) => untilAway(connection, false)));
    await run({
      stores: [new NatsStore(one), new NatsStore(other)],
      cut: async () => {
        line.cut();
        await untilAway(one, true);
      },
      heal: async () => {
        line.heal();
        await untilAway(one, false);
      },
    });
  });
}

const MODEL = { name: "small", sha256: "ab".repeat(32), state: "ready" } as const;

function worker(name: string, more: Partial<AnnouncedState> = {}): AnnouncedState {
  return {
    ...{ name, url: "http://127.0.0.1:8000", pool: "cpus", cores: 2, device: "cpu" },
    ...{ provider: "cpu", models: [MODEL], ...more },
  };
}

async function announced(port: number, state: () => AnnouncedState): Promise<Announcer> {
  const connection = await connected(port);
  return new Announcer({ connection, store: new NatsStore(connection), state });
}

/** @param onLook is called with every look for who is silent. */
async function membership(
  port: number,
  onLook = () => {},
): Promise<[ClusterMembership, ClusterConnection]> {
  const connection = await connected(port);
  const every: Every = (ms, work) =>
    timerEvery(ms, () => {
      work();
      onLook();
    });
  const members = new ClusterMembership({
    ...{ connection, store: new NatsStore(connection), onNotice: () => {}, every },
    nowMs: () => performance.now(),
  });
  ends.push(() => members.close());
  return [members, connection];
}

async function until(members: ClusterMembership, isSo: (names: string) => boolean): Promise<void> {
  const names = () => members.members.map(({ name }) => name).join(" ");
  await new Promise<void>((resolve) => {
    if (isSo(names())) return resolve();
    const end = members.onChange(() => {
      if (!isSo(names())) return;
      end();
      resolve();
    });
  });
}

test("workers are members from their first beat until they leave or are silent", async () => {
  const nats = await natsServer();
  const line = await lineTo(nats.port);
  const [members] = await membership(nats.port);
  const leaving = await announced(nats.port, () => worker("leaving"));
  await announced(line.port, () => worker("silent", { pool: null }));
  await until(members, (names) => names === "leaving silent");
  expect(members.members[1]).toMatchObject({ ...worker("silent", { pool: null }) });
  // Whoever starts now knows them by what is kept, or by the next beat.
  const [later] = await membership(nats.port);
  await until(later, (names) => names === "leaving silent");
  await leaving.leave();
  await until(members, (names) => names === "silent");
  line.cut();
  await until(members, (names) => names === "");
  await until(later, (names) => names === "");
  line.heal();
  await until(members, (names) => names === "silent");
});

test("while NATS is away nobody leaves, and afterwards those do who went meanwhile", async () => {
  const nats = await natsServer();
  const line = await lineTo(nats.port);
  let onLook = () => {};
  const [members, connection] = await membership(nats.port, () => onLook());
  let cores = 1;
  await announced(nats.port, () => worker("stays", { cores }));
  await announced(line.port, () => worker("goes"));
  await until(members, (names) => names === "goes stays");
  await nats.kill();
  await untilAway(connection, true);
  line.cut();
  cores = 2;
  let changes = 0;
  const end = members.onChange(() => changes++);
  // More looks than any silence is long.
  let looks = 0;
  await new Promise<void>((resolve) => {
    onLook = () => {
      looks += 1;
      if (looks > (2 * SILENT_MS) / BEAT_MS + 1) resolve();
    };
  });
  expect(changes).toBe(0);
  end();
  await nats.start();
  await until(members, (names) => names === "stays");
  expect(members.members).toMatchObject([{ name: "stays", cores: 2 }]);
  await announced(nats.port, () => worker("comes"));
  await until(members, (names) => names === "comes stays");
});

test("a model comes by its digest, from whatever object store has it, or not at all", async () => {
  const nats = await natsServer();
  const connection = await connected(nats.port);
  await untilAway(connection, false);
  const bytes = randomBytes(300_000);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const { link } = connection;
  if (link === null) throw new Error("expected a link");
  const stores: unknown = new connection.packages.Objm(link);
  for (const [bucket, content] of [
    ["others", randomBytes(10)],
    ["policies", bytes],
  ] as const) {
    const objects = await (stores as Filled).create(bucket);
    await objects.putBlob({ name: "team/small.onnx" }, content);
  }
  const { signal } = new AbortController();
  const place = mkdtempSync(join(folder, "models-"));
  await fetchModel(connection, sha256, join(place, sha256), signal);
  expect(readFileSync(join(place, sha256)).equals(bytes)).toBe(true);
  const none = "00".repeat(32);
  const missing = fetchModel(connection, none, join(place, none), signal);
  await expect(missing).rejects.toMatchObject({ code: "RUNTIME_MODEL" });
  await nats.kill();
  await untilAway(connection, true);
  const away = fetchModel(connection, sha256, join(place, "again"), signal);
  await expect(away).rejects.toMatchObject({ code: "RUNTIME_CLUSTER" });
  expect(readdirSync(place)).toEqual([sha256]);
});

/** What is used to fill an object store. */
interface Filled {
  create(bucket: string): Promise<{
    putBlob(meta: { readonly name: string }, bytes: Uint8Array): Promise<unknown>;
  }>;
}
