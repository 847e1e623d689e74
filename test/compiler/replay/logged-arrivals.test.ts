/** Traffic of a decision log and of an access log, for a simulation. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { type ArrivalsAsked, loggedArrivals } from "../../../compiler/replay/logged-arrivals.ts";
import { arrivalsLine } from "../../../runtime/features/decision-log/arrival-notes.ts";
import { lineText } from "../../../runtime/features/decision-log/log-lines.ts";
import { tinyBundle } from "../../support/tiny-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-arrivals-"));
afterAll(() => rmSync(folder, { recursive: true }));

const SECOND_US = 1_000_000;
const START_US = Date.UTC(2026, 0, 1) * 1000;
const BUNDLE = tinyBundle();
const NEVER = new AbortController().signal;

function read(content: string | Buffer, asked: Partial<ArrivalsAsked> = {}) {
  const path = join(folder, "log");
  writeFileSync(path, content);
  const noUrl = () => Promise.reject(new Error("no URL is asked"));
  return loggedArrivals(path, { bundle: BUNDLE, isWhole: false, ...asked }, noUrl, NEVER);
}

/** Of requests at these seconds. */
function noted(seconds: readonly number[], rows = seconds.map(() => 1), application = "tiny") {
  const atUs = seconds.map((second) => START_US + Math.round(second * SECOND_US));
  return lineText(arrivalsLine({ application, model: `${application}-model` }, atUs, rows));
}

test("lines of arrivals become a trace that begins with the first of them", async () => {
  const content = gzipSync([noted([2, 3.5]), noted([1, 2.25])].join("\n"));
  const { trace, ...told } = await read(content);
  expect([...trace.arrivalMs]).toEqual([0, 1000, 1250, 2500]);
  expect(told).toEqual({
    ...{ requests: 4, queries: 4, models: ["tiny-model"] },
    fromMs: START_US / 1000 + 1000,
    toMs: START_US / 1000 + 3500,
  });
});

test("rows come together, but of what is served whole a request is one", async () => {
  const content = noted([0, 1], [3, 1]);
  expect([...(await read(content)).trace.arrivalMs]).toEqual([0, 0, 0, 1000]);
  expect([...(await read(content, { isWhole: true })).trace.arrivalMs]).toEqual([0, 1000]);
});

test("an access log says as much, and a file that is cut in the middle what it has", async () => {
  const line = (ms: number, model: string) =>
    JSON.stringify({
      ...{ time: new Date(START_US / 1000 + ms).toISOString(), requestId: "q", totalMs: 5 },
      ...{ model, rows: 1, lagMs: 2 },
    });
  const lines = [line(30, "tiny"), line(10, "tiny"), line(20, "other"), line(40, "")];
  const { trace, requests, models } = await read(`${lines.join("\n")}\n`);
  expect([...trace.arrivalMs]).toEqual([0, 20]);
  expect([requests, models]).toEqual([2, ["tiny"]]);
  const zipped = gzipSync(`${lines.join("\n")}\n`);
  expect((await read(zipped.subarray(0, -8))).requests).toBe(2);
});

test("of several models those of the bundle's application count; none is an error", async () => {
  const content = [noted([0, 1]), noted([0.5], [1], "other")].join("\n");
  expect((await read(content)).requests).toBe(2);
  // In a log of one model there is nothing to choose.
  expect((await read(noted([0.5], [1], "other"))).requests).toBe(1);
  const others = [noted([0], [1], "one"), noted([1], [1], "two")].join("\n");
  await expect(read(others)).rejects.toThrow(
    /^--arrivals: expected .* to have requests of tiny, .*one-model \(1 request\), two-model/,
  );
  await expect(read("no log\n")).rejects.toThrow("got none in 1 line");
});
