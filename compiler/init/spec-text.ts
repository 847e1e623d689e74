/** Text of a new spec, with comments at the keys for users to change. */
import { GUESSED_FANOUT } from "./default-targets.ts";
import type { InitEdge } from "./edges.ts";
import type { ReadModel } from "./read-model.ts";
import type { Renamed } from "./same-task.ts";
import type { SuggestedUse } from "./suggested-use.ts";

export interface InitVariant {
  readonly name: string;
  /** Path of the model, relative to the spec. */
  readonly file: string;
  /** Description of the model's tensors. */
  readonly tensors: string;
  readonly accuracy: number;
  readonly isGuess: boolean;
  readonly use: SuggestedUse;
  /** Description of each axis of the use, by its key. */
  readonly places: Readonly<Record<string, string>>;
  readonly renamed: Renamed;
  /** Height and width of the model's images, by the name of the input. */
  readonly images: Readonly<Record<string, readonly number[]>>;
  /** Null for an ONNX file. */
  readonly module: ReadModel["module"];
}

export interface InitSpecTask {
  readonly name: string;
  readonly variants: readonly InitVariant[];
}

export interface InitSpec {
  readonly application: string;
  readonly slo: string;
  readonly loads: readonly number[];
  readonly workers: number;
  /** File name of the profile, beside the spec. */
  readonly profile: string;
  readonly tasks: readonly InitSpecTask[];
  /** From each task to the next. */
  readonly edges: readonly InitEdge[];
}

const MEASURE = "profile --inputs ROWS --labels CLASSES";

export function specText(spec: InitSpec): string {
  const { application, slo, loads, workers, profile, tasks, edges } = spec;
  return [
    "# Written by stratagem init; change every value as needed. The JSON Schema for editors is",
    "# node_modules/stratagem/schema/application.json.",
    "version: 1",
    `application: ${scalar(application)}`,
    `slo: { latency: ${slo} }    # latency SLO of a request, from arrival to answer`,
    "workload:",
    "  arrivals: { process: poisson }",
    `  loads: [${loads.join(", ")}]    # loads in requests per second`,
    "cluster:",
    `  workers: ${workers}    # number of worker processes, one core each`,
    "tasks:",
    ...tasks.flatMap(({ name, variants }, index) => [
      `  - name: ${scalar(name)}`,
      "    variants:",
      ...variants.flatMap((variant) => {
        return variantLines(variant, profile, edges[index]?.count != null);
      }),
      ...edgeLines(tasks[index + 1], edges[index]),
    ]),
    "policy:",
    `  method: ${tasks.length === 1 ? "ramsis" : "loki"}`,
    "",
  ].join("\n");
}

function edgeLines(next: InitSpecTask | undefined, edge: InitEdge | undefined): string[] {
  if (next === undefined || edge === undefined) return [];
  const inputs = Object.entries(edge.inputs).map(([input, name]) => {
    return `${scalar(input)}: ${scalar(name)}`;
  });
  const count = edge.count === null ? "" : `, count: ${scalar(edge.count)}`;
  return [
    "    to:    # inputs of the next task: outputs of this one, or inputs that it passes on",
    ...edge.notes.map((note) => `      # ${onOneLine(note)}`),
    `      - { task: ${scalar(next.name)}, inputs: { ${inputs.join(", ")} }${count} }`,
  ];
}

function variantLines(variant: InitVariant, profile: string, isCounted: boolean): string[] {
  const { name, file, tensors, accuracy, isGuess, use, places, renamed, images, module } = variant;
  const hint = module === null || module.hint === "" ? "" : `    # ${module.hint}`;
  const isRenamed = Object.keys(renamed.outputs).length > 0;
  const kept = Object.fromEntries((use.outputs ?? []).map((output) => [output, output]));
  const guess = isGuess
    ? `    # a placeholder: state the real one, or delete it and measure it: ${MEASURE}`
    : "";
  return [
    `      # ${onOneLine(tensors)}`,
    `      - name: ${scalar(name)}`,
    ...(module === null ? [] : ["        kind: module"]),
    `        model: ${scalar(file)}`,
    ...(module === null || Object.keys(module.options).length === 0
      ? []
      : [`        options: ${flow(module.options)}${hint}`]),
    `        profile: ${scalar(`${profile}#${name}`)}`,
    `        accuracy: ${percent(accuracy)}${guess}`,
    ...axisLines(use, places),
    ...mapLines("inputs", renamed.inputs, "name in requests: name in the model"),
    ...(isRenamed
      ? mapLines("outputs", renamed.outputs, "name in answers: name in the model")
      : mapLines("outputs", kept, "outputs with a row per input row; others are left out")),
    ...mapLines("constants", use.constants, "constant inputs"),
    ...resizeLines(renamed.resize, images),
    ...(isCounted
      ? [`        fanout: ${GUESSED_FANOUT}    # a placeholder: mean rows that a row becomes`]
      : []),
    ...mapLines("state", use.state, "outputs that are inputs of the next request of a sequence"),
  ];
}

function axisLines({ axes, tried, whole }: SuggestedUse, places: InitVariant["places"]): string[] {
  const entries = Object.entries(axes);
  if (entries.length === 0) return [];
  return [
    "        axes:    # batch, a size, or sizes: a request is padded to the smallest that fits",
    ...entries.map(([key, use]) => {
      const value = typeof use === "object" ? `[${use.join(", ")}]` : use;
      const hint = tried.includes(key)
        ? `; ran with ${value}: set your size, or sizes such as [${listOf(use)}]`
        : whole.includes(key)
          ? "; every request has the whole axis, and runs alone"
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

/** A line that resizes images to the model's size, or a comment that offers to. */
function resizeLines(resize: Renamed["resize"], images: InitVariant["images"]): string[] {
  if (Object.keys(images).length === 0) return [];
  const isGiven = Object.keys(resize).length > 0;
  const sizes = Object.entries(isGiven ? resize : images).map(([name, size]) => {
    const pixels = isGiven ? size : size.map((own) => 2 * own);
    return `${scalar(name)}: { size: [${pixels.join(", ")}], fit: fill }`;
  });
  const what = "resizes images of this [height, width] to the model's; fit: pad keeps the ratio";
  return [`        ${isGiven ? "" : "# "}resize: { ${onOneLine(sizes.join(", "))} }    # ${what}`];
}

/** Line breaks in names of tensors would end a comment. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");
}

function percent(ratio: number): string {
  return `${Number((100 * ratio).toPrecision(6))}%`;
}

/** Formats a value of JSON as YAML on one line. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value !== "object" || value === null) return scalar(value as string | number);
  const entries = Object.entries(value).map(([key, inner]) => `${scalar(key)}: ${flow(inner)}`);
  return `{ ${entries.join(", ")} }`;
}

/** Formats a YAML scalar: plain if it has no special meaning, otherwise quoted. */
function scalar(value: string | number): string {
  if (typeof value === "number") return String(value);
  const isPlain =
    /^[A-Za-z_./][\w./-]*$/.test(value) && !/^(true|false|null|yes|no|on|off)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
