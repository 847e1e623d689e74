import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PEER_NAMES } from "../../../../../../compiler/methods/ramsis/simulate/baseline-names.ts";
import type { PeerSetting } from "../../../../../../compiler/methods/ramsis/simulate/peers/peer.ts";
import { serviceMsOf } from "../../../../../../compiler/methods/ramsis/simulate/peers/peer-cluster.ts";
import { PEERS } from "../../../../../../compiler/methods/ramsis/simulate/peers/peers.ts";
import { casesOf } from "../../../../../support/cases.ts";
import { PeerDriver, tinyCluster } from "../../../../../support/peer-driver.ts";

const arrival = fc.record({
  gapMs: fc.oneof(
    { weight: 2, arbitrary: fc.constant(0) },
    { weight: 5, arbitrary: fc.double({ min: 0, max: 30, noNaN: true }) },
    // A lull, in which everything empties and windows pass.
    { weight: 1, arbitrary: fc.double({ min: 200, max: 3000, noNaN: true }) },
  ),
  sloMs: fc.constantFrom(14, 40, 100, 100, 100),
  /** What the batches take that start then, of what the profile says. */
  stretch: fc.constantFrom(0.5, 1, 1, 1, 1.7),
});
const scenario = fc.record({
  workers: fc.integer({ min: 1, max: 4 }),
  maxQueue: fc.integer({ min: 1, max: 5 }),
  qps: fc.constantFrom(5, 100, 1000, 0, Number.NaN),
  setting: fc.nat(),
  arrivals: fc.array(arrival, { maxLength: 150 }),
});
type Scenario = typeof scenario extends fc.Arbitrary<infer Generated> ? Generated : never;

/**
 * Plays a scenario out: everything happens at its time, arrivals before completions, and these
 * before what a dispatcher waits for.
 */
class Play {
  readonly driver: PeerDriver;
  readonly setting: PeerSetting;
  readonly said: string[] = [];
  readonly #cluster;
  readonly #doneMs = new Map<number, number>();

  constructor({ workers, maxQueue, qps, setting }: Scenario, peer: (typeof PEER_NAMES)[number]) {
    this.#cluster = tinyCluster({ workers, maxQueue }, qps);
    const settings = [PEERS[peer].paper(this.#cluster), ...PEERS[peer].tunings(this.#cluster)];
    const chosen = settings[setting % settings.length];
    if (chosen === undefined) throw new Error("a peer has at least one setting");
    this.setting = chosen;
    this.driver = new PeerDriver(this.#cluster, chosen);
  }

  run(arrivals: Scenario["arrivals"]): void {
    let nowMs = 0;
    let stretch = 1;
    for (const [query, { gapMs, sloMs, stretch: next }] of arrivals.entries()) {
      nowMs += gapMs;
      this.#until(nowMs, stretch);
      stretch = next;
      this.#note(this.driver.arrive(query, nowMs, nowMs + sloMs), stretch);
    }
    this.#until(Number.POSITIVE_INFINITY, stretch);
  }

  /** What happens before a time. */
  #until(endMs: number, stretch: number): void {
    const { dispatcher } = this.driver;
    for (let events = 0; ; events++) {
      expect(events).toBeLessThan(10_000);
      const [worker = -1, doneMs = Number.POSITIVE_INFINITY] =
        [...this.#doneMs].sort(([, a], [, b]) => a - b)[0] ?? [];
      if (Math.min(doneMs, dispatcher.wakeMs) >= endMs) return;
      if (doneMs <= dispatcher.wakeMs) {
        this.#doneMs.delete(worker);
        this.#note(this.driver.done(worker, doneMs), stretch);
      } else this.#note(this.driver.wake(), stretch);
    }
  }

  #note(said: string[], stretch: number): void {
    this.said.push(...said);
    for (const [worker, { variant, queries }] of this.driver.running) {
      if (this.#doneMs.has(worker)) continue;
      const run = this.#cluster.variants.find(({ index }) => index === variant);
      if (run === undefined) throw new Error("a worker runs a variant of the cluster");
      const ms = stretch * serviceMsOf(run, queries.length);
      this.#doneMs.set(worker, this.driver.nowMs + ms);
    }
  }
}

describe.each(PEER_NAMES)("%s", (peer) => {
  test("serves or drops every query once, whatever happens", () => {
    fc.assert(
      fc.property(scenario, (generated) => {
        const play = new Play(generated, peer);
        play.run(generated.arrivals);
        const { served, dropped, waiting, running } = play.driver;
        expect([...waiting]).toEqual([]);
        expect(running.size).toBe(0);
        expect([...served, ...dropped].sort((a, b) => a - b)).toEqual([
          ...generated.arrivals.keys(),
        ]);
      }),
      { numRuns: casesOf(peer === "proteus" ? 40 : 150, 4) },
    );
  });

  test("does the same when the same happens again", () => {
    fc.assert(
      fc.property(scenario, (generated) => {
        const first = new Play(generated, peer);
        first.run(generated.arrivals);
        const second = new Play(generated, peer);
        second.run(generated.arrivals);
        expect(second.said).toEqual(first.said);
      }),
      { numRuns: 15 },
    );
  });
});
