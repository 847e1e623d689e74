/** Current settings, as a file that can be read again. */
import { stringify } from "yaml";
import { EXIT_CODES } from "../base/errors.ts";
import type { Resolved } from "../settings/resolve.ts";
import { isLimit, SETTING_GROUPS } from "../settings/table.ts";
import type { CommandResult } from "./command-result.ts";

/** Columns before a comment. */
const COMMENT_COLUMN = 40;

export function printedSettings({ values, sources }: Resolved): CommandResult {
  const all: Readonly<Record<string, unknown>> = values;
  const json: Record<string, unknown> = {};
  const limits: Record<string, unknown> = {};
  const groups = SETTING_GROUPS.map(({ title, settings }) => {
    const lines = Object.entries(settings).map(([key, { kind, otherwise }]) => {
      const value = all[key];
      const isSet = value !== null && value !== undefined;
      const plain = isSet ? kind.write(value) : null;
      if (isLimit(key)) limits[key] = plain;
      else json[key] = plain;
      const written = `${key}: ${stringify(plain, { collectionStyle: "flow" }).trimEnd()}`;
      // A setting without a value is a comment that describes its default.
      const text = `${isLimit(key) ? "  " : ""}${isSet ? "" : "# "}`;
      const line = `${text}${isSet ? written : `${key}: ${otherwise ?? ""}`}`;
      return `${line.padEnd(COMMENT_COLUMN - 1)} # ${sources[key]}`;
    });
    const isOfLimits = Object.keys(settings).every(isLimit);
    return [`# ${title}`, ...(isOfLimits ? ["limits:"] : []), ...lines].join("\n");
  });
  json["limits"] = limits;
  return { exitCode: EXIT_CODES.ok, text: groups.join("\n\n"), json: { settings: json, sources } };
}
