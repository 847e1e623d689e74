/** Provides the models of a freshly compiled bundle to a server. */
import { existsSync } from "node:fs";
import { mkdir, rm, symlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { methodOf } from "stratagem-runtime/internal/methods/registry";
import type { Application } from "../spec/application.ts";

/**
 * Returns a folder with every file that the bundle names: the models' own folder if they share one,
 * otherwise a folder of links.
 * @param folder parent of the folder of links.
 */
export async function modelFolder(
  bundle: Bundle,
  bundlePath: string,
  { tasks }: Pick<Application, "tasks">,
  folder: string,
): Promise<string> {
  const wanted = filesOf(bundle);
  const paths = tasks.flatMap(({ variants }) => variants.flatMap(pathsOf));
  const folders = new Set([...paths.map((path) => dirname(path)), dirname(resolve(bundlePath))]);
  for (const one of folders) {
    if (wanted.every((file) => existsSync(join(one, file)))) return one;
  }
  const links = join(folder, "models");
  await rm(links, { recursive: true, force: true });
  await mkdir(links);
  for (const path of new Set(paths)) await symlink(path, join(links, basename(path)));
  return links;
}

/** Names without folders; files of packages are found by name. */
function filesOf(bundle: Bundle): string[] {
  return methodOf(bundle)
    .models(bundle)
    .flatMap(({ model }) => {
      if (model === null || model.remote !== undefined) return [];
      const first = model.module?.specifier != null ? [] : [model.file];
      return [...first, ...(model.parts ?? []).map(({ file }) => file)];
    });
}

function pathsOf(variant: Application["tasks"][number]["variants"][number]): readonly string[] {
  const { chain, host, model } = variant;
  if (chain !== undefined) return chain;
  if (host !== undefined) return host.kind === "module" && host.path !== null ? [host.path] : [];
  return model === null ? [] : [model];
}
