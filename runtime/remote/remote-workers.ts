/**
 * Which workers of other machines there are: the seam between who knows them, a list of URLs or the
 * membership of a cluster, and the executor that gives them batches.
 */

/** A v2 server that holds models and takes one batch at a time of this front end. */
export interface RemoteMember {
  /**
   * Who it is, unique among the members: one that comes back under its name is the same worker, at
   * another URL perhaps.
   */
  readonly name: string;
  /** URL of the server, `http://` or `https://`, without a slash at its end. */
  readonly url: string;
  /** Name of the pool whose slots it may take. */
  readonly pool: string;
  /**
   * What it may be used by, `<front end>/<epoch>`, as it is sent with each batch; null where nobody
   * else uses it and nothing is fenced.
   */
  readonly lease: string | null;
  /**
   * It gets no more batches and is taken out once it has none: another front end is to have it, and
   * what runs is not to be run again. Left out where it stays.
   */
  readonly isLeaving?: boolean;
}

/**
 * The workers that this front end may use now. Whoever takes one out of `members()` need not know
 * what it is doing: its batch is given up, and tried on another if there is time.
 */
export interface RemoteWorkers {
  /** A snapshot, in an order that does not change while they stay. */
  members(): readonly RemoteMember[];
  /**
   * @param listener called after each change of `members()`, never from within a call of this
   * object.
   * @returns ends that.
   */
  onChange(listener: () => void): () => void;
  /**
   * A batch goes to a worker, which is not another's before that is over; left out where none ever
   * is.
   * @returns what is called once, when the batch has ended.
   */
  use?(worker: string): () => void;
}

/** Workers that are known from the start and stay, whether they are there or not. */
export function fixedWorkers(members: readonly RemoteMember[]): RemoteWorkers {
  return { members: () => members, onChange: () => () => {} };
}

/** Of URLs that nobody else uses: each is known by its URL. */
export function workersAt(pool: string, urls: readonly string[]): RemoteMember[] {
  return urls.map((url) => ({ name: url, url: withoutSlash(url), pool, lease: null }));
}

function withoutSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}
