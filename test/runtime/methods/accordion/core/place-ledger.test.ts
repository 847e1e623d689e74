import { describe, expect, test } from "vitest";
import { NONE } from "../../../../../runtime/methods/accordion/core/pipeline-table.ts";
import { PlaceLedger } from "../../../../../runtime/methods/accordion/core/place-ledger.ts";

function ledgerOf(classes: number[], classCount = 1): PlaceLedger {
  const ledger = new PlaceLedger(Uint8Array.from(classes), classCount);
  for (const place of classes.keys()) ledger.comeUp(place);
  return ledger;
}

describe("PlaceLedger", () => {
  test("gives the free place of a class with the lowest index, and has it back", () => {
    const ledger = ledgerOf([0, 1, 0, 1, 0], 2);
    expect([ledger.take(0, 7), ledger.take(0, 7), ledger.take(1, 8)]).toEqual([0, 2, 1]);
    expect([ledger.freeOf(0), ledger.freeOf(1), ledger.freeCount]).toEqual([1, 1, 2]);
    expect([0, 1, 2, 3].map((place) => ledger.holder(place))).toEqual([7, 8, 7, NONE]);
    ledger.release(0);
    expect(ledger.take(0, 9)).toBe(0);
  });

  test("knows many places", () => {
    const ledger = ledgerOf(new Array<number>(70).fill(0));
    for (let place = 0; place < 70; place++) expect(ledger.take(0, 1)).toBe(place);
    for (const place of [69, 31, 63]) ledger.release(place);
    expect([ledger.take(0, 2), ledger.take(0, 2), ledger.take(0, 2)]).toEqual([31, 63, 69]);
  });

  test("a place that is down is neither free nor had", () => {
    const ledger = ledgerOf([0, 0]);
    ledger.take(0, 5);
    expect([ledger.goDown(0), ledger.goDown(1)]).toEqual([5, NONE]);
    expect([ledger.freeCount, ledger.readyCount, ledger.readyOf(0)]).toEqual([0, 0, 0]);
    expect([ledger.isUp(0), ledger.holder(0)]).toEqual([false, NONE]);
    ledger.comeUp(0);
    expect([ledger.isUp(0), ledger.freeOf(0), ledger.readyOf(0)]).toEqual([true, 1, 1]);
  });

  test("mistakes of ours are stopped", () => {
    const ledger = ledgerOf([0]);
    expect(() => ledger.comeUp(0)).toThrow(/was down/);
    expect(() => ledger.release(0)).toThrow(/was held/);
    ledger.take(0, 1);
    expect(() => ledger.take(0, 2)).toThrow(/is free/);
    ledger.goDown(0);
    expect(() => ledger.goDown(0)).toThrow(/was up/);
  });
});
