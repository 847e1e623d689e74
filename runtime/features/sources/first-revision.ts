/** Chooses the revision to start with: the last good one on disk, or else that of the source. */
import { readFile } from "node:fs/promises";
import { isRuntimeError, RuntimeError } from "../../base/errors.ts";
import { sidecarOf } from "../../bundles/shipping/sidecars.ts";
import type { Claims, Trust } from "../../bundles/trust/trust.ts";
import { nextRetryMs, type Pace } from "./pace.ts";
import { namingStore } from "./policy-store.ts";
import { faultOf, isPassing } from "./source-error.ts";
import type { Staged } from "./staging.ts";
import type { Revision, StoredPolicy } from "./stored-policy.ts";

/** Attempts without a revision to serve meanwhile. */
const FIRST_TRIES = 4;

interface Kept {
  /** Null if no stored revision may be followed. */
  readonly staged: Staged | null;
  /** Application of the stored revisions; null if none is stored. */
  readonly application: string | null;
  /** Reason why the last good revision is no longer accepted; null if none. */
  readonly fault: Error | null;
}

/**
 * Finds the last good revision that is complete and still trusted, else the last staged one.
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
 * Reads the revision of the source, with a few retries while it is unreachable.
 * @param fault reason why the stored revision is not accepted; null if none is stored.
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

/** Reports the fault of the stored revision first, which is the one to repair. */
function together(fault: Error | null, error: unknown): unknown {
  if (!(fault instanceof RuntimeError)) return error;
  const also = `and the revision of its source is not accepted either: ${faultOf(error).message}`;
  return new RuntimeError(fault.code, `${fault.message}; ${also}`);
}

async function claimsOf({ path }: Revision, trust: Pick<Trust, "expect">): Promise<Claims> {
  const envelope = await readFile(sidecarOf(path, "signature")).catch(() => null);
  return trust.expect(await readFile(path), envelope, path);
}
