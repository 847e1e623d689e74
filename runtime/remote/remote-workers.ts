/**
 * Interface between the source of remote workers (a list of URLs or the membership of a cluster)
 * and the executor that gives them batches.
 */

/** A v2 server that holds models and takes one batch at a time from this front end. */
export interface RemoteMember {
  /** Unique name: a worker that returns under its name, possibly with another URL, is the same. */
  readonly name: string;
  /** URL of the server, `http://` or `https://`, without a trailing slash. */
  readonly url: string;
  /** Name of the pool whose slots it may take. */
  readonly pool: string;
  /**
   * Lease `<front end>/<epoch>` that each batch states; null if no other front end uses the worker.
   */
  readonly lease: string | null;
  /**
   * Set while the worker is handed to another front end: it gets no more batches and is removed
   * once it is idle, so that no batch runs twice.
   */
  readonly isLeaving?: boolean;
}

/**
 * Remote workers that this front end may use now. A worker can be removed from `members()` at any
 * time: its batch is then aborted and retried on another if time permits.
 */
export interface RemoteWorkers {
  /** Snapshot of the members in a stable order. */
  members(): readonly RemoteMember[];
  /**
   * @param listener called after each change of `members()`, never within a call of this object.
   * @returns a function that removes it.
   */
  onChange(listener: () => void): () => void;
  /**
   * Marks a batch on a worker, which is not handed over until the batch ends; omitted if workers
   * are never handed over.
   * @returns a function to call once when the batch has ended.
   */
  use?(worker: string): () => void;
}

/** Fixed list of workers, reachable or not. */
export function fixedWorkers(members: readonly RemoteMember[]): RemoteWorkers {
  return { members: () => members, onChange: () => () => {} };
}

/** Workers at URLs that no other front end uses, named by their URLs. */
export function workersAt(pool: string, urls: readonly string[]): RemoteMember[] {
  return urls.map((url) => ({ name: url, url: withoutSlash(url), pool, lease: null }));
}

function withoutSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}
