import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { LoadShare } from "../../../../../runtime/core/load-share.ts";
import { allOf } from "../../../../../runtime/features/cluster/shares/all-members.ts";
import { frontEndId } from "../../../../../runtime/features/cluster/shares/cluster-shares.ts";
import {
  frontEndKey,
  leaseKey,
} from "../../../../../runtime/features/cluster/shares/share-texts.ts";
import { SharedWorkers } from "../../../../../runtime/features/cluster/shares/shared-workers.ts";
import type { WorkerState } from "../../../../../runtime/features/cluster/worker-state.ts";
import type { RemoteMember } from "../../../../../runtime/remote/remote-workers.ts";
import { MemoryBucket, type MemoryStore } from "../../../../support/memory-store.ts";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const MEMBERS: readonly RemoteMember[] = ["a", "b", "c", "d"].map((name) => ({
  ...{ name: `http://${name}:8000`, url: `http://${name}:8000`, pool: "cpu", lease: null },
}));

/** Workers, as far as their announcements go. */
class Agents {
  members: readonly WorkerState[] = MEMBERS.map(({ name, url, pool }) => ({
    ...{ name, url, pool, session: "s", cores: 1, device: "cpu", provider: "cpu", models: [] },
    ...{ isLeaving: false, epoch: 0 },
  }));
  readonly #listeners = new Set<() => void>();

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All have seen this epoch. */
  see(epoch: number): void {
    this.members = this.members.map((member) => ({ ...member, epoch }));
    for (const listener of this.#listeners) listener();
  }
}

class Tried {
  readonly workers: SharedWorkers;
  readonly store: MemoryStore;
  readonly errors: Error[] = [];
  share: LoadShare | undefined;
  changes = 0;
  /** Front ends that answer at their URLs. */
  answering: readonly string[] = [];
  answersAfterMs = 0;

  constructor(bucket: MemoryBucket, frontEnd: string, qps: number, agents = new Agents()) {
    this.store = bucket.store();
    this.workers = new SharedWorkers({
      store: this.store,
      frontEnd,
      ...allOf(agents),
      nowMs: () => performance.now(),
      url: () => `http://${frontEnd}:8000`,
      answers: async (url, name) => {
        await answerAfter(this.answersAfterMs);
        return url === `http://${name}:8000` && this.answering.includes(name);
      },
      seenLoad: () => ({ qps, variance: 2 * qps }),
      onShare: (share) => {
        this.share = share;
      },
      onError: (error) => this.errors.push(error),
    });
    this.workers.onChange(() => this.changes++);
    this.workers.open();
  }

