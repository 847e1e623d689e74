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
  /** Why another revision than the last good one is followed; null if none, or at a first start. */
  readonly notice: string | null;
}

/**
 * Finds the last good revision that is complete and still trusted, else the last staged one, else
 * the newest in the store, whose records may be damaged.
 * @throws RuntimeError RUNTIME_STORE
 */
export async function keptRevision(
  policy: StoredPolicy,
  trust: Pick<Trust, "expect"> | null,
): Promise<Kept> {
  const { good, hasGood, current, stored } = await namingStore(policy.folder, async () => ({
    good: await policy.good(),
    hasGood: await policy.hasGood(),
    current: await policy.current(),
    stored: await policy.stored(),
  }));
  let application: string | null = null;
  let fault: Error | null = null;
  for (const id of new Set([...good, ...(current === null ? [] : [current]), ...stored])) {
    const revision = await namingStore(policy.folder, () => policy.open(id));
    if (revision === null) continue;
    application ??= revision.application;
    try {
      const claims = trust === null ? null : await claimsOf(revision, trust);
      const isExpected = id === good[0] || (!hasGood && id === current);
      const notice = isExpected ? null : noticeOf(revision, good[0], fault);
      return { staged: { revision, claims }, application, fault: null, notice };
    } catch (error) {
      if (!isRuntimeError(error)) throw error;
      fault ??= error;
    }
  }
  return { staged: null, application, fault, notice: null };
}

function noticeOf(
  { sha256, at }: Revision,
  lastGood: string | undefined,
  fault: Error | null,
): string {
  const damaged = lastGood === undefined ? "its record is" : `revision ${lastGood} is`;
  const reason = fault?.message ?? `${damaged} missing or damaged`;
  const chosen = `following that of ${at}, SHA-256 ${sha256}`;
  return `the last good bundle cannot be used: ${reason}; ${chosen}`;
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
