/**
 * Checks whether another application could answer the clients of an application without a visible
 * difference.
 */
import type { ClientSignature } from "../tensors/signature.ts";
import type { Application } from "./application.ts";

/** @returns what clients would see of it, or null. */
export function clientDifference(before: Application, after: Application): string | null {
  if (before.name !== after.name) return `the application ${after.name}, not ${before.name}`;
  const [known, next] = [before, after].map(({ endpoint }) => endpoint.models);
  for (const { signature, classes, maxRows, sequences } of known ?? []) {
    const [name = ""] = signature.names;
    const other = next?.find((one) => one.signature.names[0] === name);
    if (other === undefined) return `no model ${name}`;
    if (sequences !== undefined || other.sequences !== undefined) {
      return `a model that keeps state, ${name}, whose sequences one bundle must answer completely`;
    }
    const difference = signatureDifference(signature, other.signature);
    if (difference !== null) return `other ${difference} of the model ${name}`;
    const [own, others] = [classes, other.classes].map((one) =>
      (one?.stated ?? []).map(({ name: stated }) => stated).join(),
    );
    if (own !== others) return `other classes of the model ${name}`;
    if (maxRows !== other.maxRows) return `other rows of a request of the model ${name}`;
  }
  const more = next?.find((one) => {
    return known?.every(({ signature }) => signature.names[0] !== one.signature.names[0]);
  });
  return more === undefined ? null : `another model, ${more.signature.names[0]}`;
}

function signatureDifference(before: ClientSignature, after: ClientSignature): string | null {
  const parts = {
    names: ({ names }: ClientSignature) => names,
    inputs: ({ inputs }: ClientSignature) => inputs.map(tensorOf),
    outputs: ({ outputs }: ClientSignature) => outputs.map(tensorOf),
    "sizes of axes": ({ axes }: ClientSignature) => axes ?? [],
    "rows of outputs": ({ outputsAreRows = true }: ClientSignature) => outputsAreRows,
    "ways to name a variant": ({ answersByRow = false }: ClientSignature) => answersByRow,
  };
  for (const [name, of] of Object.entries(parts)) {
    if (JSON.stringify(of(before)) !== JSON.stringify(of(after))) return name;
  }
  return null;
}

function tensorOf({ name, datatype, rowShape, largest }: ClientSignature["inputs"][number]) {
  return { name, datatype, rowShape, largest };
}
