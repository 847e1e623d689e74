/** Passes the cluster's share to the serving policies, and their load to the cluster. */
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";

/** The part of a serving policy that deals with shares. */
export interface ShareListener {
  share?(share: LoadShare): void;
  seenLoad?(): SeenLoad;
}

const NOTHING: SeenLoad = { qps: 0, variance: 0 };

/**
 * Serving policies change with their bundles. With several of them the others' load is not known
 * per policy, and is assumed to equal the local one.
 */
export class ShareListeners {
  #serving: () => readonly ShareListener[] = () => [];
  #share: LoadShare | undefined;
  #notified = new WeakSet<ShareListener>();

  /** @param serving returns the current policies. */
  follow(serving: () => readonly ShareListener[]): void {
    this.#serving = serving;
    this.#notifyNew();
  }

  notify(share: LoadShare): void {
    this.#share = share;
    this.#notified = new WeakSet();
    this.#notifyNew();
  }

  /** Called with every beat, which also finds new policies. */
  seenLoad(): SeenLoad {
    this.#notifyNew();
    const serving = this.#serving();
    return (serving.length === 1 ? serving[0]?.seenLoad?.() : undefined) ?? NOTHING;
  }

  #notifyNew(): void {
    const share = this.#share;
    if (share === undefined) return;
    const serving = this.#serving();
    const own = serving.length === 1 ? share : { ...share, othersQps: null };
    for (const one of serving) {
      if (this.#notified.has(one)) continue;
      this.#notified.add(one);
      one.share?.(own);
    }
  }
}
