/** Opens the decision log of a server at the place that its settings name. */
import { RuntimeError } from "../../base/errors.ts";
import { causeOf } from "../../base/http-client.ts";
import { methodOf } from "../../methods/registry.ts";
import { DecisionLog, type DecisionLogOptions } from "./decision-log.ts";
import { FilePlace } from "./file-place.ts";
import { HttpPlace } from "./http-place.ts";
import type { LogPlace } from "./log-place.ts";
import { StreamPlace } from "./stream-place.ts";

interface DecisionLogSettings {
  /** A file, an http or https URL, or - for standard output. */
  readonly place: string;
  /** Of the requests, 0..1, how many have a line. */
  readonly sample: number;
  readonly mask: readonly string[];
  /** Of `Authorization: Bearer`, where the place is a URL. */
  readonly token?: string | undefined;
}

type Surroundings = Pick<DecisionLogOptions, "nowMs" | "epochOffsetMs" | "onNotice">;

/** @throws RuntimeError RUNTIME_USAGE for a place that is none, or cannot be written. */
export async function openDecisionLog(
  { place: text, sample, mask, token }: DecisionLogSettings,
  surroundings: Surroundings,
): Promise<DecisionLog> {
  const place = await placeOf(text, token);
  const review: DecisionLogOptions["review"] = (bundle, made) =>
    methodOf(bundle).reviewed?.(bundle, made);
  return new DecisionLog({ place, sample, mask, review, ...surroundings });
}

async function placeOf(text: string, token: string | undefined): Promise<LogPlace> {
  if (text === "-") return new StreamPlace(process.stdout, "standard output");
  if (/^https?:/.test(text)) return new HttpPlace(urlOf(text), token);
  if (/^[a-z]{2,10}:\/\//.test(text)) refuse(text, "none of http and https");
  const place = new FilePlace(text);
  try {
    await place.prepare();
  } catch (error) {
    refuse(text, causeOf(error));
  }
  return place;
}

function urlOf(text: string): URL {
  try {
    return new URL(text);
  } catch {
    return refuse("a URL", "one that cannot be read");
  }
}

function refuse(found: string, why: string): never {
  const expected = "expected a file that can be written, an http or https URL, or -";
  throw new RuntimeError("RUNTIME_USAGE", `--decision-log: ${expected}, got ${found}: ${why}`);
}
