/**
 * Pipelines that `init` writes, unedited: profiled, compiled and served, the request that it prints
 * is answered with the rows that the models of its tasks give.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, expect, test } from "vitest";
import { loadBundle } from "../../runtime/bundles/load-bundle.ts";
import type { PipelineBundle } from "../../runtime/server/graph/signature/linked-tasks.ts";
import { type RealServer, realServer } from "../runtime/server/graph/real-server.ts";
import { stratagemHereIn } from "../support/cli-here.ts";
import {
  boxesNamed,
  classifierModel,
  detectorModel,
  PREDICTIONS,
  TWO_BOXES,
} from "../support/pipeline-models.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-init-pipelines-"));
afterAll(() => rmSync(folder, { recursive: true }));
let open: RealServer | undefined;
afterEach(() => open?.server.close());

/** Enough to serve by, not to trust. */
const SHORT = ["--force", "--repeat", "3", "--batches", "1,2"];
const PRINTED_URL = "http://127.0.0.1:8000";
const CUTTER = "cut=stratagem-kit/crop-rows";

const models: Readonly<Record<string, Uint8Array>> = {
  "boxes.onnx": detectorModel("image", boxesNamed("boxes"), TWO_BOXES),
  "either.onnx": detectorModel("image", boxesNamed("regions"), boxesNamed("anchors"), TWO_BOXES),
  "yolo.onnx": detectorModel("images", PREDICTIONS),
  "classifier.onnx": classifierModel("crop", 16),
};
for (const [name, bytes] of Object.entries(models)) writeFileSync(join(folder, name), bytes);
const identify = "identify=classifier.onnx";

test.each([
  ["a detector that says how many boxes", 2, ["detect=boxes.onnx", CUTTER, identify]],
  ["a detector with a choice of boxes", 2, ["detect=either.onnx", CUTTER, identify]],
  [
    "a detector without suppression",
    2,
    ["detect=yolo.onnx", "suppress=stratagem-kit/nms", CUTTER, identify],
  ],
  [
    "a file of an image before a classifier",
    1,
    ["decode=stratagem-kit/decode-image", "identify=classifier.onnx"],
  ],
  [
    "a detector that cuts by itself",
    0,
    ["detect", "identify"].map((task, index) => {
      return `${task}=${resolve("models/scenes", ["detector-s.onnx", "mlp-s.onnx"][index] ?? "")}`;
    }),
  ],
])("from %s to %i answers, unedited", async (_, rows, tasks) => {
  const run = async (...args: string[]) => {
    const { status, stdout, stderr } = await stratagemHereIn(folder, ...args);
    expect(status, stderr).toBe(0);
    return stdout;
  };
  const printed = await run("init", ...tasks, "--force");
  await run("profile", "app.yaml", "-o", "app-profile.json", ...SHORT);
  await run("compile", "app.yaml", "-o", "app.msgpack");
  const { bundle } = await loadBundle(join(folder, "app.msgpack"));
  const home = /--models (\S+)$/m.exec(printed)?.[1] ?? "";
  open = await realServer(bundle as PipelineBundle, resolve(folder, home));
  const request = printed.split("\n").find((line) => line.includes("curl "));
  const command = `${request?.replace(PRINTED_URL, open.url)} -w '\n%{http_code}'`;
  const { stdout } = await promisify(execFile)("bash", ["-c", command], { cwd: folder });
  const [body = "", status] = stdout.split("\n");
  expect(status, body).toBe("200");
  const { outputs } = JSON.parse(body) as { outputs: { name: string; shape: number[] }[] };
  expect(outputs.find(({ name }) => name.startsWith("identify."))?.shape[0]).toBe(rows);
});
