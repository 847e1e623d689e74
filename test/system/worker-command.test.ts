/** `stratagem-runtime worker` as it is started, and stopped. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { afterEach, expect, test } from "vitest";
import { AgentClient, modelFolder } from "../runtime/agent/built-agent.ts";
import { stratagemRuntime, urlOf } from "../support/run-cli.ts";

const running: ChildProcess[] = [];
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

/** Kept once it has loaded its models. */
async function started(program: string, ...args: string[]) {
  const where = ["worker", "--http", "127.0.0.1:0", "--json"];
  const child = spawn(process.execPath, [program, ...where, ...args], { stdio: "pipe" });
  running.push(child);
  const url = await urlOf(child);
  return { child, url, client: new AgentClient(url) };
}

test.each(["runtime/dist/cli.js", "compiler/dist/cli.js"])(
  "%s holds the variants of a bundle, by their names, and stops once told",
  async (program) => {
    const letters = ["--policy", "policies/letters/bundle.msgpack"];
    const models = ["--models", "models/image-classification", "--pool", "default"];
    const { child, client } = await started(program, ...letters, ...models, "--threads", "2");
    const { json: worker } = await client.get("/v2/stratagem/worker");
    expect(worker).toMatchObject({ pool: "default", cores: 2, running: 0 });
    const names = worker.models.map(({ name }: { readonly name: string }) => name);
    const { stdout } = stratagemRuntime("inspect", "policies/letters/bundle.msgpack", "--json");
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) expect(stdout).toContain(`"${name}"`);
    for (const { state } of worker.models) expect(state).toBe("ready");
    child.kill("SIGTERM");
    expect(await once(child, "exit")).toEqual([0, null]);
  },
);

test("a limit of open files that is too low is refused by name", () => {
  const command = "runtime/dist/cli.js worker --http 127.0.0.1:0 --models .";
  const shell = `ulimit -n 100; exec "$0" ${command}`;
  const { status, stderr } = spawnSync("sh", ["-c", shell, process.execPath], { encoding: "utf8" });
  expect(stderr).toMatch(/RUNTIME_MEANS worker: expected a limit of at least \d+ open files/);
  expect(stderr).toContain("connections 16");
  expect(status).toBe(65);
});

test("told to stop, it answers the batch that it has and ends", async () => {
  const { child, client } = await started("runtime/dist/cli.js", "--models", modelFolder("m"));
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
  const pids = children.split(" ").filter(Boolean).map(Number);
  expect(pids).toHaveLength(1);
  for (const pid of pids) process.kill(pid, "SIGSTOP");
  const running = client.infer("m", { id: "last" });
  await client.untilMetric('stratagem_agent_batches{state="running"}', 1);
  let log = "";
  const stopping = new Promise<void>((resolve) => {
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      log += chunk;
      if (log.includes("stopping")) resolve();
    });
  });
  child.kill("SIGTERM");
  await stopping;
  for (const pid of pids) process.kill(pid, "SIGCONT");
  expect(await running).toMatchObject({ status: 200, json: { id: "last" } });
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("a worker that is killed leaves no process behind", async () => {
  const { child } = await started("runtime/dist/cli.js", "--models", modelFolder("m", "n"));
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8");
  const pids = children.split(" ").filter(Boolean).map(Number);
  expect(pids).toHaveLength(2);
  child.kill("SIGKILL");
  await once(child, "exit");
  const isThere = (pid: number) => {
    try {
      return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
    } catch {
      return false;
    }
  };
  await expect.poll(() => pids.some(isThere), { timeout: 10_000 }).toBe(false);
});

test.each([
  [[], "RUNTIME_USAGE expected --models or --policy"],
  [["--models", ".", "--tls", "cert=a"], "expected cert=FILE,key=FILE or cert=FILE,key=FILE,"],
  [["--models", ".", "--http", "here"], "expected HOST:PORT"],
  [["--models", ".", "--device", "abacus"], "RUNTIME_USAGE"],
  [["--policy", "none.msgpack"], "RUNTIME_UNREADABLE none.msgpack"],
  [["--models", ".", "--tokens", "none"], "RUNTIME_UNREADABLE none"],
])("worker %o is refused as it stands", (flags, message) => {
  const { status, stderr } = stratagemRuntime("worker", "--http", "127.0.0.1:0", ...flags);
  expect(stderr).toContain(message);
  expect(status).toBeGreaterThan(2);
});
