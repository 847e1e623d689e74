/** Types of clearest.js for the tests; the comments are there. */
export function clearestOf(model: Uint8Array, side: number): Uint8Array<ArrayBuffer>;
