/** Tells what serves here of its share of the cluster, and the cluster of what is seen here. */
import type { LoadShare, SeenLoad } from "../../../core/load-share.ts";

/** What decides for a bundle, as far as it knows of shares. */
export interface ShareListener {
  share?(share: LoadShare): void;
  seenLoad?(): SeenLoad;
}

const NOTHING: SeenLoad = { qps: 0, variance: 0 };

/**
 * Those that serve come and go with their bundles. Where several serve, what other front ends see
 * is not known of each of them, and theirs is taken for as much as here.
 */
export class ShareListeners {
  #serving: () => readonly ShareListener[] = () => [];
  #share: LoadShare | undefined;
  #told = new WeakSet<ShareListener>();

  /** @param serving asked now and then. */
  follow(serving: () => readonly ShareListener[]): void {
    this.#serving = serving;
    this.#tell();
  }

  tell(share: LoadShare): void {
    this.#share = share;
    this.#told = new WeakSet();
    this.#tell();
  }

  /** Asked with every beat, by which those that are new are found. */
  seenLoad(): SeenLoad {
    this.#tell();
    const serving = this.#serving();
    return (serving.length === 1 ? serving[0]?.seenLoad?.() : undefined) ?? NOTHING;
  }

  #tell(): void {
    const share = this.#share;
    if (share === undefined) return;
    const serving = this.#serving();
    const own = serving.length === 1 ? share : { ...share, othersQps: null };
    for (const one of serving) {
      if (this.#told.has(one)) continue;
      this.#told.add(one);
      one.share?.(own);
    }
  }
}
