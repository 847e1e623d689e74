/** The product's command line, as a user runs it. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";

/** From the root of the repository, where commands are run. */
export const CLI = "compiler/dist/cli.js";
/** What an edge node has. */
export const RUNTIME_CLI = "runtime/dist/cli.js";

/** What a command prints. @throws Error with what it says where it fails. */
export function stratagem(...args: readonly (string | number)[]): Promise<string> {
  return printed(CLI, args.map(String));
}

/** The same of the package for edge nodes. */
export function stratagemRuntime(...args: readonly (string | number)[]): Promise<string> {
  return printed(RUNTIME_CLI, args.map(String));
}

async function printed(cli: string, args: readonly string[]): Promise<string> {
  try {
    const command = [cli, ...args];
    const { stdout } = await promisify(execFile)(process.execPath, command, { maxBuffer: 1e9 });
    return stdout;
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    throw new Error(`${cli} ${args.join(" ")}: ${stderr.trim() || String(error)}`);
  }
}

/** The document that a command prints with --json, which is as the caller says. */
export async function stratagemJson<T>(...args: readonly (string | number)[]): Promise<T> {
  return JSON.parse(await stratagem(...args, "--json")) as T;
}

type MethodName = Bundle["method"];
type BundleOf<M extends MethodName> = Extract<Bundle, { method: M }>;

/** A bundle of a method. @throws TypeError for that of another one. */
export async function openBundle<M extends MethodName>(
  method: M,
  path: string,
): Promise<BundleOf<M>> {
  const { bundle } = await loadBundle(path);
  if (isOf(method, bundle)) return bundle;
  throw new TypeError(`${path}: expected a bundle of ${method}, found one of ${bundle.method}`);
}

function isOf<M extends MethodName>(method: M, bundle: Bundle): bundle is BundleOf<M> {
  return bundle.method === method;
}

/** Compiles a spec into a bundle beside it. @returns the bundle, its path, and how long it took. */
export async function compiled<M extends MethodName>(
  method: M,
  app: string,
  out = app.replace(/\.\w+$/, ".msgpack"),
): Promise<{ bundle: BundleOf<M>; path: string; compileMs: number }> {
  const { compileMs } = await stratagemJson<{ compileMs: number }>("compile", app, "-o", out);
  return { bundle: await openBundle(method, out), path: out, compileMs };
}
