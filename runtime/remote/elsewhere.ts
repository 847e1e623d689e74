/** Determines which pools of a bundle have remote workers, and their URLs. */

import { RuntimeError } from "../base/errors.ts";
import { isWorkerUrl, type Pool, WORKER_URL_FORM } from "../bundle/schema.ts";
import {
  fixedWorkers,
  type RemoteMember,
  type RemoteWorkers,
  workersAt,
} from "./remote-workers.ts";

interface PoolUrls {
  /** Null if bundles have a single pool. */
  readonly pool: string | null;
  readonly urls: readonly string[];
}

export interface ElsewhereOptions {
  /** URLs that override those of bundles; omitted for none. */
  readonly workerUrls?: readonly PoolUrls[] | undefined;
  /** Source of workers for pools without URLs; omitted if those are local processes. */
  readonly remoteWorkers?: RemoteWorkers | undefined;
  /** Path of the file with the token for workers; omitted for none. */
  readonly workerToken?: string | undefined;
  /** Name of this server among those that use the same workers; by default host and process. */
  readonly frontEnd?: string | undefined;
}

export interface Elsewhere {
  /** Whether a pool is remote, by pool index. */
  readonly isElsewhere: readonly boolean[];
  readonly workers: RemoteWorkers;
}

/** Parses `[POOL=]URL,URL…`; undefined if invalid. */
export function parsePoolUrls(text: string): PoolUrls | undefined {
  const at = text.indexOf("=");
  // A URL may contain "=" after its scheme.
  const hasPool = at > 0 && !text.slice(0, at).includes("://");
  const urls = (hasPool ? text.slice(at + 1) : text).split(",");
  if (!urls.every(isWorkerUrl)) return undefined;
  return { pool: hasPool ? text.slice(0, at) : null, urls };
}

export const POOL_URLS_FORM = `${WORKER_URL_FORM}; several with commas, POOL= before them`;

/** @returns null if all workers are local. */
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
 * Checks that URLs belong to existing pools. @param pools of all bundles. @throws RuntimeError
 * RUNTIME_USAGE for an unknown pool, or a missing pool name if there are several.
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
    const found = pool === null ? `${urls[0]} without a pool` : `"${pool}"`;
    throw new RuntimeError("RUNTIME_USAGE", `--workers: expected a pool (${known}), got ${found}`);
  }
}
