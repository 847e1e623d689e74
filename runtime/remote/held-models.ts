/** Finds the models of bundles on a remote worker, and verifies them. */
import { basename, extname } from "node:path";
import type { VariantModel } from "../exec/models/executor.ts";
import { oneLine } from "../exec/models/loaded-model.ts";
import { expectTensors } from "../exec/modules/module-model.ts";
import type { Fields } from "../exec/tensors/v2-codec.ts";
import { RemoteMistake } from "./asked-batch.ts";
import type { HttpConnection } from "./http-connection.ts";

/** Request to a worker to hold a model. */
export interface Holding {
  /** Cores for its batches; null to leave the choice to the worker. */
  readonly cores: number | null;
  /** Whether to reload an existing model, with another number of cores. */
  readonly isAnew: boolean;
  /** Lease to send; null without leases. */
  readonly lease: string | null;
}

/**
 * Finds a variant on a server by its name or that of its file. If neither exists, or the model is
 * another file, asks the server to load it.
 * @returns the name, and whether the model was loaded.
 * @throws RemoteMistake if it is another model, or the server does its own batching; Error if it is
 * missing.
 */
export async function heldModel(
  connection: HttpConnection,
  variant: VariantModel,
  holding: Holding,
): Promise<HeldModel> {
  const names = namesOf(variant);
  if (!holding.isAnew) {
    for (const name of names) {
      const found = await modelAt(connection, name, variant);
      if (found === "same") return { name, isLoaded: false };
    }
  }
  for (const name of names) {
    if (!(await load(connection, name, variant, holding))) continue;
    const found = await modelAt(connection, name, variant);
    if (found === "same") return { name, isLoaded: true };
    if (found === "none") throw new Error(`it loaded "${name}" but does not list it`);
    throw new RemoteMistake(`its model "${name}" differs from the file that the bundle names`);
  }
  return { name: await findWithoutLoading(connection, names, variant), isLoaded: false };
}

/**
 * Searches again without loading: the model may exist in another way. @throws RemoteMistake, Error
 */
async function findWithoutLoading(
  connection: HttpConnection,
  names: readonly string[],
  variant: VariantModel,
): Promise<string> {
  let other: string | null = null;
  for (const name of names) {
    const found = await modelAt(connection, name, variant);
    if (found === "same") return name;
    if (found === "other") other ??= name;
  }
  if (other !== null) {
    throw new RemoteMistake(`its model "${other}" differs from the file that the bundle names`);
  }
  const tried = names.map((name) => `"${name}"`).join(" or ");
  throw new Error(`it has no model ${tried}`);
}

interface HeldModel {
  /** Name of the model on the server. */
  readonly name: string;
  readonly isLoaded: boolean;
}

/** The variant's name and the stem of its file; for a remote model only its name. */
function namesOf({ name, path, remote }: VariantModel): readonly string[] {
  if (remote !== undefined) return [remote.model];
  const file = basename(path);
  return [...new Set([name, file.slice(0, file.length - extname(file).length)])];
}

/** @returns false if the server has no such model or cannot load models. */
async function load(
  connection: HttpConnection,
  name: string,
  { digest, opened }: VariantModel,
  { cores, lease }: Holding,
): Promise<boolean> {
  const sha256 = digest ?? opened?.sha256;
  const parameters = {
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(cores === null ? {} : { cores: String(cores) }),
  };
  return connection.change(name, "load", parameters, lease);
}

/**
 * Compares a model on the server with the variant.
 * @throws RemoteMistake if its tensors differ, or the server does its own batching.
 */
async function modelAt(
  connection: HttpConnection,
  name: string,
  variant: VariantModel,
): Promise<"same" | "other" | "none"> {
  const described = await connection.describe(name);
  if (described === null) return "none";
  const wanted = variant.digest ?? variant.opened?.sha256;
  if (described.sha256 !== null && wanted !== undefined && described.sha256 !== wanted)
    return "other";
  try {
    expectTensors("input", variant.inputs, described.inputs);
    expectTensors("output", variant.outputs, described.outputs);
  } catch (error) {
    throw new RemoteMistake(`its model "${name}": ${oneLine(error)}`);
  }
  const mistake = configMistake(await connection.configOf(name), variant);
  if (mistake !== null) throw new RemoteMistake(`its model "${name}": ${mistake}`);
  return "same";
}

/** Returns why a configuration prevents running batches as they are sent; null if it does not. */
export function configMistake(
  config: Fields | null,
  { warmBatches, largestBatch = 0 }: Pick<VariantModel, "warmBatches" | "largestBatch">,
): string | null {
  if (config === null) return null;
  if (isSet(config["dynamic_batching"])) {
    return "expected a configuration without dynamic_batching: the front end forms batches";
  }
  if (isSet(config["sequence_batching"])) {
    return "expected a configuration without sequence_batching: the front end forms batches";
  }
  const most = config["max_batch_size"];
  const wanted = Math.max(1, largestBatch, ...warmBatches);
  // The value 0 means no batching: the first axis is then an ordinary one.
  if (typeof most !== "number" || most === 0 || most >= wanted) return null;
  return `expected max_batch_size >= ${wanted} in its configuration, got ${most}`;
}

function isSet(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
