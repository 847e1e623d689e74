import { expect, test } from "vitest";
import { hopWarnings } from "../../../compiler/model/hop-warnings.ts";
import type { Application } from "../../../compiler/spec/application.ts";

type Given = Parameters<typeof hopWarnings>[0];

/** Part of an application: where workers are and how their times were measured. */
function application(isElsewhere: boolean, hopMs: number, includesWay: boolean): Given {
  const urls = isElsewhere ? { urls: ["http://10.0.0.7:8000"] } : {};
  const pools = [{ name: "gpus", workers: 1, ...urls }];
  const profiles = [includesWay ? { includesWay: true } : {}];
  const given = {
    cluster: { pools, communicationLatencyMs: hopMs },
    tasks: [{ variants: [{ profiles }] }],
  };
  return given as unknown as Pick<Application, "cluster" | "tasks">;
}

test("gives no warning for local workers, nor for models measured through remote ones", () => {
  for (const counts of [true, false]) {
    expect(hopWarnings(application(false, 0, false), counts)).toEqual([]);
    expect(hopWarnings(application(false, 2, false), counts)).toEqual([]);
    expect(hopWarnings(application(true, 0, true), counts)).toEqual([]);
  }
});

test("warns of a hop whose time is not stated", () => {
  expect(hopWarnings(application(true, 0, false), true)).toEqual([
    "pool gpus: workers are on other machines, and plans do not count the hop to them; measure " +
      "the models through the workers (profile --workers)",
  ]);
});

test("warns of a stated hop if plans do not count it as worker time", () => {
  expect(hopWarnings(application(true, 2, false), true)).toEqual([]);
  expect(hopWarnings(application(true, 2, false), false)[0]).toContain(
    "busy during the hop of each batch, 2 ms, which plans do not count",
  );
});
