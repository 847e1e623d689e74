/** Types of lstm-graph.js for the tests; the comments are there. */
export function lstmModelOf(parameters: Float64Array): Uint8Array<ArrayBuffer>;
