/** Hosts a canary beside the served bundle of its application, on workers of its own. */

import { RuntimeError } from "../../base/errors.ts";
import type { Notice } from "../../base/notice.ts";
import type { Bundle } from "../../bundle/schema.ts";
import type { TrustedBundle } from "../../bundles/trusted-bundle.ts";
import { clientDifference } from "../../server/applications/client-difference.ts";
import type { Host, Hosted, PromiseGate } from "../server-feature.ts";

export interface BesideContext {
  readonly host: Host;
  /** Whether the application at a place already has a canary. */
  readonly isTaken: (place: number) => boolean;
  /** Undefined if promises are not compared. */
  readonly gate?: PromiseGate | undefined;
}

/** A canary whose workers run. */
export interface Beside {
  /** Place of the bundle that it runs beside. */
  readonly place: number;
  readonly next: Hosted;
}

/**
 * Starts the workers of a canary and waits until they are ready.
 * @throws RuntimeError RUNTIME_USAGE if the canary does not match the served bundle, and the errors
 * of starting workers. Everything opened is closed then.
 */
export async function openBeside(
  loaded: TrustedBundle,
  { host, isTaken, gate }: BesideContext,
  onNotice: Notice,
): Promise<Beside> {
  const { path, bundle, sha256 } = loaded;
  const refuse = (expected: string, found: string) =>
    new RuntimeError("RUNTIME_USAGE", `${path}: expected ${expected}, got ${found}`);
  const served = host.hosted();
  const place = served.findIndex((one) => one.bundle.application === bundle.application);
  const before = served[place];
  if (before === undefined) {
    const names = served.map((one) => one.bundle.application).join(" or ");
    throw refuse(`a bundle of the application ${names}`, bundle.application);
  }
  if (before.sha256 === sha256) throw refuse("a bundle other than the served one", "the same");
  if (isTaken(place)) throw refuse("one canary per application", "two");
  const worse = await worsePromises(gate, before.bundle, bundle);
  if (worse !== null) throw refuse("promises that pass the gate", worse);
  const next = await host.hostBeside(loaded, place, onNotice);
  try {
    const difference = clientDifference(before.application, next.application);
    if (difference !== null) throw refuse("the same interface for clients", difference);
    await host.server.trials.open(next.application, next.failed);
    return { place, next };
  } catch (error) {
    await next.files.close();
    throw error;
  }
}

/**
 * @returns the first worse promise and the number of further ones; null if none is worse or no gate
 * is set.
 */
export async function worsePromises(
  gate: PromiseGate | undefined,
  before: Bundle,
  after: Bundle,
): Promise<string | null> {
  const [first, ...others] = (await gate?.(before, after)) ?? [];
  if (first === undefined) return null;
  return others.length === 0 ? first : `${first}, and ${others.length} more worse promises`;
}
