/** What the pack consists of: each part a list of files, compressed by itself. */
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { portableNode } from "./portable-node.ts";
import {
  filesBelow,
  type PackedFile,
  productionModules,
  runFilesOf,
} from "./production-modules.ts";
import { systemLibraries } from "./system-libraries.ts";

export interface Part {
  readonly name: string;
  readonly files: readonly PackedFile[];
  /** By path in the part, what it points to. */
  readonly links?: Readonly<Record<string, string>>;
  /** Machine code of x86-64, which a filter of xz makes smaller. */
  readonly isMachineCode?: boolean;
}

/** The only platform that is packed, as onnxruntime-node names its folder. */
const ONNXRUNTIME = "node_modules/onnxruntime-node";
const ONNXRUNTIME_BINARIES = `${ONNXRUNTIME}/bin`;
const ONNXRUNTIME_HERE = `${ONNXRUNTIME_BINARIES}/napi-v6/linux/x64`;

const WORKSPACES = { stratagem: "compiler", "stratagem-runtime": "runtime" };
/** Programs of this repository that the check is made of. */
const PROGRAMS = ["dist/lab"];
const POLICIES = ["letters", "scenes", "malleable"];
const MODELS = ["image-classification", "scenes", "scaling", "cascade"];

/**
 * All parts. @param work folder for what is made on the way. @param withModels whether the models
 * travel, or the checkout that the machine has is asked for them.
 */
export function partsOf(root: string, work: string, withModels: boolean): Part[] {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  const binaries = (name: string, isFolder: boolean) => isFolder || /\.(so\.1|node)$/.test(name);
  return [
    { name: "node", files: [portableNode(root, work)], isMachineCode: true },
    {
      name: "onnxruntime",
      files: filesBelow(root, ONNXRUNTIME_HERE, binaries),
      isMachineCode: true,
    },
    { name: "modules", files: modules(root) },
    { name: "product", files: product(root), links: workspaceLinks() },
    ...(withModels ? [{ name: "models", files: models(root) }] : []),
    { name: "libraries", files: systemLibraries(work), isMachineCode: true },
  ];
}

function modules(root: string): PackedFile[] {
  return productionModules(root, Object.values(WORKSPACES))
    .flatMap((folder) => runFilesOf(root, folder))
    .filter(({ to }) => !to.startsWith(ONNXRUNTIME_BINARIES));
}

function product(root: string): PackedFile[] {
  const isOurs = (name: string, isFolder: boolean) => isFolder || !/\.(d\.ts|map)$/.test(name);
  const built = Object.values(WORKSPACES).flatMap((folder) => [
    { from: path.join(root, folder, "package.json"), to: `${folder}/package.json` },
    ...filesBelow(root, `${folder}/dist`, isOurs),
  ]);
  const specs = POLICIES.map((name) => `policies/${name}/app.yaml`);
  return [
    ...["package.json", ...specs].map((to) => ({ from: path.join(root, to), to })),
    ...built,
    ...PROGRAMS.flatMap((folder) => filesBelow(root, folder, isOurs)),
  ];
}

function workspaceLinks(): Record<string, string> {
  const names = Object.entries(WORKSPACES);
  return Object.fromEntries(
    names.map(([name, folder]) => [`node_modules/${name}`, `../${folder}`]),
  );
}

function models(root: string): PackedFile[] {
  const isModel = (name: string, isFolder: boolean) => isFolder || /\.(onnx|json)$/.test(name);
  return MODELS.flatMap((folder) => filesBelow(root, `models/${folder}`, isModel));
}
