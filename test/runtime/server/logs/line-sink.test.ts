/** Lines reach files in order, and whoever does not read holds up nobody. */
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, readSync, renameSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LineSink } from "../../../../runtime/server/logs/line-sink.ts";

const MIB = 2 ** 20;

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "stratagem-sink-"));
});
afterEach(() => rm(folder, { recursive: true }));

const numbered = (count: number, length: number) =>
  Array.from({ length: count }, (_, index) => `${index}`.padEnd(length, "."));

test("lines are appended whole and in their order", async () => {
  const path = join(folder, "log");
  const lines = numbered(5000, 100);
  for (const part of [lines.slice(0, 1000), lines.slice(1000)]) {
    const sink = new LineSink(path);
    for (const line of part) sink.write(line);
    await sink.close();
    expect(sink.droppedCount).toBe(0);
  }
  expect(readFileSync(path, "utf8").split("\n")).toEqual([...lines, ""]);
});

test("lines that find no room are dropped and counted, and those before them are not", async () => {
  const path = join(folder, "log");
  const sink = new LineSink(path);
  const lines = numbered(5 * 1024, 1024);
  for (const line of lines) sink.write(line);
  await sink.close();
  const written = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(written.length).toBeLessThanOrEqual(4 * 1024);
  expect(written).toEqual(lines.slice(0, written.length));
  expect(sink.droppedCount).toBe(lines.length - written.length);
});

test("a reader that does not read is not waited for, and then has all lines", async () => {
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const sink = new LineSink(path);
  // Far more than a pipe holds.
  const lines = numbered(1024, 1024);
  for (const line of lines) sink.write(line);
  for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate);
  const chunks: Buffer[] = [];
  let bytes = 0;
  while (bytes < lines.length * 1025) {
    const chunk = Buffer.alloc(MIB);
    try {
      const read = readSync(reader, chunk);
      chunks.push(chunk.subarray(0, read));
      bytes += read;
    } catch {
      await new Promise(setImmediate);
    }
  }
  await sink.close();
  closeSync(reader);
  expect(Buffer.concat(chunks).toString().split("\n")).toEqual([...lines, ""]);
  expect(sink.droppedCount).toBe(0);
});

test("a reader that has gone costs its lines and nothing else", async () => {
  const path = join(folder, "pipe");
  execFileSync("mkfifo", [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const sink = new LineSink(path);
  closeSync(reader);
  for (const line of numbered(10, 10)) sink.write(line);
  await sink.close();
  expect(sink.droppedCount).toBe(10);
});

test("a file that was moved is left for a new one", async () => {
  const path = join(folder, "log");
  const sink = new LineSink(path);
  sink.write("before");
  renameSync(path, join(folder, "old"));
  sink.reopen();
  const exists = () => {
    try {
      readFileSync(path);
      return true;
    } catch {
      return false;
    }
  };
  while (!exists()) await new Promise(setImmediate);
  sink.write("after");
  await sink.close();
  expect(readFileSync(join(folder, "old"), "utf8")).toBe("before\n");
  expect(readFileSync(path, "utf8")).toBe("after\n");
});

test("a file that cannot be opened is refused", () => {
  expect(() => new LineSink(join(folder, "none", "log"))).toThrow("ENOENT");
});
