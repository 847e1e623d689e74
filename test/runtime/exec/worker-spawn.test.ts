/** What a process that runs models gets of the one that starts it, as the processes see it. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { spawnLimited } from "../../../runtime/exec/worker-spawn.ts";
import { countingRows, type StartedExecutor, startedExecutor } from "./built-executor.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-spawn-"));
const onLinux = test.runIf(process.platform === "linux");
let executor: StartedExecutor | undefined;

afterEach(async () => {
  vi.unstubAllEnvs();
  await executor?.close();
  executor = undefined;
});

/** What a script prints. */
async function printed(body: string, memoryBytes: number | null = null): Promise<string> {
  const script = join(folder, "script.cjs");
  writeFileSync(script, body);
  return outputOf(spawnLimited(script, { memoryBytes, stdio: ["ignore", "pipe", "ignore"] }));
}

async function outputOf(child: ChildProcess): Promise<string> {
  let said = "";
  for await (const chunk of child.stdout ?? []) said += chunk;
  return said;
}

describe("a process that runs models", () => {
  test("knows neither credentials nor options of the server, but what libraries need", async () => {
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    vi.stubEnv("NODE_OPTIONS", "--no-warnings");
    vi.stubEnv("CUDA_VISIBLE_DEVICES", "1");
    vi.stubEnv("LC_ALL", "C");
    vi.stubEnv("ORT_DISABLE_TELEMETRY", undefined);
    const names = JSON.parse(await printed("console.log(JSON.stringify(process.env))"));
    expect(names).toMatchObject({
      CUDA_VISIBLE_DEVICES: "1",
      LC_ALL: "C",
      PATH: expect.anything(),
    });
    expect(names).toMatchObject({ ORT_DISABLE_TELEMETRY: "1" });
    expect(Object.values(names)).not.toContain("secret");
    expect(names).not.toHaveProperty("NODE_OPTIONS");
  });

  onLinux("has its limit, no core dumps, a mask of its own and no folder", async () => {
    const limits = await printed(
      'console.log(require("fs").readFileSync("/proc/self/limits", "utf8"),' +
        "process.cwd(), process.umask().toString(8))",
      2 ** 30,
    );
    expect(limits).toMatch(/Max data size +1073741824 +1073741824/);
    expect(limits).toMatch(/Max core file size +0 +0/);
    expect(limits.trimEnd()).toMatch(/\/ 77$/);
  });

  onLinux("is refused memory beyond its limit, and goes on", async () => {
    const greedy = `
      const { Buffer } = require("node:buffer");
      try { Buffer.alloc(2 ** 30); console.log("got it"); } catch (e) { console.log(e.message); }`;
    expect(await printed(greedy, 2 ** 29)).toMatch(/allocation failed/i);
    expect(await printed(greedy)).toBe("got it\n");
  });
});

describe("a worker", () => {
  onLinux("gets no secret, no connection of a client and no file of the server", async () => {
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "secret");
    vi.stubEnv("NODE_OPTIONS", "--no-warnings");
    const server = createServer((socket) => socket.pause()).listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("it listens at a port");
    const clients = Array.from({ length: 20 }, () => connect(address.port, "127.0.0.1"));
    await Promise.all(clients.map((client) => once(client, "connect")));
    const file = openSync(join(folder, "open"), "w");
    try {
      executor = await startedExecutor({ standbyCount: 1 });
      await executor.nextEvent();
      await executor.run(0, { variant: 0, rows: 1, inputs: [[countingRows(7, 1)]] });
      const { slots, standbys } = executor.pids();
      for (const pid of [...slots, ...standbys]) {
        const environment = readFileSync(`/proc/${pid}/environ`, "utf8");
        expect(environment).not.toMatch(/secret|NODE_OPTIONS/);
        expect(inheritedBy(Number(pid))).toEqual(["socket"]);
      }
    } finally {
      closeSync(file);
      for (const client of clients) client.destroy();
      server.close();
    }
  });
});

/** Kinds of what a process has open after the standard three and is not its own making. */
function inheritedBy(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  const own = /^(pipe|anon_inode|\/dev\/null)/;
  return readdirSync(folder)
    .filter((fd) => Number(fd) > 2)
    .map((fd) => readlinkSync(join(folder, fd)))
    .filter((target) => !own.test(target))
    .map((target) => target.replace(/:.*/, ""));
}
