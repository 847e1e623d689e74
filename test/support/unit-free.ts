/** Compares bundles of one application at two units of time. */
import type { Bundle } from "../../runtime/bundle/schema.ts";

/** Relative difference that is rounding. */
const ROUNDING = 1e-6;

/**
 * What differs between a bundle and one whose times are `factor` times as long, beyond rounding; as
 * lines. Times are fields whose names end with Ms, or lie in one that does; rates end with Qps.
 */
export function unitDifferences(own: Bundle, slower: Bundle, factor: number): string[] {
  const { provenance: _, application: __, ...one } = own;
  const { provenance: ___, application: ____, ...other } = slower;
  return [...differences(one, other, factor, "", 1)];
}

function* differences(
  own: unknown,
  slower: unknown,
  factor: number,
  path: string,
  scale: number,
): Generator<string> {
  if (typeof own === "number" && typeof slower === "number") {
    const expected = own * scale;
    const most = ROUNDING * Math.max(Math.abs(expected), Math.abs(slower), 1e-6 * scale);
    if (Number.isNaN(own) ? !Number.isNaN(slower) : Math.abs(expected - slower) > most) {
      if (own !== slower) yield `${path}: ${own}, then ${slower} in place of ${expected}`;
    }
  } else if (isRecord(own) && isRecord(slower)) {
    const names = new Set([...Object.keys(own), ...Object.keys(slower)]);
    for (const name of names) {
      if (name === "sha256" || name === "points") continue;
      const unit = unitOf(path, name, factor) ?? scale;
      yield* differences(own[name], slower[name], factor, `${path}/${name}`, unit);
    }
  } else if (own !== slower) yield `${path}: ${String(own)}, then ${String(slower)}`;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function unitOf(path: string, name: string, factor: number): number | null {
  if (/(^m|M)s(P\d+)?$/.test(name) || name === "serviceTimes" || name === "fit") return factor;
  if (/Qps$/.test(name)) return 1 / factor;
  if (/byPace\/\d+$/.test(path) && /^p\d+$/.test(name)) return factor;
  return null;
}
