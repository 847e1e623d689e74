/** Builds schemas whose messages say what was found and what is allowed. */

import {
  MAX_MS,
  MAX_QPS,
  MAX_WORKERS,
  MIN_MS,
  MIN_QPS,
  SERVER_URL,
} from "stratagem-runtime/internal/bundle/limits";
import { DEVICE_FORM, isWorkerUrl, parseDevice } from "stratagem-runtime/internal/bundle/schema";
import * as z from "zod";
import type { Dimension } from "./expression.ts";
import { readQuantity } from "./quantity.ts";

// Every field has its expectation as the message of its issues; structure.ts makes "expected …, got
// …" of it. One phrase per field covers all kinds of wrong values.

/** Builds a mapping with only the keys of `shape`. */
export function mapping<S extends z.ZodRawShape>(shape: S) {
  const keys = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? keys.join("\n")
        : `a mapping with the keys ${keys.join(", ")}`,
  });
}

/** Builds a mapping from names to values. */
export function record<K extends z.core.$ZodRecordKey, V extends z.ZodType>(
  key: K,
  value: V,
  expected: string,
) {
  return z.record(key, value, { error: () => expected });
}

/** Builds a list of at most `maxLength` items. */
export function list<T extends z.ZodType>(item: T, expected: string, maxLength = 10_000) {
  const error = () => `${expected}, at most ${maxLength}`;
  return z.array(item, { error: () => expected }).max(maxLength, { error });
}

/** Builds a choice of words. */
export function choice<const T extends readonly [string, ...string[]]>(...words: T) {
  const quoted = words.map((word) => JSON.stringify(word)).join(", ");
  return z.enum(words, { error: () => (words.length > 1 ? `one of ${quoted}` : quoted) });
}

/** Builds a choice of mappings, distinguished by the value of `key`. */
export function tagged<
  const T extends readonly [z.core.$ZodTypeDiscriminable, ...z.core.$ZodTypeDiscriminable[]],
>(key: string, options: T) {
  const words = options.flatMap(({ _zod }) => [...(_zod.propValues?.[key] ?? [])]);
  const quoted = words.map((word) => JSON.stringify(word)).join(", ");
  return z.discriminatedUnion(key, options, {
    error: (issue) =>
      issue.code === "invalid_union" ? `one of ${quoted}` : `a mapping with the key ${key}`,
  });
}

/** Builds a whole number from 1 to `max`. */
export function count(max: number) {
  const error = () => `a whole number from 1 to ${max}`;
  return z.number({ error }).int({ error }).min(1, { error }).max(max, { error });
}

/** Builds a boolean. */
export function flag() {
  return z.boolean({ error: () => "true or false" });
}

/** Builds a text of one line. */
export function text(expected: string) {
  const error = () => expected;
  return z.string({ error }).regex(/^[^\n\r]{1,1000}$/, { error });
}

/** Builds the URL of a server. */
export function url() {
  const error = () => "an http or https URL without credentials such as http://localhost:8000";
  return z.string({ error }).regex(SERVER_URL, { error });
}

/** Builds a number of workers, or a list of server URLs without duplicates. */
export function workers() {
  const number = `a whole number from 1 to ${MAX_WORKERS}`;
  const error = () =>
    `URLs of v2 servers such as http://10.0.0.7:8000, 1 to ${MAX_WORKERS}, each once`;
  const urls = z
    .array(z.string({ error }).refine(isWorkerUrl, { error }), { error })
    .min(1, { error })
    .max(MAX_WORKERS, { error })
    .refine((list) => new Set(list).size === list.length, { error });
  return z.union([count(MAX_WORKERS), urls], {
    error: ({ input }) => {
      if (Array.isArray(input)) return error();
      return typeof input === "number" ? number : `${number}, or a list of URLs of v2 servers`;
    },
  });
}

/** Builds the devices of a pool. */
export function device() {
  const error = () => DEVICE_FORM;
  return z.string({ error }).refine((text) => parseDevice(text) !== null, { error });
}

/** Builds a mapping of JSON values. */
export function options() {
  const error = () => "a mapping of JSON values";
  return z.record(z.string({ error }), z.unknown(), { error }).refine(isJson, { error });
}

/** Returns false for infinite numbers and integers beyond 2^53. Documents have no cycles. */
function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return typeof value !== "bigint";
  return Object.values(value).every(isJson);
}

/**
 * Builds the name of an item in the spec. `|` joins names in Loki's accuracy tables, so no name may
 * contain it; bundles allow no control characters.
 */
export function name() {
  const error = () => "a name of 1 to 100 characters without | and control characters";
  return z.string({ error }).regex(/^[ -{}~\u00a0-\u2027\u202a-\uffff]{1,100}$/, { error });
}

/** Builds the name of a query class, which appears in URLs, metric labels and lists. */
export function className() {
  const error = () => "a letter, then up to 63 letters, digits, _ or -";
  return z.string({ error }).regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, { error });
}

/** Builds a number without a unit, of either sign. */
export function realNumber() {
  return quantity({ dimension: "none", expected: "a number", min: -MAX_MS, max: MAX_MS });
}

/** Builds a number from 0 to `max` without a unit. */
export function amount(max: number) {
  return quantity({
    dimension: "none",
    expected: "a number of at least 0",
    min: 0,
    max,
    stated: "min",
  });
}

/** Builds a number from 0 to `max` without a unit, whose message always includes the limit. */
export function amountUpTo(max: number) {
  return quantity({
    dimension: "none",
    expected: `a number from 0 to ${max}`,
    min: 0,
    max,
    stated: "both",
  });
}

