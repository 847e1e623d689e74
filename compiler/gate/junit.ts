/** The comparison as JUnit XML, which CI hosts show: a test case for each promise. */
import { short } from "stratagem-runtime/internal/tell/text";
import type { Comparison } from "./compare.ts";
import { judgementText, placeText } from "./comparison-text.ts";
import type { GateOutcome } from "./gate-outcome.ts";
import { brokenReason } from "./judged-text.ts";

interface TestCase {
  readonly classname: string;
  readonly name: string;
  readonly state: "passed" | "failed" | "skipped";
  /** What was found. */
  readonly message: string;
}

export function junitXml({ rows, requirements, after }: GateOutcome): string {
  const { application } = after;
  const compared = rows.map((row) => comparedCase(application, row));
  const required = requirements.map((one): TestCase => {
    const message = one.holds ? "kept" : brokenReason(one);
    const state = one.holds ? "passed" : "failed";
    return { classname: `${application}.requirements`, name: one.text, state, message };
  });
  const suites = [
    suite(`${application}: promises`, compared),
    ...(required.length === 0 ? [] : [suite(`${application}: requirements`, required)]),
  ];
  const all = [...compared, ...required];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="stratagem gate" ${counts(all)}>`,
    ...suites.flat(),
    "</testsuites>",
    "",
  ].join("\n");
}

function comparedCase(application: string, row: Comparison): TestCase {
  const at = row.loadQps === null ? "bundle" : `level ${short(row.loadQps)} qps`;
  const isUnjudged = row.verdict === "unjudged" || row.verdict === "new";
  const state = row.verdict === "regression" ? "failed" : isUnjudged ? "skipped" : "passed";
  // Where it is stands in the class name, by which hosts group.
  const name = placeText({ ...row, loadQps: null });
  return { classname: `${application}.${at}`, name, state, message: judgementText(row) };
}

function suite(name: string, cases: readonly TestCase[]): string[] {
  return [
    `  <testsuite name="${escaped(name)}" ${counts(cases)}>`,
    ...cases.flatMap(caseLines),
    "  </testsuite>",
  ];
}

function caseLines({ classname, name, state, message }: TestCase): string[] {
  const open = `    <testcase classname="${escaped(classname)}" name="${escaped(name)}"`;
  if (state === "passed") return [`${open}/>`];
  const told = escaped(message);
  const inner =
    state === "failed"
      ? `<failure type="promise" message="${told}">${told}</failure>`
      : `<skipped message="not judged: ${told}"/>`;
  return [`${open}>`, `      ${inner}`, "    </testcase>"];
}

function counts(cases: readonly TestCase[]): string {
  const of = (state: TestCase["state"]): number =>
    cases.filter((one) => one.state === state).length;
  return `tests="${cases.length}" failures="${of("failed")}" skipped="${of("skipped")}" errors="0"`;
}

/** As XML has it in elements and in attributes between double quotes; signs it cannot have go. */
function escaped(text: string): string {
  return text
    .replace(/[^\t\n\r -\ud7ff\ue000-\ufffd]/g, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