  get leases(): (string | null)[] {
    return this.workers.members().map(({ lease }) => lease);
  }
}

/** As an answer over a link that takes this time. */
async function answerAfter(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

function pass(ms: number): Promise<unknown> {
  return vi.advanceTimersByTimeAsync(ms);
}

test("two front ends have half of the workers each and know the total load", async () => {
  const bucket = new MemoryBucket();
  const first = new Tried(bucket, "first", 100);
  await pass(1000);
  expect(first.leases).toEqual(["first/1", "first/1", "first/1", "first/1"]);
  expect(first.share).toEqual({ othersQps: 0, othersVariance: 0, workers: 4, allWorkers: 4 });
  const second = new Tried(bucket, "second", 300);
  await pass(1500);
  expect(first.leases).toEqual(["first/1", "first/1"]);
  expect(second.leases).toEqual(["second/2", "second/2"]);
  expect(first.share).toEqual({ othersQps: 300, othersVariance: 600, workers: 2, allWorkers: 4 });
  expect(second.share).toEqual({ othersQps: 100, othersVariance: 200, workers: 2, allWorkers: 4 });
  const names = [...first.workers.members(), ...second.workers.members()].map(({ name }) => name);
  expect(names.sort()).toEqual(MEMBERS.map(({ name }) => name));
  await Promise.all([first.workers.close(), pass(3000)]);
  await Promise.all([second.workers.close(), pass(3000)]);
  expect([...first.errors, ...second.errors]).toEqual([]);
  expect(bucket.changes.get(frontEndKey("first"))?.value).toBeNull();
});

test("a disconnected front end keeps its workers until the other claims them", async () => {
  const bucket = new MemoryBucket();
  const [first, second] = [new Tried(bucket, "first", 1), new Tried(bucket, "second", 1)];
  await pass(2000);
  const before = first.leases;
  expect(before.length).toBe(2);
  first.store.link = "cut";
  await pass(3000);
  // What it cannot know it does not believe: its workers refuse the lower epochs.
  expect(first.leases).toEqual(before);
  expect(second.leases.length).toBe(4);
  await pass(1000);
  expect(first.share?.othersQps).toBeNull();
  first.store.link = "whole";
  await pass(3000);
  expect(first.leases.length).toBe(2);
  expect(second.leases.length).toBe(2);
  expect(first.errors).toEqual([]);
});

test("a front end without the store keeps its workers as long as it answers", async () => {
  const bucket = new MemoryBucket();
  const [first, second] = [new Tried(bucket, "first", 1), new Tried(bucket, "second", 1)];
  await pass(2000);
  const before = [first.leases, second.leases];
  second.answering = ["first"];
  first.store.link = "cut";
  await pass(20_000);
  expect([first.leases, second.leases]).toEqual(before);
  second.answering = [];
  await pass(3000);
  expect(second.leases.length).toBe(4);
});

test("a front end without the store is not dead while its slow answer is waited for", async () => {
  const bucket = new MemoryBucket();
  const [first, second] = [new Tried(bucket, "first", 1), new Tried(bucket, "second", 1)];
  await pass(2000);
  const before = [first.leases, second.leases];
  second.answering = ["first"];
  second.answersAfterMs = 1400;
  first.store.link = "cut";
  await pass(20_000);
  expect([first.leases, second.leases]).toEqual(before);
  // One whose check fails as slowly is taken over within three seconds of its last sign.
  second.answering = [];
  await pass(1400 + 1000 + 250);
  await pass(1400);
  expect(second.leases.length).toBe(4);
});

test("after an outage for all, the first front end back claims no workers of others", async () => {
  const bucket = new MemoryBucket();
  const [first, second] = [new Tried(bucket, "first", 1), new Tried(bucket, "second", 1)];
  await pass(2000);
  const before = [first.leases, second.leases];
  first.store.link = second.store.link = "cut";
  await pass(4000);
  // As where the leader of NATS has gone: one asks the next at once, one waits for an answer.
  first.store.link = "whole";
  await pass(1700);
  second.store.link = "whole";
  await pass(4000);
  expect([first.leases, second.leases]).toEqual(before);
  // Who does not come back has a whole lease from then on, and no more.
  first.store.link = second.store.link = "cut";
  await pass(4000);
  first.store.link = "whole";
  await pass(2800);
  expect(first.leases.length).toBe(4);
});

test("an unanswered beat is followed by another in time", async () => {
  const bucket = new MemoryBucket();
  const [first, second] = [new Tried(bucket, "first", 1), new Tried(bucket, "second", 1)];
  await pass(2000);
  const before = [first.leases, second.leases];
  // It went to a leader of NATS that has gone, and is waited for as long as the store waits.
  first.store.link = "hangs";
  await pass(600);
  first.store.link = "whole";
  await pass(6000);
  expect([first.leases, second.leases]).toEqual(before);
});

test("writes whose answers were lost are found in the store", async () => {
  const bucket = new MemoryBucket();
  const first = new Tried(bucket, "first", 1);
  first.store.link = "loses answers";
  await pass(3000);
  first.store.link = "whole";
  await pass(2000);
  expect(first.leases).toEqual(["first/1", "first/1", "first/1", "first/1"]);
});

test("an invalid entry in place of a lease is overwritten", async () => {
  const bucket = new MemoryBucket();
  bucket.change(leaseKey("http://a:8000"), "[1]", undefined);
  bucket.change(leaseKey("http://b:8000"), '{"holder":"gone","epoch":4}', undefined);
  bucket.change(frontEndKey("other"), "no JSON", undefined);
  const first = new Tried(bucket, "first", 1);
  await pass(6000);
  expect(first.leases).toEqual(["first/1", "first/5", "first/1", "first/1"]);
});

test("a worker with a batch stays a member until the batch ends", async () => {
  const bucket = new MemoryBucket();
  const first = new Tried(bucket, "first", 1);
  await pass(1000);
  const ends = MEMBERS.map(({ name }) => first.workers.use(name));
  const second = new Tried(bucket, "second", 1);
  await pass(2000);
  expect(first.leases.length).toBe(4);
  expect(first.workers.members().filter(({ isLeaving }) => isLeaving === true).length).toBe(2);
  expect(first.share?.workers).toBe(2);
  expect(second.leases).toEqual([]);
  for (const end of ends) end();
  await pass(1000);
  expect(first.leases.length).toBe(2);
  expect(second.leases.length).toBe(2);
});

test("after the store lost its content, epochs continue above those of the workers", async () => {
  const agents = new Agents();
  agents.see(41);
  const started = new Tried(new MemoryBucket(), "started", 1, agents);
  await pass(1000);
  expect(started.leases).toEqual(new Array(4).fill("started/42"));
});

test("a front end with outdated leases adopts those of a store that lost its content", async () => {
  const agents = new Agents();
  const bucket = new MemoryBucket();
  const old = new Tried(bucket, "old", 1, agents);
  await pass(5000);
  agents.see(1);
  expect(old.leases).toEqual(new Array(4).fill("old/1"));
  bucket.loseAll();
  const started = new Tried(bucket, "started", 1, agents);
  // Each worker tells what its first batch of another front end has said.
  await pass(1500);
  const taken = started.leases;
  expect(new Set(taken)).toEqual(new Set(["started/2"]));
  agents.see(2);
  await pass(6000);
  const all = [...old.workers.members(), ...started.workers.members()];
  expect(all.map(({ name }) => name).sort()).toEqual(MEMBERS.map(({ name }) => name));
  expect(old.leases.length).toBe(2);
  expect([...old.errors, ...started.errors]).toEqual([]);
});

test("ids are unique and have only characters allowed in headers", () => {
  expect(frontEndId("höst/1 x")).toMatch(/^h-st-1-x-[0-9a-f]{8}$/);
  expect(frontEndId("")).toMatch(/^front-end-[0-9a-f]{8}$/);
  expect(frontEndId("a")).not.toBe(frontEndId("a"));
});
