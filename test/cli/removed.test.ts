/** Commands and options that the last release had answer with what to use instead. */
import { expect, test } from "vitest";
import { removedCommand, removedOption, removedVariable } from "../../runtime/removed.ts";

test("says nothing of names that were never there", () => {
  expect(removedCommand("serve")).toBe(null);
  expect(removedCommand("constructor")).toBe(null);
  expect(removedOption("serve", "--policy")).toBe(null);
  expect(removedOption("compile", "--toString")).toBe(null);
  expect(removedVariable({ STRATAGEM_POLICY: "a.msgpack" })).toBe(null);
});

test("commands that were removed say what there is instead", () => {
  expect(removedCommand("completion")).toBe(
    "completion was removed: no shell completion is written any more; " +
      "--help lists commands and options",
  );
});

test("flags that were removed say what there is instead", () => {
  expect(removedOption("scaler", "--scale")).toBe(
    "scaler --scale was removed: " +
      "KEDA sets the replicas, by the ScaledObject that manifests writes",
  );
  expect(removedOption("scaler", "--kube-api")).toBe(
    "scaler --kube-api was removed: replicas are read by the service account of the scaler's pod",
  );
});

test("settings of serve that were removed say what there is instead", () => {
  const instead = "name the bundle with --policy https://… or oci://…";
  expect(removedOption("serve", "--discovery")).toBe(`serve --discovery was removed: ${instead}`);
  expect(removedVariable({ STRATAGEM_DISCOVERY: "https://fleet.example/d.json" })).toBe(
    `STRATAGEM_DISCOVERY was removed: ${instead}`,
  );
});
