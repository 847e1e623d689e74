/**
 * A cluster that follows tables, driven by whatever happens: where every query is, in plain sets.
 */
import fc from "fast-check";
import type { RamsisBundle } from "../../runtime/bundle/schema.ts";
import { CommandBuffer, DROP, DROP_NO_WORKER } from "../../runtime/core/command-buffer.ts";
import type { Dispatcher } from "../../runtime/methods/ramsis/core/dispatcher.ts";
import { dispatcherOf } from "../../runtime/methods/ramsis/core/dispatcher-of.ts";
import { type BucketBundleOptions, bucketBundle } from "./bucket-bundle.ts";
import { classBundle } from "./class-bundle.ts";
import { hold } from "./hold.ts";
import { waitingBundle } from "./pooled-bundle.ts";
import { tinyBundle } from "./tiny-bundle.ts";

export interface TableEvent {
  readonly kind: "arrive" | "done" | "lose" | "ready" | "cancel" | "pass";
  readonly pick: number;
}

const KINDS = ["arrive", "arrive", "arrive", "done", "lose", "ready", "cancel", "pass"] as const;

const event = fc.record({ kind: fc.constantFrom<TableEvent["kind"]>(...KINDS), pick: fc.nat() });

export const tableStories = fc.record({
  kind: fc.constantFrom("bound", "pooled", "classes", "buckets"),
  workers: fc.integer({ min: 1, max: 4 }),
  maxQueue: fc.integer({ min: 1, max: 4 }),
  startsReady: fc.boolean(),
  drop: fc.boolean(),
  // Short ones end with what has just happened, long ones come to what is rare.
  events: fc.oneof(
    fc.array(event, { maxLength: 15 }),
    fc.array(event, { maxLength: 150, size: "max" }),
  ),
});
type TableStory = typeof tableStories extends fc.Arbitrary<infer S> ? S : never;

/**
 * A queue for each worker, one for all, classes of queries that have workers of their own, or
 * buckets.
 */
export function tablesOf({
  kind,
  workers,
  maxQueue,
  drop,
}: Omit<TableStory, "events">): RamsisBundle {
  if (kind === "classes") {
    return classBundle({ workers, split: workers === 1 ? null : [1, workers - 1], drop });
  }
  if (kind === "buckets") return bucketBundle({ workers, maxQueue, drop, decide: mayWait });
  const tiny = tinyBundle({ workers, maxQueue, sloMs: 100 });
  const bound = { ...tiny, policy: { ...tiny.policy, drop } };
  return kind === "pooled" ? waitingBundle(bound) : bound;
}

/** Waits for a second query while there is time, in one of the buckets. */
const mayWait: NonNullable<BucketBundleOptions["decide"]> = ({ bucket, queued, slackMs }) => {
  if (slackMs < 10) return "give-up";
  return bucket === 0 && queued === 1 && slackMs > 40 ? "wait" : { variant: 0, batch: queued };
};

export class TableDriver {
  readonly dispatcher: Dispatcher;
  readonly commands: CommandBuffer;
  readonly up = new Set<number>();
  readonly down = new Set<number>();
  readonly running = new Map<number, number[]>();
  readonly waiting = new Set<number>();
  /** Started, dropped, cancelled: each query may be in one of them, once. */
  readonly settled = new Set<number>();
  readonly log: string[] = [];
  readonly happened = new Map<string, number>();
  readonly #classCount: number;
  arrivals = 0;
  nowMs = 0;

  constructor(bundle: RamsisBundle, ready: boolean) {
    this.dispatcher = dispatcherOf(bundle, { ready });
    this.#classCount = (bundle.slo.classes ?? bundle.buckets)?.length ?? 1;
    const { commandCapacity, waitingCapacity, workerCount } = this.dispatcher;
    this.commands = new CommandBuffer(commandCapacity, waitingCapacity);
    for (let worker = 0; worker < workerCount; worker++) {
      (ready ? this.up : this.down).add(worker);
    }
  }

  play({ kind, pick }: TableEvent): void {
    this.passTo(this.nowMs + 1 + (pick % (kind === "pass" ? 200 : 20)));
    const choose = (set: Iterable<number>): number | undefined => {
      const members = [...set];
      return members[pick % members.length];
    };
    const busyOrUp = kind === "done" ? this.running.keys() : kind === "lose" ? this.up : this.down;
    const worker = choose(busyOrUp);
    if (kind === "arrive") this.#arrive(pick % this.#classCount);
    else if (kind === "cancel") this.#cancel(choose(this.waiting));
    else if (kind === "pass" || worker === undefined) return;
    else if (kind === "done") this.finish(worker);
    else if (kind === "lose") this.lose(worker);
    else this.bringUp(worker);
  }

  /** What waits for a time is decided when it comes. */
  passTo(timeMs: number): void {
    while (this.dispatcher.wakeMs <= timeMs) {
      const { wakeMs } = this.dispatcher;
      this.nowMs = Math.max(this.nowMs, wakeMs);
      this.dispatcher.onWake(this.nowMs, this.commands);
      this.#read();
      hold(this.dispatcher.wakeMs > wakeMs, "what was waited for is over");
    }
    this.nowMs = timeMs;
  }

  finish(worker: number): void {
    this.running.delete(worker);
    this.dispatcher.onBatchDone(worker, this.nowMs, this.commands);
    this.#read();
  }

  lose(worker: number): void {
    this.up.delete(worker);
    this.down.add(worker);
    this.running.delete(worker);
    this.#count("lost");
    this.dispatcher.onWorkerLost(worker, this.nowMs, this.commands);
    this.#read();
  }

  bringUp(worker: number): void {
    this.down.delete(worker);
    this.up.add(worker);
    this.dispatcher.onWorkerReady(worker, this.nowMs, this.commands);
    this.#read();
  }

  #arrive(sloClass: number): void {
    const query = this.arrivals++;
    this.waiting.add(query);
    this.dispatcher.onArrival(query, this.nowMs + 100, this.nowMs, this.commands, sloClass);
    this.#read();
  }

  #cancel(query: number | undefined): void {
    if (query === undefined) return;
    hold(this.dispatcher.onCancel(query), "what waits can be cancelled");
    hold(!this.dispatcher.onCancel(query), "what was cancelled does not wait");
    this.#count("cancelled");
    this.#settle(query);
  }

  #read(): void {
    const { commands } = this;
    for (let command = 0; command < commands.count; command++) {
      const worker = commands.worker(command);
      const queries = Array.from({ length: commands.queryCount(command) }, (_, position) =>
        commands.query(command, position),
      );
      for (const query of queries) this.#settle(query);
      if (commands.kind(command) === DROP) {
        const hasWorker = commands.reason(command) !== DROP_NO_WORKER;
        hold(hasWorker === this.up.size > 0, "for want of workers only where there are none");
        this.#count(hasWorker ? "dropped" : "no worker");
        this.log.push(`drop ${queries} ${commands.reason(command)}`);
      } else {
        hold(this.up.has(worker) && !this.running.has(worker), "a batch starts on an idle worker");
        this.running.set(worker, queries);
        this.#count("started");
        this.log.push(`start ${worker} ${commands.variant(command)} ${queries}`);
      }
    }
    commands.clear();
  }

  #settle(query: number): void {
    hold(this.waiting.delete(query), "what is decided waited");
    hold(!this.settled.has(query), "a query is settled once");
    this.settled.add(query);
  }

  #count(what: string): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + 1);
  }
}
