import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DeadlineQueues } from "../../../../../runtime/core/queue.ts";
import {
  RoundRobinBalancer,
  ShortestQueueBalancer,
} from "../../../../../runtime/methods/ramsis/core/balancer.ts";
import { BUSY, DOWN, IDLE } from "../../../../../runtime/methods/ramsis/core/workers.ts";

const states = fc.array(fc.constantFrom(DOWN, IDLE, BUSY), { minLength: 1, maxLength: 8 });

describe("RoundRobinBalancer", () => {
  test("sends arrival i to worker i mod K", () => {
    const balancer = new RoundRobinBalancer(Uint8Array.of(IDLE, BUSY, IDLE));
    expect(Array.from({ length: 7 }, () => balancer.next())).toEqual([0, 1, 2, 0, 1, 2, 0]);
  });

  test("passes over workers that are down, and says so when all are", () => {
    fc.assert(
      fc.property(states, (all) => {
        const balancer = new RoundRobinBalancer(Uint8Array.from(all));
        const up = [...all.keys()].filter((worker) => all[worker] !== DOWN);
        const turns = Array.from({ length: 3 * all.length }, () => balancer.next());
        const expected = turns.map((_, turn) => up[turn % up.length] ?? -1);
        expect(turns).toEqual(expected);
      }),
    );
  });
});

describe("ShortestQueueBalancer", () => {
  test("chooses an idle worker, else one with the fewest waiting, in turns", () => {
    fc.assert(
      fc.property(
        states,
        fc.array(fc.nat({ max: 3 }), { minLength: 8, maxLength: 8 }),
        (all, lengths) => {
          const queues = new DeadlineQueues(all.length, 4);
          all.forEach((state, worker) => {
            const waiting = state === BUSY ? (lengths[worker] ?? 0) : 0;
            for (let query = 0; query < waiting; query++) queues.insert(worker, query, 0);
          });
          const balancer = new ShortestQueueBalancer(Uint8Array.from(all), queues);
          const rankOf = (worker: number) => (all[worker] === IDLE ? -1 : queues.length(worker));
          const up = [...all.keys()].filter((worker) => all[worker] !== DOWN);
          const least = Math.min(...up.map(rankOf));
          const best = up.filter((worker) => rankOf(worker) === least);
          const chosen = Array.from({ length: best.length }, () => balancer.next());
          expect(chosen.toSorted((a, b) => a - b)).toEqual(best);
          if (best.length === 0) expect(balancer.next()).toBe(-1);
        },
      ),
    );
  });
});
