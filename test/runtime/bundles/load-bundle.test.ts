import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { makePipe } from "../../../lab/campaign/odd-places.ts";
import { loadBundle } from "../../../runtime/bundles/load-bundle.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";

const folder = fileURLToPath(new URL("../../fixtures/bundles/", import.meta.url));
const v1 = join(folder, "v1.msgpack");
const scratch = mkdtempSync(join(tmpdir(), "load-bundle-"));
afterAll(() => rmSync(scratch, { recursive: true }));

test("loads a bundle with what identifies its file", async () => {
  const loaded = await loadBundle(v1);
  expect(loaded.bundle).toEqual(sampleBundle());
  expect(loaded).toMatchObject({ path: v1, byteCount: 2865 });
  expect(loaded.sha256).toMatch(/^[0-9a-f]{64}$/);
});

test("refuses a file above the cap by its size alone", async () => {
  // Not a bundle at all: had it been read, the magic would be wrong.
  const large = join(scratch, "large.msgpack");
  writeFileSync(large, new Uint8Array(1001));
  await expect(loadBundle(large, { maxBytes: 1000 })).rejects.toMatchObject({
    code: "BUNDLE_TOO_LARGE",
    message:
      `${large}: expected at most 1000 bytes, got more; ` +
      "compile fewer levels or a coarser grid",
  });
  await expect(loadBundle(large, { maxBytes: 1001 })).rejects.toMatchObject({
    code: "BUNDLE_MAGIC",
  });
});

test("names the file in front of what is wrong inside", async () => {
  const path = join(folder, "bad-semantics.msgpack");
  await expect(loadBundle(path)).rejects.toMatchObject({
    code: "BUNDLE_SEMANTICS",
    message:
      `${path}: levels[1].actionByState.data[17]: expected an action for 3 queued, ` +
      "got 10, which is not an action; compile the bundle again",
  });
});

test("a file that cannot be read is not a refused bundle", async () => {
  const missing = join(scratch, "missing.msgpack");
  await expect(loadBundle(missing)).rejects.toMatchObject({
    code: "RUNTIME_UNREADABLE",
    message: expect.stringContaining(`${missing}: expected a readable policy bundle, got: no such`),
  });
  await expect(loadBundle(scratch)).rejects.toMatchObject({
    code: "RUNTIME_UNREADABLE",
    message: expect.stringContaining("not a file"),
  });
});

test("a pipe without a writer and an endless device are refused at once", async () => {
  const pipe = join(scratch, "pipe");
  makePipe(pipe);
  for (const path of [pipe, "/dev/zero"]) {
    await expect(loadBundle(path)).rejects.toMatchObject({
      code: "RUNTIME_UNREADABLE",
      message: expect.stringContaining(`${path}: expected a readable policy bundle, got: not a`),
    });
  }
});

test("the limit counts what is read, not what a file says of its size", async ({ skip }) => {
  skip(process.platform !== "linux", "only Linux has files that say they are empty");
  const path = "/proc/self/status";
  await expect(loadBundle(path, { maxBytes: 10 })).rejects.toMatchObject({
    code: "BUNDLE_TOO_LARGE",
  });
  await expect(loadBundle(path)).rejects.toMatchObject({ code: "BUNDLE_MAGIC" });
});
