/**
 * Branches at the root of a level's searches, which let several machines search one level.
 *
 * A search takes its branches in order. The result of a known branch is used as it is; of the
 * others, the requested share is searched, and the rest is assumed to hold nothing better. If no
 * branch is left out, the level equals that of a search by one machine, bit for bit.
 */

/** Result of a branch, as plain data of its method. */
export interface FoundBranch {
  /** Identifies the search within the level and its branch; the same on every machine. */
  readonly key: string;
  readonly found: object;
}

/** Every `of`-th branch: indices that leave remainder `number` − 1. */
export interface BranchShare {
  /** From 1 to `of`. */
  readonly number: number;
  readonly of: number;
}

/** Which branches of a level a solver searches, and which are known. */
export interface AskedBranches {
  /** Branches to search unless they are known. */
  readonly share: BranchShare;
  readonly known: readonly FoundBranch[];
}

export const ALL_BRANCHES: BranchShare = { number: 1, of: 1 };

/** Branches as a search sees them. */
export interface RootBranches {
  /** Returns the known result of a branch, or undefined. */
  known(key: string): object | undefined;
  /**
   * Returns whether to search a branch that is not known; otherwise it is left out.
   * @param index among its siblings, from 0.
   */
  isAsked(index: number): boolean;
  /** Called with each branch that was searched to its end. */
  add(branch: FoundBranch): void;
}

interface SharedSearch extends RootBranches {
  /** Whether any branch was left out so far. */
  readonly isPart: boolean;
}

export function rootBranches(
  { share: { number, of }, known }: AskedBranches,
  onBranch: (branch: FoundBranch) => void,
): SharedSearch {
  const byKey = new Map(known.map(({ key, found }) => [key, found]));
  let isPart = false;
  return {
    get isPart() {
      return isPart;
    },
    known: (key) => byKey.get(key),
    isAsked(index) {
      const isOwn = index % of === number - 1;
      if (!isOwn) isPart = true;
      return isOwn;
    },
    add: onBranch,
  };
}

/** Returns the branches of one of several searches, identified by its name. */
export function branchesOf(
  branches: RootBranches | undefined,
  search: string,
): RootBranches | undefined {
  if (branches === undefined) return undefined;
  return {
    known: (key) => branches.known(`${search}/${key}`),
    isAsked: (index) => branches.isAsked(index),
    add: ({ key, found }) => branches.add({ key: `${search}/${key}`, found }),
  };
}
