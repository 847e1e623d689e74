/** Reads a model with its use in a spec. */
import { stat } from "node:fs/promises";
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";
import type { DescribedModel } from "stratagem-runtime/internal/exec/onnx/model-file";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import { bindModel } from "../binding/bind-model.ts";
import type { AxisUse } from "../spec/binding.ts";
import { InputError } from "../spec/document/input-error.ts";
import { show } from "../spec/document/mistakes.ts";
import { isCount } from "./chain.ts";
import type { ModuleOptions } from "./kit-options.ts";
import { type SuggestedUse, suggestedUse, withoutRowless } from "./suggested-use.ts";

export type Reader = Pick<
  ModelReader,
  "describe" | "probeFile" | "probeHost" | "readHost" | "sample"
>;

export interface ReadModel {
  /** Path of the file, or the specifier of a module of a package. */
  readonly path: string;
  readonly bytes: number;
  readonly described: DescribedModel;
  readonly use: SuggestedUse;
  /** Model as bound by `use`. */
  readonly model: ModelFile;
  /** Duration of a run of a row, unoptimized and on one thread. */
  readonly ranMs: number;
  /** Outputs with a varying number of rows, which another output counts. */
  readonly counted: readonly string[];
  /** Null for an ONNX file. */
  readonly module: ReadModule | null;
}

interface ReadModule extends ModuleOptions {
  /** Name in a spec. */
  readonly name: string;
  /** Bytes of the inputs of one row; null for a module without samples. */
  readonly sample: readonly Uint8Array[] | null;
}

/**
 * @param stated use of axes from the user.
 * @param mayCount whether a next task can take rows that an output counts.
 * @throws InputError for a file that cannot be read, is not a model, or cannot be served.
 */
export async function readModel(
  path: string,
  stated: Readonly<Record<string, AxisUse>>,
  mayCount: boolean,
  reader: Reader,
): Promise<ReadModel> {
  const refuse = (error: unknown): never => {
    if (error instanceof InputError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== undefined && /^E[A-Z]+$/.test(code)) {
      const found = code === "ENOENT" ? "no such file" : `cannot be read (${code})`;
      throw new InputError("INPUT_UNREADABLE", `${path}: expected an ONNX model; ${found}`);
    }
    const reason = typeof message === "string" ? message.split("\n")[0] : String(error);
    const shown = UNNAMED_TYPE.test(reason ?? "") ? `${reason}, ${UNNAMED_TYPE_MEANS}` : reason;
    const expected = `${path}: expected an ONNX model that can be served: ${shown}`;
    throw new InputError("INPUT_INVALID_VALUE", expected);
  };
  try {
    const described = await reader.describe(path);
    refuseTensors(described.model);
    const { size: bytes } = await stat(path);
    const bind = async (use: SuggestedUse) => {
      const bound = await bindModel(path, described, bindingOf(use), [], reader).catch(
        (error: Error) => {
          throw new Error(`${withAxes(use)}onnxruntime says: ${error.message}`);
        },
      );
      if (bound.mistakes === undefined) return bound;
      throw new InputError("INPUT_INVALID_VALUE", `${path}: ${bound.mistakes[0]?.message}`);
    };
    let use = await suggestedUse(path, described, stated, reader);
    let { model, rowless = [], ranMs = 0 } = await bind(use);
    const counted = mayCount ? countedOutputs(described, model, rowless) : [];
    if (rowless.length > 0 && counted.length === 0) {
      use = withoutRowless(use, described, rowless);
      ({ model, ranMs = 0 } = await bind(use));
    }
    if (counted.length > 0) model = { ...model, outputs: countedShapes(described, use, model) };
    return { path, bytes, described, use, model, ranMs, counted, module: null };
  } catch (error) {
    return refuse(error);
  }
}

/** Outputs with rows of their own, if there is an output that counts them. */
function countedOutputs(
  { model: own, axisNames }: DescribedModel,
  { outputs }: ModelFile,
  rowless: readonly string[],
): string[] {
  if (!outputs.some((one) => isCount(one) && !rowless.includes(one.name))) return [];
  const rowAxes = own.inputs.map(({ name }) => axisNames[name]?.[0] ?? "");
  const named = own.outputs.filter(({ name, shape }) => {
    const axis = axisNames[name]?.[0] ?? "";
    return shape[0] === -1 && axis !== "" && !rowAxes.includes(axis);
  });
  return [...new Set([...rowless, ...named.map(({ name }) => name)])];
}

/** Shapes as compile reads them: those of the file if the spec says nothing about the model. */
function countedShapes(
  { model: own }: DescribedModel,
  { axes, constants, outputs }: SuggestedUse,
  bound: ModelFile,
): ModelFile["outputs"] {
  const isBound = Object.keys({ ...axes, ...constants }).length > 0 || outputs !== null;
  return bound.outputs.map((output) => {
    const inFile = own.outputs.find(({ name }) => name === output.name);
    const isOther = inFile !== undefined && inFile.shape.length !== output.shape.length;
    return isOther && !isBound ? inFile : output;
  });
}

/** Describes the tried axes at the start of a message. */
function withAxes({ axes }: SuggestedUse): string {
  const uses = Object.entries(axes).map(([key, use]) => `${show(key)}: ${JSON.stringify(use)}`);
  return uses.length === 0 ? "" : `with the axes ${uses.join(", ")} (change them with --axes) `;
}

/** @throws Error for tensors that bundles or requests cannot have. */
function refuseTensors({ inputs, outputs }: ModelFile): void {
  if (inputs.length === 0) throw new Error("it has no inputs, so requests are impossible");
  const odd = [...inputs, ...outputs].find(({ name }) => /\p{Cc}/u.test(name));
  if (odd === undefined) return;
  throw new Error(`the tensor ${show(odd.name)} has a control character in its name; rename it`);
}

/** Message of onnxruntime-node for bfloat16 and float8. */
const UNNAMED_TYPE = /^Unsupported data type/;
const UNNAMED_TYPE_MEANS =
  "such as bfloat16 or float8; convert inputs and outputs to float16 or float32";

function bindingOf({ axes, constants, outputs }: SuggestedUse) {
  const entries = outputs?.map((of) => {
    return [of, { of, as: "tensor", k: null, labels: null, blank: null }] as const;
  });
  const named = entries === undefined ? null : Object.fromEntries(entries);
  return { axes, constants, padding: 0, inputs: {}, outputs: named, resize: {} };
}
