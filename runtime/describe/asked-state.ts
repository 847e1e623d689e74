/** The state that `inspect --state` asks for. */
import { RuntimeError } from "../base/errors.ts";

export interface StateQuery {
  readonly queued: number;
  readonly slackMs: number;
}

/** A requested state, with the named class or bucket. */
export interface AskedState extends StateQuery {
  readonly sloClass?: string;
  /** Named bucket, for bundles whose requests are padded to buckets. */
  readonly bucket?: string;
}

/**
 * Parses `queued=7,slack=40ms`, with optional `class=NAME` or `bucket=SIZES`; slack in ms or s, a
 * bare number is ms.
 * @throws RuntimeError RUNTIME_USAGE.
 */
export function parseState(text: string): AskedState {
  const fields = new Map<string, string>();
  for (const part of text.split(",")) {
    const [key = "", value = "", ...rest] = part.split("=").map((side) => side.trim());
    if (
      !["queued", "slack", "class", "bucket"].includes(key) ||
      rest.length > 0 ||
      fields.has(key)
    ) {
      refuseState(`"${part}"`, "queued=COUNT,slack=TIME");
    }
    fields.set(key, value);
  }
  const queued = fields.get("queued") ?? "";
  if (!/^[1-9]\d{0,8}$/.test(queued)) refuseState(`queued="${queued}"`, "queued an integer from 1");
  const slack = fields.get("slack") ?? "";
  const match = /^(-?\d+(?:\.\d+)?)\s*(ms|s)?$/.exec(slack);
  if (match === null) return refuseState(`slack="${slack}"`, "slack a time such as 40ms or 0.04s");
  const [, amount, unit] = match;
  const slackMs = Number(amount) * (unit === "s" ? 1000 : 1);
  const sloClass = fields.get("class");
  const bucket = fields.get("bucket");
  return {
    queued: Number(queued),
    slackMs,
    ...(sloClass === undefined ? {} : { sloClass }),
    ...(bucket === undefined ? {} : { bucket }),
  };
}

function refuseState(found: string, allowed: string): never {
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--state: expected ${allowed}, got ${found}; for example --state queued=7,slack=40ms`,
  );
}

/**
 * For bundles without states. @throws RuntimeError RUNTIME_USAGE, for invalid text about that text.
 */
export function refuseStates(text: string, why: string): never {
  parseState(text);
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--state: expected a bundle that decides by states, got a bundle of ${why}`,
  );
}
