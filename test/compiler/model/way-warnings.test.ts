import { expect, test } from "vitest";
import { wayWarnings } from "../../../compiler/model/way-warnings.ts";
import type { Application } from "../../../compiler/spec/application.ts";

type Given = Parameters<typeof wayWarnings>[0];

/** As far as it says where workers are and how their times were measured. */
function application(isElsewhere: boolean, hopMs: number, includesWay: boolean): Given {
  const urls = isElsewhere ? { urls: ["http://10.0.0.7:8000"] } : {};
  const pools = [{ name: "gpus", workers: 1, ...urls }];
  const profiles = [includesWay ? { includesWay: true } : {}];
  const told = {
    cluster: { pools, communicationLatencyMs: hopMs },
    tasks: [{ variants: [{ profiles }] }],
  };
  return told as unknown as Pick<Application, "cluster" | "tasks">;
}

test("plans for workers of this machine, or measured through others, want nothing", () => {
  for (const counts of [true, false]) {
    expect(wayWarnings(application(false, 0, false), counts)).toEqual([]);
    expect(wayWarnings(application(false, 2, false), counts)).toEqual([]);
    expect(wayWarnings(application(true, 0, true), counts)).toEqual([]);
  }
});

test("a way that nobody has said anything of is told", () => {
  expect(wayWarnings(application(true, 0, false), true)).toEqual([
    "pool gpus: workers are elsewhere, and plans have nothing for the way to them; measure the " +
      "models through the workers (profile --workers)",
  ]);
});

test("a way that is stated is told where no worker is taken for it", () => {
  expect(wayWarnings(application(true, 2, false), true)).toEqual([]);
  expect(wayWarnings(application(true, 2, false), false)[0]).toContain(
    "taken for the 2 ms of each batch's way too, which plans do not count",
  );
});
