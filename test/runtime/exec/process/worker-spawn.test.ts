/** What a process that runs models gets of the one that starts it, as the processes see it. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
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
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { afterEach, describe, expect, test, vi } from "vitest";
import { codeRangeBytes, spawnLimited } from "../../../../runtime/exec/process/worker-spawn.ts";
import {
  countingRows,
  identityVariant,
  POOL_URL,
  type StartedExecutor,
  startedExecutor,
} from "../built-executor.ts";

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
    const limit = 2 ** 30 + codeRangeBytes();
    expect(limits).toMatch(new RegExp(`Max data size +${limit} +${limit} `));
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

onLinux("onnxruntime leaves nothing at home and in the folder for temporary files", () => {
  const home = mkdtempSync(join(tmpdir(), "stratagem-home-"));
  const model = identityVariant("told").path;
  const read = new URL("../../../../runtime/dist/exec/onnx/model-file.js", import.meta.url).href;
  const script = `
    const { describeModel } = await import(${JSON.stringify(read)});
    console.log((await describeModel(${JSON.stringify(model)})).model.file);`;
  const told = execFileSync(process.execPath, ["--input-type=module", "--eval", script], {
    env: { PATH: process.env["PATH"], HOME: home, TMPDIR: home },
    encoding: "utf8",
  });
  expect(told).toBe("told.onnx\n");
  expect(readdirSync(home)).toEqual([]);
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
        expect(inheritedBy(Number(pid))).toEqual(["3"]);
      }
    } finally {
      closeSync(file);
      for (const client of clients) client.destroy();
      server.close();
    }
  });
});

/** What a process has open after the standard three that is not its own making, by the flag. */
function inheritedBy(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).filter((fd) => Number(fd) > 2 && isInherited(pid, fd));
}

/** Node sets close-on-exec on all that it opens, and on what it finds open up to number 15. */
function isInherited(pid: number, fd: string): boolean {
  const target = readlinkSync(`/proc/${pid}/fd/${fd}`);
  if (/^(socket|\/(?!dev\/null))/.test(target)) return true;
  const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8"))?.[1];
  return (Number.parseInt(flags ?? "0", 8) & 0o2000000) === 0;
}

onLinux("a worker closes what the server itself was left open by a shell", async () => {
  const options = JSON.stringify({
    ...{ variants: [identityVariant("left")], workerCount: 1, standbyCount: 0 },
    ...{ threadsPerWorker: 1, devices: devicesOn("cpu", 1) },
  });
  const script = `
    const { startExecutor } = await import(${JSON.stringify(POOL_URL)});
    const executor = await startExecutor(${options}, { onReady() {}, onLost() {} });
    const { readdirSync, readlinkSync } = await import("node:fs");
    const [pid] = executor.pids().slots;
    const fds = ["self", pid].map((process) => readdirSync("/proc/" + process + "/fd"));
    console.log(JSON.stringify(fds.map((open) => open.includes("77"))));
    await executor.close();`;
  const left = Array.from({ length: 78 }, (_, fd) => (fd === 77 ? "pipe" : "ignore"));
  left[1] = "pipe";
  const parent = spawn(process.execPath, ["--input-type=module", "--eval", script], {
    stdio: left as ("pipe" | "ignore")[],
  });
  expect(JSON.parse(await outputOf(parent))).toEqual([true, false]);
});

test("a process that the system refuses at once has no pid, and says why by an event", async () => {
  // An environment that is too large is refused as a lack of memory is: by an error that is thrown.
  const env = { LARGE: "x".repeat(2 ** 23) };
  const child = spawnLimited("none.js", { memoryBytes: null, stdio: ["ignore", "pipe"], env });
  expect(child.pid).toBeUndefined();
  const [error] = await once(child, "error");
  expect(error).toMatchObject({ code: "E2BIG" });
});

onLinux("a worker that is lost without a descriptor left is replaced once there are", async () => {
  const options = JSON.stringify({
    ...{ variants: [identityVariant("left")], workerCount: 1, standbyCount: 0 },
    ...{ threadsPerWorker: 1, devices: devicesOn("cpu", 1) },
  });
  const script = `
    const { startExecutor } = await import(${JSON.stringify(POOL_URL)});
    const { closeSync, openSync } = await import("node:fs");
    const taken = [];
    let ready = 0;
    const executor = await startExecutor(${options}, {
      onLost() {},
      onReady() {
        ready++;
        if (ready === 1) {
          try {
            for (;;) taken.push(openSync("/dev/null"));
          } catch {}
          process.kill(executor.pids().slots[0], "SIGKILL");
          // The channel of the lost worker leaves a few, which this takes as well.
          setImmediate(function take() {
            if (taken.isOver) return;
            try {
              for (;;) taken.push(openSync("/dev/null"));
            } catch {}
            setImmediate(take);
          });
        } else {
          console.log("replaced");
          void executor.close();
        }
      },
      onStartFailed(reason) {
        console.log(reason.replace(/ \\S*sh /, " "));
        if (!reason.includes("EMFILE")) return;
        taken.isOver = true;
        for (const fd of taken.splice(0)) closeSync(fd);
      },
    }, { backoffMs: 1, healthyAfterMs: 0 });`;
  const shell = 'ulimit -n 64; exec "$0" --input-type=module --eval "$1"';
  const parent = spawn("/bin/sh", ["-c", shell, process.execPath, script], { stdio: "pipe" });
  const [said, [code]] = await Promise.all([outputOf(parent), once(parent, "close")]);
  expect([said.trim().split("\n"), code]).toEqual([["spawn EMFILE", "replaced"], 0]);
});
