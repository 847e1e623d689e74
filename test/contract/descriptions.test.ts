/** Descriptions that every method gives of its bundles, as text and data. */
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { diffBundles } from "../../compiler/gate/differences.ts";
import { diffText } from "../../compiler/gate/differences-text.ts";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { inspectBundle } from "../../runtime/bundles/inspect.ts";
import { methodOf } from "../../runtime/methods/registry.ts";
import { allFinite } from "../support/all-finite.ts";
import { BY_METHOD, SUBJECTS } from "./subjects.ts";

const FILE = { byteCount: 0, sha256: "0".repeat(64) };

interface FoundTable {
  readonly name: string;
  readonly sha256: string;
}

/** All tables of a value, by their paths. */
function tablesOf(value: unknown, path: string): FoundTable[] {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return [];
  const { data } = value as { data?: unknown };
  if (data instanceof Float64Array || data instanceof Uint16Array) {
    return [{ name: path, sha256: createHash("sha256").update(data).digest("hex") }];
  }
  return Object.entries(value).flatMap(([key, child]) => {
    const at = Array.isArray(value) ? `${path}[${key}]` : path === "" ? key : `${path}.${key}`;
    return tablesOf(child, at);
  });
}

describe.each(BY_METHOD)("a bundle of %s", (name, subject) => {
  const { bundle } = subject.shown;
  const method = methodOf(bundle);

  test("is reported completely: every table is a section, every level a report", () => {
    const report = inspectBundle(bundle, FILE);
    const { application, slo, arrivals, cluster, policy, provenance } = bundle;
    const same = { application, method: name, slo, arrivals, cluster, policy, provenance };
    expect(report).toMatchObject(same);
    const sections = report.sections.map((one) => ({ name: one.name, sha256: one.sha256 }));
    const byName = (a: FoundTable, b: FoundTable) => (a.name < b.name ? -1 : 1);
    expect(sections.sort(byName)).toEqual(tablesOf(bundle, "").sort(byName));
    expect(report.tasks).toHaveLength(bundle.tasks.length);
    expect(report.levels).toMatchObject(bundle.levels.map(({ loadQps }) => ({ loadQps })));
    expect(allFinite(JSON.parse(JSON.stringify({ ...report, sections: [] })))).toBe(true);
  });

  test("has a summary with a row for every level", () => {
    const summary = method.summary(bundle, { formatVersion: 1, bytes: 7, sha256: FILE.sha256 });
    expect(summary.split("\n")[0]).toBe(
      `${bundle.application}: ${name}, format version 1, 7 bytes`,
    );
    expect(summary).toContain(`sha256 ${FILE.sha256}`);
    const table = method.levelTable(bundle);
    const [heading, ...rows] = table.split("\n");
    const loads = bundle.levels.map(({ loadQps }) => String(loadQps));
    expect(heading).toContain("load qps");
    expect(rows.slice(0, loads.length).map((row) => row.trim().split(" ")[0])).toEqual(loads);
    // Below it, what its columns mean.
    expect(rows.length - loads.length).toBeLessThanOrEqual(2);
    expect(summary).toContain(table);
    for (const [index, { loadQps }] of bundle.levels.entries()) {
      const { text, json } = method.describeLevel(bundle, index);
      expect(json).toMatchObject({ index, loadQps });
      expect(text).toContain(`level ${loadQps} qps`);
      expect(text).not.toMatch(/NaN|undefined|\[object/);
    }
    expect(`${summary}${method.decisions(bundle).text}`).not.toMatch(/NaN|undefined|\[object/);
  });

  test("does not differ from itself, and from another by the levels that one alone has", () => {
    const diff = diffBundles(bundle, bundle);
    expect(diff).toEqual({ same: true, fields: [], levels: [] });
    expect(diffText(diff)).toBe("the bundles are the same");
    const top = bundle.levels.at(-1)?.loadQps ?? Number.NaN;
    const fewer = { ...bundle, levels: bundle.levels.slice(0, -1) } as Bundle;
    expect(diffText(diffBundles(bundle, fewer))).toContain(`level ${top} qps: removed`);
    expect(diffText(diffBundles(fewer, bundle))).toContain(`level ${top} qps: added`);
  });

  test("differs from those of other methods at every load", () => {
    for (const other of SUBJECTS.filter(({ method: one }) => one !== name)) {
      const { fields, levels } = diffBundles(bundle, other.shown.bundle);
      expect(fields).toContainEqual({ path: "method", before: name, after: other.method });
      const loads = new Set([...bundle.levels, ...other.shown.bundle.levels].map((l) => l.loadQps));
      expect(levels.map(({ loadQps }) => loadQps)).toEqual([...loads].sort((a, b) => a - b));
    }
  });

  test("states what a server needs", () => {
    const served = subject.served.bundle;
    expect(method.workerCount(served)).toBeGreaterThan(0);
    const models = method.models(served);
    expect(models.length).toBeGreaterThan(0);
    for (const { model, warmBatches } of models) {
      expect(model).not.toBeNull();
      expect(warmBatches).toEqual([...new Set(warmBatches)].sort((a, b) => a - b));
    }
    const { workers, more, json } = method.describeServing(served);
    expect(workers).toMatch(/^\d+ /);
    expect(`${more}${JSON.stringify(json)}`).not.toMatch(/NaN|undefined/);
  });
});
