/** The limit on who is let in, on a simulated server: first in, first out, on a virtual clock. */
import { describe, expect, test } from "vitest";
import { Admission } from "../../../runtime/core/admission.ts";
import { Rng } from "../../../runtime/core/rng.ts";

interface Server {
  readonly sloMs: number;
  readonly msPerQuery: number;
  readonly workers: number;
}

interface Phase {
  /** Of what the workers can carry. */
  readonly load: number;
  readonly seconds: number;
}

interface Outcome {
  readonly offered: number;
  readonly refused: number;
  /** Answers in time, of those that the workers could give. */
  readonly goodput: number;
  /** Of the answers, over the SLO. */
  readonly p99: number;
}

interface Leaving {
  readonly atMs: number;
  readonly found: number;
  readonly share: number;
}

/** A machine that does nothing for a while, again and again. */
interface Stillness {
  readonly everyMs: number;
  readonly forMs: number;
}

function simulated(
  server: Server,
  phases: readonly Phase[],
  limited = true,
  { everyMs, forMs }: Stillness = { everyMs: Number.POSITIVE_INFINITY, forMs: 0 },
): Outcome[] {
  const { sloMs, msPerQuery, workers } = server;
  const admission = new Admission({ maxLimit: limited ? 4096 : 1e9, workers, sloMs });
  const rng = new Rng(3, 0);
  const freeMs = new Array<number>(workers).fill(0);
  const leaving: Leaving[] = [];
  let startMs = 0;
  let stillMs = everyMs;
  return phases.map(({ load, seconds }) => {
    const endMs = startMs + 1000 * seconds;
    const gapMs = msPerQuery / workers / load;
    const shares: number[] = [];
    let [offered, refused] = [0, 0];
    for (let nowMs = startMs; ; offered++) {
      nowMs -= gapMs * Math.log(1 - rng.nextFloat());
      if (nowMs > endMs) break;
      while (stillMs <= nowMs) {
        for (const [worker, ms] of freeMs.entries()) freeMs[worker] = Math.max(ms, stillMs) + forMs;
        stillMs += everyMs;
      }
      while ((leaving[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs) {
        const { found, share, atMs } = leaving.shift() ?? { found: 0, share: 0, atMs: 0 };
        if (limited) admission.leave(1, found, share, atMs);
        else admission.forget(1, atMs);
      }
      if (!admission.hasRoom()) {
        refused++;
        continue;
      }
      const found = admission.enter(1, nowMs);
      const worker = freeMs.indexOf(Math.min(...freeMs));
      const atMs = Math.max(nowMs, freeMs[worker] ?? 0) + msPerQuery;
      freeMs[worker] = atMs;
      const share = (atMs - nowMs) / sloMs;
      // All take the same time, so they leave in the order in which they came.
      leaving.push({ atMs, found, share });
      shares.push(share);
    }
    startMs = endMs;
    shares.sort((one, other) => one - other);
    const good = shares.filter((share) => share <= 1).length;
    const goodput = (good * msPerQuery) / workers / (1000 * seconds);
    return { offered, refused, goodput, p99: shares[Math.floor(0.99 * shares.length)] ?? 0 };
  });
}

const SERVERS: readonly (readonly [string, Server])[] = [
  ["one quick worker", { sloMs: 60, msPerQuery: 1.2, workers: 1 }],
  ["one slow worker", { sloMs: 80, msPerQuery: 7, workers: 1 }],
  ["many workers", { sloMs: 100, msPerQuery: 20, workers: 20 }],
];

describe.each(SERVERS)("admission to %s", (_, server) => {
  test("refuses nobody below capacity who would be served in time", () => {
    const [low, high] = simulated(server, [
      { load: 0.5, seconds: 30 },
      { load: 0.8, seconds: 30 },
    ]);
    expect(low?.refused).toBe(0);
    expect(high?.refused).toBeLessThan(0.003 * (high?.offered ?? 0));
  });

  test("keeps goodput, and who is let in is in time, under 2 and 10 times the load", () => {
    for (const load of [2, 10]) {
      const [, over] = simulated(server, [
        { load: 0.5, seconds: 10 },
        { load, seconds: 60 },
      ]);
      expect(over?.goodput).toBeGreaterThan(0.95);
      expect(over?.p99).toBeLessThan(1.1);
    }
  });

  test("lets all in again within 20 SLOs of an overload", () => {
    const phases = [
      { load: 10, seconds: 20 },
      { load: 0.6, seconds: (20 * server.sloMs) / 1000 },
      { load: 0.6, seconds: 20 },
    ];
    const [, , after] = simulated(server, phases);
    expect(after?.refused).toBeLessThan(0.002 * (after?.offered ?? 0));
    expect(after?.p99).toBeLessThan(1);
  });

  test("decides the same for one a thousand times slower, as many times later", () => {
    const phases = [0.5, 2, 0.6].map((load) => ({ load, seconds: 10 }));
    const slower = phases.map(({ load, seconds }) => ({ load, seconds: 1024 * seconds }));
    const { sloMs, msPerQuery, workers } = server;
    const slow = { sloMs: 1024 * sloMs, msPerQuery: 1024 * msPerQuery, workers };
    expect(simulated(slow, slower)).toEqual(simulated(server, phases));
  });

  test("refuses nobody for a machine that stands still now and then", () => {
    const stalls = { everyMs: 500, forMs: 0.5 * server.sloMs };
    const [still] = simulated(server, [{ load: 0.5, seconds: 60 }], true, stalls);
    expect(still?.refused).toBeLessThan(0.005 * (still?.offered ?? 0));
  });

  test("is what keeps it: without, nothing is in time", () => {
    const [over] = simulated(server, [{ load: 2, seconds: 30 }], false);
    expect(over?.goodput).toBeLessThan(0.1);
  });
});

describe("admission where an answer takes half of its time by itself", () => {
  const server = { sloMs: 250, msPerQuery: 120, workers: 4 };

  test("has forgotten an overload as soon as nobody is left of it", () => {
    const [, , after] = simulated(server, [
      { load: 10, seconds: 10 },
      { load: 0.5, seconds: 2 },
      { load: 0.5, seconds: 60 },
    ]);
    expect(after?.refused).toBeLessThan(0.005 * (after?.offered ?? 0));
  });

  test("decides the same for one a thousand times slower, as many times later", () => {
    const phases = [0.5, 2, 0.6].map((load) => ({ load, seconds: 10 }));
    const slower = phases.map(({ load, seconds }) => ({ load, seconds: 1024 * seconds }));
    const { sloMs, msPerQuery, workers } = server;
    const slow = { sloMs: 1024 * sloMs, msPerQuery: 1024 * msPerQuery, workers };
    expect(simulated(slow, slower)).toEqual(simulated(server, phases));
  });

  test("refuses nobody for a machine that stands still, and near capacity who is lost", () => {
    const stalls = { everyMs: 500, forMs: 60 };
    const [still] = simulated(server, [{ load: 0.4, seconds: 60 }], true, stalls);
    expect(still?.refused).toBeLessThan(0.005 * (still?.offered ?? 0));
    const [busy] = simulated(server, [{ load: 0.8, seconds: 60 }]);
    const [alone] = simulated(server, [{ load: 0.8, seconds: 60 }], false);
    expect(busy?.goodput).toBeGreaterThan(alone?.goodput ?? 1);
  });

  test("keeps goodput under 2 and 10 times the load", () => {
    for (const load of [2, 10]) {
      // Those who come before the first answer are a crowd: nobody knew.
      const [, over] = simulated(server, [
        { load, seconds: 5 },
        { load, seconds: 60 },
      ]);
      expect(over?.goodput).toBeGreaterThan(0.93);
      expect(over?.p99).toBeLessThan(1.1);
    }
  });
});

describe("a burst at an idle server", () => {
  const msPerQuery = 1;
  /** Queries one after another, each alone, as a light load brings them. */
  function alone(admission: Admission, sloMs: number, count: number, startMs: number): void {
    for (let query = 0; query < count; query++) {
      const nowMs = startMs + (query * sloMs) / 2;
      admission.leave(1, admission.enter(1, nowMs), msPerQuery / sloMs, nowMs + msPerQuery);
    }
  }

  /** @returns how many of a crowd that arrives at once are admitted; all are late then. */
  function crowded(admission: Admission, count: number, nowMs: number): number {
    const found: number[] = [];
    for (let query = 0; query < count && admission.hasRoom(); query++) {
      found.push(admission.enter(1, nowMs));
    }
    for (const one of found) admission.leave(1, one, 1.5, nowMs + 1500);
    return found.length;
  }

  test("enters as far as the workers serve it in time, after an overload that ended", () => {
    const admission = new Admission({ maxLimit: 4096, workers: 1, sloMs: 1000 });
    alone(admission, 1000, 500, 0);
    // A machine that stood still made hundreds late.
    crowded(admission, 400, 300_000);
    alone(admission, 1000, 100, 310_000);
    expect(crowded(admission, 150, 400_000)).toBe(150);
  });

  test("enters after a few slow answers, hours after the last queries", () => {
    const admission = new Admission({ maxLimit: 4096, workers: 1, sloMs: 1000 });
    alone(admission, 1000, 20, 0);
    const late = [1, 2, 3, 4].map(() => admission.enter(1, 1e7));
    for (const found of late) admission.leave(1, found, 0.4, 1e7 + 400);
    expect(crowded(admission, 30, 2e7)).toBe(30);
  });
});

describe("the limit", () => {
  test("lets one request in however large it is, and lesser kinds into a part only", () => {
    const admission = new Admission({ maxLimit: 10, workers: 1, sloMs: 100 });
    expect([admission.hasRoom(64), admission.hasRoom(64, 0.5)]).toEqual([true, true]);
    expect(admission.enter(6, 0)).toBe(6);
    expect([admission.hasRoom(4), admission.hasRoom(5), admission.hasRoom(1, 0.5)]).toEqual([
      ...[true, false, false],
    ]);
    admission.forget(6, 0);
    expect(admission.inside).toBe(0);
  });

  test("takes no late query for a crowd that found nobody waiting", () => {
    const admission = new Admission({ maxLimit: 100, workers: 4, sloMs: 100 });
    for (let query = 0; query < 50; query++)
      admission.leave(3, admission.enter(3, query), 5, query);
    expect(admission.limit).toBe(100);
  });

  test("never falls below one, never rises above what there is room for", () => {
    const admission = new Admission({ maxLimit: 100, workers: 1, sloMs: 100 });
    for (let query = 0; query < 50; query++)
      admission.leave(8, admission.enter(8, query), 1000, query);
    expect(admission.limit).toBeGreaterThanOrEqual(1);
    for (let query = 0; query < 1e5; query++)
      admission.leave(1, admission.enter(1, query), 0.01, query);
    expect(admission.limit).toBe(100);
  });
});
