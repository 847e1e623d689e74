/**
 * The branches at the root of a level's searches, so that several machines can search one level.
 *
 * A search goes through its branches in their order. One that is known is taken as it is known; of
 * the others those are searched that are asked for, and the rest is taken to hold nothing better.
 * Where none is left out, the level is that of a search by one machine, bit for bit.
 */

/** What was found in a branch, as plain data of its method. */
export interface FoundBranch {
  /** Of which search of the level it is, and which branch: the same wherever it is searched. */
  readonly key: string;
  readonly found: object;
}

/** Every so many: that whose index leaves `number` - 1 when it is divided by `of`. */
export interface BranchShare {
  /** From 1 to `of`. */
  readonly number: number;
  readonly of: number;
}

/** What is asked of who solves a level of which branches are known elsewhere. */
export interface AskedBranches {
  /** Those to be searched where they are not known. */
  readonly share: BranchShare;
  readonly known: readonly FoundBranch[];
}

export const ALL_BRANCHES: BranchShare = { number: 1, of: 1 };

/** As a search sees them. */
export interface RootBranches {
  /** What is known of a branch; undefined where nobody has told. */
  known(key: string): object | undefined;
  /**
   * Whether it is to be searched, as it is not known; else it is left out.
   * @param index among its siblings, from 0.
   */
  isAsked(index: number): boolean;
  /** Told of a branch that was searched to its end. */
  add(branch: FoundBranch): void;
}

interface SharedSearch extends RootBranches {
  /** Whether a branch was left out so far. */
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

/** Those of one search of several, which its name tells apart. */
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
