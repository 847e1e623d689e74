import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_ACTION, type RamsisBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  CommandBuffer,
  DROP,
  DROP_QUEUE_FULL,
} from "../../../../../runtime/core/command-buffer.ts";
import { ANY_VARIANT, isNamed, sameVariant } from "../../../../../runtime/core/wanted-variant.ts";
import { dispatcherOf } from "../../../../../runtime/methods/ramsis/core/dispatcher-of.ts";
import { waitingBundle } from "../../../../support/pooled-bundle.ts";
import { type TinyBundleOptions, tinyBundle } from "../../../../support/tiny-bundle.ts";

const SLO_MS = 100;
const SMALL = 0;
const LARGE = 1;

type Balancer = RamsisBundle["policy"]["balancer"];

function bundleOf(balancer: Balancer, options: TinyBundleOptions = {}): RamsisBundle {
  const bundle = tinyBundle({ sloMs: SLO_MS, maxQueue: 9, ...options });
  return { ...bundle, policy: { ...bundle.policy, balancer } };
}

interface Started {
  readonly worker: number;
  readonly variant: number;
  readonly level: number;
  readonly queries: number[];
}

/** A dispatcher, what it has started and what it has dropped. */
class Cluster {
  readonly dispatcher;
  readonly started: Started[] = [];
  readonly dropped: { query: number; reason: number }[] = [];
  readonly wantedBy = new Map<number, number>();
  nowMs = 0;
  arrived = 0;
  readonly #out: CommandBuffer;

  constructor(bundle: RamsisBundle, ready = true) {
    this.dispatcher = dispatcherOf(bundle, { ready });
    const { commandCapacity, waitingCapacity } = this.dispatcher;
    this.#out = new CommandBuffer(commandCapacity, waitingCapacity);
  }

