/** The list of a release's files, as sha256sum and openssl read it. */
import { spawnSync } from "node:child_process";
import { generateKeyPairSync, verify } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { LIST, SIGNATURE, signChecksums, writeChecksums } from "../../../lab/release/checksums.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-checksums-"));
afterAll(() => rmSync(folder, { recursive: true }));
const pem = { type: "pkcs8", format: "pem" } as const;

test("files are listed by name, and sha256sum agrees", () => {
  const files = ["b.tgz", "a.tgz"].map((name) => join(folder, name));
  for (const file of files) writeFileSync(file, file);
  expect(writeChecksums(folder, files)).toMatch(
    /^[0-9a-f]{64} {2}a\.tgz\n[0-9a-f]{64} {2}b\.tgz\n$/,
  );
  expect(spawnSync("sha256sum", ["--check", "--strict", LIST], { cwd: folder }).status).toBe(0);
  writeFileSync(join(folder, "a.tgz"), "other");
  expect(spawnSync("sha256sum", ["--check", "--strict", LIST], { cwd: folder }).status).toBe(1);
});

test("the signature is of the list's bytes, and of no others", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const keyFile = join(folder, "release.key");
  writeFileSync(keyFile, privateKey.export(pem));
  signChecksums(folder, keyFile);
  const signature = Buffer.from(readFileSync(join(folder, SIGNATURE), "utf8"), "base64");
  const list = readFileSync(join(folder, LIST));
  expect(verify(null, list, publicKey, signature)).toBe(true);
  expect(verify(null, Buffer.concat([list, Buffer.from("\n")]), publicKey, signature)).toBe(false);
});

test("a key of another kind is refused by name", () => {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keyFile = join(folder, "other.key");
  writeFileSync(keyFile, privateKey.export(pem));
  expect(() => signChecksums(folder, keyFile)).toThrow(
    /other\.key: expected an Ed25519 key, found ec/,
  );
});
