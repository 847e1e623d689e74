/** All that a sixth method changes in files that are there: its name in the lists of methods. */

export interface Insertion {
  readonly file: string;
  /** What the text follows, once in the file; null for the end of the file. */
  readonly after: string | null;
  readonly text: string;
}

export const INSERTIONS: readonly Insertion[] = [
  {
    file: "runtime/bundle/schema.ts",
    after: "export type Bundle = RamsisBundle",
    text: " | FixedBundle",
  },
  {
    file: "runtime/bundle/schema.ts",
    after: "export type Level = RamsisLevel",
    text: " | FixedLevel",
  },
  {
    file: "runtime/bundle/schema.ts",
    after: null,
    text: `
import type { CommonFields, Table } from "./schema/common.ts";
import type { Variant } from "./schema/ramsis.ts";

/** One variant for all queries. */
export interface FixedBundle extends CommonFields {
  readonly method: "fixed";
  readonly tasks: readonly FixedTask[];
  readonly policy: { readonly maxBatch: number };
  readonly levels: readonly FixedLevel[];
}

export interface FixedTask {
  readonly name: string;
  readonly variants: readonly (Omit<Variant, "dominated"> & { readonly latencyMs: Table })[];
}

export interface FixedLevel {
  readonly loadQps: number;
  readonly feasible: boolean;
  readonly capacityQps: number;
  readonly batch: number;
  readonly expected: {
    readonly violationRate: number;
    readonly latencyMsP99: number;
    readonly seed: number;
  };
}
`,
  },
  {
    file: "runtime/methods/every-method.ts",
    after: 'import { accordion } from "./accordion/accordion.ts";\n',
    text: 'import { fixed } from "./fixed/fixed.ts";\n',
  },
  {
    file: "runtime/methods/every-method.ts",
    after: "const METHODS = { ramsis, loki, inferline, themis, accordion",
    text: ", fixed",
  },
  {
    file: "runtime/methods/registry.ts",
    after: 'accordion: async () => (await import("./accordion/accordion.ts")).accordion,\n',
    text: '  fixed: async () => (await import("./fixed/fixed.ts")).fixed,\n',
  },
  {
    file: "compiler/spec/application.ts",
    after: "export type Policy = RamsisPolicy",
    text: " | FixedPolicy",
  },
  {
    file: "compiler/spec/application.ts",
    after: null,
    text: `
export interface FixedPolicy {
  readonly method: "fixed";
  readonly variant: string;
  readonly maxBatch: number;
}
`,
  },
  {
    file: "compiler/spec/schema/policy-schema.ts",
    after: 'tagged("method", [ramsis, loki, inferline, themis, accordion',
    text: ', mapping({ method: z.literal("fixed"), variant: name(), maxBatch: count(64) })',
  },
  {
    file: "compiler/spec/policy.ts",
    after: 'import type { ApplicationSpec } from "./schema/application-schema.ts";\n',
    text: 'import { fixedRules } from "./fixed-policy.ts";\n',
  },
  {
    file: "compiler/spec/policy.ts",
    after: "  accordion: accordionRules,\n",
    text: "  fixed: fixedRules,\n",
  },
  {
    file: "compiler/methods/registry.ts",
    after: 'accordion: async () => (await import("./accordion/accordion.ts")).accordionMethod,\n',
    text: '  fixed: async () => (await import("./fixed/fixed.ts")).fixedMethod,\n',
  },
];
