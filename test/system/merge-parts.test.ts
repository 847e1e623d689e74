/** Merged parts have the bytes of one compile, of every method, whatever their number. */
import { describe, expect, test } from "vitest";
import { compile, plannedApplications } from "../../compiler/levels/compile.ts";
import { methodOf } from "../../compiler/methods/registry.ts";
import type { PresentPart } from "../../compiler/sharding/fleet.ts";
import { KnownLevels } from "../../compiler/sharding/known-levels.ts";
import { mergeParts } from "../../compiler/sharding/merge-parts.ts";
import {
  fleetOf,
  type PartBranch,
  type PartHeader,
  type PartLevel,
} from "../../compiler/sharding/part.ts";
import { partText, readPartText } from "../../compiler/sharding/part-text.ts";
import { solveShare } from "../../compiler/sharding/solve-share.ts";
import type { LoadedApplication } from "../../compiler/spec/load-application.ts";
import { encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import {
  type Machine,
  SERVED_OPTIONS,
  type ServedMethod,
  servedApplication,
} from "../support/served-application.ts";

async function partsOf(loaded: LoadedApplication, of: number): Promise<PresentPart[]> {
  const method = await methodOf(loaded.application.policy);
  const [first] = plannedApplications(loaded, method);
  if (first === undefined) throw new Error("an application is planned");
  const { application, inputs } = loaded;
  const source = { application, inputs, models: new Map() };
  const frame = method.frame(first, new Map());
  const fleet = fleetOf("test", source, frame);
  const divides = method.dividesSearch(frame);
  const parts: PresentPart[] = [];
  for (let number = 1; number <= of; number++) {
    const shard = { number, of };
    const told: PartLevel[] = [];
    const toldBranches: PartBranch[] = [];
    const options = {
      ...SERVED_OPTIONS,
      shard,
      known: new KnownLevels(),
      onLevel: (level: PartLevel) => told.push(level),
      onBranch: (branch: PartBranch) => toldBranches.push(branch),
    };
    const share = await solveShare(loaded, options, method);
    expect(told.length).toBe(share.levels.length);
    expect(toldBranches).toEqual(share.branches);
    const header: PartHeader = { shard, app: "app.json", compiler: "test", fleet, divides, source };
    const part = readPartText(partText({ header, ...share }));
    if (part === null) throw new Error("what was written is read");
    expect(part.isWhole).toBe(true);
    parts.push({ path: `${number}.part`, part, writtenMs: 0 });
  }
  return parts;
}

const ADAPTIVE = { from: 40, to: 260, maxAccuracyStep: "2%" };

const CASES: readonly (readonly [string, ServedMethod, Machine])[] = [
  ["ramsis", "ramsis", { serving: null }],
  ["ramsis, whose levels place themselves", "ramsis", { serving: null, loads: ADAPTIVE }],
  ["ramsis with the way through the server", "ramsis", { loads: [60, 150] }],
  ["loki, whose plans are settled", "loki", { serving: null, loads: [40, 60, 80, 100] }],
  ["inferline", "inferline", { serving: null }],
  ["themis", "themis", {}],
  ["accordion", "accordion", {}],
];

describe.each(CASES)("parts of %s", (_, name, machine) => {
  test("merge to the bytes of one compile, be they 1, 3 or 7", async () => {
    const loaded = servedApplication(name, machine);
    const method = await methodOf(loaded.application.policy);
    const { bundle } = await compile(loaded, SERVED_OPTIONS);
    const bytes = Buffer.from(encodeBundle(bundle));
    for (const of of [1, 3, 7]) {
      const merged = await mergeParts(await partsOf(loaded, of), SERVED_OPTIONS, method);
      expect(bytes.equals(encodeBundle(merged.bundle))).toBe(true);
      expect(merged.differing).toBe(0);
    }
  });
});

test("a level that no part has is solved by the merge, to the same bytes", async () => {
  const loaded = servedApplication("themis", { loads: [40, 70, 100] });
  const method = await methodOf(loaded.application.policy);
  const { bundle } = await compile(loaded, SERVED_OPTIONS);
  const [one, ...others] = await partsOf(loaded, 3);
  if (one === undefined) throw new Error("there are three parts");
  const without = { ...one, part: { ...one.part, levels: [] } };
  const merged = await mergeParts([without, ...others], SERVED_OPTIONS, method);
  expect(merged.solvedHere).toBeGreaterThan(0);
  expect(Buffer.from(encodeBundle(merged.bundle)).equals(encodeBundle(bundle))).toBe(true);
});

test("parts of another compiler, or of another build of it, are refused", async () => {
  const loaded = servedApplication("themis");
  const method = await methodOf(loaded.application.policy);
  const parts = await partsOf(loaded, 1);
  const [one] = parts;
  if (one === undefined) throw new Error("there is a part");
  const other = { ...SERVED_OPTIONS, compiler: "stratagem 0.0.1" };
  await expect(mergeParts(parts, other, method)).rejects.toThrow(
    "1.part: expected a part by this compiler, stratagem 0.0.1, got one by test",
  );
  const header = { ...one.part.header, fleet: "0" };
  const rebuilt = { ...one, part: { ...one.part, header } };
  await expect(mergeParts([rebuilt], SERVED_OPTIONS, method)).rejects.toThrow(
    "got one by another build of test",
  );
});

test("a part that was cut or changed is none", async () => {
  const [one] = await partsOf(servedApplication("themis"), 1);
  if (one === undefined) throw new Error("there is a part");
  const text = partText(one.part);
  expect(readPartText(text)?.isWhole).toBe(true);
  const lines = text.split("\n");
  // Without its end it is one that is being made; a line that was cut does not count.
  const cut = readPartText(lines.slice(0, 2).join("\n"));
  expect(cut).toMatchObject({ isWhole: false, levels: [] });
  expect(readPartText(`${lines.slice(0, 2).join("\n")}\n`)?.levels.length).toBe(1);
  expect(readPartText(text.replace('"loadQps":40', '"loadQps":41'))).toBeNull();
  expect(readPartText(text.replace('"loadQps":40', '"loadQps":'))).toBeNull();
  expect(readPartText("")).toBeNull();
  expect(readPartText("{}\n")).toBeNull();
});
