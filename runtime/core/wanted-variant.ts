/** Variant that a query must be answered by, as one number that a queue can hold. */

/** Whichever the policy chooses. A smaller number is the index of a variant, or a group. */
export const ANY_VARIANT = 0xffff_ffff;
const GROUP_BIT = 0x8000_0000;

/**
 * Any variant that the policy chooses, but one for all queries of the group: its first batch
 * decides.
 * @param group a number below 2^31 − 1 that no other undecided group has.
 */
export function sameVariant(group: number): number {
  return (GROUP_BIT | group) >>> 0;
}

/** Whether it is one variant and no other. */
export function isNamed(wanted: number): boolean {
  return wanted < GROUP_BIT;
}

/** Whether a batch may take a query. @param isOpen whether the policy chose the batch's variant. */
export function mayAnswer(variant: number, wanted: number, isOpen: boolean): boolean {
  return wanted === variant || (isOpen && wanted >= GROUP_BIT);
}
