import * as z from "zod";
import {
  mapping,
  milliseconds,
  name,
  percentile,
  ratio,
  realNumber,
  record,
  text,
} from "./fields.ts";

const size = (what: string) => {
  const error = () => `${what} (a whole number above 0)`;
  return z.string({ error }).regex(/^[1-9]\d{0,5}$/, { error });
};

const row = z.union(
  [
    milliseconds(),
    mapping({
      p50: milliseconds(),
      p95: milliseconds(),
      p99: milliseconds(),
      mean: milliseconds(),
      samples: z.unknown().optional().describe("How many were measured, or the measurements"),
    }),
  ],
  { error: () => "a time above 0 in milliseconds, or a mapping with p50, p95, p99 and mean" },
);

const rows = record(size("a batch size"), row, "a mapping from batch sizes to latencies");

const variant = mapping({
  accuracy: ratio().optional().describe("Measured accuracy"),
  latencyMs: rows.optional().describe("Latency of a batch, by batch size"),
  fit: mapping({
    gamma: realNumber(),
    epsilon: realNumber(),
    delta: realNumber(),
    eta: realNumber(),
  })
    .optional()
    .describe("Latency in ms of batch b on c cores: gamma b/c + epsilon/c + delta b + eta"),
  byCores: record(
    size("a number of cores"),
    rows,
    "a mapping from cores to latencies by batch size",
  )
    .optional()
    .describe("Measured latency of a batch, by cores and batch size"),
});

/** A latency profile as the profiler and users write it. */
export const profileSchema = mapping({
  format: z.literal("latency-profile/1", { error: () => '"latency-profile/1"' }),
  task: name().optional(),
  hardware: name().describe("What the latencies were measured on"),
  percentile: percentile().optional().describe("Percentile that bare numbers hold"),
  source: text("a line of text").optional().describe("Where the numbers come from"),
  variants: record(text("a name"), variant, "a mapping from variant names to measurements"),
});

export type ProfileSpec = z.output<typeof profileSchema>;
export type VariantMeasurements = ProfileSpec["variants"][string];
export type RowsSpec = NonNullable<VariantMeasurements["latencyMs"]>;

/** JSON Schema (draft 2020-12) of latency profiles, for editors. */
export function profileJsonSchema(): object {
  return z.toJSONSchema(profileSchema, { io: "input" });
}
