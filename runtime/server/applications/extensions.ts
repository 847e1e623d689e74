/** Triton's extensions that hold of one server and not of another. */
import type { House } from "./house.ts";

export function ownExtensions({ reload, log, telemetry, models }: House): string[] {
  const held = {
    logging: log,
    model_repository: reload,
    sequence: models.find(({ model }) => model.signature.hasSequences === true),
    trace: telemetry?.sampling,
  };
  return Object.entries(held).flatMap(([name, what]) => (what === undefined ? [] : [name]));
}
