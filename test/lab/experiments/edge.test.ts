/** What the steps of an update are called, which the power of an edge is cut in. */
import { expect, test } from "vitest";
import { StepNames } from "../../../lab/experiments/edge/step-names.ts";

const STORE = "/edge/store";
const digest = (digit: string): string => digit.repeat(64);
const blobs = `${STORE}/blobs/sha256`;
const policy = `${STORE}/policies/oci---registry-1`;

test("an update has the same names, whatever digests it is about", () => {
  const namesOf = (bundle: string, model: string) => {
    const names = new StepNames([STORE]);
    return [
      names.change("creates", `${blobs}/${digest(bundle)}.part`),
      names.asked(`http://registry/v2/letters/blobs/sha256:${digest(bundle)}`),
      names.asked(`http://registry/v2/letters/blobs/sha256:${digest("1")}`),
      names.asked(`http://registry/v2/letters/blobs/sha256:${digest("2")}`),
      names.asked(`http://registry/v2/letters/blobs/sha256:${digest(model)}`),
      names.change("puts in place", `${blobs}/${digest(model)}`),
      names.change("makes", `${policy}/revisions/.new-12-ab`),
      names.change("writes", `${policy}/revisions/.new-12-ab/bundle.msgpack`),
      names.change("removes", `${policy}/revisions/${digest(bundle)}-unsigned`),
      names.change("writes", `${policy}/.new-12-cd`),
      names.change("puts in place", `${policy}/current`),
      names.change("creates", `${STORE}/serials/${digest("3")}.json.new`),
      names.change("writes", `${policy}/.new-12-ef`),
      names.change("puts in place", `${policy}/last-good`),
      names.change("removes", `${policy}/revisions/${digest("4")}-unsigned`),
    ];
  };
  expect(namesOf("a", "b")).toEqual(namesOf("c", "d"));
  expect(new Set(namesOf("a", "b")).size).toBe(15);
  expect(namesOf("a", "b").slice(-5)).toEqual([
    "puts in place the current revision's name",
    "creates the serial",
    "writes the last good revision's name",
    "puts in place the last good revision's name",
    "removes an old revision",
  ]);
});

test("what is elsewhere is no step", () => {
  const names = new StepNames([STORE]);
  expect(names.change("writes", "/edge/store-of-another/x")).toBeNull();
  expect(names.asked("http://registry/v2/letters/manifests/berlin")).toBeNull();
});
