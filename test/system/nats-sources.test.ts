/** A server whose bundle is an object of a real NATS, which tells of another one at once. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect } from "vitest";
import { natsPackages } from "../../runtime/sources/nats.ts";
import { type CompiledEcho, EdgeServers } from "../support/edge-servers.ts";
import { testWith } from "./needs.ts";

const HAS_SERVER = spawnSync("nats-server", ["--version"]).status === 0;
const packages = await natsPackages("test").catch(() => null);
const parts = "nats-server, @nats-io/transport-node and @nats-io/obj";
const test = testWith(parts, HAS_SERVER && packages !== null);

const folder = mkdtempSync(join(tmpdir(), "stratagem-edge-nats-"));
const edge = new EdgeServers(folder);
const running: ChildProcess[] = [];

afterEach(async () => {
  await edge.end();
  for (const child of running.splice(0)) {
    if (child.signalCode !== null) continue;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }
});

afterAll(() => rmSync(folder, { recursive: true }));

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return address !== null && typeof address === "object" ? address.port : 0;
}

async function natsServer(port: number): Promise<ChildProcess> {
  const args = ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", join(folder, "nats")];
  const child = spawn("nats-server", args, { stdio: ["ignore", "ignore", "pipe"] });
  running.push(child);
  for await (const chunk of child.stderr) {
    if (String(chunk).includes("Server is ready")) break;
  }
  return child;
}

/** What is used to fill an object store. */
interface Filled {
  create(bucket: string): Promise<{
    putBlob(meta: { readonly name: string }, bytes: Uint8Array): Promise<unknown>;
  }>;
}

async function publish({ bundle, models }: CompiledEcho, port: number): Promise<void> {
  const { connect, Objm } = packages ?? (await natsPackages("test"));
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const manager: unknown = new Objm(connection);
  const objects = await (manager as Filled).create("policies");
  for (const [file, bytes] of Object.entries(models)) {
    await objects.putBlob({ name: `team/${file}` }, bytes);
  }
  await objects.putBlob({ name: "team/bundle.msgpack" }, bundle);
  await connection.close();
}

test("what is put is followed without being asked for, and kept while NATS is away", async () => {
  const [first, second] = [edge.compile("first", 3), edge.compile("second", 4)];
  const port = await freePort();
  const nats = await natsServer(port);
  await publish(first, port);
  const url = `nats://127.0.0.1:${port}/policies/team/bundle.msgpack`;
  // It is never polled: whatever comes was told.
  const from = ["--policy", url, "--poll", "24h"];
  const store = join(folder, "store");
  const served = await edge.serve(store, ...from);
  await edge.until(served.url, ({ state }) => state === "followed");
  expect(await edge.answered(served.url, 3)).toBe(200);
  await publish(second, port);
  await edge.until(served.url, ({ revision }) => revision.sha256 === second.sha256);
  expect(await edge.answered(served.url, 4)).toBe(200);
  const ended = once(nats, "exit");
  nats.kill("SIGKILL");
  await ended;
  await edge.end();
  const again = await edge.serve(store, "--policy", url);
  const { revision } = await edge.until(again.url, ({ state }) => state === "away");
  expect(revision.sha256).toBe(second.sha256);
  expect(await edge.answered(again.url, 4)).toBe(200);
});
