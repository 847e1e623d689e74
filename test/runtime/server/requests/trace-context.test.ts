/** What is a trace parent of W3C Trace Context, and which requests are traced. */
import { expect, test } from "vitest";
import { SAMPLERS, samplerOf } from "../../../../runtime/features/telemetry/otlp/sampler.ts";
import {
  randomHex,
  traceParentOf,
  traceParentText,
} from "../../../../runtime/server/requests/trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const PARENT = { traceId: TRACE, spanId: SPAN, isSampled: true, state: "" };

test.each([
  ["one of this version", `00-${TRACE}-${SPAN}-01`, PARENT],
  ["one that is not sampled", `00-${TRACE}-${SPAN}-00`, { ...PARENT, isSampled: false }],
  ["flags that are not known", `00-${TRACE}-${SPAN}-0b`, PARENT],
  ["a later version", `cc-${TRACE}-${SPAN}-01`, PARENT],
  ["a later version that says more", `cc-${TRACE}-${SPAN}-01-what-comes`, PARENT],
])("takes %s", (_, text, parent) => {
  expect(traceParentOf(text, undefined)).toEqual(parent);
});

test.each([
  ["no text", ""],
  ["this version that says more", `00-${TRACE}-${SPAN}-01-more`],
  ["the version that there will not be", `ff-${TRACE}-${SPAN}-01`],
  ["a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
  ["a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
  ["large letters", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
  ["a short trace", `00-${TRACE.slice(1)}-${SPAN}-01`],
  ["two of them", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
  ["something behind a later version's flags", `cc-${TRACE}-${SPAN}-01.`],
])("ignores %s", (_, text) => {
  expect(traceParentOf(text, "a=b")).toBeUndefined();
});

test("carries a state of 512 characters, and none that is longer", () => {
  const text = `00-${TRACE}-${SPAN}-01`;
  const state = `a=${"b".repeat(510)}`;
  expect(traceParentOf(text, state)?.state).toBe(state);
  expect(traceParentOf(text, `${state}b`)?.state).toBe("");
});

test("what is made is taken again, and no two are the same", () => {
  const made = Array.from({ length: 2000 }, () => [randomHex(16), randomHex(8)] as const);
  for (const [traceId, spanId] of made) {
    const parent = traceParentOf(traceParentText(traceId, spanId, false), undefined);
    expect(parent).toEqual({ traceId, spanId, isSampled: false, state: "" });
  }
  expect(new Set(made.flat()).size).toBe(2 * made.length);
});

test("samplers follow the parent where they say so, and else sample by the trace", () => {
  const sampled = (ratio: number, parent?: typeof PARENT) =>
    SAMPLERS.filter((name) => samplerOf(name, ratio)(TRACE, parent));
  const always = ["always_on", "parentbased_always_on"];
  expect(sampled(0)).toEqual(always);
  expect(sampled(1)).toEqual([
    ...["always_on", "traceidratio", "parentbased_always_on", "parentbased_traceidratio"],
  ]);
  const parentBased = SAMPLERS.filter((name) => name.startsWith("parentbased_"));
  expect(sampled(0, PARENT)).toEqual(["always_on", ...parentBased]);
  expect(sampled(0, { ...PARENT, isSampled: false })).toEqual(["always_on"]);
  const quarter = samplerOf("traceidratio", 0.25);
  const traces = ["0", "3", "4", "f"].map((digit) => `${TRACE.slice(0, 19)}${digit.repeat(13)}`);
  expect(traces.map((trace) => quarter(trace, undefined))).toEqual([true, true, false, false]);
});
