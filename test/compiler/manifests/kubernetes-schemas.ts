/** Judges manifests by the published schemas of test/fixtures/kubernetes-schemas. */
import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

interface CoreSchemas {
  readonly $defs: Readonly<Record<string, object>>;
  /** By the name of the kind. */
  readonly kinds: Readonly<Record<string, object>>;
}

const CUSTOM = ["ScaledObject", "PodMonitor", "InferenceService"];
const validators = validatorsOf();

/** What the schema of an object's kind has against it; a kind without a schema is refused. */
export function faultsOf(object: { readonly kind: string }): string[] {
  const { kind } = object;
  const validate = validators.get(kind);
  if (validate === undefined) return [`${kind} has no schema`];
  if (validate(object)) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${kind}${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

function validatorsOf(): ReadonlyMap<string, ValidateFunction> {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  const { $defs, kinds } = schemaIn("core.json") as unknown as CoreSchemas;
  const core = Object.entries(kinds).map(([kind, schema]) => {
    return [kind, ajv.compile({ ...schema, $defs })] as const;
  });
  const custom = CUSTOM.map((kind) => {
    return [kind, ajv.compile(schemaIn(`${kind.toLowerCase()}.json`))] as const;
  });
  return new Map([...core, ...custom]);
}

function schemaIn(file: string): object {
  const text = readFileSync(`test/fixtures/kubernetes-schemas/${file}`, "utf8");
  return JSON.parse(text) as object;
}
