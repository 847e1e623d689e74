/** `report` as its users run it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { encodeBundle } from "../../runtime/checked-bundle.ts";
import { accordionBundle } from "../support/accordion-bundle.ts";
import { stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-report-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a bundle of malleable pipelines becomes a page that compares the schedulers", () => {
  const expected = { queries: 200, durationMs: 10_000 };
  const file = join(folder, "places.msgpack");
  const out = join(folder, "places.html");
  writeFileSync(file, encodeBundle(accordionBundle({ levels: [{ loadQps: 20, expected }] })));
  const { status, stdout, stderr } = stratagem("report", file, "-o", out, "--json");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const { runs } = JSON.parse(stdout);
  expect(runs.map((run: { scheduler: string }) => run.scheduler)).toEqual([
    "accordion",
    "slo-conforming",
    "fastest",
    "bbs",
    "one-stage",
  ]);
  expect(readFileSync(out, "utf8")).toMatch(/^<!doctype html>.*id="scheduler-table"/s);
});
