/** Refuses a value of another shape in one line: where, what is allowed, what was found. */
import { BundleError } from "../base/bundle-error.ts";

/** Controls, line separators and lone surrogates, which break a terminal, a log line or UTF-8. */
export const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}]/u;
const ANY_UNPRINTABLE = new RegExp(UNPRINTABLE, "gu");

/** @throws BundleError BUNDLE_SCHEMA, always. */
export function refuse(path: string, found: unknown, allowed: string): never {
  refuseAs(path, describe(found), allowed);
}

/** @param found what was found, in words. @throws BundleError BUNDLE_SCHEMA, always. */
export function refuseAs(path: string, found: string, allowed: string): never {
  throw new BundleError(
    "BUNDLE_SCHEMA",
    `${path || "payload"}: expected ${allowed}, got ${found}; compile the bundle again`,
  );
}

function describe(value: unknown): string {
  if (typeof value === "string") return clip(value);
  if (Object.is(value, -0)) return "-0";
  if (Array.isArray(value)) return "an array";
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  return typeof value === "object" && value !== null ? "a map" : String(value);
}

/** Quotes a text of the file, short enough for a message. */
export function clip(value: string): string {
  const short = value.length > 40 ? `${value.slice(0, 40)}…` : value;
  return `"${short.replace(ANY_UNPRINTABLE, "�")}"`;
}
