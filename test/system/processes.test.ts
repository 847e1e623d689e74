/** Every command as a process: it says what it has to, and ends by itself with its exit code. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-processes-"));
afterAll(() => rmSync(folder, { recursive: true }));

const V1 = "test/fixtures/bundles/v1.msgpack";
const CLASSES = "test/fixtures/bundles/classes-v1.msgpack";
const LETTERS = "policies/letters/app.yaml";
const out = join(folder, "out");

test.each([
  [0, ["inspect", V1], /^sample: ramsis, format version 1, /],
  [3, ["verify", "test/fixtures/bundles/bad-version.msgpack"], /^refused: BUNDLE_VERSION /m],
  [2, ["gate", V1, CLASSES, "--show"], /^slo/m],
  [0, ["simulate", V1, "--arrivals", "poisson:20", "--duration", "1s"], /quer/],
  [0, ["report", V1, "-o", out, "--frontier", "none"], /^\S+: \d+ bytes, /],
  [0, ["profile", LETTERS, "-o", out, "--dry-run"], /cnn-xl/],
])("ends with %d: stratagem %j", (code, args, said) => {
  const { status, stdout, stderr } = stratagem(...args);
  expect({ status, stderr }).toEqual({ status: code, stderr: "" });
  expect(stdout).toMatch(said);
});

test.each([
  [65, ["compile", "none.yaml", "-o", out], /^INPUT_UNREADABLE none\.yaml: /],
  [65, ["serve", "--policy", "package.json"], /^BUNDLE_MAGIC package\.json: /],
  [
    65,
    ["bench", "http://127.0.0.1:9", "--arrivals", "poisson:1"],
    /^RUNTIME_UNREADABLE .*expected a server that answers/,
  ],
  [64, ["complie"], /^error: unknown command 'complie'/],
])("is refused with %d: stratagem %j", (code, args, message) => {
  const { status, stdout, stderr } = stratagem(...args);
  expect({ status, stdout }).toEqual({ status: code, stdout: "" });
  expect(stderr).toMatch(message);
});
