/** Our own agents as workers of a front end, with the processes that run their models. */
import { afterEach, expect, test } from "vitest";
import { exposition } from "../../runtime/base/exposition.ts";
import { WorkerLostError } from "../../runtime/exec/models/executor.ts";
import { Hops } from "../../runtime/remote/hops.ts";
import { startRemoteAssignedExecutor } from "../../runtime/remote/remote-assigned.ts";
import {
  fixedWorkers,
  type RemoteMember,
  type RemoteWorkers,
  workersAt,
} from "../../runtime/remote/remote-workers.ts";
import { agentWith, modelFolder, type TestedAgent } from "../runtime/agent/built-agent.ts";
import {
  batchOf,
  closeAll,
  closing,
  executorOf,
  options,
  rowsOf,
  Told,
  variantOf,
  WIDTH,
} from "../runtime/remote/remote-site.ts";

afterEach(closeAll);

const FOLDER = modelFolder("m", "n");

async function agent(options: Parameters<typeof agentWith>[0] = {}): Promise<TestedAgent> {
  const started = await agentWith({ models: FOLDER, ...options });
  closing.push(() => started.close());
  return started;
}

test("an agent runs batches, by the name of the file where it knows no other", async () => {
  const { url } = await agent();
  const hops = new Hops(0, () => {});
  const { executor, told } = await executorOf([url], { hops });
  expect(await told.next()).toBe("ready 0");
  const answered = await rowsOf(executor, 0, batchOf(3));
  expect(answered).toEqual({
    shape: [3, WIDTH],
    values: Array.from({ length: 3 * WIDTH }, (_, index) => index),
  });
  const lines = exposition(hops.metricLines());
  expect(lines).toContain(`stratagem_worker_hop_seconds_count{pool="default",worker="${url}"} 1`);
});

test("an agent that ends under a batch is lost, and what stands by has its slot", async () => {
  const [first, second] = [await agent(), await agent({ name: "w2" })];
  const { executor, told } = await executorOf([first.url, second.url]);
  expect(await told.next()).toBe("ready 0");
  // Whichever of them has the slot is the one that is held.
  const holds = [first, second].flatMap((one) => one.pids().get("m") ?? []);
  for (const pid of holds) process.kill(pid, "SIGSTOP");
  const running = executor.run(0, batchOf(1));
  const lost = expect(running).rejects.toBeInstanceOf(WorkerLostError);
  for (;;) {
    const [one, other] = [first, second].map((each) => each.document().running);
    if (one === 0 && other === 0) await new Promise((resolve) => setImmediate(resolve));
    else {
      const pid = (one === 1 ? first : second).pids().get("m");
      if (pid !== undefined) process.kill(pid, "SIGKILL");
      break;
    }
  }
  for (const pid of holds) {
    try {
      process.kill(pid, "SIGCONT");
    } catch {
      // It is the one that was killed.
    }
  }
  await lost;
  expect(await told.next()).toMatch(/^replaced 0: .*status 502/);
  expect(await rowsOf(executor, 0, batchOf(2))).toMatchObject({ shape: [2, WIDTH] });
});

test("an agent that somebody else has leased since is lost, until it is leased again", async () => {
  const { url, client } = await agent();
  let lease = "front/1";
  let changed = () => {};
  const members = (): RemoteMember[] => [{ name: "w1", url, pool: "default", lease }];
  const onChange: RemoteWorkers["onChange"] = (listener) => {
    changed = listener;
    return () => {};
  };
  const { executor, told } = await executorOf([], { workers: { members, onChange } });
  expect(await told.next()).toBe("ready 0");
  await executor.run(0, batchOf(1));
  const headers = { "stratagem-lease": "other/2" };
  expect(await client.infer("m", { headers })).toMatchObject({ status: 200 });
  await expect(executor.run(0, batchOf(1))).rejects.toBeInstanceOf(WorkerLostError);
  expect(await told.next()).toMatch(/^lost 0: .*status 409/);
  lease = "front/3";
  changed();
  expect(await told.next()).toBe("ready 0");
  await executor.run(0, batchOf(1));
});

test("an agent loads what it is assigned, and lets the oldest go", async () => {
  const { url, client } = await agent({ load: [] });
  const told = new Told();
  const variants = [variantOf("m"), variantOf("n")];
  const workers = fixedWorkers(workersAt("default", [url]));
  const executor = await startRemoteAssignedExecutor(options(workers, { variants }), {
    onReady: (slot) => told.tell(`ready ${slot}`),
    onLost: (slot, reason) => told.tell(`lost ${slot}: ${reason}`),
    onModelReady: (slot, loads) => told.tell(`holds ${slot}: ${loads}`),
    onResized: (slot, cores) => told.tell(`resized ${slot}: ${cores}`),
  });
  closing.push(() => executor.close());
  expect(await told.next()).toBe("ready 0");
  executor.assign(0, [1], 1);
  expect(await told.next()).toBe("holds 0: 1");
  const { outputs } = await executor.run(0, batchOf(1, { variant: 1 }));
  expect(outputs).toHaveLength(1);
  await expect(executor.run(0, batchOf(1))).rejects.toBeInstanceOf(WorkerLostError);
  executor.assign(0, [1, 0], 1);
  expect(await told.next()).toBe("holds 0: 1");
  executor.resize(0, 2);
  expect(await told.next()).toBe("resized 0: 2");
  expect((await executor.run(0, batchOf(1))).cores).toBe(2);
  const { json } = await client.get("/v2/stratagem/worker");
  expect(json.models).toMatchObject([{ name: "m" }, { name: "n" }]);
});
