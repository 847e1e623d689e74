import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { expectWritable, writeAllAtomically } from "../../compiler/atomic-write.ts";

const root = mkdtempSync(join(tmpdir(), "stratagem-write-"));
afterAll(() => rmSync(root, { recursive: true }));

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(root, "case-"));
});

const bytes = (text: string): Uint8Array => Buffer.from(text);
const at = (name: string): string => join(folder, name);

test("writes all files over old ones, those made when their turn comes too", async () => {
  writeFileSync(at("a"), "old and longer");
  await writeAllAtomically([
    { path: at("a"), bytes: bytes("new") },
    { path: at("b"), bytes: () => bytes("made") },
  ]);
  expect(readFileSync(at("a"), "utf8")).toBe("new");
  expect(readFileSync(at("b"), "utf8")).toBe("made");
  expect(readdirSync(folder).sort()).toEqual(["a", "b"]);
});

test("changes none where one of them cannot be written", async () => {
  writeFileSync(at("a"), "old");
  const files = [
    { path: at("a"), bytes: bytes("new") },
    { path: at("no/such/folder/b"), bytes: bytes("new") },
  ];
  await expect(writeAllAtomically(files)).rejects.toThrow(/no\/such\/folder\/b: expected a place/);
  expect(readFileSync(at("a"), "utf8")).toBe("old");
  expect(readdirSync(folder)).toEqual(["a"]);
});

test("leaves nothing behind where one of them cannot be put in its place", async () => {
  mkdirSync(at("taken"));
  const files = [{ path: at("taken"), bytes: bytes("new") }];
  await expect(writeAllAtomically(files)).rejects.toThrow(/taken: expected a place/);
  expect(readdirSync(folder)).toEqual(["taken"]);
});

test("changes none once it is aborted, however late", async () => {
  writeFileSync(at("a"), "old");
  const controller = new AbortController();
  const files = [
    { path: at("a"), bytes: bytes("new") },
    {
      path: at("b"),
      bytes: () => {
        controller.abort(new Error("interrupted"));
        return bytes("new");
      },
    },
  ];
  await expect(writeAllAtomically(files, controller.signal)).rejects.toThrow("interrupted");
  expect(readFileSync(at("a"), "utf8")).toBe("old");
  expect(readdirSync(folder)).toEqual(["a"]);
});

test.each([
  ["a-folder", "EISDIR"],
  ["a-file/x", "ENOTDIR"],
  ["no/such/x", "ENOENT"],
])("says before the work that %s cannot be written (%s)", async (name, code) => {
  mkdirSync(at("a-folder"));
  writeFileSync(at("a-file"), "");
  await expect(expectWritable(at(name))).rejects.toThrow(`got: ${code}`);
  expect(readdirSync(folder).sort()).toEqual(["a-file", "a-folder"]);
});

test.each(["a-file", "new", "made/new"])("has nothing against writing %s", async (name) => {
  writeFileSync(at("a-file"), "");
  await expect(expectWritable(at(name))).resolves.toBeUndefined();
});
