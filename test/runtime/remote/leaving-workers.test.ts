/** Workers that are handed to another front end finish their batches and get no others. */
import type { ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { WorkerLostError } from "../../../runtime/exec/models/executor.ts";
import { startRemoteAssignedExecutor } from "../../../runtime/remote/remote-assigned.ts";
import type { RemoteMember, RemoteWorkers } from "../../../runtime/remote/remote-workers.ts";
import {
  batchOf,
  closeAll,
  closing,
  echo,
  executorOf,
  options,
  otherServer,
  Told,
} from "./remote-site.ts";

afterEach(closeAll);

/** Members that change, and the batches that were said to run on them. */
class Moving implements RemoteWorkers {
  readonly used: string[] = [];
  #members: readonly RemoteMember[];
  readonly #listeners = new Set<() => void>();

  constructor(members: readonly RemoteMember[]) {
    this.#members = members;
  }

  members(): readonly RemoteMember[] {
    return this.#members;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  use(worker: string): () => void {
    this.used.push(`${worker} begins`);
    return () => this.used.push(`${worker} ends`);
  }

  set(members: readonly RemoteMember[]): void {
    this.#members = members;
    for (const listener of this.#listeners) listener();
  }
}

function member(name: string, url: string): RemoteMember {
  return { name, url, pool: "default", lease: "front/1" };
}

/** A worker that answers when it is told to. */
async function held() {
  const open: (() => void)[] = [];
  let onOpen = () => {};
  const { url, ids } = await otherServer((tensor, response: ServerResponse, request) => {
    open.push(() => echo(tensor, response, request));
    onOpen();
  });
  const asked = () =>
    new Promise<void>((resolve) => {
      if (open.length > 0) resolve();
      onOpen = resolve;
    });
  return { url, ids, open, asked };
}

test("a leaving worker finishes its batch, gets no other and frees its slot", async () => {
  const worker = await held();
  const other = await otherServer(echo);
  const [first, second] = [member("first", worker.url), member("second", other.url)];
  const workers = new Moving([first]);
  const { executor, told } = await executorOf([], { workers });
  expect(await told.next()).toBe("ready 0");
  const running = executor.run(0, batchOf(1));
  await worker.asked();
  workers.set([{ ...first, isLeaving: true }, second]);
  const refused = executor.run(0, batchOf(1));
  await expect(refused).rejects.toBeInstanceOf(WorkerLostError);
  await expect(refused).rejects.toThrow(/the batch was not sent/);
  expect(workers.used).toEqual(["first begins"]);
  for (const answer of worker.open) answer();
  expect((await running).outputs).toHaveLength(1);
  expect(workers.used).toEqual(["first begins", "first ends"]);
  expect(worker.ids).toHaveLength(1);
  // The second may have been there before the first was out, or after.
  const event = await told.next();
  expect(event).toMatch(/^(lost|replaced) 0: .* it was handed to another front end$/);
  if (event.startsWith("lost")) expect(await told.next()).toBe("ready 0");
  await executor.run(0, batchOf(1));
  expect(other.ids).toHaveLength(1);
});

test("an idle leaving worker is removed at once and can return", async () => {
  const { url } = await otherServer(echo);
  const workers = new Moving([member("first", url)]);
  const { told } = await executorOf([], { workers });
  expect(await told.next()).toBe("ready 0");
  workers.set([{ ...member("first", url), isLeaving: true }]);
  expect(await told.next()).toMatch(/^lost 0: /);
  workers.set([member("first", url)]);
  expect(await told.next()).toBe("ready 0");
});

test("a leaving worker with assigned models finishes its batch as well", async () => {
  const worker = await held();
  const workers = new Moving([member("first", worker.url)]);
  const told = new Told();
  const executor = await startRemoteAssignedExecutor(options(workers), {
    onReady: (slot) => told.tell(`ready ${slot}`),
    onModelReady: (slot) => told.tell(`holds ${slot}`),
    onLost: (slot, reason) => told.tell(`lost ${slot}: ${reason}`),
  });
  closing.push(() => executor.close());
  expect(await told.next()).toBe("ready 0");
  executor.assign(0, [0]);
  expect(await told.next()).toBe("holds 0");
  const running = executor.run(0, batchOf(1));
  await worker.asked();
  workers.set([{ ...member("first", worker.url), isLeaving: true }]);
  await expect(executor.run(0, batchOf(1))).rejects.toThrow(/the batch was not sent/);
  for (const answer of worker.open) answer();
  expect((await running).outputs).toHaveLength(1);
  expect(await told.next()).toMatch(/^lost 0: .* it was handed to another front end$/);
  expect(worker.ids).toHaveLength(1);
});
