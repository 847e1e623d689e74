import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { expect, test } from "vitest";
import { identityVariant, POOL_URL } from "./built-executor.ts";

/**
 * A process that starts an executor, closes it when a worker is lost, does `then` with it and has
 * nothing else to do. Its workers hold its standard error open.
 */
function spawnParent(then: string): ChildProcess {
  const options = {
    variants: [identityVariant("lifetime")],
    workerCount: 2,
    standbyCount: 1,
    threadsPerWorker: 1,
    devices: devicesOn("cpu", 2),
  };
  const script = `
    const { startExecutor } = await import(${JSON.stringify(POOL_URL)});
    const handlers = { onReady() {}, onLost: () => executor.close() };
    const limits = { healthyAfterMs: 0 };
    const executor = await startExecutor(${JSON.stringify(options)}, handlers, limits);
    ${then}`;
  const args = ["--input-type=module", "--eval", script];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
}

test("workers end when the process they serve is killed", async () => {
  const parent = spawnParent(`process.stdout.write("started");`);
  if (parent.stdout === null) throw new Error("the standard output of the parent is a pipe");
  await once(parent.stdout, "data");
  parent.kill("SIGKILL");
  // Comes only after the last worker has let go of the standard error it shares with its parent.
  expect(await once(parent, "close")).toEqual([null, "SIGKILL"]);
});

test("a process that has closed its executor ends by itself", async () => {
  const parent = spawnParent("await executor.close();");
  expect(await once(parent, "close")).toEqual([0, null]);
});

test("an executor that is closed when it tells of a loss starts no replacement", async () => {
  const parent = spawnParent(`process.kill(executor.pids().slots[0], "SIGKILL");`);
  expect(await once(parent, "close")).toEqual([0, null]);
});

test("an executor keeps its process running until it is closed", async () => {
  const parent = spawnParent(`
    process.on("SIGTERM", () => executor.close());
    process.stdout.write("started");`);
  if (parent.stdout === null) throw new Error("the standard output of the parent is a pipe");
  await once(parent.stdout, "data");
  parent.kill("SIGTERM");
  expect(await once(parent, "close")).toEqual([0, null]);
});
