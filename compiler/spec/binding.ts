/** Checks the tensor options of a variant as far as possible without its model. */
import type { OutputForm, Resize } from "stratagem-runtime/internal/bundle/schema";
import type { KeyPath } from "./document/document.ts";
import { conflict, type Mistake, missing } from "./document/mistakes.ts";
import type { TaskSpec } from "./schema/application-schema.ts";

/** Use of a model's tensors; empty parts are left to the model. */
export interface Binding {
  /** Keys are names of axes, or `<tensor>.<position>`. */
  readonly axes: Readonly<Record<string, AxisUse>>;
  readonly padding: number;
  /** External names of inputs, by the model's own. */
  readonly inputs: Readonly<Record<string, string>>;
  /** Outputs by external name; null for all outputs under their own names. */
  readonly outputs: Readonly<Record<string, BoundOutput>> | null;
  /** Keys are the model's own names. */
  readonly constants: Readonly<Record<string, number>>;
  /** Keys are external names. */
  readonly resize: Readonly<Record<string, ResizeFrom>>;
}

export type AxisUse = "batch" | number | readonly number[];

export interface BoundOutput {
  /** Name of the output in the model. */
  readonly of: string;
  readonly as: OutputForm;
  readonly k: number | null;
  readonly labels: readonly string[] | null;
  readonly blank: number | null;
}

interface ResizeFrom extends Resize {
  /** Height and width of the input data. */
  readonly size: readonly [number, number];
}

type VariantSpec = TaskSpec["variants"][number];
type OutputSpec = NonNullable<VariantSpec["outputs"]>[string];

const DEFAULT_CLASSES = 5;

/**
 * @param labelsOf reads the lines of a file that the spec names.
 * @returns null if the variant leaves everything to its model.
 */
export function resolveBinding(
  variant: VariantSpec,
  path: KeyPath,
  labelsOf: (file: string, path: KeyPath) => readonly string[],
): Binding | null {
  const { axes, padding, inputs, outputs, constants, resize } = variant;
  const isGiven = [axes, padding, inputs, outputs, constants, resize].some(
    (each) => each !== undefined,
  );
  if (!isGiven) return null;
  const bound = Object.values(outputs ?? {});
  // State outputs are always included, for the server.
  const state = Object.keys(variant.state ?? {}).filter((name) => !bound.includes(name));
  const all = { ...Object.fromEntries(state.map((name) => [name, name])), ...outputs };
  const entries = Object.entries(all).map(([name, output]) => {
    return [name, boundOutput(output, [...path, "outputs", name], labelsOf)] as const;
  });
  return {
    axes: axes ?? {},
    padding: padding ?? 0,
    inputs: Object.fromEntries(Object.entries(inputs ?? {}).map(([name, own]) => [own, name])),
    outputs: outputs === undefined ? null : Object.fromEntries(entries),
    constants: constants ?? {},
    resize: Object.fromEntries(
      Object.entries(resize ?? {}).map(([name, { size, fit, padding: filled }]) => {
        const [height = 1, width = 1] = size;
        return [name, { size: [height, width], fit, padding: filled }];
      }),
    ),
  };
}

function boundOutput(
  output: OutputSpec,
  path: KeyPath,
  labelsOf: (file: string, path: KeyPath) => readonly string[],
): BoundOutput {
  if (typeof output === "string") {
    return { of: output, as: "tensor", k: null, labels: null, blank: null };
  }
  const { of, as, k, labels, space, blank } = output;
  const named = labels === undefined ? null : labelsOf(labels, [...path, "labels"]);
  const isCtc = as === "ctc" || as === "ctc-confidence";
  return {
    of,
    as,
    k: as === "top-k" ? (k ?? DEFAULT_CLASSES) : null,
    labels: named === null ? null : [...named, ...(space ? [" "] : [])],
    blank: isCtc ? (blank ?? 0) : null,
  };
}

/** Finds contradictions in the tensor options of a variant. */
export function* bindingMistakes(variant: VariantSpec, path: KeyPath): Generator<Mistake> {
  const { axes, inputs, outputs, constants = {} } = variant;
  for (const [key, use] of Object.entries(axes ?? {})) {
    if (typeof use !== "object") continue;
    const bad = use.findIndex((size, at) => at > 0 && size <= (use[at - 1] ?? 0));
    if (bad >= 0) {
      const message = `expected ascending sizes, got ${use.join(", ")}`;
      yield conflict([...path, "axes", key, bad], message);
    }
  }
  const seen = new Map<string, string>();
  for (const [name, own] of Object.entries(inputs ?? {})) {
    const other = seen.get(own);
    if (other !== undefined) {
      const message =
        `"${own}" is already named "${other}"; expected one name for each ` + `input of the model`;
      yield conflict([...path, "inputs", name], message);
    }
    if (constants[own] !== undefined) {
      const message = `"${own}" is a constant, so requests cannot have it`;
      yield conflict([...path, "inputs", name], message);
    }
    seen.set(own, name);
  }
  for (const [name, output] of Object.entries(outputs ?? {})) {
    if (typeof output === "string") continue;
    const { as, k, labels, blank, space } = output;
    const at = [...path, "outputs", name];
    const isCtc = as === "ctc" || as === "ctc-confidence";
    if (as === "ctc" && labels === undefined) yield missing([...at, "labels"], "a file of labels");
    if (k !== undefined && as !== "top-k") {
      yield conflict([...at, "k"], `expected none, since ${as} has no number of classes`);
    }
    if (blank !== undefined && !isCtc) {
      yield conflict([...at, "blank"], `expected none, since ${as} has no blank`);
    }
    if (labels !== undefined && !isCtc && as !== "top-k") {
      yield conflict([...at, "labels"], `expected none, since ${as} has no labels`);
    }
    if (space && labels === undefined) {
      yield conflict([...at, "space"], "expected none without labels");
    }
  }
}
