/** `npm run release:check` as a person runs it before a release. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, vi } from "vitest";
import { LIST, SIGNATURE } from "../../lab/release/checksums.ts";
import { versionOf } from "../../lab/release/versions.ts";
import { testWith } from "./needs.ts";

// It builds twice and installs twice, on whatever machine.
vi.setConfig({ testTimeout: 1_200_000 });
const hasRegistry = spawnSync("npm", ["ping"], { stdio: "ignore" }).status === 0;
const withRegistry = testWith("an npm registry", hasRegistry);
const folder = mkdtempSync(join(tmpdir(), "stratagem-release-test-"));
afterAll(() => rmSync(folder, { recursive: true, maxRetries: 3 }), 60_000);

withRegistry("every step of the check is told, and holds; the release is signed", () => {
  const key = join(folder, "release");
  const cli = resolve("compiler/dist/cli.js");
  expect(spawnSync(process.execPath, [cli, "keygen", "-o", key]).status).toBe(0);
  const out = join(folder, "release");
  const args = ["run", "-s", "release:check", "--", "--out", out, "--key", `${key}.key`];
  const { stdout, stderr, status } = spawnSync("npm", args, { encoding: "utf8" });
  const told = stdout.split("\n").flatMap((line) => /^(ok|FAILED) +(\w+)/.exec(line)?.[0] ?? []);
  const steps = [
    ...["version", "changelog", "tree", "pack", "reproducible", "sbom", "install"],
    ...["versions", "compile", "sign", "tampered", "serve", "unsigned", "formats"],
  ];
  expect({ told, stderr }).toEqual({ told: steps.map((name) => `ok      ${name}`), stderr: "" });
  expect(status).toBe(0);
  const version = versionOf();
  const names = ["stratagem-runtime", "stratagem", "stratagem-kit"].flatMap((name) =>
    ["tgz", "cdx.json"].map((form) => `${name}-${version}.${form}`),
  );
  const listed = readFileSync(join(out, LIST), "utf8").trimEnd().split("\n");
  expect(listed.map((line) => line.split("  ")[1])).toEqual(names.sort());
  expect(spawnSync("sha256sum", ["--check", "--strict", LIST], { cwd: out }).status).toBe(0);
  const context = join(out, "images/compiler");
  expect(existsSync(join(context, "package-lock.json"))).toBe(true);
  // As anybody may who has the public key: base64 to bytes, then the plain signature.
  const verified = spawnSync(
    "sh",
    [
      "-c",
      `base64 -d ${SIGNATURE} > signature && openssl pkeyutl -verify -rawin -pubin \
        -inkey "$1" -sigfile signature -in ${LIST}`,
      "sh",
      `${key}.pub`,
    ],
    { cwd: out, encoding: "utf8" },
  );
  expect(verified.stdout).toContain("Signature Verified Successfully");
});
