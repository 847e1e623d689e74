/** Hosts a bundle beside the one of its application that is served, on workers of its own. */

import { RuntimeError } from "../../base/errors.ts";
import type { Notice } from "../../base/notice.ts";
import type { Bundle } from "../../bundle/schema.ts";
import type { TrustedBundle } from "../../bundles/trusted-bundle.ts";
import { clientDifference } from "../../server/applications/client-difference.ts";
import type { Host, Hosted, PromiseGate } from "../server-feature.ts";

export interface BesideSurroundings {
  readonly host: Host;
  /** Whether another bundle is tried beside the one at a place. */
  readonly isTaken: (place: number) => boolean;
  /** Left out where promises are not compared. */
  readonly gate?: PromiseGate | undefined;
}

/** Its workers run. */
export interface Beside {
  /** Of the bundle that it runs beside. */
  readonly place: number;
  readonly next: Hosted;
}

/**
 * Starts its workers, and waits until they are ready.
 * @throws RuntimeError RUNTIME_USAGE where it cannot stand beside what is served; what starting
 * workers throws. Nothing is left open.
 */
export async function openBeside(
  loaded: TrustedBundle,
  { host, isTaken, gate }: BesideSurroundings,
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
  if (before.sha256 === sha256) throw refuse("another bundle than the one served", "the same");
  if (isTaken(place)) throw refuse("one canary of an application", "two");
  const worse = await worsePromises(gate, before.bundle, bundle);
  if (worse !== null) throw refuse("promises that the gate lets pass", worse);
  const next = await host.hostBeside(loaded, place, onNotice);
  try {
    const difference = clientDifference(before.application, next.application);
    if (difference !== null) throw refuse("what clients cannot tell apart", difference);
    await host.server.trials.open(next.application, next.failed);
    return { place, next };
  } catch (error) {
    await next.files.close();
    throw error;
  }
}

/** @returns the first of them and how many more there are; null where there is none, or no gate. */
export async function worsePromises(
  gate: PromiseGate | undefined,
  before: Bundle,
  after: Bundle,
): Promise<string | null> {
  const [first, ...others] = (await gate?.(before, after)) ?? [];
  if (first === undefined) return null;
  return others.length === 0 ? first : `${first}, and ${others.length} more that are worse`;
}
