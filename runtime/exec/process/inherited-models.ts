/** Model files that a worker inherits: open, at descriptors after those of its channel. */
import { resolve } from "node:path";
import type { VariantFile } from "../models/executor.ts";
import type { WorkerSetup } from "../models/worker-setup.ts";

interface Inheritance {
  /** Descriptors of this process, in the order of the worker's from `first` on. */
  readonly fds: readonly number[];
  /** The setup in numbers and paths as they are in the worker. */
  readonly setup: WorkerSetup;
}

/** @param first descriptor of the worker for inherited files. */
export function inheritanceOf(setup: WorkerSetup, first: number): Inheritance {
  const fds: number[] = [];
  const variants = setup.variants.map((variant) => {
    if (variant.remote !== undefined) return variant;
    const { parts } = variant;
    const whole = inherited(variant, fds, first);
    if (parts === undefined) return whole;
    return { ...whole, parts: parts.map((part) => inherited(part, fds, first)) };
  });
  return { fds, setup: { ...setup, variants } };
}

/** @param fds to which those of the file are added, if it is open and they are not among them. */
function inherited<File extends VariantFile>(file: File, fds: number[], first: number): File {
  const { opened } = file;
  // A worker runs in another folder.
  const path = resolve(file.path);
  if (opened === undefined) return { ...file, path };
  const inWorker = <Open extends { readonly fd: number }>(open: Open): Open => {
    if (!fds.includes(open.fd)) fds.push(open.fd);
    return { ...open, fd: first + fds.indexOf(open.fd) };
  };
  const { data } = opened;
  const own = inWorker(opened);
  return {
    ...file,
    path,
    opened: data === undefined ? own : { ...own, data: data.map(inWorker) },
  };
}
