import { basename } from "node:path";
import type { ProfileRow, VariantProfile } from "./application.ts";
import { type KeyPath, readDocument } from "./document.ts";
import { conflict, invalid, type Mistake, refuse } from "./mistakes.ts";
import {
  type ProfileSpec,
  profileSchema,
  type RowsSpec,
  type VariantMeasurements,
} from "./profile-schema.ts";
import { parseStructure } from "./structure.ts";

/** A latency profile file. */
export interface Profile {
  readonly sha256: string;
  readonly variants: ReadonlyMap<string, ProfiledVariant>;
}

export interface ProfiledVariant {
  /** Measured accuracy, 0..1, or null when the profile does not say. */
  readonly accuracy: number | null;
  readonly profile: VariantProfile;
}

/** Reads a latency profile. @param file what messages call it. @throws InputError naming `file`. */
export function readProfile(path: string, file: string = path): Profile {
  const document = readDocument(path, file);
  const spec = parseStructure(document, profileSchema);
  refuse(document, profileMistakes(spec));
  const origin = { file: basename(path), sha256: document.sha256 };
  const variants = Object.entries(spec.variants).map(
    ([name, measured]) => [name, profiledVariant(spec, name, measured, origin)] as const,
  );
  return { sha256: document.sha256, variants: new Map(variants) };
}

function profiledVariant(
  spec: ProfileSpec,
  name: string,
  measured: VariantMeasurements,
  origin: { readonly file: string; readonly sha256: string },
): ProfiledVariant {
  const byCores =
    measured.byCores &&
    Object.entries(measured.byCores)
      .map(([cores, rows]) => ({ cores: Number(cores), rows: sortedRows(rows) }))
      .sort((a, b) => a.cores - b.cores);
  return {
    accuracy: measured.accuracy ?? null,
    profile: {
      ...origin,
      variant: name,
      hardware: spec.hardware,
      task: spec.task ?? null,
      percentile: spec.percentile ?? null,
      rows: sortedRows(measured.latencyMs ?? {}),
      fit: measured.fit ?? null,
      byCores: byCores ?? null,
    },
  };
}

function sortedRows(rows: RowsSpec): ProfileRow[] {
  return Object.entries(rows)
    .map(([batch, row]): ProfileRow => {
      if (typeof row === "number") return { batch: Number(batch), latencyMs: row, quantiles: null };
      const { p50, p95, p99, mean } = row;
      return { batch: Number(batch), latencyMs: p95, quantiles: { p50, p95, p99, mean } };
    })
    .sort((a, b) => a.batch - b.batch);
}

function* profileMistakes(spec: ProfileSpec): Generator<Mistake> {
  if (Object.keys(spec.variants).length === 0) {
    yield invalid(["variants"], "at least one variant", "an empty mapping");
  }
  for (const [name, { latencyMs, fit, byCores }] of Object.entries(spec.variants)) {
    const path = ["variants", name];
    if (latencyMs === undefined && fit === undefined && byCores === undefined) {
      yield conflict(path, "expected latencyMs, fit or byCores, got none of them");
    }
    if (latencyMs !== undefined) yield* rowMistakes(latencyMs, [...path, "latencyMs"]);
    if (byCores === undefined) continue;
    if (Object.keys(byCores).length === 0) {
      yield invalid([...path, "byCores"], "at least one number of cores", "an empty mapping");
    }
    for (const [cores, rows] of Object.entries(byCores)) {
      yield* rowMistakes(rows, [...path, "byCores", cores]);
    }
  }
}

function* rowMistakes(rows: RowsSpec, path: KeyPath): Generator<Mistake> {
  if (Object.keys(rows).length === 0) {
    yield invalid(path, "at least one batch size", "an empty mapping");
  }
  for (const [batch, row] of Object.entries(rows)) {
    if (typeof row === "number" || (row.p50 <= row.p95 && row.p95 <= row.p99)) continue;
    const found = `p50 = ${row.p50}, p95 = ${row.p95}, p99 = ${row.p99}`;
    yield conflict([...path, batch], `expected p50 ≤ p95 ≤ p99, got ${found}`);
  }
}
