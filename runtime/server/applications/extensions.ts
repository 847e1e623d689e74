/** Triton's extensions that hold of one server and not of another. */
import type { ServerState } from "./server-state.ts";

export function ownExtensions({ reload, features, models }: ServerState): string[] {
  const held = {
    model_repository: reload,
    sequence: models.find(({ model }) => model.signature.hasSequences === true),
  };
  const own = Object.entries(held).flatMap(([name, what]) => (what === undefined ? [] : [name]));
  return [...own, ...features.extensions].sort();
}
