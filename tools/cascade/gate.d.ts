/** Types of gate.js for the tests; the comments are there. */
export function gateOf(
  model: Uint8Array,
  threshold: number,
  width: number,
): Uint8Array<ArrayBuffer>;
