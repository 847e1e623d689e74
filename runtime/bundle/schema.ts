/**
 * The policy bundle: the one contract between compiler and runtime.
 *
 * These are the decoded, in-memory types; `docs/bundle-format.md` specifies the bytes. Times are
 * milliseconds, rates queries per second, ratios 0..1.
 */
import type { AccordionBundle, AccordionLevel } from "./schema/accordion.ts";
import type { InferlineBundle, InferlineLevel } from "./schema/inferline.ts";
import type { LokiBundle, LokiLevel } from "./schema/loki.ts";
import type { RamsisBundle, RamsisLevel } from "./schema/ramsis.ts";
import type { ThemisBundle, ThemisLevel } from "./schema/themis.ts";

export type * from "./schema/accordion.ts";
export * from "./schema/buckets.ts";
export * from "./schema/common.ts";
export * from "./schema/devices.ts";
export type * from "./schema/graph.ts";
export type * from "./schema/inferline.ts";
export type * from "./schema/loki.ts";
export type * from "./schema/ramsis.ts";
export * from "./schema/row-scopes.ts";
export type * from "./schema/serving.ts";
export * from "./schema/themis.ts";

/** Version of the file format this build writes, and the newest one it reads. */
export const FORMAT_VERSION = 1;

/** A policy for every load, by the method that computed it. */
export type Bundle = RamsisBundle | LokiBundle | InferlineBundle | ThemisBundle | AccordionBundle;

export type Level = RamsisLevel | LokiLevel | InferlineLevel | ThemisLevel | AccordionLevel;
