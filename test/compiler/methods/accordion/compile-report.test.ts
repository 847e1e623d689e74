/** What `compile` of malleable pipelines refuses and warns of, in this process. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  type CompileCommand,
  compileCommand,
} from "../../../../compiler/commands/compile/compile.ts";
import { readHost } from "../../../../runtime/exec/modules/host-source.ts";
import { describeModel } from "../../../../runtime/exec/onnx/model-file.ts";
import { probeModelFile, probeTensors } from "../../../../runtime/exec/tensors/probe-tensors.ts";
import { accordionApplication, type Change } from "../../../support/accordion-application.ts";

function commandOf(home: string, out: string): CompileCommand {
  return {
    app: join(home, "app.yaml"),
    out: join(home, out),
    solver: null,
    fanouts: null,
    check: false,
    compiler: "test",
    modelReader: {
      describe: describeModel,
      readHost: (one) => readHost(one, 1000),
      probe: probeTensors,
      probeFile: probeModelFile,
    },
    pool: { jobs: 1, onProgress: () => {}, signal: new AbortController().signal },
    nowMs: () => 0,
  };
}

test("warns of models that cannot be served, and of loads that cannot be carried", async () => {
  const home = accordionApplication(
    ["profile.json#sped }", "profile.json#sped, model: mlp-s.onnx }"],
    ["latency: 200 ms", "latency: 40 ms"],
    ["loads: [10, 40]", "loads: [1000]"],
    ["meanBatch: 2", "meanBatch: 6"],
  );
  const { text } = await compileCommand(commandOf(home, "b.msgpack"));
  expect(
    text
      .split("\n")
      .filter((line) => /^(model|level) /.test(line))
      .slice(1),
  ).toEqual([
    expect.stringMatching(/^model sped can be simulated and not served: its profile has speed-ups/),
    "model deep: a query of the mean batch, 6 instances, takes at least 88 ms, " +
      "on 3 places; the SLO is 40 ms",
    "model sped: a query of the mean batch, 6 instances, takes at least 70 ms, " +
      "on 4 places; the SLO is 40 ms",
    expect.stringMatching(
      /^level 1000 qps is not feasible: load 1000 > \S+ qps; violations \S+% > 5\.000%$/,
    ),
  ]);
});

test.each<[string, readonly Change[], RegExp]>([
  [
    "a model that is none",
    [["model: mlp-s.onnx", "model: profile.json"]],
    /profile\.json: expected an ONNX model for variant "small"/,
  ],
  [
    "an SLO below the deepest pipeline",
    [["latency: 200 ms", "latency: 20 ms"]],
    /slo\.latency: expected at least the 31 ms .* "deep" takes on 1 place, .*; got 20 ms/,
  ],
  [
    "batches of none",
    [["maxBatch: 8", "maxBatch: 0"]],
    /policy\.maxBatch: expected a whole number/,
  ],
  [
    "a profile without layers or speed-ups",
    [["profile.json#deep", "profile.json#plain"]],
    /variants\[1\]\.profile: method accordion needs layers, or speedups/,
  ],
])("refuses %s, and writes nothing", async (_, changes, message) => {
  const home = accordionApplication(...changes);
  await expect(compileCommand(commandOf(home, "out/b.msgpack"))).rejects.toThrow(message);
  expect(existsSync(join(home, "out"))).toBe(false);
});