  /** Everything that arrives at once, of which each asks for a variant. */
  arrive(wanted: readonly number[], sloMs = SLO_MS): void {
    for (const each of wanted) {
      const query = this.arrived++;
      this.wantedBy.set(query, each);
      this.dispatcher.onJointArrival(query, this.nowMs + sloMs, each, this.nowMs, this.#out);
      this.read();
    }
    this.dispatcher.onJointEnd(this.nowMs, this.#out);
    this.read();
  }

  tell(act: (out: CommandBuffer) => void): void {
    act(this.#out);
    this.read();
  }

  done(worker: number): void {
    this.tell((out) => this.dispatcher.onBatchDone(worker, this.nowMs, out));
  }

  read(): void {
    const out = this.#out;
    for (let command = 0; command < out.count; command++) {
      const queries = Array.from({ length: out.queryCount(command) }, (_, position) =>
        out.query(command, position),
      );
      const worker = out.worker(command);
      if (out.kind(command) === DROP) {
        this.dropped.push({ query: queries[0] ?? -1, reason: out.reason(command) });
      } else {
        const variant = out.variant(command);
        this.started.push({ worker, variant, level: out.level(command), queries });
      }
    }
    out.clear();
  }
}

const any = (count: number): number[] => Array(count).fill(ANY_VARIANT);
const sizes = ({ started }: Cluster) => started.map(({ queries }) => queries.length);

describe("queries that arrive at once", () => {
  test.each<Balancer>(["pooled", "round-robin", "shortest-queue"])(
    "%s: eight for an idle worker are one batch of eight",
    (balancer) => {
      const cluster = new Cluster(bundleOf(balancer));
      cluster.arrive(any(8));
      expect(cluster.started.map(({ queries }) => queries)).toEqual([[0, 1, 2, 3, 4, 5, 6, 7]]);
    },
  );

  test.each<Balancer>(["round-robin", "shortest-queue"])(
    "%s: each worker gets its share before any of them starts",
    (balancer) => {
      const cluster = new Cluster(bundleOf(balancer, { workers: 3 }));
      cluster.arrive(any(8));
      expect(cluster.started.map(({ queries }) => queries)).toEqual([
        [0, 3, 6],
        [1, 4, 7],
        [2, 5],
      ]);
    },
  );

  test("shortest-queue: busy workers are passed over until the idle ones have as many", () => {
    const cluster = new Cluster(bundleOf("shortest-queue", { workers: 2 }));
    cluster.arrive(any(1));
    cluster.arrive(any(4));
    // The last of them waits for the first worker.
    expect(cluster.started.map(({ queries }) => queries)).toEqual([[0], [1, 3]]);
    cluster.done(0);
    expect(cluster.started.at(-1)?.queries).toEqual([2, 4]);
  });

  test.each<[Balancer, number]>([
    ["pooled", 8],
    // A batch of 4 takes 30 ms, so nine more end within 100 ms.
    ["round-robin", 13],
  ])(
    "%s: more than a queue holds let an idle worker start, and make just so much room",
    (balancer, most) => {
      const decide = ({ queued }: { queued: number }) => ({ variant: SMALL, batch: queued });
      const pairs = { decide: () => ({ variant: SMALL, batch: 1 }), maxQueue: 3, workers: 2 };
      const cluster = new Cluster(bundleOf("pooled", pairs));
      cluster.arrive(any(5));
      expect(cluster.started.map(({ queries }) => queries)).toEqual([[0], [1]]);
      expect(cluster.dropped).toEqual([]);
      const one = new Cluster(bundleOf(balancer, { decide, maxQueue: 3 }));
      one.arrive(any(most + 1));
      expect(sizes(one)).toEqual([4]);
      expect(one.dropped).toEqual([{ query: most, reason: DROP_QUEUE_FULL }]);
    },
  );

  test.each<Balancer>(["pooled", "round-robin"])(
    "%s: they are one arrival, counted after the decision",
    (balancer) => {
      const cluster = new Cluster(bundleOf(balancer, { loadsQps: [100, 1000], maxQueue: 63 }));
      for (let request = 0; request < 20; request++) {
        cluster.nowMs = 100 * request;
        cluster.arrive(any(8));
        cluster.done(0);
      }
      // Ten requests a second are 80 queries/s, whatever a single one of them looks like.
      expect(cluster.started.map(({ level }) => level)).toEqual(Array(20).fill(0));
      expect(cluster.dispatcher.loadQps(cluster.nowMs)).toBe(80);
    },
  );
});

describe("queries that ask for a variant", () => {
  test.each<Balancer>(["pooled", "round-robin"])("%s: are answered by no other", (balancer) => {
    const cluster = new Cluster(bundleOf(balancer));
    cluster.arrive(any(1));
    cluster.arrive([SMALL, ...any(1), LARGE, LARGE, ...any(2), SMALL]);
    for (let batch = 0; batch < 4; batch++) cluster.done(0);
    expect(cluster.started.map(({ variant, queries }) => [variant, queries])).toEqual([
      [LARGE, [0]],
      // The first in line asks for it, so the table is not asked.
      [SMALL, [1, 7]],
      // All five that wait would be late on the large one, so the table says the small one.
      [SMALL, [2, 5, 6]],
      [LARGE, [3, 4]],
    ]);
  });

  test("a batch is as large as is in time, else as large as makes none late by itself", () => {
    for (const [slackMs, first] of [
      [100, 4],
      [65, 2],
      [40, 1],
      [30, 4],
    ] as const) {
      const cluster = new Cluster(bundleOf("round-robin"));
      cluster.arrive(Array(6).fill(LARGE), slackMs);
      expect(sizes(cluster)).toEqual([first]);
    }
  });

  test("pooled: those that cannot be in time run when nothing else does", () => {
    const cluster = new Cluster(bundleOf("pooled"));
    cluster.arrive([LARGE, LARGE], 30);
    cluster.arrive([ANY_VARIANT], 60);
    expect(cluster.started.map(({ queries }) => queries)).toEqual([[0, 1]]);
    const busy = new Cluster(bundleOf("pooled"));
    busy.arrive(any(1));
    busy.arrive([LARGE, LARGE], 30);
    busy.arrive(any(1), 60);
    busy.done(0);
    busy.done(0);
    expect(busy.started.map(({ queries }) => queries)).toEqual([[0], [3], [1, 2]]);
  });

  test.each<Balancer>(["pooled", "round-robin"])(
    "%s: those that cannot be in time are dropped where the policy drops",
    (balancer) => {
      const bundle = bundleOf(balancer);
      const cluster = new Cluster({ ...bundle, policy: { ...bundle.policy, drop: true } });
      // The large one takes 40 ms, the small one 15.
      cluster.arrive([LARGE, SMALL], 30);
      expect(cluster.dropped.map(({ query }) => query)).toEqual([0]);
      expect(cluster.started.map(({ queries }) => queries)).toEqual([[1]]);
    },
  );

  test("pooled: they do not wait with those that the policy lets wait", () => {
    const waiting = waitingBundle(tinyBundle({ workers: 2, maxQueue: 3, sloMs: SLO_MS }));
    expect(waiting.levels[0]?.actionByState.data).toContain(NO_ACTION);
    const cluster = new Cluster(waiting);
    cluster.arrive(any(1));
    expect(cluster.started).toEqual([]);
    const wakeMs = cluster.dispatcher.wakeMs;
    cluster.nowMs = 1;
    cluster.arrive([LARGE]);
    // Two that wait are served in twos by the small one, which the other does not want.
    expect(cluster.started.map(({ queries }) => queries)).toEqual([[0], [1]]);
    expect(wakeMs).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  test.each<Balancer>(["pooled", "round-robin", "shortest-queue"])(
    "%s: a group is answered by the variant of its first batch",
    (balancer) => {
      const variants = [SMALL, LARGE];
      let turn = 0;
      // Whatever is decided next would be another variant.
      const decide = () => ({ variant: variants[turn++ % 2] ?? SMALL, batch: 2 });
      const cluster = new Cluster(bundleOf(balancer, { workers: 2, decide }));
      cluster.arrive(Array(7).fill(sameVariant(0)), 300);
      for (let round = 0; round < 6; round++) {
        const busy = cluster.started[round];
        if (busy !== undefined) cluster.done(busy.worker);
      }
      expect(cluster.started.flatMap(({ queries }) => queries).toSorted()).toEqual([
        0, 1, 2, 3, 4, 5, 6,
      ]);
      expect(new Set(cluster.started.map(({ variant }) => variant)).size).toBe(1);
    },
  );
});

const happening = fc.record({
  kind: fc.constantFrom("arrive", "arrive", "done", "lose", "ready", "cancel", "wake"),
  pick: fc.nat(),
  gapMs: fc.integer({ min: 0, max: 30 }),
  rows: fc.integer({ min: 1, max: 7 }),
  wish: fc.constantFrom<"any" | "same" | 0 | 1>("any", "any", "same", SMALL, LARGE),
});

test("whatever happens, each query is settled once, by a variant that it asked for", () => {
  const kinds = fc.constantFrom("pooled", "round-robin", "shortest-queue", "waiting");
  const scenario = fc.record({
    kind: kinds,
    workers: fc.integer({ min: 1, max: 3 }),
    drop: fc.boolean(),
    events: fc.array(happening, { maxLength: 60 }),
  });
  fc.assert(
    fc.property(scenario, ({ kind, workers, drop, events }) => {
      const options = { workers, maxQueue: 3 };
      const bundle =
        kind === "waiting"
          ? waitingBundle(tinyBundle({ ...options, sloMs: SLO_MS }))
          : bundleOf(kind as Balancer, options);
      const cluster = new Cluster({ ...bundle, policy: { ...bundle.policy, drop } });
      const { dispatcher } = cluster;
      const up = new Set(Array.from({ length: workers }, (_, worker) => worker));
      const busy = new Set<number>();
      const groupOf = new Map<number, number>();
      const cancelled: number[] = [];
      const settled = () => [
        ...cluster.started.flatMap(({ queries }) => queries),
        ...cluster.dropped.map(({ query }) => query),
        ...cancelled,
      ];
      let seen = 0;
      const note = () => {
        for (; seen < cluster.started.length; seen++) {
          const worker = cluster.started[seen]?.worker ?? -1;
          expect(up.has(worker) && !busy.has(worker)).toBe(true);
          busy.add(worker);
        }
      };
      const finish = (worker: number) => {
        busy.delete(worker);
        cluster.done(worker);
        note();
      };
      for (const { kind: what, pick, gapMs, rows, wish } of events) {
        cluster.nowMs += gapMs;
        const [...busyNow] = busy;
        const chosen = busyNow[pick % Math.max(1, busyNow.length)];
        const worker = pick % workers;
        if (what === "arrive") {
          const first = cluster.arrived;
          for (let row = 0; row < rows; row++) groupOf.set(first + row, first);
          const wanted = wish === "any" ? ANY_VARIANT : wish === "same" ? sameVariant(first) : wish;
          cluster.arrive(Array(rows).fill(wanted));
        } else if (what === "done" && chosen !== undefined) finish(chosen);
        else if (what === "lose" && up.delete(worker)) {
          busy.delete(worker);
          cluster.tell((out) => dispatcher.onWorkerLost(worker, cluster.nowMs, out));
        } else if (what === "ready" && !up.has(worker)) {
          up.add(worker);
          cluster.tell((out) => dispatcher.onWorkerReady(worker, cluster.nowMs, out));
        } else if (what === "cancel" && cluster.arrived > 0) {
          const query = pick % cluster.arrived;
          const waits = !settled().includes(query);
          expect(dispatcher.onCancel(query)).toBe(waits);
          if (waits) cancelled.push(query);
        } else if (what === "wake") {
          cluster.tell((out) => dispatcher.onWake(cluster.nowMs, out));
        }
        note();
      }
      for (let worker = 0; worker < workers; worker++) {
        if (up.has(worker)) continue;
        up.add(worker);
        cluster.tell((out) => dispatcher.onWorkerReady(worker, cluster.nowMs, out));
        note();
      }
      while (busy.size > 0 || dispatcher.wakeMs < Number.POSITIVE_INFINITY) {
        const [worker] = busy;
        if (worker !== undefined) finish(worker);
        else {
          cluster.nowMs = Math.max(cluster.nowMs, dispatcher.wakeMs);
          cluster.tell((out) => dispatcher.onWake(cluster.nowMs, out));
          note();
        }
      }
      expect(settled().toSorted((a, b) => a - b)).toEqual([...Array(cluster.arrived).keys()]);
      const variantOfGroup = new Map<number, number>();
      for (const { variant, queries } of cluster.started) {
        expect(queries.length).toBeGreaterThan(0);
        for (const query of queries) {
          const wanted = cluster.wantedBy.get(query) ?? ANY_VARIANT;
          if (isNamed(wanted)) expect(variant).toBe(wanted);
          else if (wanted !== ANY_VARIANT) {
            const group = groupOf.get(query) ?? -1;
            expect(variantOfGroup.get(group) ?? variant).toBe(variant);
            variantOfGroup.set(group, variant);
          }
        }
      }
    }),
    { numRuns: 300 },
  );
});
