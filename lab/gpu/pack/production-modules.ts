/** Packages of npm that a workspace needs to run, and of those what Node reads. */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import path from "node:path";

/** A file of a part, and where it lies there. */
export interface PackedFile {
  readonly from: string;
  readonly to: string;
}

/** Asked for by scripts that install onnxruntime-node, and by nothing that runs. */
const AT_INSTALL_ONLY = new Set(["adm-zip", "global-agent"]);

/** What Node runs; types, maps, sources and pages stay behind. */
const RUN_BY_NODE = /\.(js|cjs|mjs|json|wasm|node)$/;
/** Folders of packages for browsers and tests; code lies in folders called doc and types too. */
const FOR_OTHERS = new Set(["browser", "umd", "test", "tests"]);

/**
 * Folders below `root` of the packages that workspaces need, ascending; none of them twice.
 * @param workspaces folders such as "compiler".
 * @throws Error naming a package that is not installed.
 */
export function productionModules(root: string, workspaces: readonly string[]): string[] {
  const own = new Set(workspaces.map((folder) => path.join(root, folder)));
  const found = new Set<string>();
  const open = [...own];
  for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
    for (const { name, isOptional } of dependenciesOf(folder)) {
      const at = installed(root, folder, name);
      if (at === null && !isOptional) throw new Error(`${name} is not installed: run npm ci`);
      if (at === null || own.has(realpathSync(at)) || found.has(at)) continue;
      found.add(at);
      open.push(at);
    }
  }
  return [...found].map((folder) => path.relative(root, folder)).sort();
}

interface Dependency {
  readonly name: string;
  readonly isOptional: boolean;
}

function dependenciesOf(folder: string): Dependency[] {
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(path.join(folder, "package.json"), "utf8"),
  ) as Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;
  const names = Object.keys({ ...dependencies, ...optionalDependencies });
  return names
    .filter((name) => !AT_INSTALL_ONLY.has(name))
    .map((name) => ({ name, isOptional: name in optionalDependencies }));
}

/** As Node looks for it: in the folder, then in each above it. */
function installed(root: string, from: string, name: string): string | null {
  for (let folder = from; folder.startsWith(root); folder = path.dirname(folder)) {
    const at = path.join(folder, "node_modules", name);
    if (existsSync(path.join(at, "package.json"))) return at;
  }
  return null;
}

/** What Node runs of a package; packages inside it are packages of their own. */
export function runFilesOf(root: string, folder: string): PackedFile[] {
  return filesBelow(root, folder, (name, isFolder) =>
    isFolder ? name !== "node_modules" && !FOR_OTHERS.has(name) : RUN_BY_NODE.test(name),
  );
}

/** Files of a folder below `root`, ascending, whose names and whose folders' names are wanted. */
export function filesBelow(
  root: string,
  folder: string,
  isWanted: (name: string, isFolder: boolean) => boolean = () => true,
): PackedFile[] {
  const entries = readdirSync(path.join(root, folder), { withFileTypes: true });
  return entries
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .filter((entry) => isWanted(entry.name, entry.isDirectory()))
    .flatMap((entry) => {
      const to = path.join(folder, entry.name);
      if (entry.isDirectory()) return filesBelow(root, to, isWanted);
      return entry.isFile() ? [{ from: path.join(root, to), to }] : [];
    });
}
