/** Opens the decision log of a server at the configured destination. */
import { RuntimeError } from "../../base/errors.ts";
import { causeOf } from "../../base/http-client.ts";
import { methodOf } from "../../methods/registry.ts";
import { LineWriter } from "../../server/logs/line-writer.ts";
import { DecisionLog, type DecisionLogOptions } from "./decision-log.ts";
import { FileDestination } from "./file-destination.ts";
import { HttpDestination } from "./http-destination.ts";
import { type LogDestination, StreamDestination } from "./log-destination.ts";

interface DecisionLogSettings {
  /** A file, an http or https URL, or - for standard output. */
  readonly destination: string;
  /** Share of the requests that have a line, 0..1. */
  readonly sample: number;
  readonly mask: readonly string[];
  /** Token for `Authorization: Bearer`, if the destination is a URL. */
  readonly token?: string | undefined;
}

type Context = Pick<DecisionLogOptions, "nowMs" | "epochOffsetMs" | "onNotice">;

/** @throws RuntimeError RUNTIME_USAGE if the destination is invalid or cannot be written. */
export async function openDecisionLog(
  { destination: text, sample, mask, token }: DecisionLogSettings,
  context: Context,
): Promise<DecisionLog> {
  const destination = await destinationOf(text, token);
  const review: DecisionLogOptions["review"] = (bundle, made) =>
    methodOf(bundle).reviewed?.(bundle, made);
  return new DecisionLog({ destination, sample, mask, review, ...context });
}

async function destinationOf(text: string, token: string | undefined): Promise<LogDestination> {
  if (text === "-") return new StreamDestination(new LineWriter(1));
  if (/^https?:/.test(text)) return new HttpDestination(urlOf(text), token);
  if (/^[a-z]{2,10}:\/\//.test(text)) refuse(text, "the scheme must be http or https");
  const destination = new FileDestination(text);
  try {
    await destination.prepare();
  } catch (error) {
    refuse(text, causeOf(error));
  }
  return destination;
}

function urlOf(text: string): URL {
  try {
    return new URL(text);
  } catch {
    return refuse("a URL", "it cannot be parsed");
  }
}

function refuse(found: string, why: string): never {
  const expected = "expected a writable file, an http or https URL, or -";
  throw new RuntimeError("RUNTIME_USAGE", `--decision-log: ${expected}, got ${found}: ${why}`);
}
