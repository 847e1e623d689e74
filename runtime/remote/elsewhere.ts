/** Which pools of a bundle have their workers on other machines, and who says where. */

import { RuntimeError } from "../base/errors.ts";
import { isWorkerUrl, type Pool, WORKER_URL_FORM } from "../bundle/schema.ts";
import {
  fixedWorkers,
  type RemoteMember,
  type RemoteWorkers,
  workersAt,
} from "./remote-workers.ts";

/** URLs of the workers of one pool, or of the only one. */
interface PoolUrls {
  /** Null where the bundles have one pool. */
  readonly pool: string | null;
  readonly urls: readonly string[];
}

export interface ElsewhereOptions {
  /** Before what bundles say of their pools; left out for that alone. */
  readonly workerUrls?: readonly PoolUrls[] | undefined;
  /** Who knows the workers of pools without URLs; left out, those are processes of this machine. */
  readonly remoteWorkers?: RemoteWorkers | undefined;
  /** Path of the file with the token that workers are shown; left out for none. */
  readonly workerToken?: string | undefined;
  /** Name of this server among those that use the same workers; left out for host and process. */
  readonly frontEnd?: string | undefined;
}

export interface Elsewhere {
  /** By the index of the pool. */
  readonly isElsewhere: readonly boolean[];
  readonly workers: RemoteWorkers;
}

/** `[POOL=]URL,URL…`; undefined for what is not. */
export function parsePoolUrls(text: string): PoolUrls | undefined {
  const at = text.indexOf("=");
  // A URL may have "=" in its path, behind its scheme.
  const hasPool = at > 0 && !text.slice(0, at).includes("://");
  const urls = (hasPool ? text.slice(at + 1) : text).split(",");
  if (!urls.every(isWorkerUrl)) return undefined;
  return { pool: hasPool ? text.slice(0, at) : null, urls };
}

export const POOL_URLS_FORM = `${WORKER_URL_FORM}; several with commas, and POOL= before them`;

/** @returns null where all workers are of this machine. */
export function elsewhereOf(
  pools: readonly Pick<Pool, "name" | "urls">[],
  { workerUrls = [], remoteWorkers }: ElsewhereOptions,
): Elsewhere | null {
  const urls = pools.map((pool) => urlsOf(pool, workerUrls));
  const isElsewhere = urls.map((own) => own !== null || remoteWorkers !== undefined);
  if (!isElsewhere.includes(true)) return null;
  const fixed = pools.flatMap(({ name }, index) => workersAt(name, urls[index] ?? []));
  if (remoteWorkers === undefined) return { isElsewhere, workers: fixedWorkers(fixed) };
  const isFound = ({ pool }: RemoteMember) => {
    return pools.some(({ name }, index) => name === pool && urls[index] === null);
  };
  const members = () => [...fixed, ...remoteWorkers.members().filter(isFound)];
  const onChange: RemoteWorkers["onChange"] = (listener) => remoteWorkers.onChange(listener);
  const use = (worker: string) => remoteWorkers.use?.(worker) ?? (() => {});
  return { isElsewhere, workers: { members, onChange, use } };
}

function urlsOf(
  { name, urls }: Pick<Pool, "name" | "urls">,
  workerUrls: readonly PoolUrls[],
): readonly string[] | null {
  const own = workerUrls.filter(({ pool }) => pool === null || pool === name);
  if (own.length > 0) return [...new Set(own.flatMap((one) => one.urls))];
  return urls ?? null;
}

/**
 * @param pools of all bundles. @throws RuntimeError RUNTIME_USAGE where URLs are of a pool that
 * there is not, or of none though there are several.
 */
export function expectUrlsOfPools(
  pools: readonly Pick<Pool, "name">[],
  { workerUrls = [] }: ElsewhereOptions,
): void {
  const names = [...new Set(pools.map(({ name }) => name))];
  const known = names.join(", ");
  for (const { pool, urls } of workerUrls) {
    const isKnown = pool === null ? names.length === 1 : names.includes(pool);
    if (isKnown) continue;
    const found = pool === null ? `${urls[0]} without one` : `"${pool}"`;
    throw new RuntimeError("RUNTIME_USAGE", `--workers: expected a pool (${known}), got ${found}`);
  }
}
