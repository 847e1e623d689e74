/** docs/app-spec.md is made from the JSON Schema of specs; vitest with `-u` writes it. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parse } from "yaml";

interface Schema {
  readonly description?: string;
  readonly type?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

interface Key {
  /** Place below its section, such as `variants[].axes`. */
  readonly name: string;
  readonly schema: Schema;
}

const INTRODUCTION = `# Keys of \`app.yaml\`

An application spec is YAML or JSON. \`stratagem init\` writes one; this page lists every key it may
have, from the JSON Schema \`node_modules/stratagem/schema/application.json\`, which editors can
check a spec with. \`variants[]\` is an entry of a list, \`NAME\` a name of your own. Times have a
unit (\`150 ms\`, \`20 s\`), ratios are \`0.98\` or \`98%\`. Examples are from the policies of this
repository, where they have the key.
`;

const schema: Schema = JSON.parse(readFileSync("compiler/schema/application.json", "utf8"));
const specs = readdirSync("policies").map((name) => {
  return parse(readFileSync(`policies/${name}/app.yaml`, "utf8"));
});

test("the page of specs is what their schema says", async () => {
  const { policy, tasks, ...rest } = schema.properties ?? {};
  const plain = Object.entries(rest).filter(([, one]) => !hasKeys(one));
  const sections = Object.entries(rest).filter(([, one]) => hasKeys(one));
  const parts = [
    section(
      "At the top",
      plain.map(([name, one]) => ({ name, schema: one })),
      "",
    ),
    ...sections.map(([name, one]) => section(`\`${name}\``, keysOf(one), name)),
    section("`tasks[]`", keysOf(tasks?.items), "tasks[]"),
    ...(policy?.oneOf ?? []).map((one) => {
      const { method, ...options } = one.properties ?? {};
      const named = Object.entries(options).map(([name, option]) => ({ name, schema: option }));
      const keys = named.flatMap(({ name, schema: own }) => [
        { name, schema: own },
        ...below(name, own),
      ]);
      return section(
        `\`policy\` with \`method: ${method?.const}\``,
        keys,
        "policy",
        String(method?.const),
      );
    }),
  ];
  await expect(`${INTRODUCTION}\n${parts.join("\n")}`).toMatchFileSnapshot(
    "../../docs/app-spec.md",
  );
});

test("every key is described", () => {
  const { policy, ...rest } = schema.properties ?? {};
  const all = [
    ...Object.entries(rest).flatMap(([name, one]) => [{ name, schema: one }, ...below(name, one)]),
    ...(policy?.oneOf ?? []).flatMap((one) => keysOf(one)),
  ];
  const silent = all.filter(({ name, schema: one }) => {
    return one.description === undefined && name !== "method" && !hasKeys(one);
  });
  expect(silent.map(({ name }) => name)).toEqual([]);
});

function section(title: string, keys: readonly Key[], path: string, method?: string): string {
  const rows = keys.map(({ name, schema: own }) => {
    const place = path === "" ? name : `${path}.${name}`;
    const example = exampleOf(place, method);
    const usual = own.default === undefined ? "" : `\`${written(own.default)}\``;
    const meaning = [own.description ?? "", choicesOf(own)].filter(Boolean).join(": ");
    return `| \`${name}\` | ${meaning} | ${usual} | ${example} |\n`.replaceAll("\n\n", "\n");
  });
  const head = "| key | meaning | default | example |\n| --- | --- | --- | --- |\n";
  return `## ${title}\n\n${head}${rows.join("")}`;
}

function keysOf(one: Schema | undefined): Key[] {
  return one === undefined ? [] : below("", one);
}

/** All keys within a value, each once. */
function below(path: string, one: Schema): Key[] {
  const at = (name: string) => (path === "" ? name : `${path}.${name}`);
  const own = Object.entries(one.properties ?? {}).flatMap(([name, next]) => {
    return [{ name: at(name), schema: next }, ...below(at(name), next)];
  });
  const named =
    typeof one.additionalProperties === "object" ? below(at("NAME"), one.additionalProperties) : [];
  const listed = one.items === undefined ? [] : below(`${path}[]`, one.items);
  const others = [...(one.anyOf ?? []), ...(one.oneOf ?? [])].flatMap((next) => below(path, next));
  const byName = new Map<string, Schema>();
  for (const { name, schema: next } of [...own, ...named, ...listed, ...others]) {
    const known = byName.get(name);
    // Alternatives of a value, such as the kinds of arrivals, are one key with several values.
    const isOther = known?.const !== undefined && next.const !== undefined;
    byName.set(
      name,
      isOther
        ? { ...known, enum: [...(known.enum ?? [known.const]), next.const] }
        : (known ?? next),
    );
  }
  return [...byName].map(([name, next]) => ({ name, schema: next }));
}

function hasKeys(one: Schema): boolean {
  return below("", one).length > 0;
}

function choicesOf({
  enum: choices,
  const: only,
  anyOf = [],
  minimum,
  maximum,
  type,
}: Schema): string {
  const values = choices ?? (only === undefined ? [] : [only]);
  if (values.length > 0) return values.map((value) => `\`${String(value)}\``).join(", ");
  const fixed = anyOf.flatMap((one) => one.const ?? one.enum ?? []);
  if (fixed.length > 0)
    return `${fixed.map((value) => `\`${String(value)}\``).join(", ")} or another value`;
  if (type === "integer" && minimum !== undefined) return `${minimum} to ${maximum}`;
  return "";
}

function exampleOf(place: string, method?: string): string {
  for (const spec of specs) {
    if (method !== undefined && spec.policy.method !== method) continue;
    const [value] = valuesAt(spec, place.split("."));
    if (value === undefined) continue;
    const text = written(value);
    if (text.length <= 60) return `\`${text}\``;
  }
  return "";
}

function valuesAt(value: unknown, [name, ...rest]: readonly string[]): unknown[] {
  if (name === undefined) return [value];
  if (typeof value !== "object" || value === null) return [];
  const isList = name.endsWith("[]");
  const key = isList ? name.slice(0, -2) : name;
  const next = key === "NAME" ? Object.values(value) : [(value as Record<string, unknown>)[key]];
  const found = next.flatMap((one) => (isList && Array.isArray(one) ? one : [one]));
  return found.flatMap((one) => (one === undefined ? [] : valuesAt(one, rest)));
}

function written(value: unknown): string {
  return typeof value === "string"
    ? value
    : JSON.stringify(value).replaceAll('"', "").replaceAll("|", "\\|");
}
