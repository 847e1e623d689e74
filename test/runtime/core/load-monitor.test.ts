import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LoadMonitor, type LoadWindow } from "../../../runtime/core/load-monitor.ts";

interface Arrival {
  readonly ms: number;
  readonly queries: number;
}

/** Keeps every arrival, and counts anew whenever it is asked. */
class NaiveMonitor {
  arrivals: Arrival[] = [];
  /** Index of the arrival with which the record begins. */
  first = 0;

  recordArrival(ms: number, queries: number): void {
    this.arrivals.push({ ms, queries });
    const begin = this.#begin();
    if (ms - begin.ms < 500) return;
    for (const compared of [32, 16, 8]) {
      const middle = this.arrivals.length - 1 - compared;
      const middleMs = this.arrivals[middle]?.ms ?? Number.NaN;
      const older = middle - this.arrivals.indexOf(begin);
      if (!(older > 0) || !changes(compared - 1, ms - middleMs, older, middleMs - begin.ms))
        continue;
      this.first = middle;
      return;
    }
  }

  window(nowMs: number): LoadWindow {
    const bucketsBeginMs = (Math.floor(nowMs / 10) - 49) * 10;
    const begin = this.#begin();
    const first = this.arrivals[this.first] ?? begin;
    if (begin.ms <= bucketsBeginMs) return this.#since(begin, begin.ms, nowMs);
    if (first.ms > bucketsBeginMs) return this.#since(first, first.ms, nowMs);
    return this.#inBuckets(nowMs);
  }

  newest(nowMs: number): LoadWindow {
    const start = this.arrivals[0];
    const bucketsBeginMs = (Math.floor(nowMs / 10) - 49) * 10;
    if (start === undefined || start.ms <= bucketsBeginMs) return this.#inBuckets(nowMs);
    return this.#since(start, start.ms, nowMs);
  }

  #inBuckets(nowMs: number): LoadWindow {
    const firstBucket = Math.floor(nowMs / 10) - 49;
    const counted = this.arrivals.slice(1).filter(({ ms }) => Math.floor(ms / 10) >= firstBucket);
    return tally(counted, nowMs - firstBucket * 10);
  }

  #since(begin: Arrival, beginMs: number, nowMs: number): LoadWindow {
    return tally(this.arrivals.slice(this.arrivals.indexOf(begin) + 1), nowMs - beginMs);
  }

  #begin(): Arrival {
    const begin = this.arrivals[Math.max(this.first, this.arrivals.length - 65)];
    if (begin === undefined) throw new Error("nothing has arrived");
    return begin;
  }
}

function tally(arrivals: readonly Arrival[], ms: number): LoadWindow {
  const queries = arrivals.reduce((sum, arrival) => sum + arrival.queries, 0);
  const squares = arrivals.reduce((sum, arrival) => sum + arrival.queries ** 2, 0);
  return { queries, ms: Math.max(ms, 1), clump: queries > 0 ? squares / queries : 1 };
}

function changes(newer: number, newerMs: number, older: number, olderMs: number): boolean {
  const ms = Math.max(newerMs, 10);
  const share = ms / (ms + olderMs);
  const mean = (newer + older) * share;
  const sigma = Math.sqrt(mean * (1 - share));
  const skew = (sigmas: number) => ((1 - 2 * share) * (sigmas * sigmas - 1)) / 6;
  if (newer > mean) return newer > mean + 3.5 * sigma + skew(3.5);
  return newer < mean - 4 * sigma + skew(4);
}

/** Asked at the times at which arrivals come: `ms` apart in succession, `queries` in each. */
function monitored(arrivals: readonly Arrival[]): { monitor: LoadMonitor; nowMs: number } {
  const monitor = new LoadMonitor(1000);
  let nowMs = 0;
  for (const { ms, queries } of arrivals) {
    nowMs += ms;
    monitor.recordArrival(nowMs, queries);
  }
  return { monitor, nowMs };
}

function apart(ms: number, count: number, queries = 1): Arrival[] {
  return Array.from({ length: count }, () => ({ ms, queries }));
}

