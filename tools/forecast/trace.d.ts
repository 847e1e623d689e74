/** Types of trace.js for the tests; the comments are there. */
type Days = readonly number[];
export const HISTORY_SECONDS: number;
export const WINDOW_SECONDS: number;
export const HORIZON_SECONDS: number;
export const WINDOW_COUNT: number;
export const TRACE_FILE: string;
export const DAYS: { fit: Days; selection: Days; training: Days; validation: Days };
export function readCounts(file: string): Float64Array;
export function ticksOf(counts: Float64Array, days: Days, strideSeconds: number): number[];
export function historiesAt(counts: Float64Array, ticks: readonly number[]): Float64Array;
export function peaksAfter(counts: Float64Array, ticks: readonly number[]): Float64Array;
export function maximaOf(histories: Float64Array): Float64Array;
