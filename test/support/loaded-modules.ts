/** Which files a built command loads in a process of its own, as V8's coverage lists them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

export interface LoadedModules {
  /** Sources of this repository, such as runtime/cli. */
  readonly own: readonly string[];
  /** Packages of others, each once, sorted. */
  readonly packages: readonly string[];
  /** Methods of which a folder has files among them, by package; each once, sorted. */
  readonly methods: Readonly<Record<"compiler" | "runtime", readonly string[]>>;
}

interface Coverage {
  readonly result: readonly { readonly url: string }[];
}

const PACKAGE = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const OWN = /^(compiler|runtime|kit)\/dist\/(.+)\.js$/;

/**
 * Of the process itself: those that it starts are others.
 * @throws Error if the command fails.
 */
export function loadedModules(script: string, args: readonly string[]): LoadedModules {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-loaded-"));
  try {
    const run = spawnSync(process.execPath, [script, ...args], {
      encoding: "utf8",
      env: { ...process.env, NODE_V8_COVERAGE: folder },
    });
    if (run.status !== 0) throw new Error(`${args.join(" ")}: ${run.stderr}`);
    return sorted(readdirSync(folder).filter((name) => name.startsWith(`coverage-${run.pid}-`)));
  } finally {
    rmSync(folder, { recursive: true });
  }

  function sorted(files: readonly string[]): LoadedModules {
    const paths = files
      .flatMap((name) => (JSON.parse(readFileSync(join(folder, name), "utf8")) as Coverage).result)
      .filter(({ url }) => url.startsWith("file:"))
      .map(({ url }) => relative(".", fileURLToPath(url)).replaceAll(sep, "/"));
    const own = paths.flatMap((path) => OWN.exec(path)?.slice(1, 3).join("/") ?? []);
    const methodsIn = (room: string) =>
      each(own.flatMap((path) => path.match(`^${room}/methods/([^/]+)/`)?.[1] ?? []));
    return {
      own,
      packages: each(paths.flatMap((path) => PACKAGE.exec(path)?.[1] ?? [])),
      methods: { compiler: methodsIn("compiler"), runtime: methodsIn("runtime") },
    };
  }
}

function each(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
