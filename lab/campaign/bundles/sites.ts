/** The places of a payload where something can be changed, by what the format says of them. */

import type { AnyShape, MapShape } from "stratagem-runtime/internal/bundle/fields";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { accordionBundle } from "stratagem-runtime/internal/methods/accordion/bundle/fields";
import { inferlineBundle } from "stratagem-runtime/internal/methods/inferline/bundle/fields";
import { lokiBundle } from "stratagem-runtime/internal/methods/loki/bundle/fields";
import { ramsisBundle } from "stratagem-runtime/internal/methods/ramsis/bundle/fields";
import { themisBundle } from "stratagem-runtime/internal/methods/themis/bundle/fields";
import type { Container } from "./signed-file.ts";

const SHAPES: Readonly<Record<Bundle["method"], AnyShape>> = {
  ramsis: ramsisBundle,
  loki: lokiBundle,
  inferline: inferlineBundle,
  themis: themisBundle,
  accordion: accordionBundle,
};

export type Path = readonly (string | number)[];

export interface Site {
  readonly kind: "number" | "text" | "other" | "list" | "map" | "table";
  readonly path: Path;
  /** Of a number, and of the items of a list of numbers: least and largest that is allowed. */
  readonly range?: readonly [number, number];
}

/** All places of a payload, maps and lists before what is in them. */
export function sitesOf(payload: Container): Site[] {
  const { maps = [] } = SHAPES[payload["method"] as Bundle["method"]];
  const sites: Site[] = [];
  collect(payload, [], { maps }, sites);
  return sites;
}

function collect(
  value: unknown,
  path: Path,
  { maps = [], range }: Pick<AnyShape, "maps" | "range">,
  sites: Site[],
): void {
  const ranged = range === undefined ? {} : { range };
  if (typeof value === "number") sites.push({ kind: "number", path, ...ranged });
  else if (typeof value === "string") sites.push({ kind: "text", path });
  else if (Array.isArray(value)) {
    sites.push({ kind: "list", path, ...ranged });
    for (const [index, item] of value.entries()) {
      collect(item, [...path, index], { maps, ...ranged }, sites);
    }
  } else if (isTable(value)) sites.push({ kind: "table", path });
  else if (typeof value === "object" && value !== null) {
    sites.push({ kind: "map", path });
    for (const [key, item] of Object.entries(value)) {
      collect(item, [...path, key], fieldOf(maps, key), sites);
    }
  } else sites.push({ kind: "other", path, ...ranged });
}

function fieldOf(maps: readonly MapShape[], name: string): Pick<AnyShape, "maps" | "range"> {
  const fields = maps.flatMap((map) => map.fields);
  // A map by names has the shape of its items.
  return fields.find((field) => field.name === name)?.shape ?? { maps };
}

export interface TablePayload {
  data: Uint8Array;
  dtype: string;
  shape: number[];
}

function isTable(value: unknown): value is TablePayload {
  return (
    typeof value === "object" && value !== null && "data" in value && ArrayBuffer.isView(value.data)
  );
}

/** The container of a place, and the key in it. */
export function placeAt(payload: Container, path: Path): readonly [Container, string | number] {
  let parent = payload;
  for (const key of path.slice(0, -1)) parent = parent[key] as Container;
  return [parent, path.at(-1) ?? ""];
}
