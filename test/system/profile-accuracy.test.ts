/** `profile --labels` measures the accuracies that models.json states of the same images. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { drawImages, HELD_OUT_SEED } from "../../lab/models/image-classification/dataset.ts";
import { stratagemIn } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "profile-accuracy-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("all seven models of letters are as accurate as stated, and compile takes it", () => {
  const models = resolve("models/image-classification");
  const stated = JSON.parse(readFileSync(`${models}/models.json`, "utf8")).variants;
  const { pixels, labels } = drawImages(HELD_OUT_SEED, 300);
  writeFileSync(join(folder, "rows.bin"), pixels);
  writeFileSync(join(folder, "labels.txt"), labels.join("\n"));
  const variants = stated.map(({ name }: { name: string }) => {
    return { name, model: `${models}/${name}.onnx`, profile: `p.json#${name}` };
  });
  const app = {
    ...{ version: 1, application: "letters", slo: { latency: "1 s" } },
    workload: { arrivals: { process: "poisson" }, loads: [1] },
    ...{ cluster: { workers: 1 }, tasks: [{ name: "read", variants }] },
    policy: { method: "ramsis", maxQueue: 4 },
  };
  writeFileSync(join(folder, "app.json"), JSON.stringify(app));
  const asked = ["--inputs", "rows.bin", "--labels", "labels.txt"];
  const quick = ["--batches", "1,7", "--repeat", "2", "--budget", "2s", "--force"];
  const ran = stratagemIn(folder, "profile", "app.json", "-o", "p.json", ...asked, ...quick);
  expect(ran.status, ran.stderr).toBe(0);
  const { variants: profiled } = JSON.parse(readFileSync(join(folder, "p.json"), "utf8"));
  for (const { name, accuracyFirst300 } of stated) {
    expect(profiled[name].accuracy, name).toBeCloseTo(accuracyFirst300, 5);
  }
  const compiled = stratagemIn(folder, "compile", "app.json", "-o", "b.msgpack");
  expect([compiled.status, compiled.stdout]).toEqual([0, expect.stringContaining("97.333%")]);
});