describe("LoadMonitor", () => {
  it("agrees with a recount of the whole history", () => {
    const gapMs = fc.oneof(
      fc.double({ min: 0, max: 30, noNaN: true }),
      fc.constant(0),
      fc.constantFrom(10, 40, 495, 500, 3000),
    );
    // Stretches of one kind of gap, so that rates change.
    const stretch = fc
      .tuple(gapMs, fc.nat(90), fc.constantFrom(1, 1, 1, 8))
      .map(([ms, count, queries]) => apart(ms, count, queries));
    const mixed = fc.array(fc.record({ ms: gapMs, queries: fc.constantFrom(1, 1, 3) }), {
      maxLength: 90,
    });
    const history = fc.array(fc.oneof(stretch, mixed), { maxLength: 4 });
    fc.assert(
      fc.property(fc.nat(1000), history, (startMs, stretches) => {
        const monitor = new LoadMonitor(1000);
        const naive = new NaiveMonitor();
        let nowMs = startMs;
        for (const { ms, queries } of stretches.flat()) {
          nowMs += ms;
          monitor.recordArrival(nowMs, queries);
          naive.recordArrival(nowMs, queries);
          const askedMs = nowMs + (queries === 3 ? 7 : 0);
          monitor.look(askedMs);
          nowMs = askedMs;
          expect({ ...monitor.window }).toEqual(naive.window(askedMs));
          expect({ ...monitor.newest }).toEqual(naive.newest(askedMs));
        }
      }),
    );
  });

  it("is the mean over half a beat where that holds 64 arrivals, whatever came before", () => {
    const { monitor, nowMs } = monitored([...apart(100, 100), ...apart(2, 400)]);
    monitor.look(nowMs);
    expect(monitor.window).toEqual(monitor.newest);
    expect(Math.abs(monitor.loadQps(nowMs) - 500)).toBeLessThan(3);
  });

  it("reaches back over 64 arrivals where half a beat holds fewer", () => {
    const { monitor, nowMs } = monitored(apart(1000, 200));
    expect(monitor.loadQps(nowMs)).toBe(1);
    monitor.look(nowMs + 500);
    expect(monitor.window).toEqual({ queries: 64, ms: 64_500, clump: 1 });
    expect(monitor.newest.queries).toBe(0);
  });

  it("forgets what was before the rate changed, upwards and downwards", () => {
    const { monitor: risen, nowMs } = monitored([...apart(1000, 200), ...apart(100, 17)]);
    expect(risen.loadQps(nowMs)).toBeCloseTo(10, 5);
    const fallen = monitored([...apart(2, 500), ...apart(1000, 9)]);
    expect(fallen.monitor.loadQps(fallen.nowMs)).toBeLessThan(2);
  });

  it("counts what comes at one instant as one arrival of several queries", () => {
    const { monitor, nowMs } = monitored(apart(1000, 100, 8));
    expect(monitor.loadQps(nowMs)).toBe(8);
    expect(monitor.window).toEqual({ queries: 512, ms: 64_000, clump: 8 });
    const mixed = monitored([...apart(1000, 100), { ms: 1000, queries: 64 }]);
    mixed.monitor.look(mixed.nowMs);
    expect(mixed.monitor.window.clump).toBeCloseTo((63 + 64 * 64) / (63 + 64), 10);
  });

  it("does not know the load until a twentieth of a beat after the first arrival", () => {
    const monitor = new LoadMonitor(1000);
    expect(monitor.loadQps(1000)).toBeNaN();
    monitor.recordArrival(1000);
    expect(monitor.loadQps(1049)).toBeNaN();
    expect(monitor.loadQps(1050)).toBe(0);
  });

  it("takes a record at its word from eight arrivals and a twentieth of a beat on", () => {
    const known = (arrivals: readonly Arrival[]) => {
      const { monitor, nowMs } = monitored(arrivals);
      monitor.look(nowMs);
      return monitor.isKnown;
    };
    expect(known(apart(1000, 8))).toBe(false);
    expect(known(apart(1000, 9))).toBe(true);
    expect(known(apart(1, 40))).toBe(false);
    expect(known(apart(1, 60))).toBe(true);
    // The rate has just changed.
    expect(known([...apart(1000, 100), ...apart(1, 10)])).toBe(true);
  });

  it("forgets a burst once the window has passed over it and others have come", () => {
    const monitor = new LoadMonitor(1000);
    for (let arrival = 0; arrival < 100; arrival++) monitor.recordArrival(5);
    expect(monitor.loadQps(55)).toBe((99 * 1000) / 50);
    monitor.look(505);
    expect(monitor.newest.queries).toBe(0);
    expect(monitor.loadQps(5005)).toBe((64 * 1000) / 5000);
    for (let ms = 6000; ms <= 14_000; ms += 1000) monitor.recordArrival(ms);
    expect(monitor.loadQps(14_000)).toBeLessThan(1.5);
  });

  it("refuses a clock that goes back", () => {
    const monitor = new LoadMonitor(1000);
    monitor.recordArrival(100);
    expect(() => monitor.recordArrival(80)).toThrow("time does not go back");
  });
});