/** Builds a number above 0 without a unit, within limits. */
export function positiveNumber(min: number, max: number) {
  return quantity({ dimension: "none", expected: "a number above 0", above: 0, min, max });
}

/** Builds a ratio from 0 to 1. */
export function ratio() {
  const expected = "a ratio between 0 and 1 such as 0.58 or 58%";
  return quantity({ dimension: "none", expected, min: 0, max: 1, stated: "both" });
}

/** Builds a ratio above 0, up to 1. */
export function positiveRatio() {
  const expected = "a ratio above 0 and up to 1 such as 0.5 or 50%";
  const range = { above: 0, min: LEAST_RATIO, max: 1, stated: "max" } as const;
  return quantity({ dimension: "none", expected, ...range });
}

/** Builds a share above 0 and below 1. */
export function properShare() {
  const expected = "a share above 0 and below 1 such as 0.7 or 70%";
  return quantity({ dimension: "none", expected, above: 0, min: LEAST_RATIO, below: 1 });
}

/** Builds a rate above 0, in queries/s. */
export function rate() {
  const expected = "a rate above 0 in queries per second such as 2000 or 2000 / s";
  const range = { above: 0, min: MIN_QPS, max: MAX_QPS };
  return quantity({ dimension: "rate", expected, ...range, bare: true });
}

/** Builds a time above 0 with its unit, in ms; at most `maxMs`. */
export function duration(maxMs: number, minMs = MIN_MS) {
  const expected = "a time above 0 with its unit such as 150 ms";
  return quantity({ dimension: "time", expected, above: 0, min: minMs, max: maxMs });
}

/** Builds a time of at least 0 with its unit, in ms; at most `maxMs`. */
export function delay(maxMs = MAX_MS) {
  const expected = "a time of at least 0 with its unit such as 1 ms";
  return quantity({ dimension: "time", expected, min: 0, max: maxMs, stated: "min" });
}

/** Builds a time above 0 for a key that ends in `Ms`: a number without unit is in ms. */
export function milliseconds(minMs = MIN_MS) {
  const expected = "a time above 0 in milliseconds such as 21.9";
  const range = { above: 0, min: minMs, max: MAX_MS };
  return quantity({ dimension: "time", expected, ...range, bare: true });
}

/** Builds a percentile above 0 and below 100. */
export function percentile() {
  const expected = "a percentile above 0 and below 100 such as 99";
  return quantity({ dimension: "none", expected, above: 0, below: 100 });
}

/** Builds a ratio of at least 0 and below 1. */
export function properFraction() {
  const expected = "a ratio of at least 0 and below 1 such as 0.1 or 10%";
  return quantity({ dimension: "none", expected, min: 0, below: 1, stated: "min" });
}

/** Smallest ratio above 0; smaller ones are indistinguishable from 0. */
const LEAST_RATIO = 1e-9;

interface QuantityRule {
  readonly dimension: Dimension;
  readonly expected: string;
  /** True to allow a number without a unit although the dimension has one. */
  readonly bare?: boolean;
  /** Limits in ms, queries/s or as a plain number. */
  readonly min?: number;
  readonly above?: number;
  readonly max?: number;
  readonly below?: number;
  /** Limits that `expected` already states. */
  readonly stated?: "min" | "max" | "both";
}

function quantity(rule: QuantityRule) {
  const { dimension, bare = false, expected } = rule;
  const error = () => expected;
  const form: z.ZodType<number | string> =
    dimension === "none" || bare
      ? z.union([z.number().meta(jsonRange(rule)), z.string()], { error })
      : z.string({ error });
  return form.transform((input, context): number => {
    const reading = readQuantity(input, dimension, bare);
    if (!reading.ok) {
      const params = { reason: reading.reason };
      context.addIssue({ code: "custom", message: expected, params });
      return z.NEVER;
    }
    const { value } = reading;
    const limit = limitBeyond(value, rule);
    if (isWithin(value, rule)) return value;
    context.addIssue({ code: "custom", message: expected, params: { limit } });
    return z.NEVER;
  });
}

function isWithin(value: number, rule: QuantityRule): boolean {
  const { min = -Infinity, above = -Infinity, max = Infinity, below = Infinity } = rule;
  return value >= min && value > above && value <= max && value < below;
}

/**
 * Returns the limit that a value exceeds, for the end of a message; null if the phrase states it.
 */
function limitBeyond(value: number, rule: QuantityRule): string | null {
  const { dimension, stated, min = -Infinity, above = -Infinity, max = Infinity } = rule;
  if (value > max && stated !== "max" && stated !== "both")
    return `at most ${withUnit(max, dimension)}`;
  const isLow = value < min && value > above && stated !== "min" && stated !== "both";
  return isLow ? `at least ${withUnit(min, dimension)}` : null;
}

function withUnit(value: number, dimension: Dimension): string {
  if (dimension === "none") return String(value);
  if (dimension === "rate") return `${value} / s`;
  return value >= 1000 ? `${value / 1000} s` : `${value} ms`;
}

/** Limits in JSON Schema keywords. */
function jsonRange({ min, above, max, below }: QuantityRule): Readonly<Record<string, number>> {
  const isStrict = above !== undefined && (min === undefined || min <= above);
  return {
    ...(isStrict ? { exclusiveMinimum: above } : {}),
    ...(min === undefined || isStrict ? {} : { minimum: min }),
    ...(max === undefined ? {} : { maximum: max }),
    ...(below === undefined ? {} : { exclusiveMaximum: below }),
  };
}
