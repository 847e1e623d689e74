/** The store, the members and the models of a cluster over a real NATS. */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, afterEach, expect } from "vitest";
import { type AnnouncedState, Announcer } from "../../runtime/features/cluster/announcer.ts";
import { ClusterWorker } from "../../runtime/features/cluster/cluster-worker.ts";
import { BEAT_MS, SILENT_MS } from "../../runtime/features/cluster/member-book.ts";
import { fetchModel } from "../../runtime/features/cluster/model-objects.ts";
import { clusterPackages } from "../../runtime/features/cluster/nats-packages.ts";
import { NatsStore } from "../../runtime/features/cluster/nats-store.ts";
import { ClusterSite, clusterAt, fill, until, untilAway } from "../support/cluster-site.ts";
import { HAS_NATS_SERVER } from "../support/nats-server.ts";
import { STORE_CASES } from "../support/store-cases.ts";
import { testWith } from "./needs.ts";

const packages = await clusterPackages("test").catch(() => null);
const parts = "nats-server and the packages @nats-io/transport-node, jetstream, kv and obj";
const test = testWith(parts, HAS_NATS_SERVER && packages !== null);

const site = new ClusterSite();

afterEach(() => site.end());
afterAll(() => site.remove());

for (const [name, run] of Object.entries(STORE_CASES)) {
  test(`over NATS, ${name}`, async () => {
    const nats = await site.nats();
    const line = await site.line(nats.port);
    const [one, other] = [await site.connected(line.port), await site.connected(nats.port)];
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
    // Nobody answers there.
    ...{ name, url: "http://127.0.0.1:9", pool: "cpus", cores: 2, device: "cpu" },
    ...{ provider: "cpu", models: [MODEL], epoch: 0, ...more },
  };
}

async function announced(port: number, state: () => AnnouncedState): Promise<Announcer> {
  const connection = await site.connected(port);
  return new Announcer({ connection, store: new NatsStore(connection), state });
}

test("a worker of a cluster has its other workers as peers", async () => {
  const nats = await site.nats();
  await announced(nats.port, () => worker("peer", { url: "http://10.0.0.8:8000/" }));
  const folder = site.folder("peers");
  const found = { cluster: clusterAt(nats.port), name: "w", folder, onNotice: () => {} };
  const one = await ClusterWorker.open(found);
  await expect.poll(() => one.hasWorkerAt("http://10.0.0.8:8000"), { timeout: 30_000 }).toBe(true);
  expect(one.hasWorkerAt("http://10.0.0.9:8000")).toBe(false);
  await one.close();
});

test("workers are members from their first beat until they leave or are silent", async () => {
  const nats = await site.nats();
  const line = await site.line(nats.port);
  const [members] = await site.membership(nats.port);
  const leaving = await announced(nats.port, () => worker("leaving"));
  await announced(line.port, () => worker("silent", { pool: "gpus" }));
  await until(members, (names) => names === "leaving silent");
  expect(members.members[1]).toMatchObject({ ...worker("silent", { pool: "gpus" }) });
  // Whoever starts now knows them by what is kept, or by the next beat.
  const [later] = await site.membership(nats.port);
  await until(later, (names) => names === "leaving silent");
  await leaving.leave();
  await until(members, (names) => names === "silent");
  line.cut();
  await until(members, (names) => names === "");
  await until(later, (names) => names === "");
  line.heal();
  await until(members, (names) => names === "silent");
});

test("a worker whose line to NATS is cut stays for as long as it answers", async () => {
  const nats = await site.nats();
  const line = await site.line(nats.port);
  let looks = 0;
  let onLook = () => {};
  const [members] = await site.membership(nats.port, () => {
    looks += 1;
    onLook();
  });
  const server = createServer((_, reply) => reply.end());
  server.listen(0, "127.0.0.1");
  site.endsWith(() => server.close());
  await once(server, "listening");
  const address = server.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  await announced(line.port, () => worker("cut", { url: `http://127.0.0.1:${port}` }));
  await until(members, (names) => names === "cut");
  line.cut();
  const last = looks + (4 * SILENT_MS) / BEAT_MS;
  await new Promise<void>((resolve) => {
    onLook = () => {
      if (looks > last) resolve();
    };
  });
  expect(members.members).toHaveLength(1);
  server.closeAllConnections();
  server.close();
  await until(members, (names) => names === "");
});

test("while NATS is away nobody leaves, and afterwards those do who went meanwhile", async () => {
  const nats = await site.nats();
  const line = await site.line(nats.port);
  let onLook = () => {};
  const [members, connection] = await site.membership(nats.port, () => onLook());
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
  const nats = await site.nats();
  const connection = await site.connected(nats.port);
  await untilAway(connection, false);
  const bytes = randomBytes(300_000);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  await fill(connection, "others", { "team/small.onnx": randomBytes(10) });
  await fill(connection, "policies", { "team/small.onnx": bytes });
  const { signal } = new AbortController();
  const place = site.folder("models");
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
