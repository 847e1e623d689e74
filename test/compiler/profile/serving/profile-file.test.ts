/** The rows of the serving path in a profile that is there. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { servingOutput } from "../../../../compiler/commands/profile/serving.ts";
import {
  expectProfile,
  withServingRows,
} from "../../../../compiler/profile/serving/profile-file.ts";
import { refuseDisturbed } from "../../../../compiler/profile/serving/serving-messages.ts";
import type { ServingRows } from "../../../../compiler/profile/serving/serving-rows.ts";
import { readProfile } from "../../../../compiler/spec/profile.ts";
import { folderOf } from "../../spec/spec-folder.ts";

const some = (ms: number) => ({ p50: ms, p95: 2 * ms, p99: 3 * ms, mean: ms });
const ROWS: ServingRows = {
  processors: 2,
  requestBytes: 100,
  requestMs: some(0.1),
  batchMs: some(0.2),
  answerMs: some(0.3),
  perMiBMs: 4,
  wakeMs: some(0.5),
  wireMs: some(0.6),
  contention: [1, 1.25],
  stealShare: 0.01,
  generatorShare: 0.1,
};
const PROFILE = {
  format: "latency-profile/1",
  hardware: "box",
  source: "by hand",
  variants: { m: { accuracy: 0.5, latencyMs: { "1": { ...some(1), samples: 30 } } } },
};

test("a profile with the rows reads as they were measured, and keeps all the rest", async () => {
  const folder = folderOf({ "profile.json": JSON.stringify(PROFILE) });
  const path = `${folder}/profile.json`;
  await expectProfile(path);
  writeFileSync(path, await withServingRows(path, ROWS));
  const { stealShare: _, generatorShare: __, ...read } = ROWS;
  expect(readProfile(path).variants.get("m")?.profile.serving).toEqual(read);
  const { serving, ...rest } = JSON.parse(readFileSync(path, "utf8"));
  expect(serving).toEqual(ROWS);
  expect(rest).toEqual(PROFILE);
  // Again: the rows take the place of the old ones.
  writeFileSync(path, await withServingRows(path, { ...ROWS, perMiBMs: 5 }));
  expect(readProfile(path).variants.get("m")?.profile.serving?.perMiBMs).toBe(5);
});

test("rows are added to a profile in JSON alone", async () => {
  const yaml = "format: latency-profile/1\nhardware: box\nvariants: { m: { latencyMs: { 1: 2 } } }";
  const folder = folderOf({ "profile.yaml": yaml });
  const added = expectProfile(`${folder}/profile.yaml`);
  await expect(added).rejects.toThrow("expected a profile in JSON to add the serving path to");
  await expect(expectProfile(`${folder}/none.json`)).rejects.toThrow("none.json");
});

test("rows go where they are asked for, and nowhere else", () => {
  expect(servingOutput({ out: "p" })).toBeNull();
  expect(servingOutput({ out: "p", serving: true })).toEqual({ into: "p", isAlone: false });
  expect(servingOutput({ serving: "p" })).toEqual({ into: "p", isAlone: true });
  expect(() => servingOutput({ out: "p", serving: "q" })).toThrow("got both");
  const labelled = () => servingOutput({ serving: "p", labels: "l" });
  expect(labelled).toThrow("expected --labels without --serving p");
  expect(() => servingOutput({ serving: true })).toThrow("got neither");
});

test("a machine that others keep busy is refused, with how busy and by whom", () => {
  const window = (neighbours: number) => ({
    ...{ answered: 1, failed: 0, batches: 1, processorMs: 0, inputMs: 0, outputMs: 0 },
    ...{ requests: [], machine: { steal: 0.02, neighbours, generator: 0 } },
  });
  const samples = { single: [window(0.3)], many: [window(0.4)] };
  const refused = () => refuseDisturbed("p.json", samples);
  expect(refused).toThrow("got 37% of its processors used by others (limit 15%)");
  expect(refused).toThrow("2% by the hypervisor and 35% by other processes");
  expect(() =>
    refuseDisturbed("p.json", { single: [window(0)], many: [window(0.1)] }),
  ).not.toThrow();
});
