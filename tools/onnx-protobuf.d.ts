/** Types of onnx-protobuf.js for the tests; the comments are there. */
export type Field = { number: number; value: number | Uint8Array; bytes: Uint8Array };
export function fieldsOf(message: Uint8Array): Field[];
export function valuesOf(message: Uint8Array, wanted: number): (number | Uint8Array)[];
export function readVarint(bytes: Uint8Array, start: number): [value: number, next: number];
export function integer(field: number, value: number): number[];
export function bytes(field: number, value: Iterable<number>): number[];
export function string(field: number, value: string): number[];
