import { describe, expect, test } from "vitest";
import { infaas } from "../../../../../../compiler/methods/ramsis/simulate/peers/infaas.ts";
import {
  InfaasScaler,
  instanceTypes,
} from "../../../../../../compiler/methods/ramsis/simulate/peers/infaas-scaler.ts";
import { PeerDriver, settingWith, tinyCluster } from "../../../../../support/peer-driver.ts";

/**
 * Types of the large variant, by batch: 25, 33.3 and 37.5 a second; of the small one 66.7, 100 and
 * 120.
 */
const OPTIONS = { leastAccuracy: 0.8, latencyShare: 1, capacityShare: 1 };

describe("INFaaS' types", () => {
  const namesOf = (leastAccuracy: number, latencyShare: number): string[] =>
    instanceTypes(tinyCluster(), { ...OPTIONS, leastAccuracy, latencyShare }).map(
      ({ variant, batch }) => `${variant.name} ${batch}`,
    );

  test("are those that are accurate and fast enough", () => {
    expect(namesOf(0.8, 1)).toEqual(["large 1", "large 2", "large 3"]);
    expect(namesOf(0.8, 0.6)).toEqual(["large 1", "large 2"]);
    expect(namesOf(0.6, 0.25)).toEqual(["small 1", "small 2", "small 3"]);
  });

  test("are the fastest of those that are accurate enough where none is fast enough", () => {
    expect(namesOf(0.8, 0.1)).toEqual(["large 1"]);
  });
});

describe("INFaaS' autoscaler", () => {
  const scalerOf = (workers: number): InfaasScaler => {
    const types = instanceTypes(tinyCluster({ workers }), OPTIONS);
    return new InfaasScaler(types, workers, OPTIONS);
  };

  test("replicates the fastest type until it carries the load", () => {
    const scaler = scalerOf(4);
    scaler.start(60);
    expect([...scaler.replicas]).toEqual([3, 0, 0]);
    scaler.update(Float64Array.of(80, 0, 0), 1000);
    expect([...scaler.replicas]).toEqual([4, 0, 0]);
  });

  test("moves to a type of more throughput when there are no more workers", () => {
    const scaler = scalerOf(4);
    scaler.start(60);
    scaler.update(Float64Array.of(120, 0, 0), 1000);
    expect([...scaler.replicas]).toEqual([0, 4, 0]);
    scaler.update(Float64Array.of(0, 1000, 0), 2000);
    expect([...scaler.replicas]).toEqual([0, 0, 4]);
  });

  test("takes an instance away after ten seconds in which it was not needed", () => {
    const scaler = scalerOf(4);
    scaler.start(60);
    for (let second = 1; second <= 10; second++) {
      scaler.update(Float64Array.of(second === 5 ? 60 : 50, 0, 0), 1000 * second);
    }
    expect([...scaler.replicas]).toEqual([3, 0, 0]);
    for (let second = 11; second <= 16; second++) {
      scaler.update(Float64Array.of(50, 0, 0), 1000 * second);
    }
    expect([...scaler.replicas]).toEqual([2, 0, 0]);
  });
});

describe("INFaaS", () => {
  test("sends queries to the instance with the fewest, and drops none that is late", () => {
    const cluster = tinyCluster({ workers: 2 }, 40);
    const wanted = { leastAccuracy: 0.8, latencyShare: 1, capacityShare: 0.95 };
    const driver = new PeerDriver(cluster, settingWith(infaas, cluster, wanted));
    expect(driver.arrive(0, 0)).toEqual(["0: variant 1 on 0"]);
    expect(driver.arrive(1, 1)).toEqual(["1: variant 1 on 1"]);
    expect([2, 3].flatMap((query) => driver.arrive(query, 2, 50))).toEqual([]);
    // Instances are for one query at a time: 2 · 0.95 · 25 a second suffice.
    expect(driver.done(0, 40)).toEqual(["0: variant 1 on 2"]);
    expect(driver.done(1, 41)).toEqual(["1: variant 1 on 3"]);
  });
});
