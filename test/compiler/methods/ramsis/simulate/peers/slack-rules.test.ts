import { describe, expect, test } from "vitest";
import type {
  Peer,
  PeerParameters,
} from "../../../../../../compiler/methods/ramsis/simulate/peers/peer.ts";
import {
  maxAccuracy,
  maxBatch,
  slackfitA,
  slackfitB,
} from "../../../../../../compiler/methods/ramsis/simulate/peers/slack-rules.ts";
import { PeerDriver, settingWith, tinyCluster } from "../../../../../support/peer-driver.ts";

/**
 * What a free worker is given when so many queries wait and the first of them has so much slack.
 * Small is variant 0, large 1.
 */
function decision(peer: Peer, wanted: PeerParameters, queued: number, slackMs: number): string[] {
  const cluster = tinyCluster();
  const driver = new PeerDriver(cluster, settingWith(peer, cluster, wanted));
  driver.arrive(100, 0);
  for (let query = 0; query < queued; query++) driver.arrive(query, 0, 30 + slackMs + query);
  return driver.done(0, 30).filter((command, index) => index === 0 || command !== "drops");
}

/**
 * Small in 15, 20 and 25 ms, large in 40, 60 and 80: in four buckets of 21.25 ms above 15 these are
 * small 1–3, large 1, large 2, large 3.
 */
describe("SlackFit with one tuple for a bucket", () => {
  const slackfit = { buckets: 4, drop: true };
  test.each([
    [3, 100, "0: variant 1 on 0,1,2"],
    [1, 100, "0: variant 1 on 0"],
    [3, 79, "0: variant 1 on 0,1"],
    [3, 59, "0: variant 1 on 0"],
    [3, 39, "0: variant 0 on 0,1,2"],
    [1, 25, "0: variant 0 on 0"],
  ])("%i wait with %i ms: %s", (queued, slackMs, expected) => {
    expect(decision(slackfitA, slackfit, queued, slackMs)).toEqual([expected]);
  });

  test("gives up what its smallest tuple is too slow for, though a smaller batch would do", () => {
    expect(decision(slackfitA, slackfit, 1, 24)).toEqual(["drops 0"]);
    expect(decision(slackfitA, { buckets: 4, drop: false }, 2, 24)).toEqual(["0: variant 0 on 0"]);
  });
});

describe("SlackFit with all tuples of a bucket", () => {
  const slackfit = { buckets: 4, drop: true };
  test.each([
    [3, 100, "0: variant 1 on 0,1,2"],
    [1, 100, "0: variant 1 on 0"],
    [2, 39, "0: variant 0 on 0,1"],
    [1, 24, "0: variant 0 on 0"],
  ])("%i wait with %i ms: %s", (queued, slackMs, expected) => {
    expect(decision(slackfitB, slackfit, queued, slackMs)).toEqual([expected]);
  });

  test("takes the largest batch of a bucket, not the slowest", () => {
    // In one bucket small 3 and large 3 tie, and large is more accurate; with 79 ms small 3 beats
    // large 2.
    const one = { buckets: 1, drop: true };
    expect(decision(slackfitB, one, 3, 100)).toEqual(["0: variant 1 on 0,1,2"]);
    expect(decision(slackfitB, one, 3, 79)).toEqual(["0: variant 0 on 0,1,2"]);
  });
});

describe("MaxAcc and MaxBatch", () => {
  const drop = { drop: true };
  test("look at accuracy first, or at the batch", () => {
    expect(decision(maxAccuracy, drop, 3, 60)).toEqual(["0: variant 1 on 0,1"]);
    expect(decision(maxBatch, drop, 3, 60)).toEqual(["0: variant 0 on 0,1,2"]);
    expect(decision(maxBatch, drop, 3, 80)).toEqual(["0: variant 1 on 0,1,2"]);
    expect(decision(maxBatch, drop, 3, 20)).toEqual(["0: variant 0 on 0,1"]);
  });

  test("drop what nothing serves in time, or serve it as fast as can be", () => {
    for (const peer of [maxAccuracy, maxBatch]) {
      expect(decision(peer, drop, 1, 14)).toEqual(["drops 0"]);
      expect(decision(peer, { drop: false }, 2, 14)).toEqual(["0: variant 0 on 0"]);
    }
  });
});
