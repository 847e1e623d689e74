/** Whether every number in a value is one, at whatever depth. */
export function allFinite(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (ArrayBuffer.isView(value)) return Array.from(value as Float64Array).every(Number.isFinite);
  if (typeof value !== "object" || value === null) return true;
  return Object.values(value).every(allFinite);
}
