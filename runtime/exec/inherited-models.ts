/** The model files that a worker is born with: open, at descriptors after those of its channel. */
import { resolve } from "node:path";
import type { WorkerSetup } from "./onnx-session.ts";

export interface Inheritance {
  /** Descriptors of this process, in the order of the worker's from `first` on. */
  readonly fds: readonly number[];
  /** The setup in numbers and paths as they are in the worker. */
  readonly setup: WorkerSetup;
}

/** @param first descriptor of the worker for what it inherits. */
export function inheritanceOf(setup: WorkerSetup, first: number): Inheritance {
  const fds: number[] = [];
  const variants = setup.variants.map((variant) => {
    const { opened } = variant;
    // A worker runs in another folder.
    const path = variant.remote === undefined ? resolve(variant.path) : variant.path;
    if (opened === undefined) return { ...variant, path };
    if (!fds.includes(opened.fd)) fds.push(opened.fd);
    return { ...variant, path, opened: { ...opened, fd: first + fds.indexOf(opened.fd) } };
  });
  return { fds, setup: { ...setup, variants } };
}
