/** Lines reach files in order, and whoever does not read holds up nobody. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  write,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { StreamDestination } from "../../../../runtime/features/decision-log/log-destination.ts";
import { LineSink } from "../../../../runtime/server/logs/line-sink.ts";
import { LineWriter, type WriteBytes } from "../../../../runtime/server/logs/line-writer.ts";

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

/** Writes as a disk with so much room does: a part of what it has no room for, then nothing. */
class Disk {
  room: number;
  /** Writes that were begun, and that have ended. */
  begun = 0;
  ended = 0;

  constructor(room: number) {
    this.room = room;
  }

  readonly write: WriteBytes = (fd, bytes, offset, length, position, done) => {
    const fitting = Math.min(this.room, length);
    this.room -= fitting;
    this.begun++;
    const end: typeof done = (error, written) => {
      this.ended++;
      done(error, written);
    };
    if (fitting > 0) write(fd, bytes, offset, fitting, position, end);
    else setImmediate(() => end(Object.assign(new Error("full"), { code: "ENOSPC" }), 0));
  };
}

/** A sink whose waiting lines are written after each line. */
function reporting(path: string, full: Disk) {
  const notices: string[] = [];
  const clock = { nowMs: 0 };
  const sink = new LineSink(path, {
    name: "access log",
    onNotice: (message) => notices.push(message),
    nowMs: () => clock.nowMs,
    write: full.write,
  });
  const settled = async (line: string) => {
    const before = full.begun;
    sink.write(line);
    while (full.begun === before || full.ended < full.begun) await new Promise(setImmediate);
  };
  return { sink, notices, clock, settled };
}

test.each([0, 1, 4, 9, 10, 11, 15, 20])(
  "beyond a disk with room for %i bytes, lines start on lines of their own",
  async (room) => {
    const path = join(folder, "log");
    const full = new Disk(room);
    const { sink, settled } = reporting(path, full);
    const lines = numbered(4, 9);
    for (const line of lines) await settled(line);
    const lost = sink.droppedCount;
    // Lines of ten bytes with their ends; the end of a cut one takes room too.
    expect(lost).toBe(4 - Math.floor(room / 10));
    full.room = 1000;
    await settled("after");
    await sink.close();
    const written = readFileSync(path, "utf8").split("\n");
    expect(written.filter((line) => lines.includes(line)).length).toBeGreaterThanOrEqual(4 - lost);
    expect(written.slice(-2)).toEqual(["after", ""]);
    expect(sink.droppedCount).toBe(lost);
  },
);

test("a full disk is reported once, and once when lines are written again", async () => {
  const full = new Disk(0);
  const { sink, notices, clock, settled } = reporting(join(folder, "log"), full);
  for (const line of numbered(3, 9)) await settled(line);
  const [failed, mended] = [
    "access log: lines cannot be written: ENOSPC",
    "access log: lines are written again; 5 were lost",
  ];
  expect([sink.droppedCount, notices]).toEqual([3, [failed]]);
  // A disk that is full now and then is one failure.
  for (const room of [100, 0, 100, 0]) {
    clock.nowMs += 9000;
    full.room = room;
    await settled("line");
  }
  expect([sink.droppedCount, notices]).toEqual([5, [failed]]);
  full.room = 100;
  clock.nowMs += 10_000;
  await settled("line");
  expect(notices).toEqual([failed, mended]);
  await sink.close();
});

test("the device that is always full is reported, and its lines are counted at once", async () => {
  const notices: string[] = [];
  const reports = { name: "access log /dev/full", onNotice: (one: string) => notices.push(one) };
  const sink = new LineSink("/dev/full", { ...reports, nowMs: () => 0 });
  sink.write("one");
  await expect.poll(() => sink.droppedCount).toBe(1);
  expect(notices).toEqual(["access log /dev/full: lines cannot be written: ENOSPC"]);
  await sink.close();
});

test("a line that a crash has cut is ended before the next, also after a rotation", async () => {
  const [path, other] = [join(folder, "log"), join(folder, "other")];
  writeFileSync(path, "whole\ncut");
  const sink = new LineSink(path);
  sink.write("one");
  await expect.poll(() => readFileSync(path, "utf8")).toBe("whole\ncut\none\n");
  writeFileSync(other, "cut too");
  renameSync(other, path);
  sink.reopen();
  await new Promise(setImmediate);
  sink.write("two");
  await sink.close();
  expect(readFileSync(path, "utf8")).toBe("cut too\ntwo\n");
});

test("standard output on a full disk loses batches, and the next has its own line", async () => {
  const path = join(folder, "stdout");
  const full = new Disk(14);
  const destination = new StreamDestination(new LineWriter(path, full.write));
  const { signal } = new AbortController();
  const kinds = [];
  for (const text of ["first one\n", "second one\n"]) {
    kinds.push((await destination.send(text, signal)).kind);
  }
  full.room = 100;
  kinds.push((await destination.send("third one\n", signal)).kind);
  expect(kinds).toEqual(["taken", "refused", "taken"]);
  expect(readFileSync(path, "utf8")).toBe("first one\nseco\nthird one\n");
});

test("a file that cannot be opened is refused", () => {
  expect(() => new LineSink(join(folder, "none", "log"))).toThrow("ENOENT");
});
