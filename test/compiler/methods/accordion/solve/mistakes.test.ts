/** What an application cannot ask of Accordion, and what it is told. */
import { expect, test } from "vitest";
import {
  accordionMistakes,
  layerCountMistakes,
} from "../../../../../compiler/methods/accordion/solve/mistakes.ts";
import { ofMethod } from "../../../../support/of-method.ts";
import { type Change, loadedPlaces, TWO_POOLS, TWO_PROFILES, TWO_SMALL } from "./spec.ts";

/** Code, place and message of each mistake. */
function mistakesOf(...changes: readonly Change[]): string[] {
  return [...accordionMistakes(ofMethod("accordion", loadedPlaces(...changes).application))].map(
    ({ code, path, message }) => `${code} ${path.join(".")}: ${message}`,
  );
}

test("has nothing to say of an application whose models can be scheduled", () => {
  expect(mistakesOf()).toEqual([]);
  expect(mistakesOf(TWO_POOLS, TWO_PROFILES, TWO_SMALL)).toEqual([]);
  expect(mistakesOf(["profile.json#small", "profile.json#both"])).toEqual([]);
});

test.each<[string, readonly Change[], string]>([
  [
    "levels that are placed by accuracy",
    [["loads: [10, 40]", "loads: { from: 10, to: 90, maxAccuracyStep: 1% }"]],
    "INPUT_UNSUPPORTED workload.loads.maxAccuracyStep: accordion does not choose accuracies, " +
      "so levels cannot be placed by them; allowed: a list of rates, or from, to and step",
  ],
  [
    "a way to the places that the measurements hold already",
    [["cluster:", "cluster:\n  communicationLatency: 2 ms"]],
    "INPUT_CONFLICT cluster.communicationLatency: measured stages of accordion include the " +
      "hop to their places, so it would count twice; allowed: 0 ms, got 2 ms",
  ],
  [
    "a mean batch above the largest",
    [["meanBatch: 4", "meanBatch: 9"]],
    "INPUT_INVALID_VALUE policy.meanBatch: expected at least 1 and at most maxBatch, " +
      "which is 8, got 9",
  ],
  [
    "a mean batch below one",
    [["meanBatch: 4", "meanBatch: 0.5"]],
    "INPUT_INVALID_VALUE policy.meanBatch: expected at least 1 and at most maxBatch, " +
      "which is 8, got 0.5",
  ],
  [
    "a pool that a model has no profile of",
    [TWO_POOLS, TWO_SMALL],
    'INPUT_CONFLICT tasks.0.variants.0.profile: pool slow (old) cannot run "deep", ' +
      'whose profiles are of "cpu"; any place may run any stage',
  ],
  [
    "profiles of one model that differ in their layers",
    [
      TWO_POOLS,
      TWO_SMALL,
      ["profile: profile.json#deep", "profile: [profile.json#deep, old.json#short]"],
    ],
    "INPUT_CONFLICT tasks.0.variants.0.profile: expected the same number of layers in all " +
      'profiles of "deep"; profile.json has 6, old.json has 3',
  ],
  [
    "layers on one pool and speed-ups on another",
    [
      TWO_POOLS,
      TWO_SMALL,
      ["profile: profile.json#deep", "profile: [profile.json#deep, old.json#sped]"],
    ],
    "INPUT_CONFLICT tasks.0.variants.0.profile: expected the same number of layers in all " +
      'profiles of "deep"; profile.json has 6, old.json has none',
  ],
  [
    "speed-ups of places that are not alike",
    [
      TWO_POOLS,
      TWO_SMALL,
      ["profile: profile.json#deep", "profile: [profile.json#sped, old.json#sped]"],
    ],
    "INPUT_CONFLICT tasks.0.variants.0.profile: profile.json#sped has speedups, " +
      "which assume identical places, but places are of 2 pools; expected layers",
  ],
  [
    "too many shapes",
    [TWO_POOLS, TWO_PROFILES, TWO_SMALL].concat([
      ["workers: 2 }\n", "workers: 64 }\n"],
      ["old, workers: 2", "old, workers: 64"],
      ["maxDepth: 4", "maxDepth: 45\n  executionPlaces: 128"],
    ]),
    "INPUT_CONFLICT policy.maxDepth: a query can have up to 45 places of 2 pools in " +
      "more than 1024 ways, each with a pipeline of its own; allowed: 1024; " +
      "lower maxDepth, or put equal workers into one pool",
  ],
  [
    "more latencies than a table should hold",
    [
      TWO_POOLS,
      TWO_PROFILES,
      TWO_SMALL,
      ["workers: 2 }\n", "workers: 64 }\n"],
      ["old, workers: 2", "old, workers: 64"],
      ["maxDepth: 4", "maxDepth: 40\n  executionPlaces: 128"],
      ["maxBatch: 8", "maxBatch: 4096"],
    ],
    "INPUT_CONFLICT policy.maxBatch: 2 models on 860 shapes with batches up to 4096 make " +
      "7045120 latencies to look up; allowed: 4194304",
  ],
  [
    "an SLO that one instance cannot meet on any number of places",
    [["profile.json#small", "profile.json#long"]],
    'INPUT_CONFLICT slo.latency: expected at least the 900 ms that one instance of "small" ' +
      "takes on 1 place, where it is fastest; got 200 ms",
  ],
  [
    "an SLO below the deepest pipeline, by the paper's timing",
    [
      ["profile.json#small", "profile.json#sped"],
      ["maxDepth: 4", "maxDepth: 4\n  timing: paper"],
    ],
    'INPUT_CONFLICT slo.latency: expected at least the 700 ms that one instance of "small" ' +
      "takes on 4 places, where it is fastest; got 200 ms",
  ],
  [
    "a model with a name that no file can have",
    [["name: deep, accuracy: 0.9", 'name: "../deep", model: deep.onnx, accuracy: 0.9']],
    "INPUT_INVALID_VALUE tasks.0.variants.0.name: expected letters, digits, " +
      "spaces and the signs _ - . (not first), as stages of the model are files of that name, " +
      'got "../deep"',
  ],
])("refuses %s", (_, changes, message) => {
  expect(mistakesOf(...changes)).toEqual([message]);
});

test("refuses pipelines of tasks", () => {
  const found = mistakesOf([
    "policy:\n  method: accordion",
    `    to: [{ task: next }]
  - name: next
    variants:
      - { name: other, accuracy: 0.8, profile: profile.json#small }
policy:
  method: accordion`,
  ]);
  expect(found).toEqual([
    "INPUT_UNSUPPORTED tasks.1: accordion serves one task, " +
      "whose variants are the models that clients name, got 2; " +
      "put all models under one, without edges",
  ]);
});

test("refuses a model that has other layers than were measured", () => {
  const loaded = loadedPlaces(["name: deep,", "name: deep, model: deep.onnx,"]);
  const path = loaded.application.tasks[0]?.variants[0]?.model ?? "";
  const found = (count: number) =>
    [
      ...layerCountMistakes(ofMethod("accordion", loaded.application), new Map([[path, count]])),
    ].map(({ message }) => message);
  expect(found(6)).toEqual([]);
  expect(found(7)).toEqual([
    "the model has 7 layers, and profile.json#deep has times of 6; " +
      "expected a profile of this model: measure it again with profile --layers",
  ]);
});
