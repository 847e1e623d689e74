/** A spec as `init` writes it: each key that is for the user to decide has its reason beside it. */
import type { Renamed } from "./same-task.ts";
import type { SuggestedUse } from "./suggested-use.ts";

export interface InitVariant {
  readonly name: string;
  /** Path of the model, relative to the spec. */
  readonly file: string;
  /** Tensors as the model has them, in words. */
  readonly told: string;
  readonly accuracy: number;
  readonly isGuess: boolean;
  readonly use: SuggestedUse;
  /** Where each axis of the use is, by its key. */
  readonly places: Readonly<Record<string, string>>;
  readonly renamed: Renamed;
}

export interface InitSpec {
  readonly application: string;
  readonly slo: string;
  readonly loads: readonly number[];
  readonly workers: number;
  /** File name of the profile, beside the spec. */
  readonly profile: string;
  readonly variants: readonly InitVariant[];
}

export function specText({
  application,
  slo,
  loads,
  workers,
  profile,
  variants,
}: InitSpec): string {
  return [
    "# Written by stratagem init; every value is yours to change. The JSON Schema for editors is",
    "# node_modules/stratagem/schema/application.json.",
    "version: 1",
    `application: ${scalar(application)}`,
    `slo: { latency: ${slo} }    # how long a request may take, from arrival to answer`,
    "workload:",
    "  arrivals: { process: poisson }",
    `  loads: [${loads.join(", ")}]    # requests per second to prepare for`,
    "cluster:",
    `  workers: ${workers}    # processes that run models at the same time, one core each`,
    "tasks:",
    `  - name: ${scalar(application)}`,
    "    variants:",
    ...variants.flatMap((variant) => variantLines(variant, profile)),
    "policy:",
    "  method: ramsis",
    "",
  ].join("\n");
}

function variantLines(variant: InitVariant, profile: string): string[] {
  const { name, file, told, accuracy, isGuess, use, places, renamed } = variant;
  const isRenamed = Object.keys(renamed.outputs).length > 0;
  const kept = Object.fromEntries((use.outputs ?? []).map((output) => [output, output]));
  const guess = isGuess ? "    # a placeholder: write what you measured on held-out data" : "";
  return [
    `      # ${onOneLine(told)}`,
    `      - name: ${scalar(name)}`,
    `        model: ${scalar(file)}`,
    `        profile: ${scalar(`${profile}#${name}`)}`,
    `        accuracy: ${percent(accuracy)}${guess}`,
    ...axisLines(use, places),
    ...mapLines("inputs", renamed.inputs, "what clients send: the model's own name"),
    ...(isRenamed
      ? mapLines("outputs", renamed.outputs, "what clients get: the model's own name")
      : mapLines("outputs", kept, "those with a row for each row; others are left out")),
    ...mapLines("constants", use.constants, "inputs that are always the same"),
    ...mapLines("state", use.state, "outputs that a sequence has as inputs of its next request"),
  ];
}

function axisLines({ axes, tried, whole }: SuggestedUse, places: InitVariant["places"]): string[] {
  const entries = Object.entries(axes);
  if (entries.length === 0) return [];
  return [
    "        axes:    # batch, a size, or sizes: a request takes the smallest that holds it",
    ...entries.map(([key, use]) => {
      const value = typeof use === "object" ? `[${use.join(", ")}]` : use;
      const hint = tried.includes(key)
        ? `; it ran with ${value}: write your size, or sizes such as [${listOf(use)}]`
        : whole.includes(key)
          ? "; every request has all of it, and is run alone"
          : "";
      return `          ${scalar(key)}: ${value}    # ${onOneLine(places[key] ?? "")}${hint}`;
    }),
  ];
}

function listOf(use: unknown): string {
  const size = typeof use === "number" ? use : 1;
  return `${size}, ${2 * size}`;
}

function mapLines(
  key: string,
  map: Readonly<Record<string, string | number>>,
  what: string,
): string[] {
  const entries = Object.entries(map);
  if (entries.length === 0) return [];
  const pairs = entries.map(([name, value]) => `${scalar(name)}: ${scalar(value)}`);
  return [`        ${key}: { ${pairs.join(", ")} }    # ${what}`];
}

/** Names of tensors may have line breaks, which would end a comment. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");
}

function percent(ratio: number): string {
  return `${Number((100 * ratio).toPrecision(6))}%`;
}

/** As YAML reads it back: plain where nothing in it has a meaning, otherwise in quotes. */
function scalar(value: string | number): string {
  if (typeof value === "number") return String(value);
  const isPlain =
    /^[A-Za-z_./][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
