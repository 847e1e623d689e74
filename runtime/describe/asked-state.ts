/** The state that `inspect --state` asks for. */
import { RuntimeError } from "../base/errors.ts";

export interface StateQuery {
  readonly queued: number;
  readonly slackMs: number;
}

/** A state as it is asked for, with the class that is named. */
export interface AskedState extends StateQuery {
  readonly sloClass?: string;
  /** Of bundles whose requests are padded to buckets, the one that is named. */
  readonly bucket?: string;
}

/**
 * Reads `queued=7,slack=40ms`, and `class=NAME` or `bucket=SIZES` with it; slack in ms or s, a
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
    `--state: expected ${allowed}, got ${found}; an example is --state queued=7,slack=40ms`,
  );
}

/**
 * For bundles without states. @throws RuntimeError RUNTIME_USAGE, of the text if that is no good.
 */
export function refuseStates(text: string, why: string): never {
  parseState(text);
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--state: expected a bundle that decides by states, got one of ${why}`,
  );
}
