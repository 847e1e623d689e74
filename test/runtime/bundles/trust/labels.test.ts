/** Labels of sites: their text, and whom a scope is for. */
import { describe, expect, test } from "vitest";
import { isInScope, labelsOf, labelsText } from "../../../../runtime/bundles/trust/labels.ts";

describe("labels", () => {
  test.each([
    ["site=berlin", { site: "berlin" }],
    ["tier=edge, site=berlin", { site: "berlin", tier: "edge" }],
    ["example.com/zone=a-1.b_2", { "example.com/zone": "a-1.b_2" }],
    [{ site: "berlin" }, { site: "berlin" }],
    [{}, {}],
  ])("%j are %j", (written, read) => {
    expect(labelsOf(written)).toEqual(read);
  });

  test.each([
    "",
    "berlin",
    "site=",
    "=berlin",
    "site=berlin,",
    "site=berlin,site=paris",
    "site=ber lin",
    "site=berlin=mitte",
    `site=${"x".repeat(64)}`,
    { site: 7 },
    ["site=berlin"],
    null,
  ])("%j are none", (written) => {
    expect(labelsOf(written)).toBeUndefined();
  });

  test("are written in the order of their names, and read back", () => {
    const labels = { tier: "edge", site: "berlin" };
    expect(labelsText(labels)).toBe("site=berlin,tier=edge");
    expect(labelsOf(labelsText(labels))).toEqual(labels);
  });

  test("a name of an object's own is one like others", () => {
    const labels = labelsOf("__proto__=x,constructor=y") ?? {};
    expect(labelsText(labels)).toBe("__proto__=x,constructor=y");
    expect(isInScope(labels, {})).toBe(false);
  });
});

describe("a scope", () => {
  const site = { site: "berlin", tier: "edge" };

  test.each([
    [{}, true],
    [{ site: "berlin" }, true],
    [{ site: "berlin", tier: "edge" }, true],
    [{ site: "paris" }, false],
    [{ site: "berlin", tier: "core" }, false],
    [{ region: "eu" }, false],
    [{ toString: "x" }, false],
  ])("%j holds for the site: %j", (scope, holds) => {
    expect(isInScope(scope as Record<string, string>, site)).toBe(holds);
  });
});
