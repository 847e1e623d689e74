import { describe, expect, test } from "vitest";
import { expectWhole, fleetOfParts, type GivenPart } from "../../../compiler/sharding/fleet.ts";
import { openShards, statusOf } from "../../../compiler/sharding/fleet-status.ts";
import type { PartHeader } from "../../../compiler/sharding/part.ts";
import {
  headerLine,
  levelLine,
  partText,
  readPartText,
} from "../../../compiler/sharding/part-text.ts";
import { servedApplication } from "../../support/served-application.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

const { application, inputs } = servedApplication("ramsis", { loads: [40, 60, 80, 100] });
const level = { frame: "f", level: tinyBundle().levels[0] ?? never(), ms: 1500 };

function never(): never {
  throw new Error("a tiny bundle has a level");
}

function headerOf(number: number, change: Partial<PartHeader> = {}): PartHeader {
  const source = { application, inputs, models: new Map() };
  return {
    shard: { number, of: 3 },
    app: "a.yaml",
    compiler: "c 1",
    fleet: "x",
    divides: false,
    source,
    ...change,
  };
}

function given(number: number, change: Partial<PartHeader> = {}): GivenPart {
  const text = partText({
    header: headerOf(number, change),
    levels: [level],
    branches: [],
    stages: [],
  });
  return { path: `${number}.part`, part: readPartText(text), writtenMs: 1000 };
}

function unfinished(number: number): GivenPart {
  const text = headerLine(headerOf(number)) + levelLine(level);
  return { ...given(number), part: readPartText(text) };
}

const absent = (path: string): GivenPart => ({ path, part: null, writtenMs: null });

function refusal(parts: readonly GivenPart[]): string {
  try {
    expectWhole(fleetOfParts(parts));
  } catch (error) {
    expect(error).toMatchObject({ code: "INPUT_PARTS" });
    return error instanceof Error ? error.message : "";
  }
  return "none";
}

describe("parts of a compile", () => {
  test("are whole if each shard is there once, in any order", () => {
    const whole = expectWhole(fleetOfParts([given(3), given(1), given(2)]));
    expect(whole.map(({ path }) => path)).toEqual(["1.part", "2.part", "3.part"]);
  });

  test("are refused with the number of a shard that is lost, double or unfinished", () => {
    expect(refusal([given(1), given(3)])).toContain("but shard 2 is lost");
    expect(refusal([given(2)])).toContain("but shards 1, 3 are lost");
    expect(refusal([given(1), given(2), absent("3.part")])).toContain(
      "but shard 3 is lost; not found: 3.part",
    );
    const twice = { ...given(2), path: "copy.part" };
    expect(refusal([given(1), given(2), given(3), twice])).toContain(
      "but shard 2 was given 2 times (2.part and copy.part)",
    );
    expect(refusal([given(1), unfinished(2), given(3)])).toContain(
      "but shard 2 is unfinished (2.part has 1 levels so far)",
    );
    expect(refusal([absent("1.part")])).toContain("got none; not found: 1.part");
  });

  test("are refused with what makes them parts of another compile", () => {
    const of7 = given(2, { shard: { number: 2, of: 7 } });
    expect(refusal([given(1), of7])).toContain("1.part is shard 1/3 and 2.part is shard 2/7");
    const newer = given(2, { compiler: "c 2" });
    expect(refusal([given(1), newer])).toContain("1.part is by c 1 and 2.part by c 2");
    const { source } = headerOf(2);
    const other = { ...application, name: "other" };
    const named = given(2, { fleet: "y", source: { ...source, application: other } });
    expect(refusal([given(1), named])).toContain("1.part is for served, 2.part for other");
    const edited = inputs.map(({ path }) => ({ path, sha256: "0" }));
    const changed = given(2, { fleet: "y", source: { ...source, inputs: edited } });
    expect(refusal([given(1), changed])).toContain(
      `${inputs[0]?.path} differs between 1.part and 2.part`,
    );
    expect(refusal([given(1), given(2, { fleet: "y" })])).toContain("with different options");
  });

  test("have a status, also those that are not finished", () => {
    const status = statusOf(fleetOfParts([given(1), unfinished(2), absent("3.part")]), 4000);
    expect(status).toMatchObject({ isComplete: false, levels: 2, solveMs: 3000 });
    expect(status.shards).toEqual([
      expect.objectContaining({ shard: 1, state: "done", levels: 1, planned: 2, quietMs: 3000 }),
      expect.objectContaining({ shard: 2, state: "unfinished", levels: 1, planned: 1 }),
      expect.objectContaining({ shard: 3, state: "lost", levels: 0, quietMs: null, paths: [] }),
    ]);
    expect(openShards(status)).toEqual(["shard 2 is unfinished", "shard 3 is lost"]);
    const all = statusOf(fleetOfParts([given(1), given(2), given(3)]), 4000);
    expect(all.isComplete).toBe(true);
    expect(openShards(all)).toEqual([]);
  });
});

test("refuses a truncated or changed part, but reads an unfinished one", () => {
  const text = partText({ header: headerOf(1), levels: [level, level], branches: [], stages: [] });
  const lines = text.split("\n");
  expect(readPartText(text)).toMatchObject({ isWhole: true, header: headerOf(1) });
  const cut = readPartText(lines.slice(0, 2).join("\n"));
  expect(cut).toMatchObject({ isWhole: false, levels: [] });
  const going = readPartText(`${lines.slice(0, 2).join("\n")}\n`);
  expect(going).toMatchObject({ isWhole: false, levels: [level] });
  expect(readPartText(text.replace('"ms":1500', '"ms":1501'))).toBeNull();
  expect(readPartText(text.replace('"ms":1500', '"ms":'))).toBeNull();
  for (const other of ["", "\n", "{}\n", "\u0094stratagem"]) expect(readPartText(other)).toBeNull();
});
