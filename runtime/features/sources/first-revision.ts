/** What a policy with a source starts with: what is kept of it, or else what the source has. */
import { readFile } from "node:fs/promises";
import { isRuntimeError, RuntimeError } from "../../base/errors.ts";
import { sidecarOf } from "../../bundles/shipping/sidecars.ts";
import type { Claims, Trust } from "../../bundles/trust/trust.ts";
import { nextRetryMs, type Pace } from "./pace.ts";
import { namingStore } from "./policy-store.ts";
import { faultOf, isPassing } from "./source-error.ts";
import type { Staged } from "./staging.ts";
import type { Revision, StoredPolicy } from "./stored-policy.ts";

/** Where there is nothing to serve until the source answers. */
const FIRST_TRIES = 4;

interface Kept {
  /** Null where none may be followed. */
  readonly staged: Staged | null;
  /** Of which all of them are; null where there is none. */
  readonly application: string | null;
  /** Why the last good one is not followed any more; null where there is none. */
  readonly fault: Error | null;
}

/**
 * The last good one that is whole and may still be followed, else what was staged last.
 * @throws RuntimeError RUNTIME_STORE
 */
export async function keptRevision(
  policy: StoredPolicy,
  trust: Pick<Trust, "expect"> | null,
): Promise<Kept> {
  const ids = await namingStore(policy.folder, async () => {
    const current = await policy.current();
    return [...(await policy.good()), ...(current === null ? [] : [current])];
  });
  let application: string | null = null;
  let fault: Error | null = null;
  for (const id of new Set(ids)) {
    const revision = await namingStore(policy.folder, () => policy.open(id));
    if (revision === null) continue;
    application ??= revision.application;
    try {
      const claims = trust === null ? null : await claimsOf(revision, trust);
      return { staged: { revision, claims }, application, fault: null };
    } catch (error) {
      if (!isRuntimeError(error)) throw error;
      fault ??= error;
    }
  }
  return { staged: null, application, fault };
}

/**
 * What the source has, asked for a few times where it is away.
 * @param fault why what is kept is not followed; null where nothing is.
 * @throws RuntimeError, BundleError, and the signal's reason.
 */
export async function firstOfSource(
  ask: () => Promise<Staged>,
  fault: Error | null,
  pace: Pace,
  wait: (ms: number) => Promise<void>,
): Promise<Staged> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error) || tries >= FIRST_TRIES) throw together(fault, error);
    }
    await wait(nextRetryMs(tries, null, pace));
  }
}

/** What is here was good once: why it is not any more is what has to be mended. */
function together(fault: Error | null, error: unknown): unknown {
  if (!(fault instanceof RuntimeError)) return error;
  const also = `and what its source has is not followed: ${faultOf(error).message}`;
  return new RuntimeError(fault.code, `${fault.message}; ${also}`);
}

async function claimsOf({ path }: Revision, trust: Pick<Trust, "expect">): Promise<Claims> {
  const envelope = await readFile(sidecarOf(path, "signature")).catch(() => null);
  return trust.expect(await readFile(path), envelope, path);
}
