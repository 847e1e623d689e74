/** The version of a release: it stands in package.json, and every other place repeats that one. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The one place: the root of the repository, which is itself never published. */
export const PLACE = "package.json";
export const WORKSPACES = ["runtime", "compiler", "kit"] as const;
/** Published packages whose names other packages of ours ask for by version. */
const OWN_NAMES = ["stratagem-runtime", "stratagem", "stratagem-kit"];
/** Documents that name an image of a release. */
const WITH_IMAGES = ["docs/deploy/pod.yaml", "docs/deploy/inference-service.yaml"];
/** Of npm's versions the part that people release: three numbers, and a word for a candidate. */
export const VERSION = /^\d+\.\d+\.\d+(?:-[a-z]+\.\d+)?$/;
const IMAGE = /(\bimage: (?:\S+\/)?stratagem(?:-runtime)?:)(\S+)/g;

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly packages?: Readonly<Record<string, Manifest>>;
}

interface Mention {
  /** Such as `compiler/package.json dependencies.stratagem-runtime`. */
  readonly where: string;
  readonly found: string;
}

/** The version of the working tree at `root`. */
export function versionOf(root = "."): string {
  const { version } = manifestAt(join(root, PLACE));
  if (version !== undefined && VERSION.test(version)) return version;
  throw new Error(`${PLACE}: expected a version such as 1.2.3 or 1.2.3-rc.1, found ${version}`);
}

/** Places that say another version, each in a sentence. */
export function versionFaults(root = "."): string[] {
  const version = versionOf(root);
  return mentionsBelow(root)
    .filter(({ found }) => found !== version)
    .map(({ where, found }) => `${where}: expected ${version}, as ${PLACE} says, found ${found}`);
}

/** Writes a version to every place. @throws RangeError for what is no version. */
export function setVersion(version: string, root = "."): void {
  if (!VERSION.test(version)) {
    throw new RangeError(`expected a version such as 1.2.3 or 1.2.3-rc.1, found ${version}`);
  }
  const manifests = [PLACE, "package-lock.json", ...WORKSPACES.map((each) => `${each}/${PLACE}`)];
  for (const file of manifests) {
    const path = join(root, file);
    const document = withVersion(manifestAt(path), version);
    writeFileSync(path, `${JSON.stringify(document, null, 2)}\n`);
  }
  for (const file of WITH_IMAGES) {
    const path = join(root, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replace(IMAGE, `$1${version}`));
  }
}

function mentionsBelow(root: string): Mention[] {
  const lock = manifestAt(join(root, "package-lock.json"));
  return [
    ...WORKSPACES.flatMap((each) => mentionsOf(`${each}/${PLACE}`, root)),
    { where: "package-lock.json version", found: `${lock.version}` },
    ...["", ...WORKSPACES].flatMap((folder) =>
      mentionsIn(`package-lock.json packages["${folder}"]`, lock.packages?.[folder] ?? {}),
    ),
    ...WITH_IMAGES.flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(IMAGE)].map((match) => ({
        where: `${file} image`,
        found: match[2] ?? "none",
      })),
    ),
  ];
}

function mentionsOf(file: string, root: string): Mention[] {
  return mentionsIn(file, manifestAt(join(root, file)));
}

function mentionsIn(where: string, { version, dependencies = {} }: Manifest): Mention[] {
  const own = Object.entries(dependencies).filter(([name]) => OWN_NAMES.includes(name));
  return [
    { where: `${where} version`, found: `${version}` },
    ...own.map(([name, found]) => ({ where: `${where} dependencies.${name}`, found })),
  ];
}

/** The same document: its own version, that of entries of workspaces, and pins of our packages. */
function withVersion(document: Manifest, version: string): Manifest {
  const { packages, dependencies } = document;
  const isOwn = (folder: string): boolean => folder === "" || WORKSPACES.some((w) => w === folder);
  return {
    ...document,
    version,
    ...(dependencies === undefined
      ? {}
      : {
          dependencies: mapped(dependencies, (at, name) =>
            OWN_NAMES.includes(name) ? version : at,
          ),
        }),
    ...(packages === undefined
      ? {}
      : {
          packages: mapped(packages, (at, folder) =>
            isOwn(folder) ? withVersion(at, version) : at,
          ),
        }),
  };
}

function mapped<Value>(
  record: Readonly<Record<string, Value>>,
  change: (value: Value, key: string) => Value,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(record).map(([key, at]) => [key, change(at, key)]));
}

function manifestAt(path: string): Manifest {
  return JSON.parse(readFileSync(path, "utf8")) as Manifest;
}
