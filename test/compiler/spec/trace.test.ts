import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readTrace } from "../../../compiler/spec/trace.ts";
import { folderOf, mistakeOf } from "./spec-folder.ts";

function read(content: string | Uint8Array) {
  return readTrace(join(folderOf({ "trace.txt": content }), "trace.txt"));
}

function mistake(content: string | Uint8Array): string {
  const folder = folderOf({ "trace.txt": content });
  return mistakeOf(folder, () => readTrace(`${folder}/trace.txt`));
}

test("reads time stamps as arrivals from 0, to a fraction of a millisecond", () => {
  const trace = read(
    `TIMESTAMP,ContextTokens
2023-11-16 23:59:59.9799600,4808
2023-11-17 00:00:00.0319600,3180

2023-11-17T00:00:01Z,1\r
`,
  );
  expect(trace.kind).toBe("arrivals");
  const arrivalMs = trace.kind === "arrivals" ? [...trace.arrivalMs] : [];
  const expected = [0, 52, 1020.04];
  expect(arrivalMs).toHaveLength(3);
  for (const [index, value] of expected.entries()) expect(arrivalMs[index]).toBeCloseTo(value, 9);
});

test("reads arrivals in milliseconds, shifted to start at 0", () => {
  expect(read("# made by hand\narrivalMs,size\n5,1\n5,2\n7.5,3")).toEqual({
    kind: "arrivals",
    arrivalMs: Float64Array.of(0, 0, 2.5),
  });
});

test("reads two columns as rates, the last row lasting as long as the one before", () => {
  const expected = {
    kind: "rates",
    startMs: Float64Array.of(0, 10_000, 15_000),
    qps: Float64Array.of(1850, 0, 1880.5),
    endMs: 20_000,
  };
  expect(read("10 1850\n20\t0\n25  1880.5\n")).toEqual(expected);
  expect(read("10,1850\n20, 0\n25,1880.5")).toEqual(expected);
});

test("reads one column as counts per second, gzipped or not", () => {
  const expected = {
    kind: "rates",
    startMs: Float64Array.of(0, 1000, 2000),
    qps: Float64Array.of(52, 0, 48),
    endMs: 3000,
  };
  expect(read("52\n0\n48\n")).toEqual(expected);
  expect(read(gzipSync("52\n0\n48\n"))).toEqual(expected);
});

test.each([
  ["", "trace.txt: expected a trace, got no rows"],
  ["TIMESTAMP\n", "trace.txt: expected at least one arrival, got only a header"],
  [
    "time,count\n1,2\n",
    'trace.txt:1: expected a second and a rate, both at least 0, got "time,count"',
  ],
  [
    "1 2 3\n",
    "trace.txt:1: expected a header TIMESTAMP or arrivalMs, " +
      'or one or two columns of numbers, got "1 2 3"',
  ],
  [
    "TIMESTAMP\n2023-11-16 18:17:03\nyesterday\n",
    'trace.txt:3: expected a date and time such as 2023-11-16 18:17:03.98, got "yesterday"',
  ],
  [
    "TIMESTAMP\n2023-13-16 18:17:03\n",
    "trace.txt:2: expected a date and time such as 2023-11-16 18:17:03.98, " +
      'got "2023-13-16 18:17:03"',
  ],
  [
    "arrivalMs\n2\n\n1\n",
    'trace.txt:4: expected an arrival that is not before the one above, got "1"',
  ],
  ["arrivalMs\nsoon\n", 'trace.txt:2: expected a time in ms such as 1.5, got "soon"'],
  ["1\n-2\n", 'trace.txt:2: expected a number of queries of at least 0, got "-2"'],
  ["1\n2 3\n", 'trace.txt:2: expected a number of queries of at least 0, got "2 3"'],
  ["0 1\n0 2\n", "trace.txt:2: expected a second after the one above, got 0"],
  [
    "0 1\n1 Infinity\n",
    'trace.txt:2: expected a second and a rate, both at least 0, got "1 Infinity"',
  ],
  ["0 1\n", "trace.txt: expected at least two rows of second and rate, got one"],
  [new Uint8Array([0x1f, 0x8b, 1]), "trace.txt: expected a gzipped trace, got damaged data"],
  [new Uint8Array([0x31, 0xff]), "trace.txt: expected UTF-8 text, got other bytes"],
])("refuses %j", (content, message) => {
  expect(mistake(content)).toBe(`INPUT_SYNTAX ${message}`);
});

test("refuses a line that is too long to be a row", () => {
  expect(mistake(`1\n${"1".repeat(10_001)}`)).toBe(
    "INPUT_SYNTAX trace.txt:2: expected a line of at most 10000 characters, got 10001",
  );
});

test("refuses a gzipped trace that is too large once decompressed", () => {
  const bomb = gzipSync(new Uint8Array((64 << 20) + 1));
  expect(mistake(bomb)).toBe(
    "INPUT_SYNTAX trace.txt: expected a gzipped trace, got more than 64 MiB",
  );
});

test("names a trace that is missing", () => {
  const folder = folderOf({});
  expect(mistakeOf(folder, () => readTrace(`${folder}/day.csv`))).toBe(
    "INPUT_UNREADABLE day.csv: expected a readable file, but no such file",
  );
});
