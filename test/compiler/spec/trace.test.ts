import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readTrace, spreadTexts } from "../../../compiler/spec/trace.ts";
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

test("reads one column under the header qps as counts, also if they only rise", () => {
  const trace = read("qps\n10\n20\n30\n");
  expect(trace.kind === "rates" && [...trace.qps]).toEqual([10, 20, 30]);
});

/** One hundred arrivals in each of ten units, as a log of a coarse clock has them. */
function coarse(time: (index: number) => string): string {
  return Array.from({ length: 1000 }, (_, index) => time(Math.floor(index / 100))).join("\n");
}

const second = (index: number) => `2023-11-16 18:17:0${index}`;

test.each<[string, string, number]>([
  ["whole seconds", `TIMESTAMP\n${coarse(second)}`, 1000],
  ["seconds with zeros", `TIMESTAMP\n${coarse((at) => `${second(at)}.000000`)}`, 1000],
  ["seconds away from 0", `arrivalMs\n${coarse((at) => `${1000 * at + 350}`)}`, 1000],
  ["numbers of seconds", `arrivalSeconds\n${coarse((at) => `${1_700_000_000 + at}`)}`, 1000],
  ["minutes", `TIMESTAMP\n${coarse((at) => `2023-11-16 18:1${at}:00`)}`, 60_000],
  ["tenths of a second", `arrivalSeconds\n${coarse((at) => `17.${at}`)}`, 100],
  ["hundredths of a second", `arrivalMs\n${coarse((at) => `${10 * at}`)}`, 10],
])("spreads equal times of a clock of %s over its unit", (_, content, unitMs) => {
  for (const stored of [content, gzipSync(content)]) {
    const trace = read(stored);
    if (trace.kind !== "arrivals") throw new RangeError("expected arrivals");
    expect(trace.spreadMs).toBe(unitMs);
    const arrivals = [...trace.arrivalMs];
    expect(arrivals[0]).toBe(0);
    expect(arrivals).toEqual([...arrivals].sort((a, b) => a - b));
    expect(new Set(arrivals).size).toBe(1000);
    // Within a unit the times are uniform: halves of it hold 500 of 1000, give or take 5 sigma of
    // 16. The origin is the first arrival, on average a hundredth of the unit late.
    const early = arrivals.filter((ms) => (ms / unitMs) % 1 < 0.5).length;
    expect(Math.abs(early - 500)).toBeLessThan(80);
    expect(arrivals.at(-1)).toBeGreaterThan(9.8 * unitMs);
    expect(arrivals.at(-1)).toBeLessThan(10 * unitMs);
  }
});

test("spreads by the seed, the same way each time", () => {
  const folder = folderOf({ "trace.txt": `TIMESTAMP\n${coarse(second)}` });
  const [first, again, other] = [7, 7, 8].map((seed) => readTrace(`${folder}/trace.txt`, seed));
  expect(first).toEqual(again);
  expect(first).not.toEqual(other);
});

test.each([
  ["no two are equal", "arrivalMs\n0\n1000\n2000\n3000"],
  ["one has a fraction", "arrivalMs\n0\n1000\n1000\n2000.5"],
  ["they are to the millisecond", "arrivalMs\n0\n0\n13\n13\n27"],
])("uses times as they are where %s", (_, content) => {
  expect(read(content)).not.toHaveProperty("spreadMs");
});

test("says how times were spread", () => {
  const trace = read(`TIMESTAMP\n${coarse(second)}`);
  expect(spreadTexts({ file: "day.csv", trace })).toEqual([
    "day.csv: all times are multiples of 1 s and some are equal, so each arrival is placed at " +
      "random within its 1 s",
  ]);
  expect(spreadTexts({ file: "day.csv", trace: read("52\n0\n48") })).toEqual([]);
});

test("asks what one column of 43,000 rising numbers is", () => {
  const times = Array.from({ length: 43_000 }, (_, index) => (index * 0.25).toFixed(2));
  const asked =
    "INPUT_SYNTAX trace.txt: expected a header arrivalMs or arrivalSeconds for times of " +
    "arrivals, or qps for queries in each second, got 43000 numbers that rise from 0 to 10749.75";
  expect(mistake(times.join("\n"))).toBe(asked);
  // Logs are written as requests end, so some are a little early.
  [times[500], times[501]] = [times[501] ?? "", times[500] ?? ""];
  expect(mistake(times.join("\n"))).toBe(asked);
  const trace = read(`arrivalSeconds\n${times.sort((a, b) => +a - +b).join("\n")}`);
  expect(trace.kind === "arrivals" && trace.arrivalMs.at(-1)).toBe(10_749_750);
});

test.each([
  ["the same in each second", "100\n100\n100"],
  ["a day", "10\n50\n90\n50\n10"],
  ["a noisy rise", "10\n22\n18\n35\n30\n60"],
])("takes one column of %s for counts without a question", (_, content) => {
  expect(read(content).kind).toBe("rates");
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
    "trace.txt:1: expected a header TIMESTAMP, arrivalMs, arrivalSeconds, or qps, " +
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
  ["arrivalSeconds\nsoon\n", 'trace.txt:2: expected a time in seconds such as 1.5, got "soon"'],
  ["qps\n", "trace.txt: expected at least one number of queries, got only a header"],
  [
    "1700000000123\n1700000000456\n",
    "trace.txt:1: expected at most 1000000000 queries in a second, or a header arrivalMs or " +
      'arrivalSeconds for times of arrivals, got "1700000000123"',
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
